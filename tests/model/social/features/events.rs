//! Events: the first that is processed stays under its identity, another content is refused, and so is what comes after its
//! period has closed. Each is shown once, in the order of time.
//!
//! Which of several contents is the first, nobody knows before. While everything goes on an event that was acknowledged is there with one of
//! those that were sent. In the end all others were refused, and nothing else was.

use std::collections::{BTreeMap, BTreeSet};

use fastrand::Rng;
use serde_json::{Value, json};
use shared::history::events::{EventSettings, PeriodLength};
use tests::World;

use super::{Commands, Feature, each_by_itself};
use crate::social::reference::Reference;

pub(super) const FEATURE: Feature = Feature { command, paths, judge, whole: each_by_itself };

const TENANT: &str = "acme";
const CUSTOMERS: [&str; 2] = ["c-1", "c-2"];
const NAMES: [&str; 3] = ["login", "logout", "order"];
/// Instants of days that take events throughout a run, two of them on both sides of midnight.
const IN_TIME: [&str; 6] = [
    "2026-11-16T12:00:00.000Z",
    "2026-11-18T23:59:59.999Z",
    "2026-11-19T00:00:00.000Z",
    "2026-11-19T12:00:00.000Z",
    "2026-11-20T11:00:00.000Z",
    "2026-11-20T11:59:59.999Z",
];
/// Instants of days that took events until the run began, or some days before.
const TOO_LATE: [&str; 2] = ["2026-11-12T23:59:59.999Z", "2026-11-01T12:00:00.000Z"];

/// Days are periods that close a week after their end. On two of them a customer has several keys.
pub(crate) async fn prepare(world: &mut World) {
    let settings = EventSettings { length: PeriodLength::Day, ..EventSettings::default() };
    world.writer.events.as_mut().unwrap().settings = settings;
    world.history_reader.events.settings = settings;
    for (day, keys) in (10..25).map(|day| (day, if matches!(day, 16 | 19) { 3 } else { 1 })) {
        let day = format!("2026-11-{day}");
        world.spread_in_period(&day, &format!("{TENANT}#{}", CUSTOMERS[0]), keys).await;
        world.make_period(&day).await;
    }
}

/// One event, or a message of several.
fn command(random: &mut Rng) -> Value {
    if random.u8(0..3) > 0 {
        return event(random);
    }
    let events: Vec<_> = (0..random.usize(1..6)).map(|_| event(random)).collect();
    json!({"type": "events.recorded", "events": events})
}

fn event(random: &mut Rng) -> Value {
    let at = match random.u8(0..10) {
        0 => random.choice(TOO_LATE),
        _ => random.choice(IN_TIME),
    };
    let id = format!("e{}", random.u8(0..4));
    let content = if random.u8(0..6) == 0 { random.u8(1..3) } else { 0 };
    json!({"type": "event.recorded", "tenant_id": TENANT, "customer_id": random.choice(CUSTOMERS),
        "event_id": id, "at": at, "name": NAMES[usize::from(content)], "properties": {"n": content}})
}

fn paths() -> Vec<String> {
    let of = |customer| {
        let path = format!("/v1/tenants/{TENANT}/customers/{customer}/events");
        [
            format!("{path}?limit=100"),
            format!("{path}?limit=7"),
            format!("{path}?order=oldest&limit=100"),
        ]
    };
    CUSTOMERS.into_iter().flat_map(of).collect()
}

/// Instant and id.
type Identity<'a> = (&'a str, &'a str);

fn identity(event: &Value) -> Identity<'_> {
    (event["at"].as_str().unwrap(), event["event_id"].as_str().unwrap())
}

fn content(event: &Value) -> String {
    format!("{} {}", event["name"], event["properties"])
}

/// The events of a customer that some commands say.
fn said<'a>(reference: &'a Reference, customer: &str) -> Vec<&'a Value> {
    let events = reference.features.iter().flat_map(|command| match command["type"].as_str() {
        Some("event.recorded") => vec![command],
        Some("events.recorded") => command["events"].as_array().unwrap().iter().collect(),
        _ => vec![],
    });
    events.filter(|event| event["customer_id"] == customer).collect()
}

/// The contents of events that are in time, by identity.
fn contents<'a>(events: &[&'a Value]) -> BTreeMap<Identity<'a>, BTreeSet<String>> {
    let mut contents = BTreeMap::<_, BTreeSet<_>>::new();
    for event in events.iter().filter(|event| IN_TIME.contains(&identity(event).0)) {
        contents.entry(identity(event)).or_default().insert(content(event));
    }
    contents
}

fn judge(path: &str, status: i64, answer: &Value, commands: &Commands<'_>) -> Option<String> {
    if status != 200 {
        return Some(format!("answered {status}"));
    }
    let customer = path.split('/').nth(5).unwrap();
    let items = answer["items"].as_array().unwrap();
    let shown: Vec<_> = items.iter().map(identity).collect();
    let is_ordered = match path.contains("order=oldest") {
        true => shown.is_sorted_by(|one, next| one < next),
        false => shown.is_sorted_by(|one, next| one > next),
    };
    if !is_ordered {
        return Some("they are not in order, or one is shown twice".to_owned());
    }
    let started = contents(&said(commands.started, customer));
    let is_said = |item: &&Value| {
        started.get(&identity(item)).is_some_and(|contents| contents.contains(&content(item)))
    };
    if let Some(item) = items.iter().find(|item| !is_said(item)) {
        return Some(format!("nobody sent {item}"));
    }
    if path.contains("limit=7") {
        let done = contents(&said(commands.done, customer)).len();
        return (shown.len() < done.min(7)).then(|| format!("{done} are recorded"));
    }
    let done = contents(&said(commands.done, customer));
    if let Some(identity) = done.keys().find(|identity| !shown.contains(identity)) {
        return Some(format!("{identity:?} is lost"));
    }
    if commands.quiet { refused(customer, items, commands.done) } else { None }
}

/// What is wrong with the events that were refused, if something is: all but those that are shown had to be.
fn refused(customer: &str, items: &[Value], reference: &Reference) -> Option<String> {
    let of_customer = reference.refused_events.iter();
    let of_customer = of_customer.filter(|event| event["customer_id"] == customer);
    let refused: BTreeSet<_> = of_customer.map(|it| (identity(it), content(it))).collect();
    let shown: BTreeSet<_> = items.iter().map(|it| (identity(it), content(it))).collect();
    let sent: BTreeSet<_> =
        said(reference, customer).into_iter().map(|it| (identity(it), content(it))).collect();
    let expected: BTreeSet<_> = sent.difference(&shown).cloned().collect();
    (refused != expected).then(|| format!("refused {refused:?}, expected {expected:?}"))
}
