//! What readers are shown while periods come and go: each event once, for as long as its table is there.

use std::cell::RefCell;
use std::collections::BTreeMap;

use fastrand::Rng;
use serde_json::Value;
use tests::World;

use super::plan::{CUSTOMERS, TENANTS};
use super::truth::{Id, Truth, in_archive};

/// The most pages of a walk.
const PAGES: usize = 200;

/// Walks through all that a customer did.
pub(super) async fn walk(
    world: &World,
    truth: &RefCell<Truth>,
    mut random: Rng,
) -> Result<(), String> {
    let (tenant, customer) = (random.choice(TENANTS).unwrap(), random.choice(CUSTOMERS).unwrap());
    let is_newest_first = random.bool();
    let order = if is_newest_first { "newest" } else { "oldest" };
    let before = truth.borrow().taken.clone();
    let (mut shown, mut archived_before) = (Vec::<(Id, String)>::new(), String::new());
    let mut query = format!("order={order}");
    for _ in 0..PAGES {
        let (limit, path) =
            (random.u8(1..9), format!("/v1/tenants/{tenant}/customers/{customer}/events"));
        let (status, _, page) = world.get(&path, &format!("limit={limit}&{query}")).await;
        match status {
            200 => {}
            503 => return Ok(()),
            _ => return Err(format!("{path} is answered {status}: {page}")),
        }
        for item in page["items"].as_array().unwrap() {
            let text = |name: &str| item[name].as_str().unwrap().to_owned();
            let id = [tenant.to_owned(), customer.to_owned(), text("at"), text("event_id")];
            shown.push((id, item["properties"].to_string()));
        }
        let dropped = page["archived_before"].as_str().unwrap_or_default();
        archived_before = archived_before.max(dropped.to_owned());
        match page["next_cursor"].as_str() {
            Some(cursor) => query = format!("cursor={cursor}"),
            None => {
                let of = [tenant, customer];
                return judge(
                    &truth.borrow(),
                    of,
                    &before,
                    &shown,
                    is_newest_first,
                    &archived_before,
                );
            }
        }
    }
    Err(format!("{tenant} {customer}: a walk without end"))
}

fn judge(
    truth: &Truth,
    of: [&str; 2],
    before: &BTreeMap<Id, String>,
    shown: &[(Id, String)],
    is_newest_first: bool,
    archived_before: &str,
) -> Result<(), String> {
    let is_ordered = match is_newest_first {
        true => shown.is_sorted_by(|one, next| one.0 > next.0),
        false => shown.is_sorted_by(|one, next| one.0 < next.0),
    };
    if !is_ordered {
        return Err(format!("{of:?}: not in order, or shown twice: {shown:?}"));
    }
    if let Some((id, content)) = shown.iter().find(|(id, it)| truth.taken.get(id) != Some(it)) {
        return Err(format!("{id:?} is shown with {content}, which nobody recorded"));
    }
    let has_to_be_shown = |id: &&Id| {
        [&id[0], &id[1]] == of
            && id[2].as_str() >= archived_before
            && !truth.dropped.contains(&truth.period(id))
    };
    let missed = before.keys().filter(has_to_be_shown);
    let missed = missed.into_iter().find(|id| !shown.iter().any(|(it, _)| it == *id));
    missed.map_or(Ok(()), |id| Err(format!("{id:?} is not shown")))
}

/// Lists the archives of a tenant: each has all of the tenant's events.
pub(super) async fn list_archives(
    world: &World,
    truth: &RefCell<Truth>,
    mut random: Rng,
) -> Result<(), String> {
    let tenant = random.choice(TENANTS).unwrap();
    let (status, _, page) = world.get(&format!("/v1/tenants/{tenant}/archives"), "limit=100").await;
    if status == 503 {
        return Ok(());
    }
    let truth = truth.borrow();
    for item in page["items"].as_array().ok_or_else(|| page.to_string())? {
        let period = item["period"].as_str().unwrap().parse().unwrap();
        if truth.may_be_expired(world, period) {
            continue;
        }
        let taken = truth.of_period(period).keys().filter(|id| id[0] == tenant).count();
        if item["events"] != taken {
            return Err(format!("{tenant} is listed {item}, and recorded {taken}"));
        }
        let is_there =
            |object: &Value| world.bucket.objects().contains_key(object["key"].as_str().unwrap());
        if !item["objects"].as_array().unwrap().iter().all(is_there) {
            return Err(format!("{tenant}: an object of {period} is not there"));
        }
        if !truth.mangled.contains(&period) {
            in_archive(world, period)?;
        }
    }
    Ok(())
}

/// Now that all is folded: what a customer's summary says.
pub(super) async fn summaries(world: &World, truth: &Truth) -> Result<(), String> {
    for (tenant, customer) in TENANTS.iter().flat_map(|tenant| CUSTOMERS.map(|it| (tenant, it))) {
        let path = format!("/v1/tenants/{tenant}/customers/{customer}");
        let (_, _, answer) = world.get(&path, "").await;
        let of = [*tenant, customer];
        let taken = truth.taken.keys().filter(|id| [&id[0], &id[1]] == of).count();
        if answer["events"].as_u64().unwrap_or(0) != taken as u64 {
            return Err(format!("{taken} events were taken, and the summary is {answer}"));
        }
    }
    Ok(())
}
