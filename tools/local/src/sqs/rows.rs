//! The SQL: one function a statement.

use std::collections::{BTreeMap, HashMap};

use rusqlite::{Connection, Row, named_params, params};

use super::attribute::Attributes;
use super::error::QueueError;
use super::limits::{self, millis};
use super::message::{MessageId, NewMessage, ReceivedMessage};
use super::receipt::ReceiptHandle;
use super::schema::QueueKey;

/// A message that is visible, as the index knows it.
pub(super) struct Ready {
    pub(super) seq: i64,
    pub(super) receives: u32,
}

/// What the index knows about messages that are not visible.
pub(super) struct Hidden {
    pub(super) in_flight: u64,
    pub(super) delayed: u64,
}

/// How many pages of the database are in use.
pub(super) fn used_pages(db: &Connection) -> Result<u64, QueueError> {
    let mut statement = db.prepare_cached(
        "SELECT page_count - freelist_count FROM pragma_page_count, pragma_freelist_count",
    )?;
    Ok(statement.query_row([], |row| row.get(0))?)
}

/// The queue's key and the time of its creation, as stored.
pub(super) fn register(
    db: &Connection,
    name: &str,
    now: i64,
) -> Result<(QueueKey, i64), QueueError> {
    db.execute(
        "INSERT INTO queues (name, created_at) VALUES (?1, ?2) ON CONFLICT DO NOTHING",
        params![name, now],
    )?;
    let stored =
        db.query_row("SELECT id, created_at FROM queues WHERE name = ?1", [name], |row| {
            Ok((QueueKey(row.get(0)?), row.get(1)?))
        })?;
    Ok(stored)
}

pub(super) fn total(db: &Connection, queue: QueueKey) -> Result<u64, QueueError> {
    let mut statement = db.prepare_cached("SELECT messages FROM queues WHERE id = ?1")?;
    Ok(statement.query_row([queue.0], |row| row.get(0))?)
}

pub(super) fn add_to_total(
    db: &Connection,
    queue: QueueKey,
    change: i64,
) -> Result<(), QueueError> {
    if change != 0 {
        db.prepare_cached("UPDATE queues SET messages = messages + ?2 WHERE id = ?1")?
            .execute(params![queue.0, change])?;
    }
    Ok(())
}

pub(super) fn insert(
    db: &Connection,
    queue: QueueKey,
    message: &NewMessage,
    now: i64,
    visible_at: i64,
) -> Result<MessageId, QueueError> {
    let id = MessageId::random();
    db.prepare_cached(
        "INSERT INTO messages (queue, visible_at, sent_at, first_received_at, receipt, message_id,
             group_id, attributes, body)
         VALUES (:queue, :visible_at, :now, :now, zeroblob(16), :id,
             :group_id, :attributes, :body)",
    )?
    .execute(named_params! {
        ":queue": queue.0,
        ":visible_at": visible_at,
        ":now": now,
        ":id": id.as_bytes(),
        ":group_id": message.group_id,
        ":attributes": encode(&message.attributes)?,
        ":body": message.body,
    })?;
    Ok(id)
}

/// The messages to hand out next, in the order in which they are due.
fn due(db: &Connection, queue: QueueKey, now: i64, max: usize) -> Result<Vec<Ready>, QueueError> {
    let mut statement = db.prepare_cached(
        "SELECT seq, receives FROM messages INDEXED BY by_visibility
         WHERE queue = ?1 AND visible_at <= ?2 ORDER BY visible_at, receives, seq LIMIT ?3",
    )?;
    let found = statement.query_map(params![queue.0, now, max], |row| {
        Ok(Ready { seq: row.get(0)?, receives: row.get(1)? })
    })?;
    Ok(found.collect::<Result<_, _>>()?)
}

/// Where the first due message of a quiet group may be: all that are due earlier are of groups that were noisy. It spares a receive
/// from looking at a long backlog of a noisy group again.
pub(super) struct QuietFrom {
    queue: i64,
    noisy: HashMap<String, u64>,
    visible_at: i64,
    /// When it was found out.
    now: i64,
}

