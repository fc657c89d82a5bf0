//! The commands of a seed: few tenants, customers, names and ids, so that everything meets everything.

use std::fmt;

use fastrand::Rng;
use serde_json::{Value, json};

use super::calendar::instant;
use super::definitions::{Definition, Measure, Says, WITHIN};
use super::plan::Plan;
use crate::platform::instants::{DAY, MINUTE, START};

pub(super) const TENANTS: [&str; 2] = ["acme", "blue"];
/// In the order of bytes, as they are listed.
pub(super) const CUSTOMERS: [&str; 3] = ["C-1", "c-1", "c.1"];
pub(super) const NAMES: [&str; 4] = ["Login", "login", "order", "sub.end"];
const RULES: [&str; 3] = ["gone", "often", "r.1"];
const SCORES: [&str; 2] = ["churn", "health"];
/// Commands of a history.
const COMMANDS: usize = 40;
const HOUR: i64 = 60 * MINUTE;

/// What a command says.
#[derive(Debug, Clone)]
pub(super) enum What {
    /// Events of one tenant.
    Events(Vec<Value>),
    /// Of a customer: tenant, customer, at, payload.
    Customer(&'static str, &'static str, i64, String),
    /// What a rule or a score is from then on.
    Define(Definition),
    /// That alerts of a tenant were read: which of those that somebody was shown by then, as numbers that wrap around.
    Read(&'static str, Vec<usize>),
}

/// A command, and when its copies are sent.
#[derive(Debug, Clone)]
pub(super) struct Sent {
    pub(super) number: usize,
    pub(super) what: What,
    /// In unix milliseconds, one for each copy.
    pub(super) copies: Vec<i64>,
}

impl Sent {
    /// The message that says it, to somebody who knows these alerts.
    pub(super) fn body(&self, known: &[String]) -> String {
        match &self.what {
            What::Events(events) => match events.as_slice() {
                [event] => event.to_string(),
                events => json!({"type": "events.recorded", "events": events}).to_string(),
            },
            What::Customer(tenant, customer, at, payload) => format!(
                r#"{{"type":"customer.updated","tenant_id":"{tenant}","customer_id":"{customer}","at":"{}","payload":{payload}}}"#,
                instant(*at)
            ),
            What::Define(definition) => definition.body(),
            What::Read(tenant, which) => {
                let nobodys = || format!("{:032x}", self.number);
                let id =
                    |n: &usize| known.get(n % known.len().max(1)).cloned().unwrap_or_else(nobodys);
                let read: Vec<_> = which.iter().map(|n| json!({"alert_id": id(n)})).collect();
                json!({"type": "alerts.read", "tenant_id": tenant, "read": read}).to_string()
            }
        }
    }
}

impl fmt::Display for Sent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let copies: Vec<_> = self.copies.iter().map(|at| instant(*at)).collect();
        let said = match &self.what {
            What::Read(tenant, which) => format!("alerts {which:?} of {tenant} are read"),
            _ => self.body(&[]),
        };
        write!(f, "{} at {}: {said}", self.number, copies.join(", "))
    }
}

/// The commands of a seed.
pub(super) fn history(seed: u64) -> Vec<Sent> {
    let (plan, mut random) = (Plan::of(seed), Rng::with_seed(seed));
    let mut before = Vec::new();
    (0..COMMANDS).map(|number| command(number, &plan, &mut before, &mut random)).collect()
}

fn command(number: usize, plan: &Plan, before: &mut Vec<Value>, random: &mut Rng) -> Sent {
    let tenant = random.choice(TENANTS).unwrap();
    let sent_at = START + random.i64(HOUR..plan.span);
    let what = match random.u8(0..100) {
        0..52 => What::Events(events(number, tenant, sent_at, plan, before, random)),
        52..60 => {
            let payload = format!(r#"{{"n":{}}}"#, random.u8(0..4));
            What::Customer(tenant, customer(random), said_at(sent_at, plan, random), payload)
        }
        60..80 => What::Define(rule(tenant, sent_at, plan, random)),
        80..91 => What::Define(score(tenant, sent_at, plan, random)),
        _ => What::Read(tenant, (0..random.usize(1..4)).map(|_| random.usize(0..64)).collect()),
    };
    let copies = random.choice([1, 1, 1, 2, 3]).unwrap();
    let later =
        |random: &mut Rng| random.choice([0, 1, HOUR, 20 * HOUR]).unwrap() * random.i64(0..3);
    let mut copies: Vec<_> = (1..copies).map(|_| sent_at + later(random)).collect();
    copies.push(sent_at);
    Sent { number, what, copies }
}

fn customer(random: &mut Rng) -> &'static str {
    random.choice(CUSTOMERS).unwrap()
}

