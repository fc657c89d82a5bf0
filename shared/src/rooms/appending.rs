//! Messages added to the [list of arrivals](super::arrivals), many at once.
//!
//! # One row after the other
//!
//! All writers of a room add to the end of one list, and only one of them can put the next row. So those in one process queue
//! up: whoever's turn it is adds all that wait, as one row. While calls are slow rows become longer, and no message waits for
//! more than the rows of those that came before it. Of several processes one wins each number. The others wait a moment and
//! try the next, until their deadline, after which the command goes back to its queue. Each try that is lost is a row of
//! somebody else's that was added, so the list as a whole always goes on.
//!
//! # What is added next
//!
//! ```text
//! 1  the last row, n        2  have it whole        3  put n+1, where nothing is        4  have that whole
//! ```
//!
//! What a process has just made whole it goes on from without reading it again, while others wait for their turn. That is
//! no memory: what it says is tried by the put, and it is gone with the last that waits.
//!
//! Step 2 does for a message what a delivery of it does: look for the marker of its delete, put its rows where nothing is.
//! So it may happen beside that delivery, or long after it died.

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::sync::Arc;

use futures::future::try_join_all;
use parking_lot::Mutex;
use tokio::sync::{Mutex as Turns, oneshot};

use super::arrivals::{Arrival, ArrivalPosition, ArrivalRow, MOST, MOST_BYTES, content};
use super::{Rooms, keys};
use crate::dynamo::item::{Item, Key, Row};
use crate::dynamo::{BATCH_GET, Condition, DynamoError, Put};
use crate::ledger::LedgerKey;
use crate::runtime::deadline::Deadline;
use crate::runtime::retry::Backoff;
use crate::values::RoomId;

/// The messages of a process that wait for their place, by room. Clones share them. A room is in it while something waits.
#[derive(Debug, Clone, Default)]
pub struct RoomQueues(Arc<Mutex<HashMap<RoomId, Arc<RoomQueue>>>>);

/// Those of one room.
#[derive(Debug, Default)]
struct RoomQueue {
    /// Held by whoever adds rows: the number of the last row, where it is known to be whole.
    turn: Turns<Option<u64>>,
    waiting: Mutex<VecDeque<Waiting>>,
}

#[derive(Debug)]
struct Waiting {
    arrival: Arrival,
    /// Told once the message is in its place. Dropped if whoever took it failed.
    done: oneshot::Sender<()>,
}

/// A room's queue while somebody uses it.
struct Queueing<'a> {
    queues: &'a RoomQueues,
    room: &'a RoomId,
    queue: Arc<RoomQueue>,
}

impl RoomQueues {
    fn of<'a>(&'a self, room: &'a RoomId) -> Queueing<'a> {
        let queue = Arc::clone(self.0.lock().entry(room.clone()).or_default());
        Queueing { queues: self, room, queue }
    }
}

impl Drop for Queueing<'_> {
    fn drop(&mut self) {
        let mut queues = self.queues.0.lock();
        // The map's and this one.
        if Arc::strong_count(&self.queue) == 2 {
            queues.remove(self.room);
        }
    }
}

impl RoomQueue {
    fn wait(&self, arrival: Arrival) -> oneshot::Receiver<()> {
        let (done, told) = oneshot::channel();
        self.waiting.lock().push_back(Waiting { arrival, done });
        told
    }

    /// Adds what waits to those that were taken, up to as many as a row holds.
    fn take(&self, taken: &mut Vec<Waiting>) {
        let size = |it: &Waiting| it.arrival.payload.as_json().len();
        let (mut waiting, mut bytes) = (self.waiting.lock(), taken.iter().map(size).sum::<usize>());
        while let Some(next) = waiting.front() {
            bytes += size(next);
            if taken.len() == MOST || (bytes > MOST_BYTES && !taken.is_empty()) {
                break;
            }
            taken.extend(waiting.pop_front());
        }
    }
}

impl Rooms {
    /// Has a message be in its place in the order of arrival, and then in its room and under its author.
    pub(super) async fn arrive(
        &self,
        arrival: Arrival,
        deadline: Deadline,
    ) -> Result<(), DynamoError> {
        let room = arrival.key.room_id.clone();
        let queueing = self.queues.of(&room);
        let queue = &queueing.queue;
        let mut told = queue.wait(arrival.clone());
        let mut turn =
            deadline.bound(queue.turn.lock()).await.map_err(|_| DynamoError::Throttled)?;
        // Each time at least one that waits is taken, and those behind this one are not.
        loop {
            match told.try_recv() {
                Ok(()) => return Ok(()),
                Err(oneshot::error::TryRecvError::Closed) => told = queue.wait(arrival.clone()),
                Err(oneshot::error::TryRecvError::Empty) => {}
            }
            for it in self.append(&room, queue, &mut turn, deadline).await? {
                // Whoever waited may have given up.
                let _ = it.done.send(());
            }
        }
    }

