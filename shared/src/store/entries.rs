//! Many entries at the pace of their table.
//!
//! A batch is begun when the [pacer](crate::pace) admits it and not before, so what waits costs nothing
//! to give up, and several writers take turns. What DynamoDB gives back as unprocessed (with a status
//! of 200) is sent again alone; the SDK does not do that.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::pin::pin;
use std::sync::{Mutex, PoisonError};

use foldhash::fast::RandomState;
use futures::StreamExt;
use futures::stream::FuturesUnordered;

use super::batch::{self, BATCH};
use super::client::once;
use super::meter::Tally;
use super::timelines::EntryWrite;
use super::{Deadline, Store, StoreError};
use crate::id::ViewerId;
use crate::pace::{Attempt, Call, FEW, Lane, Pacer, Share, Ticket, WeakPacer};
use crate::retry::Backoff;

/// What came of writing entries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Written {
    /// How many of the writes, from the first on, are acknowledged: all of them unless time or capacity
    /// ran out.
    pub leading: usize,
    /// All are.
    pub complete: bool,
    /// What it cost.
    pub tally: Tally,
}

impl Written {
    /// For whoever needs everything.
    ///
    /// # Errors
    /// [`StoreError::Throttled`] if some of the writes are missing.
    pub fn whole(self) -> Result<Tally, StoreError> {
        if self.complete { Ok(self.tally) } else { Err(StoreError::Throttled) }
    }
}

/// What came of some of the entries.
struct Sent {
    tally: Tally,
    /// Which entry is the first that is not acknowledged.
    missing: Option<usize>,
}

/// The next batch, and with which entry it begins.
enum Begun<'a, 'w> {
    Call(usize, &'a [EntryWrite<'w>], Ticket<'a>),
    TooLate(usize),
    /// There is none.
    All,
}

impl Store {
    /// Writes entries in order, 25 a call, several calls at once. From `enough` on no further call is
    /// begun; those that have begun are completed by `deadline`. Returns before `enough` only if all is
    /// written. A key that is named twice is written
    /// once: DynamoDB refuses a batch that repeats a key.
    ///
    /// Too little capacity is not an error but a [`Written`] that is not complete.
    ///
    /// # Errors
    /// [`StoreError`]: some of the entries may not be written. Writing all of them again is right.
    pub async fn write_entries(
        &self,
        writes: impl IntoIterator<Item = EntryWrite<'_>>,
        enough: Deadline,
        deadline: Deadline,
    ) -> Result<Written, StoreError> {
        let given: Vec<_> = writes.into_iter().collect();
        let mut seen = HashSet::with_capacity_and_hasher(given.len(), RandomState::default());
        let mut distinct = given.clone();
        distinct.retain(|write| seen.insert(write.key()));
        let Sent { tally, missing } = self.write_distinct(&distinct, enough, deadline).await?;
        let first = missing.map(|nth| distinct[nth].key());
        let leading = given.iter().position(|write| Some(write.key()) == first);
        let leading = leading.unwrap_or(given.len());
        Ok(Written { leading, complete: missing.is_none(), tally })
    }

    /// Begins one batch after another while those before it are in flight.
    async fn write_distinct(
        &self,
        writes: &[EntryWrite<'_>],
        enough: Deadline,
        deadline: Deadline,
    ) -> Result<Sent, StoreError> {
        let (mut sum, mut missing) = (Tally::default(), writes.len());
        let mut batches = writes.chunks(BATCH).enumerate();
        let mut in_flight = FuturesUnordered::new();
        let mut next = pin!(self.begin(batches.next(), enough));
        let mut more = true;
        loop {
            tokio::select! {
                biased;
                Some(sent) = in_flight.next() => {
                    let sent: Sent = sent?;
                    sum += sent.tally;
                    missing = missing.min(sent.missing.unwrap_or(missing));
                }
                begun = &mut next, if more => match begun {
                    Begun::Call(first, batch, ticket) => {
                        in_flight.push(self.complete(first, batch, ticket, deadline));
                        next.set(self.begin(batches.next(), enough));
                    }
                    Begun::TooLate(first) => {
                        missing = missing.min(first);
                        more = false;
                    }
                    Begun::All => more = false,
                },
                else => break,
            }
        }
        Ok(Sent { tally: sum, missing: (missing < writes.len()).then_some(missing) })
    }

    /// Waits until a batch may be sent, if there is one more.
    async fn begin<'a, 'w>(
        &'a self,
        batch: Option<(usize, &'a [EntryWrite<'w>])>,
        enough: Deadline,
    ) -> Begun<'a, 'w> {
        let Some((nth, batch)) = batch else { return Begun::All };
        match self.admit(batch.len(), Attempt::First, enough).await {
            Ok(ticket) => Begun::Call(nth * BATCH, batch, ticket),
            Err(_) => Begun::TooLate(nth * BATCH),
        }
    }

