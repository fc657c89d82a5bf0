//! The part of EventBridge that the functions call: a bus that takes events and keeps the latest of them, for `nagare bus`.
//!
//! It has no rules and no targets. It keeps each event in the form in which a rule would hand it to a target. Events are kept in
//! memory, at most [`KEPT`] of them and at most [`KEPT_BYTES`] bytes. Beyond that the oldest are dropped. When the stack ends, all
//! are gone.

mod http;
mod put;

use std::collections::VecDeque;
use std::sync::Arc;

use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use shared::platform::runtime::clock::Clock;

pub(super) use http::{PATH, router};
pub(crate) use put::TARGET;

/// What the bus of a local stack is called.
pub const NAME: &str = "nagare";
/// The endpoint of the bus for the functions of this process.
pub const ENDPOINT: &str = "http://events.local";
/// The most events that are kept.
pub const KEPT: usize = 1_000;
/// The most bytes of events that are kept.
pub const KEPT_BYTES: usize = 8 * 1024 * 1024;

/// The bus. Clones have the same events.
#[derive(Debug, Clone)]
pub struct LocalBus {
    kept: Arc<Mutex<Kept>>,
    clock: Clock,
}

#[derive(Debug, Default)]
struct Kept {
    events: VecDeque<BusEvent>,
    bytes: usize,
    /// The number of the last event, counted from 1.
    last: u64,
}

/// An event that was taken.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct BusEvent {
    /// Its number since the stack started, counted from 1.
    pub number: u64,
    /// The event in the form in which a rule hands it to a target.
    pub event: Box<RawValue>,
}

/// Some events, in the order in which they were taken.
#[derive(Debug, Serialize, Deserialize)]
pub struct BusEvents {
    /// The events that were asked for and are still kept.
    pub events: Vec<BusEvent>,
    /// The number of the last one that was taken.
    pub last: u64,
}

impl LocalBus {
    /// A bus that has taken nothing yet.
    pub fn new(clock: &Clock) -> Self {
        Self { kept: Arc::default(), clock: clock.clone() }
    }

    /// The events after a number that are still kept.
    pub fn behind(&self, number: u64) -> BusEvents {
        let kept = self.kept.lock();
        let first = kept.events.partition_point(|it| it.number <= number);
        BusEvents { events: kept.events.range(first..).cloned().collect(), last: kept.last }
    }

    fn keep(&self, event: Box<RawValue>) {
        let kept = &mut *self.kept.lock();
        kept.last += 1;
        kept.bytes += event.get().len();
        kept.events.push_back(BusEvent { number: kept.last, event });
        while kept.events.len() > KEPT || kept.bytes > KEPT_BYTES {
            let Some(oldest) = kept.events.pop_front() else { return };
            kept.bytes -= oldest.event.get().len();
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use serde_json::{Value, json};

    use super::*;

    fn bus() -> LocalBus {
        LocalBus::new(&Clock::manual("2026-11-20T12:00:00Z".parse().unwrap()))
    }

    fn entry(detail: &str) -> Value {
        json!({"Source": "nagare", "DetailType": "x", "Detail": detail, "EventBusName": NAME})
    }

    fn put(bus: &LocalBus, entries: &[Value]) -> (u16, Value) {
        let (status, answer) =
            bus.call("AWSEvents.PutEvents", json!({"Entries": entries}).to_string().as_bytes());
        (status, serde_json::from_str(&answer).unwrap())
    }

    #[test]
    fn what_is_taken_is_kept_as_a_target_is_given_it() {
        let bus = bus();
        let (status, said) = put(&bus, &[entry(r#"{"n":1.0}"#), entry("[]"), entry("{")]);
        assert_eq!((status, &said["FailedEntryCount"]), (200, &json!(2)));
        assert_eq!(said["Entries"][1]["ErrorCode"], "MalformedDetail");
        let BusEvents { events, last } = bus.behind(0);
        let [event] = events.as_slice() else { unreachable!("{events:?}") };
        assert!(event.event.get().contains(r#""detail":{"n":1.0}"#));
        let event: Value = serde_json::from_str(event.event.get()).unwrap();
        assert_eq!(
            (last, &event["source"], &event["time"]),
            (1, &json!("nagare"), &json!("2026-11-20T12:00:00Z"))
        );
        assert_eq!(event["id"], said["Entries"][0]["EventId"]);
        assert!(bus.behind(1).events.is_empty());
    }

    #[test]
    fn what_eventbridge_does_not_take_is_refused() {
        let bus = bus();
        let error =
            |(status, said): (u16, Value)| (status, said["__type"].as_str().unwrap().to_owned());
        let wrong = (400, "ValidationException".to_owned());
        assert_eq!(error(put(&bus, &[])), wrong);
        assert_eq!(error(put(&bus, &vec![entry("{}"); 11])), wrong);
        let large = entry(&json!({"x": "x".repeat(150_000)}).to_string());
        assert_eq!(error(put(&bus, &[large.clone(), large])), wrong);
        let mut other = entry("{}");
        other["EventBusName"] = json!("other");
        assert_eq!(put(&bus, &[other]).1["FailedEntryCount"], 0, "it is for nobody");
        let (status, _) = bus.call("AWSEvents.PutRule", b"{}");
        assert_eq!((status, bus.behind(0).last), (400, 0));
    }

    #[test]
    fn the_oldest_go_first() {
        let bus = bus();
        for _ in 0..KEPT / 10 + 1 {
            put(&bus, &vec![entry("{}"); 10]);
        }
        let BusEvents { events, last } = bus.behind(0);
        assert_eq!((events.len(), events[0].number, last), (KEPT, 11, KEPT as u64 + 10));
        let large = entry(&json!({"x": "x".repeat(200_000)}).to_string());
        for _ in 0..50 {
            put(&bus, std::slice::from_ref(&large));
        }
        let bytes: usize = bus.behind(0).events.iter().map(|it| it.event.get().len()).sum();
        assert!(bytes <= KEPT_BYTES && bytes > KEPT_BYTES - 400_000, "{bytes}");
    }
}
