//! Groups events into as few messages as possible: each message has events of one tenant, and is short enough to be handed on.

use std::collections::{BTreeMap, VecDeque};

use shared::history::events::{EventsRecorded, MOST_EVENTS, SentEvent};
use shared::platform::values::TenantId;

use crate::Failure;

/// The most bytes of the events of a message.
const MOST_BYTES: usize = 250_000;
/// The most events that wait for others of their tenant.
const MOST_WAITING: usize = 20_000;

/// Those of one tenant that wait for others.
#[derive(Default)]
struct Waiting {
    events: Vec<SentEvent>,
    bytes: usize,
}

impl Waiting {
    fn has_room_for(&self, event: &SentEvent) -> bool {
        self.events.len() < MOST_EVENTS && self.bytes + event.json.len() < MOST_BYTES
    }
}

/// Groups events.
pub(super) struct Grouped<I> {
    events: I,
    waiting: BTreeMap<TenantId, Waiting>,
    count: usize,
    ready: VecDeque<EventsRecorded>,
}

impl<I> Grouped<I> {
    pub(super) fn new(events: I) -> Self {
        let (waiting, ready) = Default::default();
        Self { events, waiting, count: 0, ready }
    }

    fn add(&mut self, tenant: TenantId, event: SentEvent) {
        let waiting = self.waiting.entry(tenant.clone()).or_default();
        if !waiting.events.is_empty() && !waiting.has_room_for(&event) {
            let full = std::mem::take(waiting).events;
            self.count -= full.len();
            self.ready.push_back(EventsRecorded::new(tenant, full));
        }
        waiting.bytes += event.json.len() + 1;
        waiting.events.push(event);
        self.count += 1;
        if self.count >= MOST_WAITING {
            self.release();
        }
    }

    /// Nobody waits any longer.
    fn release(&mut self) {
        let waiting = std::mem::take(&mut self.waiting).into_iter();
        let waiting = waiting.filter(|(_, waiting)| !waiting.events.is_empty());
        self.ready.extend(waiting.map(|(tenant, some)| EventsRecorded::new(tenant, some.events)));
        self.count = 0;
    }
}

impl<I> Iterator for Grouped<I>
where
    I: Iterator<Item = Result<(TenantId, SentEvent), Failure>>,
{
    type Item = Result<EventsRecorded, Failure>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(ready) = self.ready.pop_front() {
                return Some(Ok(ready));
            }
            match self.events.next() {
                Some(Ok((tenant, event))) => self.add(tenant, event),
                Some(Err(failure)) => return Some(Err(failure)),
                None => {
                    self.release();
                    return self.ready.pop_front().map(Ok);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use shared::platform::values::Timestamp;

    use super::*;

    fn event(tenant: &str, n: usize, length: usize) -> Result<(TenantId, SentEvent), Failure> {
        let json = format!(
            r#"{{"tenant_id":"{tenant}","customer_id":"c","event_id":"e{n}","name":"x","at":"2026-11-20T12:00:00Z","properties":"{}"}}"#,
            "x".repeat(length)
        );
        let sent = SentEvent::parse(&json, Timestamp::LAST);
        assert!(sent.event.is_ok());
        Ok((TenantId::new(tenant).expect("an id"), sent))
    }

    #[test]
    fn every_event_is_in_one_message_of_its_tenant() {
        for (count, tenants, length) in
            [(0, 1, 0), (1, 1, 0), (250, 1, 9), (999, 7, 9), (300, 2, 4_000)]
        {
            let events = (0..count).map(|n| event(&format!("t{}", n % tenants), n, length));
            let messages: Vec<_> = Grouped::new(events).map(|it| it.expect("events")).collect();
            let mut ids = Vec::new();
            for message in &messages {
                let bytes: usize = message.events.iter().map(|it| it.json.len()).sum();
                assert!((1..=MOST_EVENTS).contains(&message.events.len()) && bytes <= MOST_BYTES);
                for event in message.events.iter().filter_map(|it| it.event.as_ref().ok()) {
                    assert_eq!(message.tenant_id.as_ref(), Some(&event.key.customer.tenant_id));
                    ids.push(event.key.event_id.as_str().to_owned());
                }
            }
            ids.sort();
            let mut expected: Vec<_> = (0..count).map(|n| format!("e{n}")).collect();
            expected.sort();
            assert_eq!(ids, expected);
            let fewest = if length < 1_000 { count.div_ceil(MOST_EVENTS) + tenants } else { 12 };
            assert!(messages.len() <= fewest, "{}", messages.len());
        }
    }
}