/// The messages to hand out next. If more are due than `max`, those of quiet groups come first, and then those of the noisy group that
/// has the fewest in flight: as in fair queues of SQS. A message without a group is a group of its own.
///
/// SQS calls a group noisy if it has more than a tenth of what is in flight and at least 30 messages, or if it took more than a tenth
/// of the time that consumers spent lately. With as few consumers as here, the number of messages in flight stands for both.
pub(super) fn ready(
    db: &Connection,
    queue: QueueKey,
    now: i64,
    max: usize,
    quiet_from: &mut Option<QuietFrom>,
) -> Result<Vec<Ready>, QueueError> {
    let due_first = due(db, queue, now, max)?;
    if due_first.len() < max {
        return Ok(due_first);
    }
    let noisy = noisy(db, queue, now)?;
    if noisy.is_empty() {
        return Ok(due_first);
    }
    // What becomes visible later is due later, as long as the clock does not go back.
    let known = quiet_from.take().filter(|known| {
        let is_noisy = |group: &String| noisy.contains_key(group);
        known.queue == queue.0 && known.now <= now && known.noisy.keys().all(is_noisy)
    });
    let from = known.map_or(i64::MIN, |known| known.visible_at);
    let (mut ready, mut reached, mut first) = (Vec::new(), from, None);
    look(db, (queue, from, now), |visible_at, message, group| {
        reached = visible_at;
        if group.is_none_or(|group| !noisy.contains_key(group)) {
            first.get_or_insert(visible_at);
            ready.push(message);
        }
        ready.len() < max
    })?;
    let left = max - ready.len();
    if left > 0 {
        ready.extend(of_noisy(db, queue, now, left, &noisy)?);
    }
    let visible_at = first.unwrap_or(reached);
    *quiet_from = Some(QuietFrom { queue: queue.0, noisy, visible_at, now });
    Ok(ready)
}

/// The messages of noisy groups to hand out next.
fn of_noisy(
    db: &Connection,
    queue: QueueKey,
    now: i64,
    max: usize,
    noisy: &HashMap<String, u64>,
) -> Result<Vec<Ready>, QueueError> {
    let fewest = noisy.values().min();
    let mut found = BTreeMap::<_, Vec<_>>::new();
    look(db, (queue, i64::MIN, now), |_, message, group| {
        let Some(in_flight) = group.and_then(|group| noisy.get(group)) else { return true };
        let of_group = found.entry(*in_flight).or_default();
        of_group.extend((of_group.len() < max).then_some(message));
        Some(in_flight) != fewest || of_group.len() < max
    })?;
    Ok(found.into_values().flatten().take(max).collect())
}

/// Looks at due messages that are visible since an instant, with their groups, as long as the closure returns true.
fn look(
    db: &Connection,
    (queue, from, now): (QueueKey, i64, i64),
    mut goes_on: impl FnMut(i64, Ready, Option<&str>) -> bool,
) -> Result<(), QueueError> {
    let mut statement = db.prepare_cached(
        "SELECT seq, receives, group_id, visible_at FROM messages INDEXED BY by_visibility
         WHERE queue = ?1 AND visible_at BETWEEN ?2 AND ?3 ORDER BY visible_at, receives LIMIT ?4",
    )?;
    let mut rows = statement.query(params![queue.0, from, now, LOOKED_AT])?;
    while let Some(row) = rows.next()? {
        let message = Ready { seq: row.get(0)?, receives: row.get(1)? };
        if !goes_on(row.get(3)?, message, group(row)?) {
            break;
        }
    }
    Ok(())
}

fn group<'r>(row: &'r Row<'_>) -> Result<Option<&'r str>, QueueError> {
    let group = row.get_ref(2)?.as_str_or_null().map_err(rusqlite::Error::from)?;
    Ok(group)
}

/// How many due messages are examined to find those of quiet groups: a few milliseconds' worth.
const LOOKED_AT: i64 = 30_000;
/// A group with fewer messages in flight is quiet.
const NOISY: u64 = 5;

