//! The view of a poll: how many votes each choice has.
//!
//! Besides the sums it stores the events that they are made of, five bytes each: the latest ones in the view itself, the others in
//! blocks. When the poll is closed early, the blocks are read, a megabyte at a time, and the events from then on are reverted. Until
//! all of them are, the view shows the old sums. Votes continue meanwhile.

use std::ops::Range;

use aws_sdk_dynamodb::primitives::Blob;
use aws_sdk_dynamodb::types::AttributeValue;

use super::counting_vote::CountingVote;
use super::keys::{EVENTS, PollRow};
use super::sum_changes::{self, VoteEvent};
use super::{EventDigest, PollRules, Sums, VoteHistory};
use crate::platform::dynamo::item::{Item, Key, Row, list, number, text};
use crate::platform::dynamo::{DynamoError, Limits};
use crate::platform::projection::{
    BlockRange, Blocks, Change, DerivedItem, Fold, Late, Note, Own, Recent, SideWrites, State,
    Waiting, Write, waiting,
};
use crate::platform::values::{ActorId, Choice, Packer, Timestamp, Unpacker, ViewerId};

/// The size up to which events are in the view itself. The whole view is then less than a kilobyte.
const LATEST: usize = 600;

/// The events of one block: at most 64 KB.
pub(super) const EVENTS_IN_BLOCK: usize = 8_192;

/// The attribute of a block with its events.
const EVENTS_OF: &str = "events";
/// The number of the first block, once that is not 0.
const FIRST: &str = "blocks_from";

/// The sums of a poll.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct PollTally {
    rules: Option<PollRules>,
    /// The end of the poll that the sums are based on.
    end: Option<Timestamp>,
    sums: Vec<i64>,
    latest: Vec<VoteEvent>,
    /// The number of the first block of events.
    first: u64,
    /// The number after the last block of events.
    blocks: u64,
    closing: Option<Closing>,
    waiting: Waiting,
    /// The people whose votes were counted last.
    recent: Recent<CountingVote>,
}

/// The progress of closing a poll early: how much the blocks so far change the sums.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Closing {
    end: Timestamp,
    next: u64,
    /// What has to be subtracted from the sums.
    gone: Vec<i64>,
}

/// What a change of a row of the facts means.
enum PollFact {
    Opened(PollRules),
    Ended(ActorId, Timestamp),
    Voted(ViewerId, VoteHistory, VoteHistory),
    Nothing,
}

impl PollFact {
    fn of(change: &Change, facts: &str) -> Result<Self, DynamoError> {
        let row = |item: &Option<Item>| item.clone().map(|item| Row { table: facts, item });
        let (before, after) = (row(&change.before), row(&change.after));
        Ok(match (PollRow::of(&change.key), after) {
            (Some(PollRow::Opened(_)), Some(after)) if before.is_none() => {
                Self::Opened(PollRules::read(&after)?)
            }
            (Some(PollRow::End(_, actor)), Some(after)) => {
                Self::Ended(actor, after.parsed("at", "an instant")?)
            }
            (Some(PollRow::Vote(viewer, _)), after) => {
                let read = |row: Option<Row<'_>>| {
                    row.as_ref().map_or_else(|| Ok(VoteHistory::default()), VoteHistory::read)
                };
                Self::Voted(viewer, read(before)?, read(after)?)
            }
            _ => Self::Nothing,
        })
    }
}

impl PollTally {
    /// The first instant at which votes no longer count, once the poll is open.
    pub fn end(&self) -> Option<Timestamp> {
        self.end
    }

    /// The sums by choice. `choices` is the number of choices.
    pub fn votes(&self, choices: usize) -> Vec<u64> {
        let sums = self.sums.iter().map(|sum| u64::try_from(*sum).unwrap_or(0));
        sums.chain(std::iter::repeat(0)).take(choices).collect()
    }

    /// The people whose votes were counted last.
    pub(super) fn recent(&self) -> &Recent<CountingVote> {
        &self.recent
    }

