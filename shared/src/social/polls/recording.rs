//! Records a vote in its viewer's row. `history.rs` argues the bound of that row.

use aws_sdk_dynamodb::types::AttributeValue;

use super::ballot::{self, BYTES, ERASED_AT, RECORDED_AT, VOTES};
use super::{Cast, History, Polls, Vote, keys, vote_encoding};
use crate::platform::dynamo::item::{Item, Row, number, text};
use crate::platform::dynamo::{Changed, DynamoError, Update};
use crate::platform::ledger::FORGET_AT;
use crate::platform::values::Timestamp;

/// How often `bytes` of one row is corrected for one vote. Only an erasure removes votes, so once is enough unless one comes in
/// between.
const ATTEMPTS: usize = 8;

/// The outcome of a vote.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Recorded {
    /// It is on record, or lies before an erasure of its viewer.
    Done,
    /// The viewer's row, with room for this many bytes of votes, is full.
    Full(usize),
}

impl Polls {
    /// Records a vote.
    ///
    /// # Errors
    /// [`DynamoError`]; it may have been recorded.
    pub async fn vote(&self, vote: &Vote, now: Timestamp) -> Result<Recorded, DynamoError> {
        let table = self.facts.table();
        let most = ballot::max_bytes(table.limits());
        let key = keys::vote(&vote.viewer_id, &vote.poll_id).into_item();
        let cast = Cast::of(vote.choice.clone());
        let element = vote_encoding::write(vote.at, &cast);
        for _ in 0..ATTEMPTS {
            let add = addition(&element, [vote.at, now], most);
            let row = match table.change(key.clone(), add).await? {
                Changed::Done(_) => return Ok(Recorded::Done),
                Changed::Refused(item) => Row { table: table.name(), item },
            };
            let erased_at: Option<Timestamp> = row.optional(ERASED_AT, "an instant")?;
            if erased_at.is_some_and(|erased_at| vote.at <= erased_at)
                || History::read(&row)?.has(vote.at, &cast)
            {
                return Ok(Recorded::Done);
            }
            let bytes = ballot::bytes(&row.item);
            if bytes + element.len() > most {
                return Ok(Recorded::Full(most));
            }
            table.update(key.clone(), correction(&row.item, bytes)).await?;
        }
        Err(DynamoError::Contended)
    }
}

/// Adds a vote, unless it is there, the row is full, or it was erased since.
fn addition(element: &str, [at, now]: [Timestamp; 2], most: usize) -> Update<'static> {
    Update {
        expression: "ADD #votes :vote, #bytes :length SET #recorded = :now REMOVE #forget",
        condition: Some(
            "(attribute_not_exists(pk) OR #bytes <= :room) AND NOT contains(#votes, :element) \
             AND (attribute_not_exists(#erased) OR #erased < :at)",
        ),
        names: vec![
            ("#votes", VOTES),
            ("#bytes", BYTES),
            ("#forget", FORGET_AT),
            ("#erased", ERASED_AT),
            ("#recorded", RECORDED_AT),
        ],
        values: vec![
            (":vote", AttributeValue::Ss(vec![element.to_owned()])),
            (":element", text(element)),
            (":length", number(element.len())),
            (":room", number(most.saturating_sub(element.len()))),
            (":at", text(at.to_string())),
            (":now", text(now.to_string())),
        ],
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
