//! Reads messages in order: of a room, from all its shards, or of one author in it.

use futures::future::try_join_all;

use super::{ArrivalPosition, Rooms, Shards, keys};
use crate::platform::dynamo::DynamoError;
use crate::platform::dynamo::item::Row;
use crate::platform::ledger::LedgerKey;
use crate::platform::paging::{RowChunk, Slice, merged};
use crate::platform::values::{Order, Payload, RoomId, SortKey, Span, ViewerId};

/// The most rounds of calls for a page, plus one if its messages are read once more.
const ROUNDS: usize = 6;
/// The read units after which a page ends with what was found, unless the wanted number of messages takes more.
const UNITS: usize = 160;
/// The most rows of one round.
const ROWS: usize = 160;
/// The size of a row without its payload, and of a read unit, in bytes.
const ROW_BYTES: usize = 330;
const UNIT: usize = 4_096;

/// A message, as it is read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RoomMessage {
    pub sort_key: SortKey,
    pub author_id: ViewerId,
    pub payload: Payload,
    /// Its position in the order of arrival.
    pub arrived: ArrivalPosition,
}

/// What is stored at the key of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StoredRow {
    Message,
    Tombstone,
}

/// Which messages are asked for.
#[derive(Debug, Clone, Copy)]
pub struct MessagesQuery<'a> {
    /// The range of instants, and the order.
    pub span: Span,
    /// The stored key to begin after.
    pub after: Option<&'a str>,
    pub wanted: usize,
    /// The bound: messages that arrived later are left out.
    pub until: ArrivalPosition,
}

/// The remaining budget of a page for reading messages, however often it reads them.
#[derive(Debug, Clone, Copy)]
pub struct Effort {
    rounds: usize,
    units: usize,
    /// The units that each reading may spend in any case: those of the wanted number of messages.
    least: usize,
}

impl Effort {
    /// The budget of a page of `wanted` messages that spends `others` units on the last row of arrivals.
    pub fn of_page(wanted: usize, others: usize) -> Self {
        let least = (wanted * (UNIT + ROW_BYTES)).div_ceil(UNIT);
        Self { rounds: ROUNDS, units: UNITS.saturating_sub(others), least }
    }

    /// The number of rows of the largest size that the remaining units pay for.
    fn rows(self, used: usize) -> usize {
        self.units.max(self.least).saturating_sub(used) * UNIT / (UNIT + ROW_BYTES)
    }
}

/// Where messages are.
#[derive(Debug, Clone, Copy)]
pub struct MessageList<'a> {
    pub room: &'a RoomId,
    /// The number of partitions that it is spread over.
    pub shards: Shards,
    /// The author, if only their messages are read.
    pub author: Option<&'a ViewerId>,
}

impl MessageList<'_> {
    fn partitions(&self) -> Vec<String> {
        match self.author {
            Some(author) => vec![keys::said(self.room, author)],
            None => (0..self.shards.count()).map(|shard| keys::shard(self.room, &shard)).collect(),
        }
    }
}

impl Rooms {
    /// Reads the wanted number of messages of a list, or fewer if many among them were deleted; then it says where to continue. It
    /// makes at least one round of calls, which reads at least one row of each partition, and more within the effort of the page.
    pub async fn messages(
        &self,
        list: MessageList<'_>,
        asked: MessagesQuery<'_>,
        effort: &mut Effort,
    ) -> Result<RowChunk<RoomMessage>, DynamoError> {
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
                let slice = Slice { span, after: part.next.as_deref(), limit: rows };
                RowChunk::read(&self.ledger, &part.pk, slice, message)
            });
            let read = try_join_all(reads).await?;
            behind.iter().zip(read).for_each(|(nth, chunk)| parts[*nth].append(chunk, until));
            most = effort.rows(used(&parts));
        }
        effort.units = effort.units.saturating_sub(used(&parts));
        let parts = parts.into_iter().map(|part| part.chunk(span.order)).collect();
        Ok(cut(merged(parts, span.order, key), wanted))
    }

    /// What is stored at the key of a row, if anything.
    pub async fn stored(&self, row: LedgerKey) -> Result<Option<StoredRow>, DynamoError> {
        let Some(row) = self.ledger.get(row).await? else { return Ok(None) };
        let deleted = row.flag("deleted")?;
        Ok(Some(if deleted { StoredRow::Tombstone } else { StoredRow::Message }))
    }
}