    /// The sums by choice, and the vote of a viewer whose votes are known, as well as what is counted of them. The sums are of the moment
    /// in which that vote was counted ([`recent`](crate::platform::projection::caller_part)).
    pub(super) fn votes_with(
        &self,
        voted: &VoteHistory,
        counted: Own<CountingVote>,
        choices: usize,
    ) -> (Vec<u64>, Option<Choice>) {
        let mut votes = self.votes(choices);
        let (Some(rules), Some(end)) = (&self.rules, self.end) else { return (votes, None) };
        let vote = voted.vote(rules.opens_at, end, &rules.choices);
        let is_before_end = |counted: &CountingVote| rules.opens_at.plus_millis(counted.from) < end;
        let counted = match counted {
            Own::Counted(None) => None,
            Own::Counted(Some(counted)) if is_before_end(&counted) => {
                counted.choice.map(usize::from)
            }
            // The row is folded. Or what is counted is unknown: if no vote is, this viewer's is not counted either.
            Own::Noted | Own::Unknown | Own::Counted(Some(_)) => {
                let is_any = votes.iter().any(|votes| *votes > 0);
                return (votes, vote.filter(|_| is_any).cloned());
            }
        };
        if let Some(votes) = counted.and_then(|index| votes.get_mut(index)) {
            *votes = votes.saturating_sub(1);
        }
        let index = vote.and_then(|vote| rules.choices.iter().position(|choice| choice == vote));
        if let Some(votes) = index.and_then(|index| votes.get_mut(index)) {
            *votes += 1;
        }
        (votes, vote.cloned())
    }

    /// The number of the first block of events.
    pub fn first_block(&self) -> u64 {
        self.first
    }

    /// The number after the last block of events.
    pub(super) fn blocks(&self) -> u64 {
        self.blocks
    }

    /// Its sums, once the poll is open.
    pub fn sums(&self) -> Option<Sums> {
        Some(self.rules.as_ref()?.sums(self.end?, self.sums.clone()))
    }

    /// The digest of the events that are in no block.
    pub fn digest(&self) -> EventDigest {
        let mut digest = EventDigest::default();
        self.latest.iter().for_each(|event| digest.add(*event));
        digest
    }

    /// The sort keys of the first block of events and the last one.
    pub fn blocks_of_events(&self) -> Option<(String, String)> {
        let last = self.blocks.checked_sub(1).filter(|_| self.first < self.blocks)?;
        Some((sort_key(self.first), sort_key(last)))
    }

    /// True if it has unfinished work that no projector continues once all is folded.
    pub fn is_stuck(&self) -> bool {
        self.rules.is_some() && (self.closing.is_some() || !self.waiting.is_empty())
    }

    /// True if the block with this sort key is not used, and never will be.
    pub fn is_past(&self, block: &str) -> bool {
        match block.starts_with(EVENTS) {
            true => *block < *sort_key(self.first),
            false => self.waiting.is_past(block),
        }
    }

    /// A view with the sums of the facts, with blocks of these numbers.
    pub(super) fn recounted(
        &self,
        rules: PollRules,
        end: Timestamp,
        sums: Vec<i64>,
        Range { start, end: blocks }: Range<u64>,
    ) -> Self {
        Self {
            rules: Some(rules),
            end: Some(end),
            sums,
            first: start,
            blocks,
            recent: Recent::unknown(),
            // Waiting changes are among the facts.
            waiting: self.waiting.clone().without_blocks(),
            ..Self::default()
        }
    }

    fn apply(&mut self, said: PollFact, late: Late) {
        match said {
            PollFact::Opened(rules) => {
                self.sums = vec![0; rules.choices.len()];
                self.end = Some(rules.closes_at);
                self.rules = Some(rules);
            }
            PollFact::Ended(actor, at) => {
                let may_end = self.rules.as_ref().is_some_and(|rules| rules.actor_id == actor);
                let end = self.closing.as_ref().map(|closing| closing.end).or(self.end);
                if may_end && end.is_some_and(|end| at < end) {
                    let gone = vec![0; self.sums.len()];
                    self.closing = Some(Closing { end: at, next: self.first, gone });
                    self.end_closing();
                }
            }
            PollFact::Voted(viewer, before, after) => {
                let (Some(rules), Some(end)) = (&self.rules, self.end) else { return };
                let counts = [&before, &after].map(|voted| CountingVote::of(voted, rules, end));
                self.recent.note(&viewer, counts, late);
                for event in sum_changes::between(&before, &after, rules) {
                    // Events after the end never count again.
                    if event.at < end {
                        event.add(&mut self.sums, 1);
                        self.latest.push(event);
                    }
                }
            }
            PollFact::Nothing => {}
        }
    }

