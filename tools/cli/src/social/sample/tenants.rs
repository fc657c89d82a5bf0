//! Two tenants: what their customers have done in the last weeks and go on doing, what is said of the customers, and what is defined
//! for the tenants.

use fastrand::Rng;
use serde_json::{Value, json};
use shared::command::Command;
use shared::history::events::EventSettings;
use shared::platform::values::Timestamp;

use super::{HOUR, MINUTE};

/// Each with how many customers.
const TENANTS: [(&str, usize); 2] = [("acme", 4), ("blue", 2)];
/// What they do, most of all the first.
const NAMES: [&str; 5] = ["login", "upload", "stream.started", "stream.ended", "logout"];
/// Days of which there are events, today included, as far as events are still taken of them.
const DAYS: usize = 21;
/// The most events of a customer on one of these days.
const MOST: usize = 3;

/// What has happened until an hour, and what is defined, as of now.
pub(super) fn commands(hour: Timestamp, now: Timestamp, settings: &EventSettings) -> Vec<Command> {
    let bodies = TENANTS.iter().flat_map(|(tenant, customers)| {
        let events: Vec<_> = (1..=*customers)
            .flat_map(|customer| {
                (0..DAYS).flat_map(move |day| (0..MOST).map(move |n| (customer, day, n)))
            })
            .filter_map(|(customer, day, n)| past(tenant, customer, (day, n), hour))
            .filter(|(at, _)| now < settings.closes_at(settings.period_of(*at)))
            .map(|(_, event)| event)
            .collect();
        let events: Vec<_> =
            events.chunks(shared::history::events::MOST_EVENTS).map(recorded).collect();
        let said = (1..=*customers).map(|customer| said(tenant, customer, hour));
        let defined = defined(tenant, hour);
        said.chain(defined).chain(events).collect::<Vec<_>>()
    });
    bodies.filter_map(|body| Command::parse(&body.to_string(), now).ok()).collect()
}

fn recorded(events: &[Value]) -> Value {
    json!({ "type": "events.recorded", "events": events })
}

/// The `n`th event of a customer on a day, or none if the day has fewer events. Some days have none at all.
fn past(
    tenant: &str,
    customer: usize,
    (day, n): (usize, usize),
    hour: Timestamp,
) -> Option<(Timestamp, Value)> {
    let many = (customer * 3 + day * 5 + day / 3) % (MOST + 1);
    (n < many).then_some(())?;
    let ago = day as i64 * 24 * HOUR + (n * 70 + customer * 7) as i64 * MINUTE;
    let at = hour.plus_millis(-ago);
    let name = NAMES[(n * (day + customer)) % NAMES.len()];
    let id = format!("sample-{}", at.unix_millis() / 1_000);
    Some((at, event(tenant, customer, &id, name, at)))
}

fn event(tenant: &str, customer: usize, id: &str, name: &str, at: Timestamp) -> Value {
    json!({
        "type": "event.recorded", "tenant_id": tenant, "customer_id": format!("customer-{customer}"),
        "event_id": id, "name": name, "at": at.to_string(), "properties": { "from": "the sample" },
    })
}

fn said(tenant: &str, customer: usize, hour: Timestamp) -> Value {
    let plan = if customer.is_multiple_of(2) { "free" } else { "pro" };
    json!({
        "type": "customer.updated", "tenant_id": tenant, "customer_id": format!("customer-{customer}"),
        "at": long_ago(hour), "payload": { "name": format!("Customer {customer}"), "plan": plan },
    })
}

/// A rule by count, one by silence, and a score.
fn defined(tenant: &str, hour: Timestamp) -> [Value; 3] {
    let at = long_ago(hour);
    [
        json!({ "type": "rule.defined", "tenant_id": tenant, "rule_id": "regular", "at": at,
            "when": { "event": "login", "count": 5, "within": "ever" } }),
        json!({ "type": "rule.defined", "tenant_id": tenant, "rule_id": "gone", "at": at, "when": { "silent_days": 14 } }),
        json!({ "type": "score.defined", "tenant_id": tenant, "score_id": "health", "at": at, "base": 10,
            "measures": [{ "event": "login", "days": 28, "points": 3, "most": 60 },
                { "event": "upload", "days": 7, "points": 5, "most": 30 }],
            "alert_below": 20 }),
    ]
}

fn long_ago(hour: Timestamp) -> String {
    hour.plus_millis(-48 * HOUR).to_string()
}

/// What somebody does now.
pub(super) fn happens(random: &mut Rng, id: &str, now: Timestamp) -> Option<Command> {
    let (tenant, customers) = TENANTS[random.usize(..TENANTS.len())];
    let customer = random.usize(1..=customers);
    // The smaller of two: the first is drawn most often.
    let name = NAMES[random.usize(..NAMES.len()).min(random.usize(..NAMES.len()))];
    Command::parse(&event(tenant, customer, id, name, now).to_string(), now).ok()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    /// Of commands: how many events they record, and how many of them are in a period that takes none.
    fn events(commands: &[Command], settings: &EventSettings, now: Timestamp) -> (usize, usize) {
        let (mut all, mut late) = (0, 0);
        for command in commands {
            let body: Value = serde_json::from_str(&command.to_body()).unwrap();
            for event in body["events"].as_array().into_iter().flatten() {
                let at = event["at"].as_str().unwrap().parse().unwrap();
                all += 1;
                late += usize::from(settings.closes_at(settings.period_of(at)) <= now);
            }
        }
        (all, late)
    }

    #[test]
    fn no_event_is_too_late_whatever_the_day_and_the_length_of_periods() {
        let settings = |length: &str, lateness_days| EventSettings {
            length: length.parse().unwrap(),
            lateness_days,
            ..EventSettings::default()
        };
        for day in 0..40 {
            let hour = Timestamp::from_unix_millis(1_795_010_400_000).plus_millis(day * 24 * HOUR);
            let now = hour.plus_millis(17 * MINUTE);
            for (length, lateness, least) in
                [("month", 7, 50), ("week", 7, 50), ("day", 7, 50), ("day", 0, 1)]
            {
                let settings = settings(length, lateness);
                let sent = commands(hour, now, &settings);
                let (all, late) = events(&sent, &settings, now);
                assert!(all >= least && late == 0, "{length} {lateness}: {all}, {late} late");
                // Six are said something of, two rules and a score each, and a message of events or more.
                assert!(sent.len() >= 12, "{}", sent.len());
            }
        }
    }
}