/// What was read of a partition so far.
#[derive(Debug)]
struct Part {
    pk: String,
    rows: Vec<RoomMessage>,
    read: usize,
    bytes: usize,
    /// The key to continue after; `None` at the start.
    next: Option<String>,
    ended: bool,
}

impl Part {
    fn new(pk: String, after: Option<&str>) -> Self {
        let next = after.map(ToOwned::to_owned);
        Self { pk, rows: Vec::new(), read: 0, bytes: 0, next, ended: false }
    }

    fn append(&mut self, more: RowChunk<RoomMessage>, until: ArrivalPosition) {
        let payloads: usize = more.rows.iter().map(|it| it.payload.as_json().len()).sum();
        self.bytes += payloads + more.read * ROW_BYTES;
        self.read += more.read;
        let is_in_time = |it: &RoomMessage| it.arrived <= until;
        self.rows.extend(more.rows.into_iter().filter(is_in_time));
        self.ended = more.next.is_none();
        self.next = more.next;
    }

    /// The key up to which it was read; `None`, which is before all keys, if it was not read.
    fn end(&self, order: Order) -> Option<String> {
        let start = || match order {
            Order::Newest => "~".to_owned(),
            Order::Oldest => String::new(),
        };
        (!self.ended).then(|| self.next.clone().unwrap_or_else(start))
    }

    fn chunk(self, order: Order) -> RowChunk<RoomMessage> {
        let next = self.end(order);
        RowChunk { rows: self.rows, read: self.read, next }
    }
}

/// The number of messages to read of each partition, so that together they mostly have the wanted number.
fn share(wanted: usize, partitions: usize) -> usize {
    let even = wanted / partitions.max(1);
    (even + 2 * even.isqrt() + 2).min(wanted)
}

/// The units that were spent on partitions.
fn used(parts: &[Part]) -> usize {
    parts.iter().map(|part| part.bytes / UNIT + 1).sum()
}

fn key(message: &RoomMessage) -> String {
    message.sort_key.to_string()
}

/// The partitions to read on before the wanted number of messages is known: those that were read less far than that number reaches,
/// as far as is known. Beyond the end of any of them, the next message is unknown.
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

/// Cuts messages to the wanted number; what follows is read again.
fn cut(mut all: RowChunk<RoomMessage>, wanted: usize) -> RowChunk<RoomMessage> {
    if all.rows.len() > wanted {
        all.rows.truncate(wanted);
        all.next = all.rows.last().map(key);
    }
    all
}

/// Reads a message; `None` if it was deleted.
fn message(row: &Row<'_>) -> Result<Option<RoomMessage>, DynamoError> {
    if row.flag("deleted")? {
        return Ok(None);
    }
    let sort_key = row.parsed("sk", "a sort key")?;
    let payload = Payload::stored(row.text("payload")?)
        .map_err(|_| row.corrupt("payload", "a JSON value of at most 4 KiB"))?;
    let author_id = row.parsed("author_id", "an id")?;
    Ok(Some(RoomMessage { sort_key, author_id, payload, arrived: ArrivalPosition::read(row)? }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::platform::values::{ActivityId, Timestamp};
    use proptest::prelude::*;

    fn said(millis: i64) -> RoomMessage {
        let activity_id = ActivityId::new(format!("m{millis}")).expect("an id");
        let sort_key = SortKey { published_at: Timestamp::from_unix_millis(millis), activity_id };
        let author_id = ViewerId::new("bob").expect("an id");
        RoomMessage {
            sort_key,
            author_id,
            payload: Payload::default(),
            arrived: ArrivalPosition::NOTHING,
        }
    }

    /// Models one call: ordered messages after a key, some of which are deleted.
    fn read(
        shard: &[(RoomMessage, bool)],
        after: Option<&str>,
        order: Order,
        limit: usize,
    ) -> RowChunk<RoomMessage> {
        let is_beyond = |(message, _): &&(RoomMessage, bool)| {
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
        /// However messages are spread over shards, pages are in order, have each message once, and miss none.
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
            let (mut found, mut after): (Vec<RoomMessage>, Option<String>) = (Vec::new(), None);
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
