//! Events: when choices won or lost votes. The sums of a poll are made of them.
//!
//! A viewer's [history](super::History) says for every end that the poll may have which vote counts. From the earliest
//! end to the latest that changes at a few instants: each is an [event]. So the sums at any end are those of
//! the events before it, and where the poll is closed early it suffices to take back the events from then on.

use std::collections::BTreeSet;

use super::{Cast, PollRules, VoteHistory};
use crate::platform::values::{Choice, Packer, Timestamp, Unpacker};

/// From one instant on the vote of a viewer is another one: the place of a choice in the poll's list, or nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct VoteEvent {
    pub(super) at: Timestamp,
    from: Option<u8>,
    to: Option<u8>,
}

impl VoteEvent {
    fn reversed(self) -> Self {
        Self { at: self.at, from: self.to, to: self.from }
    }

    /// Adds it to the sums, or removes it (`by` is 1 or -1).
    pub(super) fn add(self, sums: &mut [i64], by: i64) {
        let mut change = |choice: Option<u8>, by: i64| {
            if let Some(sum) = choice.and_then(|choice| sums.get_mut(usize::from(choice))) {
                *sum += by;
            }
        };
        change(self.from, -by);
        change(self.to, by);
    }
}

/// The events of one viewer's history.
fn of_history(history: &VoteHistory, rules: &PollRules) -> BTreeSet<VoteEvent> {
    let index = |choice: &Choice| rules.choices.iter().position(|one| one == choice);
    let (mut events, mut from) = (BTreeSet::new(), None);
    for (at, cast) in history.between(rules.opens_at, rules.closes_at, &rules.choices) {
        let to = match cast {
            Cast::For(choice) => index(choice).and_then(|index| u8::try_from(index).ok()),
            Cast::Withdrawn => None,
        };
        if from != to {
            events.insert(VoteEvent { at, from, to });
            from = to;
        }
    }
    events
}

/// The difference of events between two histories.
pub(super) fn between(
    before: &VoteHistory,
    after: &VoteHistory,
    rules: &PollRules,
) -> Vec<VoteEvent> {
    let (before, after) = (of_history(before, rules), of_history(after, rules));
    let gone = before.difference(&after).map(|event| event.reversed());
    gone.chain(after.difference(&before).copied()).collect()
}

/// Events as stored. Their instants are close together, so each has the time since the one before.
pub(super) fn pack(events: &[VoteEvent]) -> Vec<u8> {
    let mut events = events.to_vec();
    events.sort_unstable();
    let mut packer = Packer::default();
    let mut last = 0;
    for (index, VoteEvent { at, from, to }) in events.into_iter().enumerate() {
        match index {
            0 => packer.instant(at),
            // They are sorted.
            _ => packer.number(at.unix_millis().abs_diff(last)),
        }
        last = at.unix_millis();
        for choice in [from, to] {
            packer.number(choice.map_or(0, |choice| u64::from(choice) + 1));
        }
    }
    packer.into_bytes()
}

/// What [`pack`] has written.
pub(super) fn unpack(bytes: &[u8]) -> Option<Vec<VoteEvent>> {
    let mut unpacker = Unpacker::new(bytes);
    let mut events: Vec<VoteEvent> = Vec::new();
    while !unpacker.is_empty() {
        let at = match events.last() {
            None => unpacker.instant()?,
            Some(last) => last.at.plus_millis(i64::try_from(unpacker.number()?).ok()?),
        };
        let mut choice = || match unpacker.number()? {
            0 => Some(None),
            index => u8::try_from(index - 1).ok().map(Some),
        };
        events.push(VoteEvent { at, from: choice()?, to: choice()? });
    }
    Some(events)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn events() -> impl Strategy<Value = Vec<VoteEvent>> {
        let choice = || proptest::option::of(0..32_u8);
        let event = (0..4_000_000_000_000_i64, choice(), choice());
        let event = event.prop_map(|(at, from, to)| VoteEvent {
            at: Timestamp::from_unix_millis(at),
            from,
            to,
        });
        prop::collection::vec(event, 0..30)
    }

    proptest! {
        #[test]
        fn events_survive_being_stored(mut events in events()) {
            events.sort_unstable();
            prop_assert_eq!(unpack(&pack(&events)), Some(events));
        }

        #[test]
        fn other_bytes_do_no_harm(bytes in prop::collection::vec(any::<u8>(), 0..40)) {
            let _ = unpack(&bytes);
        }
    }
}
