//! Messages in order: those of a room, from all its shards, or those of one author in it.

use futures::future::try_join_all;

use super::{ArrivalPosition, Rooms, Shards, keys};
use crate::dynamo::DynamoError;
use crate::dynamo::item::Row;
use crate::ledger::LedgerKey;
use crate::paging::{RowChunk, merged};
use crate::runtime::deadline::Deadline;
use crate::values::{Order, Payload, RoomId, SortKey, Span, ViewerId};

/// The most rounds of calls for a page, but for one more where messages are read once more.
const ROUNDS: usize = 6;
/// The read units after which a page ends with what was found, unless as many as are wanted take more.
const UNITS: usize = 160;
/// The most rows that are read in one round.
const ROWS: usize = 160;
/// What a row takes beside its payload, in bytes, and what a read unit pays for.
const ROW_BYTES: usize = 330;
const UNIT: usize = 4_096;

/// A message as readers are given it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// Its place in the room.
    pub sort_key: SortKey,
    /// Who said it.
    pub author_id: ViewerId,
    /// What.
    pub payload: Payload,
    /// Its place in the order of arrival, if it was posted since there is one.
    pub arrived: Option<ArrivalPosition>,
}

/// What stands in the place of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stored {
    /// The message.
    Message,
    /// That it was deleted.
    Tombstone,
}

/// Which messages are asked for.
#[derive(Debug, Clone, Copy)]
pub struct MessagesQuery<'a> {
    /// Between which instants, and from which end.
    pub span: Span,
    /// Beyond which stored key to begin.
    pub after: Option<&'a str>,
    /// How many.
    pub wanted: usize,
    /// Which are left out: those that arrived later than this.
    pub until: ArrivalPosition,
}

/// What a page may yet spend on messages, however often they are read for it.
#[derive(Debug, Clone, Copy)]
pub struct Effort {
    rounds: usize,
    units: usize,
    /// The units that are spent in any case, each time that they are read: what as many as are wanted take.
    least: usize,
}

impl Effort {
    /// The effort of a page of `wanted` messages that spends `others` units on what became of the last row.
    #[must_use]
    pub fn of_page(wanted: usize, others: usize) -> Self {
        let least = (wanted * (UNIT + ROW_BYTES)).div_ceil(UNIT);
        Self { rounds: ROUNDS, units: UNITS.saturating_sub(others), least }
    }

    /// How many rows the units pay for that are left after these, if each is as large as it may be.
    fn rows(self, used: usize) -> usize {
        self.units.max(self.least).saturating_sub(used) * UNIT / (UNIT + ROW_BYTES)
    }
}

/// Where messages are.
#[derive(Debug, Clone, Copy)]
pub struct MessageList<'a> {
    /// In which room.
    pub room: &'a RoomId,
    /// Over how many partitions it is spread.
    pub shards: Shards,
    /// Whose, if only one author's.
    pub author: Option<&'a ViewerId>,
}

impl MessageList<'_> {
    /// The partitions that it is in.
    fn partitions(&self) -> Vec<String> {
        match self.author {
            Some(author) => vec![keys::said(self.room, author)],
            None => (0..self.shards.count()).map(|shard| keys::shard(self.room, shard)).collect(),
        }
    }
}

impl Rooms {
    /// Reads as many messages of a list as are wanted, or those of fewer where many were deleted among them: then it says
    /// where to go on. It makes one round of calls at least, which reads a row of each partition at least, and more as far as the
    /// effort of the page goes.
    ///
    /// # Errors
    /// [`DynamoError`]
    pub async fn messages(
        &self,
        list: MessageList<'_>,
        asked: MessagesQuery<'_>,
        effort: &mut Effort,
        deadline: Deadline,
    ) -> Result<RowChunk<Message>, DynamoError> {
        let MessagesQuery { span, after, wanted, until } = asked;
        let mut parts: Vec<_> =
            list.partitions().into_iter().map(|pk| Part::new(pk, after)).collect();
        let shares = share(wanted, parts.len()) * parts.len();
        let mut most = shares.min(effort.rows(0)).max(parts.len());
        for _ in 0..effort.rounds.max(1) {
            let behind = behind(&parts, span.order, wanted);
            let rows = most.min(ROWS) / behind.len().max(1);
            if behind.is_empty() || rows == 0 {
                break;
            }
            effort.rounds = effort.rounds.saturating_sub(1);
            let reads = behind.iter().map(|nth| {
                let part = &parts[*nth];
                self.partition(&part.pk, span, part.next.as_deref(), rows, deadline)
            });
            let read = try_join_all(reads).await?;
            behind.iter().zip(read).for_each(|(nth, chunk)| parts[*nth].append(chunk, until));
            most = effort.rows(used(&parts));
        }
        effort.units = effort.units.saturating_sub(used(&parts));
        let parts = parts.into_iter().map(|part| part.chunk(span.order)).collect();
        Ok(cut(merged(parts, span.order, key), wanted))
    }

