//! All answers, when nothing is left to be done.

use std::cell::RefCell;
use std::collections::BTreeSet;

use fastrand::Rng;
use serde_json::Value;
use tests::World;

use super::commands::{CUSTOMERS, NAMES, Sent, TENANTS};
use super::daily;
use super::facts::Facts;
use super::reading::{alerts_are_possible, pages};
use super::recount::{counted, customer, customers, in_force, listed, name, names};
use crate::platform::usage::count;

/// Compares all answers with the recount.
#[allow(clippy::await_holding_refcell_ref, reason = "nobody else is at work")]
pub(super) async fn at_rest(
    world: &World,
    facts: &RefCell<Facts>,
    history: &[Sent],
    random: &mut Rng,
) -> Result<(), String> {
    let now = world.clock.now().unix_millis();
    let mut facts = facts.borrow_mut();
    let history = &*facts.erasing.living(history);
    for tenant in TENANTS {
        let path = |list: &str| format!("/v1/tenants/{tenant}/{list}");
        let of_tenant = facts.taken.of_tenant(tenant);
        same(
            &path("customers"),
            list(world, &path("customers"), random).await?,
            customers(history, &of_tenant, tenant, now),
        )?;
        for id in CUSTOMERS {
            one(
                world,
                &path(&format!("customers/{id}")),
                customer(history, &of_tenant, tenant, id, now),
            )
            .await?;
        }
        same(&path("names"), list(world, &path("names"), random).await?, names(&of_tenant))?;
        for it in NAMES {
            one(world, &path(&format!("names/{it}")), name(&of_tenant, it, now)).await?;
        }
        let rules = in_force(history, tenant);
        let asked: BTreeSet<_> = rules.iter().flat_map(|it| counted(it, &of_tenant)).collect();
        let alerts = list(world, &path("alerts"), random).await?;
        let listed: BTreeSet<_> = alerts.iter().filter_map(listed).collect();
        if let Some(differs) = asked.symmetric_difference(&listed).next() {
            return Err(format!("{tenant}: {differs:?} of {asked:?} and {listed:?}"));
        }
        count_alerts(&alerts);
        if facts.erasing.is_telling() {
            facts.announced.check(world, tenant, &alerts)?;
        }
        let counts = alerts.iter().filter(|it| it.get("period").is_some()).count();
        if counts > listed.len() {
            return Err(format!("{tenant}: one is there twice: {alerts:?}"));
        }
        let stated = facts.effects.stated(history);
        daily::check(&facts, &stated, tenant, &alerts, now)?;
        let before = facts.shown.daily(tenant);
        let stated: Vec<_> =
            stated.into_iter().filter(|it| it.definition.tenant == tenant).collect();
        alerts_are_possible(&mut facts, &stated, tenant, &alerts, (now, now))?;
        let is_there = |id: &&String| alerts.iter().any(|it| it["alert_id"] == id.as_str());
        if let Some(id) = before.iter().find(|id| !is_there(id)) {
            return Err(format!("{tenant} is not shown {id} any more"));
        }
        let unread =
            pages(world, &path("alerts"), "&state=unread", random).await?.ok_or("not answered")?;
        let expected = alerts.into_iter().filter(|it| it["state"] == "unread").collect();
        same(&path("alerts"), unread, expected)?;
    }
    Ok(())
}

fn count_alerts(alerts: &[Value]) {
    for alert in alerts {
        count(match (alert.get("day"), alert.get("score_id")) {
            (None, _) => "tenants: alerts of counts",
            (Some(_), None) => "tenants: alerts of silence",
            (Some(_), Some(_)) => "tenants: alerts of scores",
        });
        if alert["state"] == "read" {
            count("tenants: alerts that were read");
        }
    }
}

async fn list(world: &World, path: &str, random: &mut Rng) -> Result<Vec<Value>, String> {
    pages(world, path, "", random).await?.ok_or_else(|| format!("{path} is not answered"))
}

fn same(path: &str, shown: Vec<Value>, expected: Vec<Value>) -> Result<(), String> {
    match shown == expected {
        true => Ok(()),
        false => {
            Err(format!("{path}: {}\ninstead of {}", Value::from(shown), Value::from(expected)))
        }
    }
}

async fn one(world: &World, path: &str, expected: Option<Value>) -> Result<(), String> {
    let (status, _, answer) = world.get(path, "").await;
    match expected {
        None if status == 404 => Ok(()),
        Some(expected) if status == 200 && answer == expected => Ok(()),
        expected => Err(format!("{path}: {status} {answer}\ninstead of {expected:?}")),
    }
}