    /// Closes the poll early, once all blocks are absorbed.
    fn end_closing(&mut self) {
        let blocks = self.blocks;
        let Some(mut closing) = self.closing.take_if(|closing| closing.next >= blocks) else {
            return;
        };
        closing.count(&self.latest, self.end);
        for (sum, gone) in self.sums.iter_mut().zip(&closing.gone) {
            *sum -= gone;
        }
        self.latest.retain(|event| event.at < closing.end);
        if let Some(opens_at) = self.rules.as_ref().map(|rules| rules.opens_at) {
            self.recent.retain(|counts| opens_at.plus_millis(counts.from) < closing.end);
        }
        self.end = Some(closing.end);
    }
}

impl Closing {
    /// CountingVote events that lie between its end and the one before.
    fn count(&mut self, events: &[VoteEvent], before: Option<Timestamp>) {
        let is_gone =
            |event: &&VoteEvent| event.at >= self.end && before.is_none_or(|end| event.at < end);
        let mut gone = std::mem::take(&mut self.gone);
        events.iter().filter(is_gone).for_each(|event| event.add(&mut gone, 1));
        self.gone = gone;
    }

    fn pack(&self) -> Vec<u8> {
        let mut packer = Packer::default();
        packer.instant(self.end);
        packer.number(self.next);
        for gone in &self.gone {
            // The sign in the last bit.
            packer.number((gone.unsigned_abs() << 1) | u64::from(*gone < 0));
        }
        packer.into_bytes()
    }

    fn unpack(bytes: &[u8]) -> Option<Self> {
        let mut unpacker = Unpacker::new(bytes);
        let (end, next, mut gone) = (unpacker.instant()?, unpacker.number()?, Vec::new());
        while !unpacker.is_empty() {
            let number = unpacker.number()?;
            let amount = i64::try_from(number >> 1).ok()?;
            gone.push(if number & 1 == 0 { amount } else { -amount });
        }
        Some(Self { end, next, gone })
    }
}

impl State for PollTally {
    const ATTRIBUTES: &'static [&'static str] = &[
        "actor",
        "choices",
        "opens_at",
        "closes_at",
        "votes",
        "end",
        "blocks",
        FIRST,
        "latest",
        "closing",
        waiting::FROM,
        waiting::TO,
    ];

    fn read(row: &Row<'_>) -> Result<Self, DynamoError> {
        let waiting = Waiting::read(row)?;
        if !row.item.contains_key("choices") {
            return Ok(Self { waiting, recent: Recent::read(row)?, ..Self::default() });
        }
        let rules = PollRules::read(row)?;
        let sum = |value: &AttributeValue| value.as_n().ok()?.parse().ok();
        let sums = row.item.get("votes").and_then(|votes| votes.as_l().ok());
        let sums = sums.and_then(|sums| sums.iter().map(sum).collect::<Option<Vec<i64>>>());
        let sums = sums.filter(|sums| sums.len() == rules.choices.len());
        Ok(Self {
            end: Some(row.parsed("end", "an instant")?),
            sums: sums.ok_or_else(|| row.corrupt("votes", "a number for each choice"))?,
            latest: row.packed("latest", "events", sum_changes::unpack)?.unwrap_or_default(),
            first: if row.item.contains_key(FIRST) { row.count(FIRST)? } else { 0 },
            blocks: row.count("blocks")?,
            closing: row.packed("closing", "an end that comes forward", Closing::unpack)?,
            rules: Some(rules),
            recent: Recent::read(row)?,
            waiting,
        })
    }

    fn write(&self) -> Item {
        let bytes = |bytes: Vec<u8>| AttributeValue::B(Blob::new(bytes));
        let mut item = Item::new();
        self.waiting.write(&mut item);
        let (Some(rules), Some(end)) = (&self.rules, self.end) else { return item };
        item.extend(rules.write());
        let sums = self.sums.iter().map(number).collect();
        item.insert("votes".to_owned(), list(sums));
        item.insert("end".to_owned(), text(end.to_string()));
        item.insert("blocks".to_owned(), number(self.blocks));
        if self.first > 0 {
            item.insert(FIRST.to_owned(), number(self.first));
        }
        if !self.latest.is_empty() {
            item.insert("latest".to_owned(), bytes(sum_changes::pack(&self.latest)));
        }
        if let Some(closing) = &self.closing {
            item.insert("closing".to_owned(), bytes(closing.pack()));
        }
        item
    }

    fn recent(&self, version: u64) -> Option<AttributeValue> {
        Some(self.recent.write(version))
    }

    fn leaving(&mut self, view: &Key, version: u64) -> Vec<Note> {
        self.recent.leaving(view, version)
    }

    fn is_long(&self) -> bool {
        self.recent.is_long()
    }
}