/// The groups that have more than a tenth of what is in flight, and how many messages that is.
fn noisy(db: &Connection, queue: QueueKey, now: i64) -> Result<HashMap<String, u64>, QueueError> {
    let mut statement = db.prepare_cached(
        "SELECT group_id, COUNT(*) FROM messages INDEXED BY by_visibility
         WHERE queue = ?1 AND visible_at > ?2 AND receives > 0 GROUP BY group_id",
    )?;
    let groups =
        statement.query_map(params![queue.0, now], |row| Ok((row.get(0)?, row.get(1)?)))?;
    let groups = groups.collect::<Result<Vec<(Option<String>, u64)>, _>>()?;
    let all: u64 = groups.iter().map(|(_, in_flight)| in_flight).sum();
    let is_noisy = |in_flight: u64| in_flight >= NOISY && in_flight * 10 > all;
    let noisy = groups.into_iter().filter(|(_, in_flight)| is_noisy(*in_flight));
    Ok(noisy.filter_map(|(group, in_flight)| Some((group?, in_flight))).collect())
}

/// Counts one receive of the message that `receipt` names, and hides it.
pub(super) fn deliver(
    db: &Connection,
    receipt: ReceiptHandle,
    now: i64,
    visible_at: i64,
) -> Result<ReceivedMessage, QueueError> {
    let mut statement = db.prepare_cached(
        "UPDATE messages SET visible_at = :visible_at, receives = receives + 1, receipt = :receipt,
             first_received_at = CASE receives WHEN 0 THEN :now ELSE first_received_at END
         WHERE seq = :seq
         RETURNING message_id, attributes, body, group_id, sent_at, receives, first_received_at,
             dead_letter_source",
    )?;
    let parameters = named_params! {
        ":seq": receipt.seq, ":receipt": receipt.nonce, ":now": now, ":visible_at": visible_at,
    };
    statement.query_row(parameters, |row| Ok(received(row, receipt)))?
}

fn received(row: &Row<'_>, receipt_handle: ReceiptHandle) -> Result<ReceivedMessage, QueueError> {
    Ok(ReceivedMessage {
        message_id: MessageId::from_bytes(row.get(0)?),
        receipt_handle,
        attributes: decode(row.get(1)?)?,
        body: row.get(2)?,
        group_id: row.get(3)?,
        sent_at: row.get(4)?,
        receive_count: row.get(5)?,
        first_received_at: row.get(6)?,
        dead_letter_source: row.get(7)?,
    })
}

/// Moves a message; no receipt of its old queue holds any longer.
pub(super) fn move_to(
    db: &Connection,
    seq: i64,
    target: QueueKey,
    source_name: &str,
    now: i64,
) -> Result<(), QueueError> {
    db.prepare_cached(
        "UPDATE messages SET queue = ?2, dead_letter_source = ?3, visible_at = ?4, receives = 0,
             receipt = zeroblob(16)
         WHERE seq = ?1",
    )?
    .execute(params![seq, target.0, source_name, now])?;
    Ok(())
}

/// True if a message was deleted: the receipt may be of an earlier receive.
pub(super) fn delete(db: &Connection, receipt: &ReceiptHandle) -> Result<bool, QueueError> {
    let mut statement = db.prepare_cached(
        "DELETE FROM messages WHERE seq = ?1 AND queue = ?2 AND receipt = ?3 AND receives > 0",
    )?;
    Ok(statement.execute(params![receipt.seq, receipt.queue.0, receipt.nonce])? == 1)
}

/// Hides a message in flight, if the receipt is of its latest receive.
pub(super) fn hide_until(
    db: &Connection,
    receipt: &ReceiptHandle,
    now: i64,
    visible_at: i64,
) -> Result<(), QueueError> {
    db.prepare_cached(
        "UPDATE messages SET visible_at = ?5
         WHERE seq = ?1 AND queue = ?2 AND receipt = ?3 AND receives > 0 AND visible_at > ?4",
    )?
    .execute(params![receipt.seq, receipt.queue.0, receipt.nonce, now, visible_at])?;
    Ok(())
}

/// Makes what has been received and not deleted visible now.
pub(super) fn show_in_flight(db: &Connection, queue: QueueKey, now: i64) -> Result<(), QueueError> {
    db.prepare_cached(
        "UPDATE messages SET visible_at = ?2
         WHERE queue = ?1 AND visible_at > ?2 AND (receives > 0 OR visible_at > ?3)",
    )?
    .execute(params![queue.0, now, now.saturating_add(millis(limits::MAX_DELAY))])?;
    Ok(())
}

