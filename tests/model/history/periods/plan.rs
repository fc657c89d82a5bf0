//! What a seed chooses before a run: the lengths of periods, the error of each clock, the messages and their instants.

use std::fmt;

use fastrand::Rng;
use period_keeper::KeeperLimits;
use serde_json::{Value, json};
use shared::history::events::{EventSettings, Period, PeriodLength};
use shared::platform::values::Timestamp;

use crate::platform::instants::{DAY, MINUTE, START};

const HOUR: i64 = 60 * MINUTE;
/// Messages are sent for so long after the start.
const SENDING: i64 = 3 * DAY;
/// Messages of a history.
const MESSAGES: usize = 40;
pub(super) const TENANTS: [&str; 2] = ["acme", "blue"];
pub(super) const CUSTOMERS: [&str; 2] = ["c-1", "c-2"];

/// A run, before it begins.
pub(super) struct Plan {
    pub(super) settings: EventSettings,
    /// By how many milliseconds the clock of each writer is ahead.
    pub(super) writers: Vec<i64>,
    /// The same of each keeper, and how much it does at once.
    pub(super) keepers: Vec<(i64, KeeperLimits)>,
    /// Of a hundred calls, how many fail.
    pub(super) faults: u8,
    /// How often, of a hundred times, the latest call overtakes all others: then the others wait while days pass.
    pub(super) haste: u8,
    /// Of two hundred turns, in how many time passes.
    pub(super) time: u8,
    /// Of a hundred objects, how many are changed by the bucket before they are read back.
    pub(super) mangles: u8,
}

impl Plan {
    pub(super) fn of(seed: u64) -> Self {
        let random = &mut Rng::with_seed(seed ^ 0x9E71_0D5E);
        let days = random.u32(1..3);
        let settings = EventSettings {
            length: PeriodLength::Day,
            lateness_days: random.u32(0..2),
            days,
            archive_days: random.choice([0, 0, days + 2]).unwrap(),
            earliest: EventSettings::EARLIEST,
        };
        let apart = random.choice([0, 3, 4 * MINUTE]).unwrap();
        let writers = (0..2).map(|_| random.i64(-apart..=apart)).collect();
        // Where a chunk ends depends on whoever is first to say so.
        let limits = |random: &mut Rng| KeeperLimits {
            chunk_bytes: random.choice([600, 1_500, 4_000]).unwrap(),
            segment_bytes: random.choice([500, 2_000]).unwrap(),
            segments_at_once: random.choice([1, 4]).unwrap(),
            page_items: random.choice([Some(1), Some(3), None]).unwrap(),
        };
        let apart = random.choice([0, 10 * MINUTE]).unwrap();
        let keepers = (0..2).map(|_| (random.i64(-apart..=apart), limits(random))).collect();
        Self {
            settings,
            writers,
            keepers,
            faults: random.choice([0, 3, 10]).unwrap(),
            haste: random.choice([0, 50, 90]).unwrap(),
            time: random.choice([1, 3, 8]).unwrap(),
            mangles: random.choice([0, 0, 0, 5]).unwrap(),
        }
    }

    /// The instants that matter, in order: where days begin, close, are sealed and dropped.
    pub(super) fn boundaries(&self) -> Vec<i64> {
        let days = (-2..=SENDING / DAY + 1).map(|n| self.day(START + n * DAY));
        let of = |day: Period| {
            [
                day.from(),
                self.settings.closes_at(day),
                self.settings.sealed_from(day),
                self.settings.dropped_from(day),
            ]
        };
        let mut all: Vec<_> = days.flat_map(of).map(Timestamp::unix_millis).collect();
        all.sort_unstable();
        all.dedup();
        all
    }

    fn day(&self, millis: i64) -> Period {
        self.settings.period_of(Timestamp::from_unix_millis(millis))
    }
}

