//! The bus that events are sent to, and the events that wait.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use futures::future::BoxFuture;
use parking_lot::Mutex;
use tokio::sync::{Mutex as Turn, MutexGuard};

use super::put::{BATCH, PutResults, put};
use super::{BusError, OutboundEvent, PATIENCE_MILLIS};
use crate::platform::runtime::clock::Clock;
use crate::platform::runtime::deadline::Deadline;
use crate::platform::runtime::retry::Backoff;
use crate::platform::signed::{Services, SignedHttp};

/// How long to wait for the turn, and how long to try to send then. Deliveries whose events are not sent by then come again: a bus that does
/// not answer takes at most twice this of an invocation.
const LONGEST: Duration = Duration::from_secs(5);
/// As signatures name it.
const SERVICE: &str = "events";

/// The bus that events are sent to, or none. Clones share the waiting events. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub struct Bus(Option<Arc<BusInner>>);

#[derive(Debug)]
struct BusInner {
    to: Arc<Destination>,
    waiting: Mutex<WaitingEvents>,
    /// Locked by the handler that sends.
    turn: Turn<()>,
    accepted: AtomicU64,
}

/// Where events are sent.
#[derive(Debug)]
struct Destination {
    http: SignedHttp,
    url: String,
    name: String,
    clock: Clock,
    refused: AtomicU64,
}

/// The events of handlers of this process that are not sent yet.
#[derive(Debug, Default)]
struct WaitingEvents {
    next: u64,
    events: BTreeMap<u64, OutboundEvent>,
}

/// The events of one handler. Dropping it withdraws those that are not sent.
struct EventsTicket<'a> {
    waiting: &'a Mutex<WaitingEvents>,
    numbers: Range<u64>,
}

impl EventsTicket<'_> {
    fn is_waiting(&self) -> bool {
        self.waiting.lock().events.range(self.numbers.clone()).next().is_some()
    }
}

impl Drop for EventsTicket<'_> {
    fn drop(&mut self) {
        let mut waiting = self.waiting.lock();
        self.numbers.clone().for_each(|number| drop(waiting.events.remove(&number)));
    }
}

/// Events of one call, by their numbers.
type EventGroup = BTreeMap<u64, OutboundEvent>;

impl Bus {
    /// No bus: nothing is sent.
    pub fn off() -> Self {
        Self(None)
    }

    pub fn new(services: &Services, name: &str, clock: Clock) -> Self {
        let http = SignedHttp::new(SERVICE, services);
        let url = format!("{}/", http.address(None));
        let (name, refused) = (name.to_owned(), AtomicU64::default());
        Self::to(Arc::new(Destination { http, url, name, clock, refused }))
    }

    fn to(to: Arc<Destination>) -> Self {
        let (waiting, turn, accepted) = Default::default();
        Self(Some(Arc::new(BusInner { to, waiting, turn, accepted })))
    }

    /// The same bus, with waiting events of its own: they are sent beside those of others. What is refused counts for both.
    #[must_use]
    pub fn apart(&self) -> Self {
        self.0.as_ref().map_or_else(Self::off, |inner| Self::to(Arc::clone(&inner.to)))
    }

    /// True if events are sent, so that what they need has to be read.
    pub fn is_on(&self) -> bool {
        self.0.is_some()
    }

    /// Events that were refused permanently since the last call.
    pub fn take_refused(&self) -> u64 {
        self.0.as_ref().map_or(0, |inner| inner.to.refused.swap(0, Ordering::Relaxed))
    }

    /// Sends events, together with those of other handlers of this process. Returns once all of its own are accepted or permanently
    /// refused.
    ///
    /// Boxed, so that it is compiled once.
    ///
    /// # Errors
    /// [`BusError`]: some may be sent. Their command or change has to be delivered again.
    pub fn send(
        &self,
        events: Vec<OutboundEvent>,
        deadline: Deadline,
    ) -> BoxFuture<'_, Result<(), BusError>> {
        Box::pin(async move {
            match &self.0 {
                Some(inner) if !events.is_empty() => inner.send(events, deadline).await,
                _ => Ok(()),
            }
        })
    }
}