/// Drops messages that were sent at that time or before. Returns how many.
pub(super) fn expire(db: &Connection, queue: QueueKey, sent_until: i64) -> Result<i64, QueueError> {
    let mut statement = db.prepare_cached(
        "DELETE FROM messages INDEXED BY by_age WHERE queue = ?1 AND sent_at <= ?2",
    )?;
    Ok(rows_changed(statement.execute(params![queue.0, sent_until])?))
}

pub(super) fn purge(db: &Connection, queue: QueueKey) -> Result<i64, QueueError> {
    let mut statement = db.prepare_cached("DELETE FROM messages WHERE queue = ?1")?;
    Ok(rows_changed(statement.execute([queue.0])?))
}

pub(super) fn hidden(db: &Connection, queue: QueueKey, now: i64) -> Result<Hidden, QueueError> {
    let mut statement = db.prepare_cached(
        "SELECT COUNT(*) FILTER (WHERE receives > 0), COUNT(*) FILTER (WHERE receives = 0)
         FROM messages INDEXED BY by_visibility WHERE queue = ?1 AND visible_at > ?2",
    )?;
    Ok(statement.query_row(params![queue.0, now], |row| {
        Ok(Hidden { in_flight: row.get(0)?, delayed: row.get(1)? })
    })?)
}

/// The place of the latest message, among those of all queues.
pub(super) fn last(db: &Connection) -> Result<i64, QueueError> {
    let mut statement = db.prepare_cached("SELECT IFNULL(MAX(seq), 0) FROM messages")?;
    Ok(statement.query_row([], |row| row.get(0))?)
}

/// How many messages up to a place are visible or in flight.
pub(super) fn unfinished(
    db: &Connection,
    queue: QueueKey,
    now: i64,
    until: i64,
) -> Result<u64, QueueError> {
    let mut statement = db.prepare_cached(
        "SELECT COUNT(*) FROM messages
         WHERE queue = ?1 AND seq <= ?3 AND (visible_at <= ?2 OR receives > 0)",
    )?;
    Ok(statement.query_row(params![queue.0, now, until], |row| row.get(0))?)
}

/// When the oldest message was sent that is visible or in flight.
pub(super) fn oldest_sent_at(
    db: &Connection,
    queue: QueueKey,
    now: i64,
) -> Result<Option<i64>, QueueError> {
    let mut statement = db.prepare_cached(
        "SELECT MIN(sent_at) FROM messages WHERE queue = ?1 AND (visible_at <= ?2 OR receives > 0)",
    )?;
    Ok(statement.query_row(params![queue.0, now], |row| row.get(0))?)
}

/// When the first delayed message is to be handed out.
pub(super) fn first_delayed_at(
    db: &Connection,
    queue: QueueKey,
    now: i64,
) -> Result<Option<i64>, QueueError> {
    let mut statement = db.prepare_cached(
        "SELECT MIN(visible_at) FROM messages INDEXED BY by_visibility
         WHERE queue = ?1 AND visible_at > ?2 AND receives = 0",
    )?;
    Ok(statement.query_row(params![queue.0, now], |row| row.get(0))?)
}

/// When the first message is, or was, to be handed out.
pub(super) fn first_visible_at(
    db: &Connection,
    queue: QueueKey,
) -> Result<Option<i64>, QueueError> {
    let mut statement = db.prepare_cached(
        "SELECT MIN(visible_at) FROM messages INDEXED BY by_visibility WHERE queue = ?1",
    )?;
    Ok(statement.query_row([queue.0], |row| row.get(0))?)
}

fn rows_changed(count: usize) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

fn encode(attributes: &Attributes) -> Result<Option<String>, QueueError> {
    if attributes.is_empty() {
        return Ok(None);
    }
    let json = serde_json::to_string(&attributes.clone().into_raw());
    json.map(Some).map_err(|e| QueueError::Corrupt(e.to_string()))
}

fn decode(stored: Option<String>) -> Result<Attributes, QueueError> {
    let Some(json) = stored else {
        return Ok(Attributes::default());
    };
    let raw = serde_json::from_str(&json).map_err(|e| QueueError::Corrupt(e.to_string()))?;
    Attributes::from_raw(raw).map_err(|e| QueueError::Corrupt(e.to_string()))
}
