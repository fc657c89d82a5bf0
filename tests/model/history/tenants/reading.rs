//! What readers are shown while everything goes on: no alert that nothing asks for, none twice, none gone again, and no more and no less counted than may be.

use std::cell::RefCell;
use std::collections::BTreeSet;

use fastrand::Rng;
use serde_json::Value;
use tests::World;

use super::commands::{CUSTOMERS, Sent, TENANTS};
use super::effects::Stated;
use super::facts::Facts;
use super::recount::{counted, listed};
use super::{calendar, daily};

/// The most pages of a walk.
const PAGES: usize = 400;

/// Reads all pages of a list, a few items at a time. Nothing if a call was not answered.
pub(super) async fn pages(
    world: &World,
    path: &str,
    query: &str,
    random: &mut Rng,
) -> Result<Option<Vec<Value>>, String> {
    let (mut all, mut query) = (Vec::new(), query.to_owned());
    for _ in 0..PAGES {
        let limit = random.choice([1, 2, 3, 7, 100]).unwrap();
        let (status, _, page) = world.get(path, &format!("limit={limit}{query}")).await;
        match status {
            200 => {}
            503 => return Ok(None),
            _ => return Err(format!("{path} is answered {status}: {page}")),
        }
        let items = page["items"].as_array().unwrap();
        if items.len() > limit {
            return Err(format!("{path}: {} items, and {limit} were asked for", items.len()));
        }
        all.extend(items.iter().cloned());
        match page["next_cursor"].as_str() {
            Some(cursor) => query = format!("&cursor={cursor}"),
            None => return Ok(Some(all)),
        }
    }
    Err(format!("{path}: a walk without end"))
}

fn now(world: &World) -> i64 {
    world.clock.now().unix_millis()
}

/// Reads something, and judges it by what is known then.
pub(super) async fn look(
    world: &World,
    facts: &RefCell<Facts>,
    history: &[Sent],
    mut random: Rng,
) -> Result<(), String> {
    let (tenant, begin) = (random.choice(TENANTS).unwrap(), now(world));
    let path = |list: &str| format!("/v1/tenants/{tenant}/{list}");
    if random.u8(0..4) == 0 {
        let shown = pages(world, &path("customers"), "", &mut random).await?;
        let facts = facts.borrow();
        let is_hidden = |it: &Value| is_hidden(&facts, tenant, it, begin);
        let mut shown = shown.iter().flatten().filter(|it| !is_hidden(it));
        return shown.try_for_each(|it| events_are_possible(&facts, tenant, it, begin, now(world)));
    }
    let unread_only = random.u8(0..3) == 0;
    let listed_before = facts.borrow().shown.daily(tenant);
    let query = if unread_only { "&state=unread" } else { "" };
    let Some(mut alerts) = pages(world, &path("alerts"), query, &mut random).await? else {
        return Ok(());
    };
    let mut facts = facts.borrow_mut();
    alerts.retain(|it| !is_hidden(&facts, tenant, it, begin));
    let stated = facts.effects.stated(&facts.erasing.living(history));
    let stated: Vec<_> = stated.into_iter().filter(|it| it.definition.tenant == tenant).collect();
    alerts_are_possible(&mut facts, &stated, tenant, &alerts, (begin, now(world)))?;
    if unread_only {
        let read = alerts.iter().find(|it| it["state"] != "unread");
        return read.map_or(Ok(()), |it| Err(format!("{it} is listed as unread")));
    }
    let is_listed = |id: &&String| alerts.iter().any(|it| it["alert_id"] == id.as_str());
    let is_kept = |id: &&String| facts.shown.daily(tenant).contains(id);
    if let Some(id) = listed_before.iter().filter(is_kept).find(|id| !is_listed(id)) {
        return Err(format!("{tenant} is not shown {id} any more"));
    }
    none_is_missing(&facts, &stated, &alerts, (begin, now(world)))
}

/// True if what is said of a customer is not judged, because they were being erased.
fn is_hidden(facts: &Facts, tenant: &str, said: &Value, begin: i64) -> bool {
    facts.erasing.hides(tenant, said["customer_id"].as_str().unwrap(), begin)
}