    /// Adds a row of what waits, whatever came while others added theirs included, and makes it whole.
    async fn append(
        &self,
        room: &RoomId,
        queue: &RoomQueue,
        whole: &mut Option<u64>,
        deadline: Deadline,
    ) -> Result<Vec<Waiting>, DynamoError> {
        let (mut backoff, mut batch) = (Backoff::default(), Vec::new());
        let (number, arrivals) = loop {
            let last = match whole.take() {
                Some(last) => last,
                None => self.whole_until(room, deadline).await?,
            };
            queue.take(&mut batch);
            let arrivals: Vec<_> = batch.iter().map(|it| it.arrival.clone()).collect();
            if self.put_arrivals(room, last + 1, &arrivals, deadline).await? {
                break (last + 1, arrivals);
            }
            backoff.wait(deadline).await.map_err(|_| DynamoError::Throttled)?;
        };
        let places = (0..).map(|index| ArrivalPosition::of(number, index));
        let each = arrivals.iter().zip(places);
        try_join_all(each.map(|(it, position)| self.put_rows(it, Some(position), deadline)))
            .await?;
        *whole = Some(number);
        Ok(batch)
    }

    /// Puts a row where nothing is. False if another one is there.
    async fn put_arrivals(
        &self,
        room: &RoomId,
        number: u64,
        arrivals: &[Arrival],
        deadline: Deadline,
    ) -> Result<bool, DynamoError> {
        let (key, absent) =
            (keys::arrival(room, number), Condition::new("attribute_not_exists(pk)"));
        Ok(match self.ledger.put_if(key, content(arrivals), absent, deadline).await? {
            Put::Done => true,
            // A put that was repeated is refused by what its first attempt wrote.
            Put::Refused(there) => {
                let there = ArrivalRow::read(room, &self.ledger.table().row(there))?;
                there.arrivals().map(|(_, it)| it).eq(arrivals)
            }
        })
    }

    /// The number of the last row, now that it is whole.
    async fn whole_until(&self, room: &RoomId, deadline: Deadline) -> Result<u64, DynamoError> {
        let Some(last) = self.last_arrivals(room, deadline).await? else { return Ok(0) };
        let keys: Vec<_> = last.arrivals().flat_map(|(_, it)| it.rows()).collect();
        let there = self.items_at(keys, deadline).await?;
        let is_whole = |position: ArrivalPosition, it: &Arrival| {
            let is_in_place = |key: &LedgerKey| {
                there.get(key).is_some_and(|row| {
                    ArrivalPosition::read(row).is_ok_and(|at| at == Some(position))
                })
            };
            let [row, authors] = it.rows();
            is_in_place(&row) && there.contains_key(&authors)
        };
        let rest = last.arrivals().filter(|(position, it)| !is_whole(*position, it));
        try_join_all(rest.map(|(position, it)| self.complete(it, position, deadline))).await?;
        Ok(last.number)
    }

    /// Does for a message what a delivery does that comes after its arrival.
    async fn complete(
        &self,
        arrival: &Arrival,
        position: ArrivalPosition,
        deadline: Deadline,
    ) -> Result<(), DynamoError> {
        match self.is_deleted(&arrival.key, deadline).await? {
            true => self.take_out_arrival(&arrival.key, position, deadline).await,
            false => self.put_rows(arrival, Some(position), deadline).await,
        }
    }

    /// What stands at keys, as many as a row of arrivals has.
    pub(super) async fn items_at(
        &self,
        keys: Vec<LedgerKey>,
        deadline: Deadline,
    ) -> Result<HashMap<LedgerKey, Row<'_>>, DynamoError> {
        // A call may name none twice, and a message may have come twice.
        let keys: BTreeSet<_> = keys.into_iter().collect();
        let items: Vec<Item> = keys.into_iter().map(Key::into_item).collect();
        let calls = items
            .chunks(BATCH_GET)
            .map(|some| self.ledger.table().batch_get(some.to_vec(), deadline));
        let rows = try_join_all(calls).await?.into_iter().flatten();
        rows.map(|row| Ok((LedgerKey::of(&row)?, row))).collect()
    }
}