    /// What stands at the key of a row, if anything.
    ///
    /// # Errors
    /// [`DynamoError`]
    pub async fn stored(
        &self,
        row: LedgerKey,
        deadline: Deadline,
    ) -> Result<Option<Stored>, DynamoError> {
        let Some(row) = self.ledger.get(row, deadline).await? else { return Ok(None) };
        let deleted = row.flag("deleted")?;
        Ok(Some(if deleted { Stored::Tombstone } else { Stored::Message }))
    }

    /// One call of a query of a partition.
    async fn partition(
        &self,
        pk: &str,
        span: Span,
        after: Option<&str>,
        limit: usize,
        deadline: Deadline,
    ) -> Result<RowChunk<Message>, DynamoError> {
        RowChunk::read(&self.ledger, pk, span, after, limit, message, deadline).await
    }
}

/// What was read of a partition so far.
#[derive(Debug)]
struct Part {
    pk: String,
    rows: Vec<Message>,
    read: usize,
    /// What was read, in bytes.
    bytes: usize,
    /// Where to go on, from the start if that is nowhere.
    next: Option<String>,
    ended: bool,
}

impl Part {
    fn new(pk: String, after: Option<&str>) -> Self {
        let next = after.map(ToOwned::to_owned);
        Self { pk, rows: Vec::new(), read: 0, bytes: 0, next, ended: false }
    }

    fn append(&mut self, more: RowChunk<Message>, until: ArrivalPosition) {
        let payloads: usize = more.rows.iter().map(|it| it.payload.as_json().len()).sum();
        self.bytes += payloads + more.read * ROW_BYTES;
        self.read += more.read;
        let is_in_time = |it: &Message| it.arrived.is_none_or(|arrived| arrived <= until);
        self.rows.extend(more.rows.into_iter().filter(is_in_time));
        self.ended = more.next.is_none();
        self.next = more.next;
    }

    /// Up to which key nothing is missing; of one that was not read up to none, which is before all.
    fn end(&self, order: Order) -> Option<String> {
        let start = || match order {
            Order::Newest => "~".to_owned(),
            Order::Oldest => String::new(),
        };
        (!self.ended).then(|| self.next.clone().unwrap_or_else(start))
    }

    fn chunk(self, order: Order) -> RowChunk<Message> {
        let next = self.end(order);
        RowChunk { rows: self.rows, read: self.read, next }
    }
}

/// How many messages to ask each partition for, so that mostly all of them together have as many as are wanted.
fn share(wanted: usize, partitions: usize) -> usize {
    let even = wanted / partitions.max(1);
    (even + 2 * even.isqrt() + 2).min(wanted)
}

/// What was spent on partitions, in units.
fn used(parts: &[Part]) -> usize {
    parts.iter().map(|part| part.bytes / UNIT + 1).sum()
}

fn key(message: &Message) -> String {
    message.sort_key.to_string()
}

/// Which partitions have to be read on before as many messages are known as are wanted: those that were read less far than
/// that many go, as far as is known. Beyond the end of any of them nobody knows what comes next.
fn behind(parts: &[Part], order: Order, wanted: usize) -> Vec<usize> {
    let is_before = |one: &String, other: &String| match order {
        Order::Newest => one > other,
        Order::Oldest => one < other,
    };
    let mut known: Vec<_> = parts.iter().flat_map(|part| &part.rows).map(key).collect();
    known.sort();
    if order == Order::Newest {
        known.reverse();
    }
    let last = wanted.checked_sub(1).and_then(|nth| known.get(nth));
    let ends = parts.iter().enumerate().filter_map(|(nth, part)| Some((nth, part.end(order)?)));
    let behind = ends.filter(|(_, end)| last.is_none_or(|last| is_before(end, last)));
    behind.map(|(nth, _)| nth).collect()
}