    /// Sends a batch, and what is left of it, until the table has taken everything or time runs out.
    async fn complete(
        &self,
        first: usize,
        batch: &[EntryWrite<'_>],
        ticket: Ticket<'_>,
        deadline: Deadline,
    ) -> Result<Sent, StoreError> {
        let mut left = Cow::Borrowed(batch);
        let (mut tally, mut backoff) = (Tally::default(), Backoff::default());
        let (mut ticket, mut attempt, mut apart) = (ticket, Attempt::First, 0);
        loop {
            tally.sends += left.len() as u64;
            let before = left.len();
            let failure = match self.send_batch(&left, ticket, attempt, deadline).await {
                Ok(unprocessed) => {
                    left = Cow::Owned(unprocessed);
                    None
                }
                Err(StoreError::Throttled | StoreError::DeadlineExceeded(_)) => None,
                Err(error) if error.is_retryable() => Some(error),
                Err(error) => return Err(error),
            };
            tally.entries += (before - left.len()) as u64;
            let Some(next) = left.first() else { return Ok(Sent { tally, missing: None }) };
            let missing = batch.iter().position(|write| write.key() == next.key());
            let given_up = |failure: Option<StoreError>| match failure {
                Some(error) => Err(error),
                None => Ok(Sent { tally, missing: missing.map(|nth| first + nth) }),
            };
            if failure.is_none() && attempt == Attempt::Apart {
                apart += 1;
                self.note_hot(&left, apart);
            }
            attempt = self.next_attempt(left.len());
            let progress = left.len() < before;
            if progress {
                backoff.reset();
            }
            // Where the table takes some of it, the pace is wait enough, for those who keep to it.
            let paced = progress && self.lane == Lane::Bulk && attempt == Attempt::Again;
            if !paced && backoff.wait(deadline).await.is_err() {
                return given_up(failure);
            }
            ticket = match self.admit(left.len(), attempt, deadline).await {
                Ok(ticket) => ticket,
                Err(_) => return given_up(failure),
            };
        }
    }

    async fn admit(
        &self,
        items: usize,
        attempt: Attempt,
        deadline: Deadline,
    ) -> Result<Ticket<'_>, StoreError> {
        let call = Call { items, lane: self.lane, share: &self.share, attempt };
        Ok(self.pacer.admit(call, deadline).await?)
    }

    fn next_attempt(&self, left: usize) -> Attempt {
        let few = left <= FEW && self.pacer.has_many_partitions();
        if few { Attempt::Apart } else { Attempt::Again }
    }

    /// Once may be chance.
    fn note_hot(&self, left: &[EntryWrite<'_>], times: u32) {
        if times > 1 {
            left.iter().for_each(|write| self.pacer.found_hot(write.key().0));
        }
    }

    /// Sends a batch. Returns what the table did not take.
    async fn send_batch<'a>(
        &self,
        batch: &[EntryWrite<'a>],
        ticket: Ticket<'_>,
        attempt: Attempt,
        deadline: Deadline,
    ) -> Result<Vec<EntryWrite<'a>>, StoreError> {
        self.meter.sent(batch.len());
        let call = async { batch::write(self.line().await?, &self.tables.timelines, batch).await };
        let left = match once(deadline, call).await {
            Ok(left) => left,
            Err(error) => {
                self.meter.failed(&error);
                if matches!(error, StoreError::Throttled) {
                    ticket.ended(0, self.lacking(batch, attempt));
                }
                return Err(error);
            }
        };
        let taken = batch.len() - left.len();
        ticket.ended(taken, self.lacking(&left, attempt));
        self.meter.written(taken);
        self.meter.unprocessed(left.len());
        Ok(left)
    }

    /// How many of the items that came back lacked the table's capacity.
    fn lacking(&self, left: &[EntryWrite<'_>], attempt: Attempt) -> usize {
        if left.len() > FEW || attempt == Attempt::Apart {
            return left.len();
        }
        let hot: Vec<_> = left.iter().filter(|write| self.pacer.is_hot(write.key().0)).collect();
        hot.iter().for_each(|write| self.pacer.found_hot(write.key().0));
        left.len() - hot.len()
    }
}

/// The pacers of single viewers' partitions, of those who are written to at the moment.
#[derive(Debug, Default)]
pub(super) struct ViewerPacers(Mutex<HashMap<ViewerId, WeakPacer>>);

impl ViewerPacers {
    fn of(&self, viewer: &ViewerId, most_in_flight: usize) -> Pacer {
        let mut pacers = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(pacer) = pacers.get(viewer).and_then(WeakPacer::upgrade) {
            return pacer;
        }
        pacers.retain(|_, pacer| pacer.upgrade().is_some());
        let pacer = Pacer::of_partition(most_in_flight);
        pacers.insert(viewer.clone(), pacer.downgrade());
        pacer
    }
}

impl Store {
    /// The same, for many entries of one viewer. They go at the pace of the viewer's partition, which
    /// is one for all clones of this store, and teach nothing about the table's.
    #[must_use]
    pub fn into_timeline_of(&self, viewer: &ViewerId) -> Self {
        let pacer = self.viewer_pacers.of(viewer, self.most_in_flight);
        Self { pacer, share: Share::default(), ..self.clone() }
    }
}
