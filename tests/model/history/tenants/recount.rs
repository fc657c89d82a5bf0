//! What is answered at rest: a recount of the events that were taken and of the commands that were sent.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use super::calendar::{date, day_of, instant};
use super::commands::{CUSTOMERS, Sent, What};
use super::definitions::{Definition, Says, period};
use super::taken::Event;

/// The days that are shown of a name.
const SHOWN_DAYS: i64 = 400;

/// How often something happened, and when first and last.
fn tally(events: &[&Event]) -> Value {
    let at = |it: Option<i64>| it.map(instant);
    let (first, last) = (events.iter().map(|it| it.at).min(), events.iter().map(|it| it.at).max());
    json!({"count": events.len(), "first_at": at(first), "last_at": at(last)})
}

fn by_name<'a>(events: &[&'a Event]) -> BTreeMap<&'a str, Vec<&'a Event>> {
    let mut by_name = BTreeMap::<_, Vec<_>>::new();
    for event in events {
        by_name.entry(event.name.as_str()).or_default().push(*event);
    }
    by_name
}

/// The definitions of a tenant that win.
pub(super) fn in_force<'a>(history: &'a [Sent], tenant: &str) -> Vec<&'a Definition> {
    let mut winners = BTreeMap::<_, &Definition>::new();
    for sent in history {
        if let What::Define(definition) = &sent.what {
            let winner = winners.entry(definition.subject()).or_insert(definition);
            if winner.rank() < definition.rank() {
                *winner = definition;
            }
        }
    }
    let of_tenant = winners.into_values().filter(|it| it.tenant == tenant);
    of_tenant.filter(|it| it.says != Says::Deleted).collect()
}

/// What was said last of a customer.
fn payload(history: &[Sent], tenant: &str, customer: &str) -> Option<Value> {
    let said = history.iter().filter_map(|sent| match &sent.what {
        What::Customer(of, about, at, payload) if (*of, *about) == (tenant, customer) => {
            Some((at, payload))
        }
        _ => None,
    });
    said.max().map(|(_, payload)| serde_json::from_str(payload).unwrap())
}

/// A customer, if there is one.
pub(super) fn customer(
    history: &[Sent],
    of_tenant: &[&Event],
    tenant: &str,
    id: &str,
    now: i64,
) -> Option<Value> {
    let events: Vec<_> = of_tenant.iter().copied().filter(|it| it.customer == id).collect();
    let payload = payload(history, tenant, id);
    if events.is_empty() && payload.is_none() {
        return None;
    }
    let names: BTreeMap<_, _> =
        by_name(&events).into_iter().map(|(name, it)| (name, tally(&it))).collect();
    let (of_all, today) = (tally(&events), day_of(now));
    let scores = in_force(history, tenant).into_iter().filter(|it| it.is_score);
    let score =
        |it: &Definition| (it.id, json!({"value": it.value(&events, today), "as_of": date(today)}));
    let scores: BTreeMap<_, _> = scores.map(score).collect();
    Some(
        json!({"customer_id": id, "payload": payload, "events": events.len(), "names": names, "scores": scores,
        "first_at": of_all["first_at"], "last_at": of_all["last_at"]}),
    )
}

/// The customers of a tenant, in their order.
pub(super) fn customers(
    history: &[Sent],
    of_tenant: &[&Event],
    tenant: &str,
    now: i64,
) -> Vec<Value> {
    let customers = CUSTOMERS.iter();
    customers.filter_map(|id| customer(history, of_tenant, tenant, id, now)).collect()
}

/// The names of a tenant, in their order.
pub(super) fn names(of_tenant: &[&Event]) -> Vec<Value> {
    let names = by_name(of_tenant).into_iter().map(|(name, events)| {
        let mut item = tally(&events);
        item["name"] = name.into();
        item
    });
    names.collect()
}

/// One of them, if there is any event of it.
pub(super) fn name(of_tenant: &[&Event], name: &str, now: i64) -> Option<Value> {
    let mut item = names(of_tenant).into_iter().find(|it| it["name"] == name)?;
    let mut days = BTreeMap::<_, usize>::new();
    for event in of_tenant.iter().filter(|it| it.name == name) {
        *days.entry(day_of(event.at)).or_default() += 1;
    }
    let shown = days.into_iter().rev().filter(|(day, _)| *day > day_of(now) - SHOWN_DAYS);
    item["days"] = shown.map(|(day, count)| json!({"date": date(day), "count": count})).collect();
    Some(item)
}

/// An alert of a count: rule, customer, period, on how many events.
pub(super) type Counted = (String, String, String, usize);

/// The alerts that a rule asks for, by counts of these events.
pub(super) fn counted(rule: &Definition, events: &[&Event]) -> BTreeSet<Counted> {
    let Says::Counted { event, count, within } = rule.says else { return BTreeSet::new() };
    let mut counts = BTreeMap::<_, usize>::new();
    for it in events.iter().filter(|it| it.name == event) {
        *counts.entry((it.customer.clone(), period(within, day_of(it.at)))).or_default() += 1;
    }
    let reached = counts.into_iter().filter(|(_, times)| *times >= count);
    reached.map(|((customer, period), _)| (rule.id.to_owned(), customer, period, count)).collect()
}

/// The same of an alert as it is listed.
pub(super) fn listed(alert: &Value) -> Option<Counted> {
    let text = |name: &str| alert[name].as_str().map(str::to_owned);
    let events = usize::try_from(alert["decided_on"]["events"].as_u64()?).unwrap();
    Some((text("rule_id")?, text("customer_id")?, text("period")?, events))
}
