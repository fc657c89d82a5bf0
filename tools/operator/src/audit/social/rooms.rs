//! Audits of rooms: comparing the rows that readers are shown with the claims on the ids of messages, and with what was deleted.
//!
//! Nothing but the rows themselves lists messages, so the whole ledger is scanned, once for all rooms. A message that differs is then
//! read again, alone. A command in flight writes the claim before the rows, and the marker before the tombstones, so a message may be
//! found in between.

use std::collections::{BTreeMap, BTreeSet};

use futures::{StreamExt, TryStreamExt, stream};
use serde::Serialize;
use shared::platform::dynamo::IN_FLIGHT;
use shared::platform::ledger::{Ledger, LedgerKey};
use shared::platform::runtime::clock::Clock;
use shared::platform::values::{MessageId, RoomId};
use shared::social::rooms::{OnRecord, Reason, Rooms, Shards, WrongRow, keys};

use super::Kind;
use crate::Result;
use crate::scan::scan;

/// What differs in a room.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(untagged)]
pub enum RoomDifference {
    /// A row differs from what was claimed.
    Row {
        room_id: RoomId,
        message_id: MessageId,
        difference: Kind,
        reason: Reason,
        pk: String,
        sk: String,
    },
    /// Messages were spread over more shards than readers look at.
    Shards { room_id: RoomId, shards: u16, needed: u16 },
    /// Everybody may read the room, though somebody has joined it.
    Open {
        room_id: RoomId,
        /// True.
        open: bool,
    },
}

#[derive(Debug, Clone)]
pub struct RoomsAuditor {
    ledger: Ledger,
    rooms: Rooms,
    clock: Clock,
}

/// What a scan finds of some rooms.
#[derive(Default)]
struct Scanned {
    messages: BTreeMap<(RoomId, MessageId), OnRecord>,
    /// The rooms that somebody is in.
    joined: BTreeSet<RoomId>,
}

impl RoomsAuditor {
    pub fn new(ledger: &Ledger, clock: Clock) -> Self {
        Self { ledger: ledger.clone(), rooms: Rooms::new(ledger), clock }
    }

    pub async fn differences(&self, rooms: &[RoomId]) -> Result<Vec<RoomDifference>> {
        if rooms.is_empty() {
            return Ok(Vec::new());
        }
        let Scanned { messages, joined } = self.scanned(rooms).await?;
        let suspects = messages.iter().filter_map(|((room, message), record)| {
            let wrong = record.wrong(room, message);
            (!wrong.is_empty()).then_some((room, message, wrong))
        });
        let found: Vec<_> = stream::iter(suspects)
            .map(|(room, message, wrong)| self.compared(room, message, wrong))
            .buffered(IN_FLIGHT)
            .try_collect()
            .await?;
        let mut differences: Vec<_> = found.into_iter().flatten().collect();
        for room in rooms {
            let of_room = messages.iter().filter(|((of, _), _)| of == room);
            let needed = of_room.clone().filter_map(|(_, record)| record.shards()).max();
            let is_closed = joined.contains(room) || of_room.clone().any(|(_, it)| it.is_private());
            let there = self.rooms.room(room).await?;
            let needed = needed.filter(|needed| *needed > there.shards);
            differences.extend(needed.map(|needed| RoomDifference::Shards {
                room_id: room.clone(),
                shards: there.shards.count(),
                needed: needed.count(),
            }));
            let is_open = is_closed && !there.private;
            let open = RoomDifference::Open { room_id: room.clone(), open: true };
            differences.extend(is_open.then_some(open));
        }
        differences.sort_unstable();
        Ok(differences)
    }

    async fn scanned(&self, rooms: &[RoomId]) -> Result<Scanned> {
        let only = match rooms {
            [room] => Some(room),
            _ => None,
        };
        let mut scanned = Scanned::default();
        scan(self.ledger.table(), "items of the ledger read", keys::items_of(only), |row| {
            let key = LedgerKey::of(row)?;
            if let Some(room) = keys::room_of_membership(&key.pk, &key.sk) {
                if rooms.contains(&room) && row.flag("present")? {
                    scanned.joined.insert(room);
                }
                return Ok(());
            }
            let item = keys::of_key(&key.pk, &key.sk);
            match item.as_ref().and_then(|item| item.message()) {
                Some((room, message)) if rooms.contains(room) => {
                    let of = (room.clone(), message.clone());
                    scanned.messages.entry(of).or_default().add(row)
                }
                _ => Ok(()),
            }
        })
        .await?;
        Ok(scanned)
    }

    /// The difference of a message that is read again, alone.
    async fn compared(
        &self,
        room: &RoomId,
        message: &MessageId,
        suspected: Vec<WrongRow>,
    ) -> Result<Vec<RoomDifference>> {
        let rows = suspected.into_iter().map(|wrong| wrong.key);
        let record = self.rooms.on_record(room, message, rows).await?;
        let wrong = record.wrong(room, message).into_iter();
        let differences = wrong.map(|WrongRow { key: LedgerKey { pk, sk }, reason }| {
            let (room_id, message_id) = (room.clone(), message.clone());
            RoomDifference::Row { room_id, message_id, difference: kind(reason), reason, pk, sk }
        });
        Ok(differences.collect())
    }

    pub async fn repair(&self, differences: &[RoomDifference]) -> Result<()> {
        let mut messages = BTreeMap::<_, Vec<_>>::new();
        for difference in differences {
            match difference {
                RoomDifference::Row { room_id, message_id, pk, sk, .. } => {
                    let key = LedgerKey { pk: pk.clone(), sk: sk.clone() };
                    messages.entry((room_id, message_id)).or_default().push(key);
                }
                RoomDifference::Shards { room_id, needed, .. } => {
                    let needed = Shards::new(u64::from(*needed)).unwrap_or_default();
                    self.rooms.grow_to(room_id, needed).await?;
                }
                RoomDifference::Open { room_id, .. } => {
                    self.rooms.make_private(room_id).await?;
                }
            }
        }
        stream::iter(messages)
            .map(Ok)
            .try_for_each_concurrent(IN_FLIGHT, async |((room, message), rows)| {
                let record = self.rooms.on_record(room, message, rows).await?;
                self.rooms.repair_message(room, message, &record, self.clock.now()).await
            })
            .await
    }
}

fn kind(reason: Reason) -> Kind {
    match reason {
        Reason::Absent | Reason::Hidden => Kind::Missing,
        Reason::Deleted | Reason::Unclaimed | Reason::Misplaced => Kind::Extra,
        Reason::Author | Reason::Payload => Kind::Stale,
    }
}
