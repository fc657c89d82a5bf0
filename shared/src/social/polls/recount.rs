//! The view of a poll, made again from the facts: operators compare the two and repair the view.

use serde::Serialize;

use super::sum_changes::{self, VoteEvent};
use super::tally::{self, PollTally};
use super::{PollRules, VoteHistory};
use crate::platform::dynamo::DynamoError;
use crate::platform::dynamo::item::{Item, Key, Row};
use crate::platform::values::{ActorId, Choice, Timestamp};

/// Repaired blocks begin at a multiple of this beyond those in use, so far that no projector gets there while they are written.
const GENERATION_BITS: u32 = 32;
/// The number of multiples from which each repair draws one at random, so that two concurrent repairs do not write the same
/// blocks.
const GENERATIONS: u64 = 1 << 16;

/// The sums of a poll.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Sums {
    pub actor_id: ActorId,
    /// The first instant at which a vote counts.
    pub opens_at: Timestamp,
    pub closes_at: Timestamp,
    pub choices: Vec<Choice>,
    /// How many votes each has, in the same order.
    pub votes: Vec<i64>,
}

/// An order-independent digest of events. Events and their opposites cancel out, and two sets of events with different sums have the
/// same digest once in 2^64 times.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct EventDigest(u64);

impl EventDigest {
    pub(super) fn add(&mut self, event: VoteEvent) {
        let mut sums = [0; 32];
        event.add(&mut sums, 1);
        for (index, sum) in (0_u64..).zip(sums) {
            let of = mixed(mixed(event.at.unix_millis().cast_unsigned()) ^ index);
            self.0 = self.0.wrapping_add(of.wrapping_mul(i64::cast_unsigned(sum)));
        }
    }

    /// Adds the events in a block that lie before an end.
    ///
    /// # Errors
    /// [`DynamoError::Corrupt`]
    pub fn add_block(&mut self, block: &Row<'_>, end: Timestamp) -> Result<(), DynamoError> {
        let events = tally::events_of(block)?.into_iter().filter(|event| event.at < end);
        events.for_each(|event| self.add(event));
        Ok(())
    }
}

/// Mixes the bits of a number (the finalizer of `SplitMix64`).
fn mixed(number: u64) -> u64 {
    let number = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let number = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ (number >> 31)
}

/// The votes of a poll, recounted.
#[derive(Debug, Clone)]
pub struct Recount {
    rules: PollRules,
    end: Timestamp,
    sums: Vec<i64>,
    digest: EventDigest,
    /// Only kept if the view may have to be repaired.
    events: Option<Vec<VoteEvent>>,
}

impl Recount {
    /// Begins with the definition of the poll and its ends.
    pub fn new(
        rules: PollRules,
        ends: impl IntoIterator<Item = (ActorId, Timestamp)>,
        keeps_events: bool,
    ) -> Self {
        let ends = ends.into_iter().filter(|(actor, _)| *actor == rules.actor_id);
        let end = ends.map(|(_, at)| at).chain([rules.closes_at]).min();
        Self {
            end: end.unwrap_or(rules.closes_at),
            sums: vec![0; rules.choices.len()],
            digest: EventDigest::default(),
            events: keeps_events.then(Vec::new),
            rules,
        }
    }

    /// Adds the votes of one viewer.
    pub fn add(&mut self, history: &VoteHistory) {
        for event in sum_changes::between(&VoteHistory::default(), history, &self.rules) {
            if event.at < self.end {
                event.add(&mut self.sums, 1);
                self.digest.add(event);
                self.events.iter_mut().for_each(|events| events.push(event));
            }
        }
    }

    pub fn sums(&self) -> Sums {
        self.rules.sums(self.end, self.sums.clone())
    }

    /// The digest of all events.
    pub fn digest(&self) -> EventDigest {
        self.digest
    }

    /// The repaired view, and the blocks that have to be written before it. No projector that has read the stored view writes blocks
    /// with these numbers.
    #[must_use]
    pub fn repaired(self, stored: &PollTally, view: &Key) -> (PollTally, Vec<Item>) {
        let mut events = self.events.unwrap_or_default();
        events.sort_unstable();
        let first = beyond(stored.blocks(), fastrand::u64(..GENERATIONS));
        let blocks: Vec<_> = (first..)
            .zip(events.chunks(tally::EVENTS_IN_BLOCK))
            .map(|(number, events)| tally::block(view, number, events))
            .collect();
        let numbers = first..first + blocks.len() as u64;
        (stored.recounted(self.rules, self.end, self.sums, numbers), blocks)
    }
}

impl PollRules {
    pub(super) fn sums(&self, end: Timestamp, votes: Vec<i64>) -> Sums {
        let Self { actor_id, choices, opens_at, .. } = self.clone();
        Sums { actor_id, opens_at, closes_at: end, choices, votes }
    }
}

/// The first number for repaired blocks while blocks up to another number are in use.
fn beyond(in_use: u64, draw: u64) -> u64 {
    ((in_use >> GENERATION_BITS) + 1 + draw) << GENERATION_BITS
}