/// No more than are wanted: what follows is read again.
fn cut(mut all: RowChunk<Message>, wanted: usize) -> RowChunk<Message> {
    if all.rows.len() > wanted {
        all.rows.truncate(wanted);
        all.next = all.rows.last().map(key);
    }
    all
}

/// A message; nothing where it was deleted.
fn message(row: &Row<'_>) -> Result<Option<Message>, DynamoError> {
    if row.flag("deleted")? {
        return Ok(None);
    }
    let sort_key = SortKey::parse(row.text("sk")?).map_err(|_| row.corrupt("sk", "a sort key"))?;
    let payload = Payload::stored(row.text("payload")?)
        .map_err(|_| row.corrupt("payload", "a JSON value of at most 4 KiB"))?;
    let author_id = row.parsed("author_id", "an id")?;
    Ok(Some(Message { sort_key, author_id, payload, arrived: ArrivalPosition::read(row)? }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::values::{ActivityId, Timestamp};
    use proptest::prelude::*;

    fn said(millis: i64) -> Message {
        let activity_id = ActivityId::new(format!("m{millis}")).expect("an id");
        let sort_key = SortKey { published_at: Timestamp::from_unix_millis(millis), activity_id };
        let author_id = ViewerId::new("bob").expect("an id");
        Message { sort_key, author_id, payload: Payload::default(), arrived: None }
    }

    /// What one call finds of messages that are in order, some of which were deleted, beyond a key.
    fn read(
        shard: &[(Message, bool)],
        after: Option<&str>,
        order: Order,
        limit: usize,
    ) -> RowChunk<Message> {
        let is_beyond = |(message, _): &&(Message, bool)| {
            after.is_none_or(|after| match order {
                Order::Newest => key(message).as_str() < after,
                Order::Oldest => key(message).as_str() > after,
            })
        };
        let rest: Vec<_> = shard.iter().filter(is_beyond).cloned().collect();
        let some = &rest[..limit.min(rest.len())];
        let next = some.last().map(|(it, _)| key(it)).filter(|_| rest.len() > some.len());
        let rows = some.iter().filter(|(_, deleted)| !deleted).map(|(it, _)| it.clone());
        RowChunk { read: some.len(), rows: rows.collect(), next }
    }

    proptest! {
        /// Whatever is in which shard, pages made of them are in order, have each message once and miss none.
        #[test]
        fn shards_are_read_as_one_list(
            spread in proptest::collection::vec((0_usize..4, any::<bool>()), 0..60),
            newest: bool,
            wanted in 1_usize..12,
            share in 1_usize..6,
            rounds in 1_usize..5,
        ) {
            let order = if newest { Order::Newest } else { Order::Oldest };
            let mut all: Vec<_> = (0_i64..).zip(&spread).map(|(at, it)| (said(at), *it)).collect();
            if newest {
                all.reverse();
            }
            let mut shards = vec![Vec::new(); 4];
            for (message, (shard, deleted)) in &all {
                shards[*shard].push((message.clone(), *deleted));
            }
            let (mut found, mut after): (Vec<Message>, Option<String>) = (Vec::new(), None);
            loop {
                let mut parts: Vec<_> =
                    (0..4).map(|n: usize| Part::new(n.to_string(), after.as_deref())).collect();
                for _ in 0..rounds {
                    for nth in behind(&parts, order, wanted) {
                        let more = read(&shards[nth], parts[nth].next.as_deref(), order, share);
                        parts[nth].append(more, ArrivalPosition::NOTHING);
                    }
                }
                let is_enough = behind(&parts, order, wanted).is_empty();
                let parts = parts.into_iter().map(|part| part.chunk(order)).collect();
                let page = cut(merged(parts, order, key), wanted);
                prop_assert!(page.rows.len() == wanted || page.next.is_none() || !is_enough);
                found.extend(page.rows);
                prop_assert!(page.next != after || after.is_none());
                after = page.next;
                if after.is_none() {
                    break;
                }
            }
            let all = all.into_iter().filter(|(_, (_, deleted))| !deleted);
            let all: Vec<_> = all.map(|(message, _)| message).collect();
            prop_assert_eq!(found, all);
        }
    }
}
