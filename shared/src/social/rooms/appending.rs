//! Appends messages to the [list of arrivals](super::arrivals), many at once.
//!
//! # One row after the other
//!
//! All writers of a room append to one list, and only one of them can put the next row. So the writers of one process queue up,
//! and the writer whose turn it is appends all waiting messages as one row
//! ([`GroupCommit`]). If calls are slow, rows become longer, and a message
//! waits only for the rows of earlier messages. Of several processes, one wins each number. The others wait a moment and try the
//! next number until their deadline; then the command goes back to its queue. Each lost attempt means that somebody else has
//! appended a row, so the list as a whole always advances.
//!
//! # The steps
//!
//! ```text
//! 1  the last row, n        2  have it whole        3  put n+1, where nothing is        4  have that whole
//! ```
//!
//! While messages wait, a process continues from the row that it has just made whole, without reading it again. This is safe,
//! because the put is conditional; and it is dropped when nothing waits any more.
//!
//! Step 2 does the same for a message as its own delivery: it looks for the marker of a delete, and puts the rows where nothing
//! is. So it may run in parallel to that delivery, or long after it died.

use std::collections::{BTreeSet, HashMap};

use futures::future::try_join_all;

use super::arrivals::{Arrival, ArrivalPosition, ArrivalRow, MOST, MOST_BYTES, content};
use super::{Rooms, keys};
use crate::platform::dynamo::item::{Item, Key, Row};
use crate::platform::dynamo::{BATCH_GET, Condition, DynamoError, Put};
use crate::platform::ledger::LedgerKey;
use crate::platform::runtime::group_commit::{GroupCommit, Place, WaitingWork};
use crate::platform::runtime::retry::Backoff;
use crate::platform::values::RoomId;

/// The messages of a process that wait to be appended, by room. A writer leaves the number of the last row to the next, if it is
/// known to be whole.
pub type RoomQueues = GroupCommit<RoomId, Arrival, (), Option<u64>>;

/// A message in the queue of its room.
type Queued = Place<RoomId, Arrival, (), Option<u64>>;

impl Rooms {
    /// Appends a message to the arrivals, and then writes it in its room and under its author.
    pub(super) async fn arrive(&self, arrival: Arrival) -> Result<(), DynamoError> {
        let room = arrival.key.room_id.clone();
        let mut queued = self.queues.join(room.clone(), arrival);
        let turn = queued.turn(self.ledger.table().deadline()).await;
        let mut whole = turn.map_err(|_| DynamoError::Throttled)?;
        // Each round takes at least one waiting message, and none after this one.
        while queued.outcome().is_none() {
            self.append(&room, &queued, &mut whole).await?;
        }
        Ok(())
    }

    /// Appends a row with everything that waits by now, and makes it whole.
    async fn append(
        &self,
        room: &RoomId,
        queued: &Queued,
        whole: &mut Option<u64>,
    ) -> Result<(), DynamoError> {
        let deadline = self.ledger.table().deadline();
        let (mut backoff, mut batch) = (Backoff::default(), Vec::new());
        let (number, arrivals) = loop {
            let last = match whole.take() {
                Some(last) => last,
                None => self.whole_until(room).await?,
            };
            queued.take(&mut batch, fits);
            let arrivals: Vec<_> = batch.iter().map(|it| it.work.clone()).collect();
            if self.put_arrivals(room, last + 1, &arrivals).await? {
                break (last + 1, arrivals);
            }
            backoff.wait(deadline).await.map_err(|_| DynamoError::Throttled)?;
        };
        let places = (0..).map(|index| ArrivalPosition::new(number, index));
        let each = arrivals.iter().zip(places);
        try_join_all(each.map(|(it, position)| self.put_rows(it, position))).await?;
        *whole = Some(number);
        batch.into_iter().for_each(|it| it.tell(()));
        Ok(())
    }

    /// Puts a row where nothing is. Returns false if there is another one.
    async fn put_arrivals(
        &self,
        room: &RoomId,
        number: u64,
        arrivals: &[Arrival],
    ) -> Result<bool, DynamoError> {
        let (key, absent) =
            (keys::arrival(room, &number), Condition::new("attribute_not_exists(pk)"));
        Ok(match self.ledger.put_if(key, content(arrivals), absent).await? {
            Put::Done => true,
            // A retry is refused by what the first attempt wrote.
            Put::Refused(there) => {
                let there = ArrivalRow::read(room, &self.ledger.table().row(there))?;
                there.arrivals().map(|(_, it)| it).eq(arrivals)
            }
        })
    }

    /// Makes the last row whole, and returns its number.
    async fn whole_until(&self, room: &RoomId) -> Result<u64, DynamoError> {
        let Some(last) = self.last_arrivals(room).await? else { return Ok(0) };
        let keys: Vec<_> = last.arrivals().flat_map(|(_, it)| it.rows()).collect();
        let there = self.items_at(keys).await?;
        let is_whole = |position: ArrivalPosition, it: &Arrival| {
            let is_in_place = |key: &LedgerKey| {
                there
                    .get(key)
                    .is_some_and(|row| ArrivalPosition::read(row).is_ok_and(|at| at == position))
            };
            let [row, authors] = it.rows();
            is_in_place(&row) && there.contains_key(&authors)
        };
        let rest = last.arrivals().filter(|(position, it)| !is_whole(*position, it));
        try_join_all(rest.map(|(position, it)| self.complete(it, position))).await?;
        Ok(last.number)
    }

    /// Completes a message like its own delivery after its arrival.
    async fn complete(
        &self,
        arrival: &Arrival,
        position: ArrivalPosition,
    ) -> Result<(), DynamoError> {
        match self.is_deleted(&arrival.key).await? {
            true => self.take_out_arrival(&arrival.key, position).await,
            false => self.put_rows(arrival, position).await,
        }
    }

    /// The items at keys, as many as a row of arrivals has.
    pub(super) async fn items_at(
        &self,
        keys: Vec<LedgerKey>,
    ) -> Result<HashMap<LedgerKey, Row<'_>>, DynamoError> {
        // Keys of one call must differ, and a message may have come twice.
        let keys: BTreeSet<_> = keys.into_iter().collect();
        let items: Vec<Item> = keys.into_iter().map(Key::into_item).collect();
        let calls =
            items.chunks(BATCH_GET).map(|some| self.ledger.table().batch_get(some.to_vec()));
        let rows = try_join_all(calls).await?.into_iter().flatten();
        rows.map(|row| Ok((LedgerKey::of(&row)?, row))).collect()
    }
}

/// True if a row with these messages has room for another one.
fn fits(taken: &[WaitingWork<Arrival, ()>], next: &Arrival) -> bool {
    let size = |it: &Arrival| it.payload.as_json().len();
    let bytes: usize = taken.iter().map(|it| size(&it.work)).sum();
    taken.len() < MOST && bytes + size(next) <= MOST_BYTES
}
