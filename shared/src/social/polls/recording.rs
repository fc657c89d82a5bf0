//! Records votes in their viewer's row, all at once that wait in a process. `ballot.rs` argues the bound of that row.

use std::collections::BTreeMap;
use std::iter;

use aws_sdk_dynamodb::types::AttributeValue;

use super::ballot::{self, BYTES, ERASED_AT, RECORDED_AT, VOTES};
use super::{Cast, Polls, Vote, VoteHistory, keys, vote_encoding};
use crate::platform::dynamo::item::{Item, Key, Row, number, text};
use crate::platform::dynamo::{Changed, DynamoError, Update};
use crate::platform::ledger::FORGET_AT;
use crate::platform::runtime::group_commit::GroupCommit;
use crate::platform::values::Timestamp;

/// Votes that are written at once. Their condition, with some thirty bytes for each, is below the longest expression.
const MOST: usize = 64;
/// Writes of a group of votes. One that is refused because a vote is there already, or because `bytes` is wrong, is followed by one
/// that is not, unless others change the row meanwhile.
const ATTEMPTS: usize = 8;

/// The votes of a process that wait to be recorded, by row.
pub type VoteQueues = GroupCommit<Key, NewVote, RecordedVote>;

/// A vote that is not recorded yet.
#[derive(Debug, Clone)]
pub struct NewVote {
    at: Timestamp,
    cast: Cast,
    now: Timestamp,
}

/// The outcome of a vote.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RecordedVote {
    /// It is on record, or lies before an erasure of its viewer.
    Done,
    /// The viewer's row, with room for this many bytes of votes, is full.
    Full(usize),
}

impl Polls {
    /// Records a vote, with those of the same row that wait in this process.
    ///
    /// # Errors
    /// [`DynamoError`]; it may have been recorded.
    pub async fn vote(&self, vote: &Vote, now: Timestamp) -> Result<RecordedVote, DynamoError> {
        let key = keys::vote(&vote.viewer_id, &vote.poll_id);
        let new = NewVote { at: vote.at, cast: Cast::new(vote.choice.clone()), now };
        let mut place = self.queues.join(key.clone(), new);
        let turn = place.turn(self.facts.table().deadline()).await;
        let _turn = turn.map_err(|_| DynamoError::Throttled)?;
        // Each round takes votes that wait, and none after this one.
        loop {
            if let Some(outcome) = place.outcome() {
                return Ok(outcome);
            }
            let mut waiting = Vec::new();
            place.take(&mut waiting, |taken, _| taken.len() < MOST);
            let votes: Vec<_> = waiting.iter().map(|it| &it.work).collect();
            let outcomes = self.record(&key, &votes).await?;
            for (waiting, outcome) in waiting.into_iter().zip(outcomes) {
                waiting.tell(outcome);
            }
        }
    }

    /// Records votes of one row.
    async fn record(
        &self,
        key: &Key,
        votes: &[&NewVote],
    ) -> Result<Vec<RecordedVote>, DynamoError> {
        let table = self.facts.table();
        let most = ballot::max_bytes(table.limits());
        let element = |vote: &NewVote| vote_encoding::write(vote.at, &vote.cast);
        let Some(now) = votes.iter().map(|vote| vote.now).max() else { return Ok(Vec::new()) };
        let mut left: BTreeMap<_, _> = votes.iter().map(|vote| (element(vote), *vote)).collect();
        let mut fitting = fitting_into(most, &left);
        let mut attempts = 0..ATTEMPTS;
        // Elements are in the order of time.
        while let Some(earliest) = fitting.first().and_then(|first| left.get(first)) {
            attempts.next().ok_or(DynamoError::Contended)?;
            let add = Addition::new(&fitting);
            let add = add.update([earliest.at, now], most);
            let row = match table.change(key.clone().into_item(), add).await? {
                Changed::Done(_) => {
                    left.retain(|element, _| !fitting.contains(element));
                    fitting = fitting_into(most, &left);
                    continue;
                }
                Changed::Refused(item) => Row { table: table.name(), item },
            };
            let erased_at: Option<Timestamp> = row.optional(ERASED_AT, "an instant")?;
            let history = VoteHistory::read(&row)?;
            left.retain(|_, NewVote { at, cast, .. }| {
                erased_at.is_none_or(|erased_at| *at > erased_at) && !history.has(*at, cast)
            });
            let bytes = ballot::bytes(&row.item);
            if !left.is_empty() && row.item.get(BYTES) != Some(&number(bytes)) {
                table.update(key.clone().into_item(), correction(&row.item, bytes)).await?;
            }
            // The row after that write decides about the others.
            fitting = fitting_into(most.saturating_sub(bytes), &left);
        }
        let outcome = |vote: &&NewVote| match left.contains_key(&element(vote)) {
            true => RecordedVote::Full(most),
            false => RecordedVote::Done,
        };
        Ok(votes.iter().map(outcome).collect())
    }
}

