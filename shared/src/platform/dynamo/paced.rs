//! Writes many items at the pace of their table.
//!
//! A batch begins only when the [pacer](super::pacing) admits it. So giving up a waiting batch costs nothing, and several writers
//! take turns. Items that DynamoDB returns as unprocessed (with status 200) are sent again, which the SDK does not do.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::pin::pin;
use std::sync::{Arc, Mutex, PoisonError};

use futures::StreamExt;
use futures::stream::FuturesUnordered;

use super::batch_write::{self, BatchItem};
use super::client::once;
use super::pacing::{Attempt, Call, FEW, FairShare, Pacer, Priority, Ticket, WeakPacer};
use super::{Dynamo, DynamoError, IN_FLIGHT, Table, Usage};
use crate::platform::runtime::deadline::Deadline;
use crate::platform::runtime::retry::Backoff;

/// The result of writing items.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Written {
    /// The number of leading writes that are acknowledged: all of them unless time or capacity ran out.
    pub leading: usize,
    pub complete: bool,
    pub usage: Usage,
}

impl Written {
    /// Returns the usage if everything is written.
    ///
    /// # Errors
    /// [`DynamoError::Throttled`] if some of the writes are missing.
    pub fn whole(self) -> Result<Usage, DynamoError> {
        if self.complete { Ok(self.usage) } else { Err(DynamoError::Throttled) }
    }
}

/// The result of sending some items.
struct SentItems {
    usage: Usage,
    /// The first item that is not acknowledged.
    missing: Option<usize>,
}

/// The next batch, with the index of its first item.
enum Begun<'b, I> {
    Call(usize, &'b [I], Ticket<'b>),
    TooLate(usize),
    /// There is no further batch.
    All,
}

/// A table that is written at its pace. Cheap to clone; clones share the pace.
#[derive(Debug, Clone)]
pub struct PacedTable {
    table: Table,
    priority: Priority,
    pacer: Pacer,
    /// The share of the work that these calls belong to.
    share: FairShare,
    partition_pacers: Arc<PartitionPacers>,
    most_in_flight: usize,
}

impl PacedTable {
    /// A table with a pace of its own, which is still to be found out.
    pub fn new(table: Table) -> Self {
        Self::with_in_flight(table, IN_FLIGHT)
    }

    /// Like [`Self::new`], with at most this many write calls in flight.
    pub fn with_in_flight(table: Table, most_in_flight: usize) -> Self {
        Self {
            table,
            priority: Priority::Normal,
            pacer: Pacer::of_table(most_in_flight),
            share: FairShare::default(),
            partition_pacers: Arc::default(),
            most_in_flight,
        }
    }

    /// The same table, with the client of a piece of work, which takes turns with others.
    #[must_use]
    pub fn over(&self, dynamo: &Dynamo) -> Self {
        Self { table: self.table.over(dynamo), share: FairShare::default(), ..self.clone() }
    }

    /// The same table and the same turn, for calls with another deadline.
    #[must_use]
    pub fn until(&self, deadline: Deadline) -> Self {
        Self { table: self.table.until(deadline), ..self.clone() }
    }

    /// The same table, for bulk writes, which give way to others.
    #[must_use]
    pub fn in_bulk(&self) -> Self {
        Self { priority: Priority::Bulk, ..self.clone() }
    }

    /// The same table, for many items of one partition. They keep the pace of the partition, which all clones of this table share,
    /// and do not affect the pace of the table.
    #[must_use]
    pub fn for_partition(&self, key: &str) -> Self {
        let pacer = self.partition_pacers.pacer(key, self.most_in_flight);
        Self { pacer, share: FairShare::default(), ..self.clone() }
    }

    pub fn table(&self) -> &Table {
        &self.table
    }

    /// Writes items in order, up to 25 a call, several calls at once. No call begins after `begin_until`. Calls that have begun are
    /// completed by the deadline of the table. Returns `Ok` before `begin_until` only if everything is written. No two items may have the same
    /// key: DynamoDB refuses a batch that repeats one.
    ///
    /// Running out of capacity is not an error: the [`Written`] is then not complete.
    ///
    /// # Errors
    /// [`DynamoError`]; some of the items may not be written. It is safe to write all of them again.
    pub async fn write<'a, I: BatchItem<'a>>(
        &self,
        writes: impl IntoIterator<Item = I>,
        begin_until: Deadline,
    ) -> Result<Written, DynamoError> {
        let writes: Vec<_> = writes.into_iter().collect();
        debug_assert!(are_distinct(&writes), "a key is repeated");
        let SentItems { usage, missing } = self.write_all(&writes, begin_until).await?;
        let leading = missing.unwrap_or(writes.len());
        Ok(Written { leading, complete: missing.is_none(), usage })
    }

    /// The number of items of one call: at most what the table takes in a second. Of a larger call a slow table would take
    /// arbitrary items, so the leading items would seldom be complete when time runs out.
    fn call_items(&self) -> usize {
        self.pacer.items_a_second().min(self.table.limits().batch_write_items).max(1)
    }