/// A message, and when its copies are sent.
#[derive(Clone)]
pub(super) struct Sent {
    pub(super) number: usize,
    pub(super) events: Vec<Value>,
    /// In unix milliseconds, one for each copy.
    pub(super) copies: Vec<i64>,
}

impl Sent {
    pub(super) fn body(&self) -> String {
        match self.events.as_slice() {
            [event] => event.to_string(),
            events => json!({"type": "events.recorded", "events": events}).to_string(),
        }
    }
}

impl fmt::Display for Sent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let at = |millis: &i64| Timestamp::from_unix_millis(*millis).to_string();
        let copies: Vec<_> = self.copies.iter().map(at).collect();
        write!(f, "{} at {}: {}", self.number, copies.join(", "), self.body())
    }
}

/// The messages of a seed.
pub(super) fn messages(seed: u64) -> Vec<Sent> {
    let (plan, random) = (Plan::of(seed), &mut Rng::with_seed(seed));
    let mut before = Vec::new();
    (0..MESSAGES).map(|number| message(number, &plan, &mut before, random)).collect()
}

fn message(number: usize, plan: &Plan, before: &mut Vec<Value>, random: &mut Rng) -> Sent {
    let tenant = random.choice(TENANTS).unwrap();
    let at = START + random.i64(0..SENDING);
    let (mut sent_at, mut events) = (at, Vec::new());
    for _ in 0..random.choice([1, 1, 4]).unwrap() {
        let repeated = before.iter().filter(|event| event["tenant_id"] == tenant);
        match random.choice(repeated.collect::<Vec<_>>()) {
            Some(event) if random.u8(0..3) == 0 => {
                let mut event = event.clone();
                if random.u8(0..3) == 0 {
                    event["properties"] = json!({"n": random.u8(0..3)});
                }
                events.push(event);
            }
            _ => {
                let of = instant(at, random);
                if random.u8(0..3) == 0 {
                    sent_at = around_the_closing(plan, of, random);
                }
                events.push(event(tenant, number * 10 + events.len(), of, random));
            }
        }
    }
    // What has not happened yet nobody sends.
    let happened = |event: &Value| event["at"].as_str().unwrap().parse::<Timestamp>().unwrap();
    let latest = events.iter().map(|event| happened(event).unix_millis()).max().unwrap();
    let sent_at = sent_at.max(latest);
    before.extend(events.iter().cloned());
    let later = |random: &mut Rng| {
        random.choice([0, 1, MINUTE, HOUR, 20 * HOUR]).unwrap() * random.i64(0..3)
    };
    let copies = random.choice([1, 1, 1, 2, 3]).unwrap();
    let mut copies: Vec<_> = (1..copies).map(|_| sent_at + later(random)).collect();
    copies.push(sent_at);
    Sent { number, events, copies }
}

/// When something happened that is sent at an instant or later: often where a day begins.
fn instant(at: i64, random: &mut Rng) -> i64 {
    let midnight = at - at.rem_euclid(DAY);
    match random.u8(0..4) {
        0 => midnight + random.i64(-1..=1),
        1 => midnight - random.i64(0..DAY),
        _ => at - random.i64(0..4 * HOUR),
    }
}

/// An instant just before, at, or after the one at which an event comes too late, by some clock.
fn around_the_closing(plan: &Plan, at: i64, random: &mut Rng) -> i64 {
    let closes = plan.settings.closes_at(plan.day(at)).unix_millis();
    let apart = random.choice([1, 3, 4 * MINUTE, HOUR, HOUR + MINUTE]).unwrap();
    closes + random.i64(-1..=1) * apart
}

fn event(tenant: &str, number: usize, at: i64, random: &mut Rng) -> Value {
    let at = Timestamp::from_unix_millis(at).to_string();
    let customer = random.choice(CUSTOMERS).unwrap();
    json!({"type": "event.recorded", "tenant_id": tenant, "customer_id": customer, "event_id": format!("e{number}"),
        "name": "login", "at": at, "properties": {"n": random.u8(0..3)}})
}
