//! Messages in order: those of a room, from all its shards, or those of one author in it.

use futures::future::try_join_all;

use super::{Rooms, Shards, keys};
use crate::dynamo::DynamoError;
use crate::dynamo::item::Row;
use crate::ledger::LedgerKey;
use crate::paging::{Stretch, merged};
use crate::runtime::deadline::Deadline;
use crate::values::{Order, Payload, RoomId, SortKey, Span, ViewerId};

/// A message as readers are given it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// Its place in the room.
    pub sort_key: SortKey,
    /// Who said it.
    pub author_id: ViewerId,
    /// What.
    pub payload: Payload,
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
pub struct Asked<'a> {
    /// Between which instants, and from which end.
    pub span: Span,
    /// Beyond which stored key to begin.
    pub after: Option<&'a str>,
    /// How many.
    pub wanted: usize,
}

impl Rooms {
    /// What one author said in a room.
    ///
    /// # Errors
    /// [`DynamoError`]
    pub async fn said_by(
        &self,
        room: &RoomId,
        author: &ViewerId,
        asked: Asked<'_>,
        deadline: Deadline,
    ) -> Result<Stretch<Message>, DynamoError> {
        self.partition(&keys::said(room, author), asked, deadline).await
    }

    /// What there is in the first shard of a room: all of it, if the room was never busy.
    ///
    /// # Errors
    /// [`DynamoError`]
    pub async fn in_first_shard(
        &self,
        room: &RoomId,
        asked: Asked<'_>,
        deadline: Deadline,
    ) -> Result<Stretch<Message>, DynamoError> {
        self.partition(&keys::shard(room, 0), asked, deadline).await
    }

    /// What there is in all shards, given what was read of the first.
    ///
    /// # Errors
    /// [`DynamoError`]
    pub async fn in_all_shards(
        &self,
        room: &RoomId,
        shards: Shards,
        first: Stretch<Message>,
        asked: Asked<'_>,
        deadline: Deadline,
    ) -> Result<Stretch<Message>, DynamoError> {
        let pks: Vec<_> = (0..shards.count()).map(|shard| keys::shard(room, shard)).collect();
        let (order, wanted) = (asked.span.order, asked.wanted);
        let asked = Asked { wanted: share(wanted, shards), ..asked };
        let others = pks.iter().skip(1).map(|pk| self.partition(pk, asked, deadline));
        let mut parts = vec![first];
        parts.extend(try_join_all(others).await?);
        while let Some((nth, end)) = behind(&parts, order, wanted) {
            let asked = Asked { after: Some(&end), ..asked };
            append(&mut parts[nth], self.partition(&pks[nth], asked, deadline).await?);
        }
        Ok(cut(merged(parts, order, key), wanted))
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
        Asked { span, after, wanted }: Asked<'_>,
        deadline: Deadline,
    ) -> Result<Stretch<Message>, DynamoError> {
        Stretch::read(&self.ledger, pk, span, after, wanted, message, deadline).await
    }
}

/// How many messages to ask each shard for, so that mostly all of them together have as many as are wanted.
fn share(wanted: usize, shards: Shards) -> usize {
    let even = wanted / usize::from(shards.count());
    (even + 2 * even.isqrt() + 2).min(wanted)
}

fn key(message: &Message) -> String {
    message.sort_key.to_string()
}

/// Which shard has to be read on before as many messages are known as are wanted, and from where, if one has to be: the one
/// that was read the least far. Beyond its end nobody knows what comes next.
fn behind(parts: &[Stretch<Message>], order: Order, wanted: usize) -> Option<(usize, String)> {
    let ends = parts.iter().enumerate();
    let ends = ends.filter_map(|(nth, part)| Some((part.next.clone()?, nth)));
    let (end, nth) = match order {
        Order::Newest => ends.max(),
        Order::Oldest => ends.min(),
    }?;
    let is_known = |message: &&Message| match order {
        Order::Newest => key(message) >= end,
        Order::Oldest => key(message) <= end,
    };
    let known = parts.iter().flat_map(|part| &part.rows).filter(is_known).count();
    (known < wanted).then_some((nth, end))
}

/// Adds what comes next in a shard.
fn append(part: &mut Stretch<Message>, more: Stretch<Message>) {
    part.rows.extend(more.rows);
    part.read += more.read;
    part.next = more.next;
}

/// No more than are wanted: what follows is read again.
fn cut(mut all: Stretch<Message>, wanted: usize) -> Stretch<Message> {
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
    Ok(Some(Message { sort_key, author_id: row.parsed("author_id", "an id")?, payload }))
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
        Message { sort_key, author_id, payload: Payload::default() }
    }

    /// What one call finds of messages that are in order, beyond a key.
    fn read(
        shard: &[Message],
        after: Option<&str>,
        order: Order,
        limit: usize,
    ) -> Stretch<Message> {
        let is_beyond = |message: &&Message| {
            after.is_none_or(|after| match order {
                Order::Newest => key(message).as_str() < after,
                Order::Oldest => key(message).as_str() > after,
            })
        };
        let rest: Vec<_> = shard.iter().filter(is_beyond).cloned().collect();
        let rows = rest[..limit.min(rest.len())].to_vec();
        let next = rows.last().map(key).filter(|_| rest.len() > rows.len());
        Stretch { read: rows.len(), rows, next }
    }

    proptest! {
        /// Whatever is in which shard, pages made of them are in order, have each message once and miss none.
        #[test]
        fn shards_are_read_as_one_list(
            spread in proptest::collection::vec(0_usize..4, 0..60),
            newest: bool,
            wanted in 1_usize..12,
            share in 1_usize..6,
        ) {
            let order = if newest { Order::Newest } else { Order::Oldest };
            let mut all: Vec<_> =
                (0_i64..).zip(&spread).map(|(at, shard)| (said(at), *shard)).collect();
            if newest {
                all.reverse();
            }
            let mut shards = vec![Vec::new(); 4];
            all.iter().for_each(|(message, shard)| shards[*shard].push(message.clone()));
            let (mut found, mut after): (Vec<Message>, Option<String>) = (Vec::new(), None);
            loop {
                let parts = shards.iter().map(|shard| read(shard, after.as_deref(), order, share));
                let mut parts: Vec<_> = parts.collect();
                while let Some((nth, end)) = behind(&parts, order, wanted) {
                    append(&mut parts[nth], read(&shards[nth], Some(&end), order, share));
                }
                let page = cut(merged(parts, order, key), wanted);
                prop_assert!(page.rows.len() == wanted || page.next.is_none());
                found.extend(page.rows);
                after = page.next;
                if after.is_none() {
                    break;
                }
            }
            let all: Vec<_> = all.into_iter().map(|(message, _)| message).collect();
            prop_assert_eq!(found, all);
        }
    }
}
