//! Registers: something is so or is not, and of the commands about it the latest wins, whatever order they arrive in. A follow, a tag,
//! a like, the presence in a room: each is a register, with attributes of its own.

use std::time::Duration;

use crate::platform::dynamo::item::{Item, Row, number, text, truth};
use crate::platform::dynamo::{Condition, DynamoError};
use crate::platform::ledger::FORGET_AT;
use crate::platform::values::Timestamp;

/// How long the tombstone of a derived row is kept at least: far longer than an invocation, and than clocks differ. So it outlives
/// all writes that are based on earlier reads.
pub const TOMBSTONE_KEPT: Duration = Duration::from_secs(3 * 86_400);

/// The state of a register. An undone one stays, with its instant, so that an older command that arrives late cannot win.
///
/// The order of the type is the order of victory: by time, and on a tie the undo wins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Register {
    /// True after `….created`, false after `….deleted`.
    pub on: bool,
    /// The `at` of the command that won.
    pub changed_at: Timestamp,
}

impl Ord for Register {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (self.changed_at, !self.on).cmp(&(other.changed_at, !other.on))
    }
}

impl PartialOrd for Register {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

/// The attributes that a register is stored in.
#[derive(Debug, Clone, Copy)]
pub struct RegisterAttributes {
    /// The truth. An item without it is of an undone register, or erased.
    pub on: &'static str,
    pub at: &'static str,
}

impl RegisterAttributes {
    #[must_use]
    pub fn write(self, state: Register) -> Item {
        Item::from([
            (self.on.to_owned(), truth(state.on)),
            (self.at.to_owned(), text(state.changed_at.to_string())),
        ])
    }

    /// # Errors
    /// [`DynamoError::Corrupt`]
    pub fn read(self, row: &Row<'_>) -> Result<Register, DynamoError> {
        Ok(Register { on: row.flag(self.on)?, changed_at: row.parsed(self.at, "an instant")? })
    }

    /// The item of an undone register among rows that are derived. It expires [`TOMBSTONE_KEPT`] after it was written.
    #[must_use]
    pub fn tombstone(self, changed_at: Timestamp, now: Timestamp) -> Item {
        Item::from([
            (self.at.to_owned(), text(changed_at.to_string())),
            (FORGET_AT.to_owned(), number(now.unix_seconds_after(TOMBSTONE_KEPT))),
        ])
    }

    /// The condition that the item is as it was read.
    #[must_use]
    pub fn unchanged(self, seen: Option<Register>) -> Condition<'static> {
        let Some(Register { on, changed_at }) = seen else {
            return Condition::new("attribute_not_exists(#at)").name("#at", self.at);
        };
        let seen = match on {
            true => "#at = :at AND #on = :yes",
            false => "#at = :at AND (attribute_not_exists(#on) OR #on <> :yes)",
        };
        let seen = Condition::new(seen).name("#at", self.at).name("#on", self.on);
        seen.value(":at", text(changed_at.to_string())).value(":yes", truth(true))
    }

    /// The condition that a state wins over the existing item.
    #[must_use]
    pub fn wins(self, state: Register) -> Condition<'static> {
        let wins = match state.on {
            true => Condition::new("attribute_not_exists(#at) OR #at < :at"),
            false => Condition::new(
                "attribute_not_exists(#at) OR #at < :at OR (#at = :at AND #on = :yes)",
            )
            .name("#on", self.on)
            .value(":yes", truth(true)),
        };
        wins.name("#at", self.at).value(":at", text(state.changed_at.to_string()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_latest_wins_and_on_a_tie_the_undo() {
        let state = |on, millis| Register { on, changed_at: Timestamp::from_unix_millis(millis) };
        assert!(state(true, 2) > state(false, 1));
        assert!(state(false, 2) > state(true, 1));
        assert!(state(false, 1) > state(true, 1));
    }
}