/// Few instants, not after the one of sending: several commands have the same, and a later one may say an earlier.
fn said_at(sent_at: i64, plan: &Plan, random: &mut Rng) -> i64 {
    let step = plan.span / 8;
    START - DAY + ((sent_at - START) / step - random.i64(0..3)).max(0) * step
}

/// Some events of a tenant: new ones, often of one name and about one day, repeated ones, and others under the same identity.
fn events(
    number: usize,
    tenant: &str,
    sent_at: i64,
    plan: &Plan,
    before: &mut Vec<Value>,
    random: &mut Rng,
) -> Vec<Value> {
    let usual = (customer(random), random.choice(NAMES).unwrap());
    let mut events = Vec::new();
    for nth in 0..random.choice([1, 2, 5]).unwrap() {
        // What has not happened yet nobody sends.
        let has_happened = |it: &&Value| it["at"].as_str().unwrap() <= instant(sent_at).as_str();
        let of_tenant = before.iter().filter(|it| it["tenant_id"] == tenant);
        match random.choice(of_tenant.filter(has_happened).collect::<Vec<_>>()) {
            Some(event) if random.u8(0..6) == 0 => {
                let mut event = event.clone();
                if random.u8(0..3) == 0 {
                    event["name"] = random.choice(NAMES).unwrap().into();
                }
                events.push(event);
            }
            _ => {
                let (customer, name) = match random.u8(0..3) {
                    0 => (customer(random), random.choice(NAMES).unwrap()),
                    _ => usual,
                };
                let at = instant(happened_at(sent_at, plan, random));
                events.push(
                    json!({"type": "event.recorded", "tenant_id": tenant, "customer_id": customer,
                    "event_id": format!("e{number}-{nth}"), "name": name, "at": at}),
                );
            }
        }
    }
    before.extend(events.iter().cloned());
    events
}

/// When something happened that is sent at an instant: often where a day begins, at times long ago.
fn happened_at(sent_at: i64, plan: &Plan, random: &mut Rng) -> i64 {
    let midnight = sent_at - sent_at.rem_euclid(DAY);
    let at = match random.u8(0..8) {
        0 => midnight + random.i64(-1..=1),
        1 => midnight - random.i64(0..3) * DAY - random.i64(0..2),
        2 => sent_at - random.i64(0..plan.span / 2),
        3 => sent_at - random.i64(0..=i64::from(plan.settings.lateness_days) + 1) * DAY,
        _ => sent_at - random.i64(0..8 * HOUR),
    };
    at.min(sent_at)
}

fn rule(tenant: &'static str, sent_at: i64, plan: &Plan, random: &mut Rng) -> Definition {
    let says = match random.u8(0..8) {
        0 => Says::Deleted,
        1..4 => Says::Silent { days: random.i64(1..=(plan.span / DAY / 4).max(2)) },
        _ => Says::Counted {
            event: random.choice(NAMES).unwrap(),
            count: random.choice([1, 1, 2, 2, 3, 4]).unwrap(),
            within: random.choice(WITHIN).unwrap(),
        },
    };
    let at = said_at(sent_at, plan, random);
    Definition { tenant, is_score: false, id: random.choice(RULES).unwrap(), at, says }
}

fn score(tenant: &'static str, sent_at: i64, plan: &Plan, random: &mut Rng) -> Definition {
    let measure = |random: &mut Rng| Measure {
        event: random.choice(NAMES).unwrap(),
        days: random.choice([1, 2, 7, 28, 90]).unwrap(),
        points: random.i64(-40..60),
        most: random.choice([5, 30, 90]).unwrap(),
    };
    let says = match random.u8(0..8) {
        0 => Says::Deleted,
        _ => Says::Score {
            base: random.i64(-20..110),
            measures: (0..random.usize(1..3)).map(|_| measure(random)).collect(),
            below: random.choice([None, Some(20), Some(50), Some(80)]).unwrap(),
        },
    };
    let at = said_at(sent_at, plan, random);
    Definition { tenant, is_score: true, id: random.choice(SCORES).unwrap(), at, says }
}