impl Fold for PollTally {
    fn fold(&mut self, change: &Change, facts: &str) -> Result<(), DynamoError> {
        let said = PollFact::of(change, facts)?;
        match (&self.rules, &said) {
            // The rest of an erased row, which expires.
            (None, PollFact::Voted(_, before, after)) if before == after => {}
            (None, PollFact::Ended(..) | PollFact::Voted(..)) => self.waiting.push(change),
            _ => self.apply(said, Late::of(change)),
        }
        Ok(())
    }
}

impl Blocks for PollTally {
    fn needed_blocks(&self, _: bool) -> Option<BlockRange> {
        self.rules.as_ref()?;
        if let Some(wanted) = self.waiting.needed_blocks() {
            return Some(wanted);
        }
        let next = self.closing.as_ref()?.next;
        let last = self.blocks.checked_sub(1)?;
        Some(BlockRange { first: sort_key(next), last: sort_key(last), limit: None })
    }

    fn absorb(&mut self, blocks: &[Row<'_>], _: bool) -> Result<Vec<DerivedItem>, DynamoError> {
        if !self.waiting.is_empty() {
            for change in self.waiting.take(blocks)? {
                let said = PollFact::of(&change, blocks.first().map_or("", |row| row.table))?;
                self.apply(said, Late::Maybe);
            }
            return Ok(Vec::new());
        }
        for block in blocks {
            let Some(closing) = &mut self.closing else { break };
            if Key::of(block)?.sk != sort_key(closing.next) {
                return Err(block.corrupt("sk", "the next block of events"));
            }
            closing.count(&events_of(block)?, self.end);
            closing.next += 1;
        }
        self.end_closing();
        Ok(Vec::new())
    }

    fn side_writes(&mut self, view: &Key, limits: &Limits) -> SideWrites {
        let mut writes = self.waiting.writes(view, limits);
        if sum_changes::pack(&self.latest).len() > LATEST {
            for events in std::mem::take(&mut self.latest).chunks(EVENTS_IN_BLOCK) {
                writes.push(Write::Put(block(view, self.blocks, events)));
                self.blocks += 1;
            }
        }
        SideWrites { writes, pending: None }
    }
}

/// A block of events, beside the view at a key.
pub(super) fn block(view: &Key, number: u64, events: &[VoteEvent]) -> Item {
    let mut block = Key { pk: view.pk.clone(), sk: sort_key(number) }.into_item();
    block.insert(EVENTS_OF.to_owned(), AttributeValue::B(Blob::new(sum_changes::pack(events))));
    block
}

pub(super) fn events_of(block: &Row<'_>) -> Result<Vec<VoteEvent>, DynamoError> {
    Ok(block.packed(EVENTS_OF, "events", sum_changes::unpack)?.unwrap_or_default())
}

fn sort_key(block: u64) -> String {
    format!("{EVENTS}{block:020}")
}