    /// Begins one batch after another, without waiting for the result of those before.
    async fn write_all<'a, I: BatchItem<'a>>(
        &self,
        writes: &[I],
        begin_until: Deadline,
    ) -> Result<SentItems, DynamoError> {
        let (mut sum, mut missing) = (Usage::default(), writes.len());
        let mut in_flight = FuturesUnordered::new();
        let mut next = pin!(self.begin(writes, 0, begin_until));
        let mut more = true;
        loop {
            tokio::select! {
                biased;
                Some(sent) = in_flight.next() => {
                    let sent: SentItems = sent?;
                    sum += sent.usage;
                    missing = missing.min(sent.missing.unwrap_or(missing));
                }
                begun = &mut next, if more => match begun {
                    Begun::Call(first, batch, ticket) => {
                        in_flight.push(self.complete(first, batch, ticket));
                        next.set(self.begin(writes, first + batch.len(), begin_until));
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
        Ok(SentItems { usage: sum, missing: (missing < writes.len()).then_some(missing) })
    }

    /// Waits until the batch that begins at index `first` may be sent, if there is one.
    async fn begin<'b, I>(
        &'b self,
        writes: &'b [I],
        first: usize,
        begin_until: Deadline,
    ) -> Begun<'b, I> {
        let rest = &writes[first..];
        let batch = &rest[..rest.len().min(self.call_items())];
        if batch.is_empty() {
            return Begun::All;
        }
        match self.admit(batch.len(), Attempt::First, begin_until).await {
            Ok(ticket) => Begun::Call(first, batch, ticket),
            Err(_) => Begun::TooLate(first),
        }
    }

    /// Sends a batch. Sends what is left of it again, until the table has taken everything or time runs out.
    async fn complete<'a, I: BatchItem<'a>>(
        &self,
        first: usize,
        batch: &[I],
        ticket: Ticket<'_>,
    ) -> Result<SentItems, DynamoError> {
        let (mut left, deadline) = (Cow::Borrowed(batch), self.table.deadline());
        let (mut usage, mut backoff) = (Usage::default(), Backoff::default());
        let (mut ticket, mut attempt, mut apart) = (ticket, Attempt::First, 0);
        loop {
            usage.sends += left.len() as u64;
            let before = left.len();
            let failure = match self.send_batch(&left, ticket, attempt).await {
                Ok(unprocessed) => {
                    left = Cow::Owned(unprocessed);
                    None
                }
                Err(DynamoError::Throttled | DynamoError::DeadlineExceeded(_)) => None,
                Err(error) if error.is_retryable() => Some(error),
                Err(error) => return Err(error),
            };
            usage.written += (before - left.len()) as u64;
            let Some(next) = left.first() else { return Ok(SentItems { usage, missing: None }) };
            let missing = batch.iter().position(|write| write.key() == next.key());
            let given_up = |failure: Option<DynamoError>| match failure {
                Some(error) => Err(error),
                None => Ok(SentItems { usage, missing: missing.map(|nth| first + nth) }),
            };
            if failure.is_none() && attempt == Attempt::Apart {
                apart += 1;
                // A single refusal may be chance.
                if apart > 1 {
                    left.iter().for_each(|write| self.pacer.found_hot(write.key().0));
                }
            }
            let few = left.len() <= FEW && self.pacer.has_many_partitions();
            attempt = if few { Attempt::Apart } else { Attempt::Again };
            let progress = left.len() < before;
            if progress {
                backoff.reset();
            }
            // A bulk batch of which the table took some items need not back off: it waits for its send slot below. Normal calls may
            // be sent before their slots, so they back off.
            let paced = progress && self.priority == Priority::Bulk && attempt == Attempt::Again;
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
    ) -> Result<Ticket<'_>, DynamoError> {
        let call = Call { items, priority: self.priority, share: &self.share, attempt };
        Ok(self.pacer.admit(call, deadline).await?)
    }

    /// Sends a batch. Returns the items that the table did not take.
    async fn send_batch<'a, I: BatchItem<'a>>(
        &self,
        batch: &[I],
        ticket: Ticket<'_>,
        attempt: Attempt,
    ) -> Result<Vec<I>, DynamoError> {
        let counter = &self.table.dynamo.usage;
        counter.sent(batch.len());
        let call = async {
            batch_write::write(self.table.template().await?, self.table.name(), batch).await
        };
        let left = match once(self.table.deadline(), call).await {
            Ok(left) => left,
            Err(error) => {
                counter.failed(&error);
                if matches!(error, DynamoError::Throttled) {
                    ticket.ended(0, self.lacking(batch, attempt));
                }
                return Err(error);
            }
        };
        let taken = batch.len() - left.len();
        ticket.ended(taken, self.lacking(&left, attempt));
        counter.written(taken);
        counter.unprocessed(left.len());
        Ok(left)
    }

    /// The number of returned items that were refused for lack of capacity of the table, not of a hot partition. The pacer ignores it
    /// for a batch that was sent apart.
    fn lacking<'a, I: BatchItem<'a>>(&self, left: &[I], attempt: Attempt) -> usize {
        if left.len() > FEW || attempt == Attempt::Apart {
            return left.len();
        }
        let hot: Vec<_> = left.iter().filter(|write| self.pacer.is_hot(write.key().0)).collect();
        hot.iter().for_each(|write| self.pacer.found_hot(write.key().0));
        left.len() - hot.len()
    }
}

fn are_distinct<'a, I: BatchItem<'a>>(writes: &[I]) -> bool {
    let mut seen = HashSet::with_capacity(writes.len());
    writes.iter().all(|write| seen.insert(write.key()))
}

/// The pacers of the partitions that many items are being written to.
#[derive(Debug, Default)]
struct PartitionPacers(Mutex<HashMap<String, WeakPacer>>);

impl PartitionPacers {
    fn pacer(&self, key: &str, most_in_flight: usize) -> Pacer {
        let mut pacers = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(pacer) = pacers.get(key).and_then(WeakPacer::upgrade) {
            return pacer;
        }
        pacers.retain(|_, pacer| pacer.upgrade().is_some());
        let pacer = Pacer::of_partition(most_in_flight);
        pacers.insert(key.to_owned(), pacer.downgrade());
        pacer
    }
}