impl BusInner {
    async fn send(&self, events: Vec<OutboundEvent>, deadline: Deadline) -> Result<(), BusError> {
        let ticket = self.bring(events);
        let _turn = self.turn(deadline.within(LONGEST)).await?;
        let deadline = deadline.within(LONGEST);
        let (mut backoff, mut most) = (Backoff::default(), BATCH);
        // Each round has at least one event of the ticket.
        while ticket.is_waiting() {
            let group = self.group(&ticket, most);
            let failed = match self.put(&group, deadline).await {
                Ok(each) => self.resolve(&group, each, &ticket),
                // One of them is refused, and the response does not say which.
                Err(BusError::Refused(_)) if group.len() > 1 => {
                    most = 1;
                    continue;
                }
                Err(error) => {
                    let each = group.values().map(|_| Err(error.clone())).collect();
                    self.resolve(&group, each, &ticket)
                }
            };
            match failed {
                None => backoff.reset(),
                Some(error) if error.is_retryable() && backoff.wait(deadline).await.is_ok() => {}
                Some(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Waits for its turn. If the bus has accepted nothing in all that time, it is unavailable rather than busy.
    async fn turn(&self, deadline: Deadline) -> Result<MutexGuard<'_, ()>, BusError> {
        let accepted = self.accepted.load(Ordering::Relaxed);
        deadline.bound(self.turn.lock()).await.map_err(|exceeded| {
            match self.accepted.load(Ordering::Relaxed) == accepted {
                true => BusError::Unavailable("nothing was taken meanwhile".to_owned()),
                false => exceeded.into(),
            }
        })
    }

    fn bring(&self, events: Vec<OutboundEvent>) -> EventsTicket<'_> {
        let waiting = &mut *self.waiting.lock();
        let first = waiting.next;
        waiting.next += events.len() as u64;
        waiting.events.extend((first..).zip(events));
        EventsTicket { waiting: &self.waiting, numbers: first..waiting.next }
    }

    /// The events of the next call: first those of the ticket, then those of waiting handlers.
    fn group(&self, ticket: &EventsTicket<'_>, most: usize) -> EventGroup {
        let events = &self.waiting.lock().events;
        let own = events.range(ticket.numbers.clone());
        let others = events.iter().filter(|(number, _)| !ticket.numbers.contains(number));
        own.chain(others).take(most).map(|(number, event)| (*number, event.clone())).collect()
    }

    async fn put(&self, group: &EventGroup, deadline: Deadline) -> Result<PutResults, BusError> {
        let Destination { http, url, name, .. } = &*self.to;
        put(http, url, name, group.values(), deadline).await
    }

    /// Removes events that are accepted or permanently refused. Returns why an event of the ticket is neither.
    fn resolve(
        &self,
        group: &EventGroup,
        each: PutResults,
        ticket: &EventsTicket<'_>,
    ) -> Option<BusError> {
        let mut failed = None;
        for ((number, event), said) in group.iter().zip(each) {
            match said {
                Ok(()) => {
                    self.accepted.fetch_add(1, Ordering::Relaxed);
                }
                Err(error) if !self.is_final(event, &error) => {
                    let is_own = ticket.numbers.contains(number);
                    failed = failed.or_else(|| is_own.then_some(error));
                    continue;
                }
                Err(error) => {
                    self.to.refused.fetch_add(1, Ordering::Relaxed);
                    let (id, kind, reason) = (event.id(), event.kind(), error.reason());
                    tracing::error!(id, kind, reason, "an event is not sent: {error}");
                }
            }
            self.waiting.lock().events.remove(number);
        }
        failed
    }

    /// True if sending an event again cannot succeed, so that it must not block anything.
    fn is_final(&self, event: &OutboundEvent, error: &BusError) -> bool {
        match error {
            BusError::Refused(_) => true,
            BusError::Missing | BusError::Denied(_) => {
                event.recorded_at().plus_millis(PATIENCE_MILLIS) < self.to.clock.now()
            }
            _ => false,
        }
    }
}