/// Votes that fit into this many bytes together, the earlier ones first: at least one, if any vote fits.
fn fitting_into(room: usize, votes: &BTreeMap<String, &NewVote>) -> Vec<String> {
    let mut left = room;
    let fits = |element: &&String| match left.checked_sub(element.len()) {
        Some(rest) => {
            left = rest;
            true
        }
        None => false,
    };
    votes.keys().filter(fits).cloned().collect()
}

/// An addition of votes, the earliest of this instant, unless one is there, the row is full, or the earliest was erased since.
struct Addition<'a> {
    elements: &'a [String],
    /// A placeholder for each.
    names: Vec<String>,
    condition: String,
}

impl<'a> Addition<'a> {
    fn new(elements: &'a [String]) -> Self {
        let names: Vec<_> = (0..elements.len()).map(|index| format!(":e{index}")).collect();
        let absent = names.iter().map(|name| format!(" AND NOT contains(#votes, {name})"));
        let condition = "(attribute_not_exists(pk) OR #bytes <= :room) AND (attribute_not_exists(#erased) OR #erased < :earliest)";
        let condition = iter::once(condition.to_owned()).chain(absent).collect();
        Self { elements, names, condition }
    }

    fn update(&self, [earliest, now]: [Timestamp; 2], most: usize) -> Update<'_> {
        let length = self.elements.iter().map(String::len).sum();
        let names = self.names.iter().map(String::as_str);
        let absent = names.zip(self.elements).map(|(name, element)| (name, text(element)));
        let values = [
            (":votes", AttributeValue::Ss(self.elements.to_vec())),
            (":length", number(length)),
            (":room", number(most.saturating_sub(length))),
            (":earliest", text(earliest.to_string())),
            (":now", text(now.to_string())),
        ];
        Update {
            expression: "ADD #votes :votes, #bytes :length SET #recorded = :now REMOVE #forget",
            condition: Some(&self.condition),
            names: vec![
                ("#votes", VOTES),
                ("#bytes", BYTES),
                ("#forget", FORGET_AT),
                ("#erased", ERASED_AT),
                ("#recorded", RECORDED_AT),
            ],
            values: values.into_iter().chain(absent).collect(),
        }
    }
}

/// Sets `bytes` to the weight of a row, unless it has changed since.
fn correction(row: &Item, bytes: usize) -> Update<'static> {
    let seen = row.get(BYTES).map(|seen| (":seen", seen.clone()));
    let condition = match seen {
        Some(_) => "#bytes = :seen",
        None => "attribute_exists(pk) AND attribute_not_exists(#bytes)",
    };
    Update {
        expression: "SET #bytes = :bytes",
        condition: Some(condition),
        names: vec![("#bytes", BYTES)],
        values: seen.into_iter().chain([(":bytes", number(bytes))]).collect(),
    }
}
