//! A barrier: when it is passed, all that was a fact before it was raised is folded.
//!
//! Changes of one shard are folded in their order. So once a row of a shard is folded, all that was written into that
//! shard before it is folded too. Which shard a row goes to cannot be chosen. A barrier therefore writes many rows under
//! different keys: with 150 shards, the probability that one of them gets no row is below one in a billion.
//!
//! It is for operators, who compare views with facts. It costs a write unit for each row, and they expire.

use futures::{StreamExt, TryStreamExt, stream};

use super::{Change, Fold, State, View, Views};
use crate::dynamo::item::{Item, Key, Row, number};
use crate::dynamo::{DynamoError, IN_FLIGHT};
use crate::facts::Facts;
use crate::ledger::FORGET_AT;
use crate::runtime::deadline::Deadline;
use crate::values::Timestamp;

const PREFIX: &str = "barrier#";
const BARRIER: &str = "barrier";
/// Rows of one barrier.
const ROWS: u64 = 4096;
/// Rows and view expire after a day, as their changes do.
const KEPT_MILLIS: i64 = 86_400_000;

/// A barrier that was raised.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Barrier(String);

impl Barrier {
    /// Raises a barrier behind all that is a fact by now.
    ///
    /// # Errors
    /// [`DynamoError`]; it will never be passed then.
    pub async fn raise(
        facts: &Facts,
        now: Timestamp,
        deadline: impl Fn() -> Deadline + Copy,
    ) -> Result<Self, DynamoError> {
        let barrier = Self(format!("{:032x}", fastrand::u128(..)));
        let forget_at = number((now.unix_millis() + KEPT_MILLIS) / 1000);
        let rows = (0..ROWS).map(|n| {
            let mut item = barrier.row(n).into_item();
            item.insert(FORGET_AT.to_owned(), forget_at.clone());
            facts.table().put(item, deadline())
        });
        stream::iter(rows).buffer_unordered(IN_FLIGHT).try_collect::<()>().await?;
        Ok(barrier)
    }

    /// Its view, once all before it is folded. It knows how far each shard has come: a view that is made again can go
    /// on [from there](View::caught_up_with).
    ///
    /// # Errors
    /// [`DynamoError`]
    pub async fn passed(
        &self,
        views: &Views,
        deadline: Deadline,
    ) -> Result<Option<View<BarrierProgress>>, DynamoError> {
        let passed = views.read(self.view(), View::<BarrierProgress>::read_from, deadline).await?;
        Ok(Some(passed).filter(|passed| passed.state.rows >= ROWS))
    }

    fn row(&self, n: u64) -> Key {
        Key { pk: format!("{PREFIX}{}#{n}", self.0), sk: BARRIER.to_owned() }
    }

    /// Where it is among the views how many of its rows are folded.
    #[must_use]
    pub fn view(&self) -> Key {
        Key { pk: format!("{PREFIX}{}", self.0), sk: BARRIER.to_owned() }
    }

    /// Whether a key of the views is a barrier's.
    #[must_use]
    pub fn is_view(key: &Key) -> bool {
        key.sk == BARRIER && key.pk.strip_prefix(PREFIX).is_some_and(|id| !id.contains('#'))
    }

    /// The barrier, if a key of the facts is one of its rows'.
    #[must_use]
    pub fn of_key(key: &Key) -> Option<Self> {
        let (id, n) = key.pk.strip_prefix(PREFIX).filter(|_| key.sk == BARRIER)?.split_once('#')?;
        n.parse::<u64>().ok().map(|_| Self(id.to_owned()))
    }
}

/// How many rows of a barrier are folded.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct BarrierProgress {
    rows: u64,
    forget_at: i64,
}

impl State for BarrierProgress {
    const ATTRIBUTES: &'static [&'static str] = &["rows"];

    fn read(row: &Row<'_>) -> Result<Self, DynamoError> {
        Ok(Self { rows: row.count("rows")?, forget_at: row.number(FORGET_AT)? })
    }

    fn write(&self) -> Item {
        Item::from([
            ("rows".to_owned(), number(self.rows)),
            (FORGET_AT.to_owned(), number(self.forget_at)),
        ])
    }
}

impl Fold for BarrierProgress {
    fn fold(&mut self, change: &Change, facts: &str) -> Result<(), DynamoError> {
        if let (None, Some(item)) = (&change.before, &change.after) {
            self.forget_at = Row { table: facts, item: item.clone() }.number(FORGET_AT)?;
            self.rows += 1;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_says_which_barrier_it_is_of() {
        let barrier = Barrier("0a".to_owned());
        assert_eq!(Barrier::of_key(&barrier.row(7)), Some(barrier.clone()));
        assert_eq!(Barrier::of_key(&barrier.view()), None);
    }
}