fn events_are_possible(
    facts: &Facts,
    tenant: &str,
    shown: &Value,
    begin: i64,
    end: i64,
) -> Result<(), String> {
    let customer = shown["customer_id"].as_str().unwrap();
    let (sure, maybe) = facts.taken.folded([tenant, customer], begin, end);
    let is_possible = |count: &Value, of: &dyn Fn(&str) -> bool| {
        let number = |events: &[&super::taken::Event]| {
            events.iter().filter(|it| of(&it.name)).count() as u64
        };
        let (least, more, count) = (number(&sure), number(&maybe), count.as_u64().unwrap_or(0));
        (least..=least + more).contains(&count)
    };
    let names: BTreeSet<_> = sure.iter().chain(&maybe).map(|it| it.name.as_str()).collect();
    let are_possible =
        names.iter().all(|name| is_possible(&shown["names"][*name]["count"], &|it| it == *name));
    match are_possible && is_possible(&shown["events"], &|_| true) {
        true => Ok(()),
        false => Err(format!(
            "{} to {} events are folded: {shown}",
            sure.len(),
            sure.len() + maybe.len()
        )),
    }
}

/// Whether alerts are in order, each is there once and could have been given, and is as read as it may be.
pub(super) fn alerts_are_possible(
    facts: &mut Facts,
    stated: &[Stated],
    tenant: &str,
    alerts: &[Value],
    (begin, end): (i64, i64),
) -> Result<(), String> {
    let decided_at = |alert: &Value| alert["decided_at"].as_str().unwrap().to_owned();
    if !alerts.is_sorted_by(|one, next| decided_at(one) >= decided_at(next)) {
        return Err(format!("not in order: {alerts:?}"));
    }
    let mut ids = BTreeSet::new();
    for alert in alerts {
        let id = alert["alert_id"].as_str().unwrap();
        if !ids.insert(id) {
            return Err(format!("{alert} is shown twice"));
        }
        facts.shown.show(tenant, alert)?;
        let states = facts.shown.states(tenant, id, begin);
        if !states.contains(&alert["state"].as_str().unwrap()) {
            return Err(format!("{alert} should be {states:?}"));
        }
        if calendar::millis(&decided_at(alert)) > end {
            return Err(format!("{alert} is not decided yet"));
        }
        match listed(alert) {
            Some(alert) => count_is_possible(facts, stated, tenant, &alert, (begin, end))?,
            None => daily::is_possible(facts, stated, tenant, alert)?,
        }
    }
    let counts: Vec<_> = alerts.iter().filter_map(listed).collect();
    match counts.iter().collect::<BTreeSet<_>>().len() < counts.len()
        && is_settled(stated, begin, end)
    {
        true => Err(format!("one is there twice: {counts:?}")),
        false => Ok(()),
    }
}

/// Whether no definition came or went.
fn is_settled(stated: &[Stated], begin: i64, end: i64) -> bool {
    stated.iter().all(|it| it.is_in_force(begin, end) || !it.may_be_in_force(begin, end))
}

fn count_is_possible(
    facts: &Facts,
    stated: &[Stated],
    tenant: &str,
    alert: &super::recount::Counted,
    (begin, end): (i64, i64),
) -> Result<(), String> {
    let (_, customer, ..) = alert;
    let (sure, maybe) = facts.taken.folded([tenant, customer], end, end);
    let events: Vec<_> = sure.into_iter().chain(maybe).collect();
    let asks = |it: &&Stated| {
        it.may_be_in_force(begin, end) && counted(&it.definition, &events).contains(alert)
    };
    match stated.iter().any(|it| asks(&it)) {
        true => Ok(()),
        false => Err(format!("nothing asks {tenant} for {alert:?}")),
    }
}

/// Whether the alerts are there of counts that were reached, by rules that had decided.
fn none_is_missing(
    facts: &Facts,
    stated: &[Stated],
    alerts: &[Value],
    (begin, end): (i64, i64),
) -> Result<(), String> {
    let alerts: BTreeSet<_> = alerts.iter().filter_map(listed).collect();
    for rule in stated.iter().filter(|it| it.finished <= begin && it.is_in_force(begin, end)) {
        let tenant = rule.definition.tenant;
        for customer in CUSTOMERS.into_iter().filter(|it| !facts.erasing.hides(tenant, it, begin)) {
            let (sure, _) = facts.taken.folded([rule.definition.tenant, customer], begin, begin);
            let asked = counted(&rule.definition, &sure);
            if let Some(missing) = asked.iter().find(|it| !alerts.contains(*it)) {
                return Err(format!("{missing:?} is missing: {}", rule.definition.body()));
            }
        }
    }
    Ok(())
}
