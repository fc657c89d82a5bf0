//! What is decided once for each UTC day: silence and low scores, by the keeper, on what was folded by then.

mod crowd;
mod model;
mod struck;

use std::collections::BTreeSet;
use std::time::Duration;

use aws_smithy_runtime_api::client::http::SharedHttpConnector;
use nagare_local::faults::Faulty;
use nagare_local::stream_source::event_of;
use serde_json::{Value, json};
use shared::history::tenants::keys;
use shared::platform::dynamo::item::text;
use shared::platform::runtime::deadline::Deadline;
use shared::platform::values::TenantId;
use tests::{World, soon};

use crate::platform::units::UnitCounter;

const TABLE: &str = "nagare-events-2026-11";

fn at(day: u32, time: &str) -> String {
    format!("2026-11-{day:02}T{time}Z")
}

fn event(tenant: &str, customer: &str, id: &str, at: &str) -> Value {
    json!({"type": "event.recorded", "tenant_id": tenant, "customer_id": customer, "event_id": id,
        "name": "login", "at": at})
}

fn silent(rule: &str, at: &str, days: u16) -> Value {
    json!({"type": "rule.defined", "tenant_id": "acme", "rule_id": rule, "at": at, "when": {"silent_days": days}})
}

/// Ten for each login of two days, and an alert below a value.
fn score(score: &str, at: &str, below: u8) -> Value {
    json!({"type": "score.defined", "tenant_id": "acme", "score_id": score, "at": at, "base": 0,
        "measures": [{"event": "login", "days": 2, "points": 10, "most": 100}], "alert_below": below})
}

fn deleted(what: &str, id: &str, at: &str) -> Value {
    let mut command = json!({"type": format!("{what}.deleted"), "tenant_id": "acme", "at": at});
    command[format!("{what}_id")] = json!(id);
    command
}

/// A world in November, and how far its stream was folded.
struct Month {
    world: World,
    folded: i64,
}

impl Month {
    async fn of(world: World) -> Self {
        world.set_clock(&at(1, "00:00:00"));
        let ticked = world.keeper.tick(soon()).await.unwrap();
        assert_eq!((ticked.failed, ticked.more_due), (0, false));
        Self { world, folded: 0 }
    }

    /// Records events, at this instant, and folds them.
    async fn happens_at(&mut self, now: &str, events: &[Value]) {
        self.world.set_clock(now);
        self.happens(events).await;
    }

    /// Records events and folds them.
    async fn happens(&mut self, events: &[Value]) {
        self.world.done(events).await;
        let records = self.world.engine.stream_of(TABLE, self.folded, usize::MAX).unwrap();
        for some in records.chunks(100) {
            let batch = event_of(TABLE, "shard", some).unwrap();
            let answer = self.world.fold(batch, soon()).await.unwrap();
            assert_eq!(answer.batch_item_failures, []);
        }
        self.folded = records.last().map_or(self.folded, |record| record.number);
    }

    /// It is so late on a day, and the keeper ticks until nothing is due.
    async fn ticks(&self, day: u32, time: &str) {
        self.world.set_clock(&at(day, time));
        for _ in 0..9 {
            let ticked = self.world.keeper.tick(soon()).await.unwrap();
            assert_eq!(ticked.failed, 0);
            if !ticked.more_due {
                return;
            }
        }
        unreachable!("it never ends");
    }

    async fn alerts(&self) -> Vec<Value> {
        alerts(&self.world, "acme").await
    }

    /// What is listed: source, customer, day, number of events.
    async fn said(&self) -> BTreeSet<String> {
        let alerts = self.alerts().await;
        let said: BTreeSet<_> = alerts.iter().map(line).collect();
        assert_eq!(said.len(), alerts.len(), "one is listed twice: {alerts:?}");
        said
    }
}

async fn alerts(world: &World, tenant: &str) -> Vec<Value> {
    let (mut all, mut query) = (Vec::new(), "limit=100".to_owned());
    loop {
        let (status, _, page) = world.get(&format!("/v1/tenants/{tenant}/alerts"), &query).await;
        assert_eq!(status, 200, "{page}");
        all.extend(page["items"].as_array().unwrap().iter().cloned());
        let Some(next) = page["next_cursor"].as_str() else { return all };
        query = format!("limit=100&cursor={next}");
    }
}

fn line(alert: &Value) -> String {
    let source = alert.get("rule_id").or(alert.get("score_id")).unwrap();
    let (customer, day, on) =
        (&alert["customer_id"], &alert["day"], &alert["decided_on"]["events"]);
    format!("{source} {customer} {day} {on}").replace('"', "")
}

fn lines(said: &[&str]) -> BTreeSet<String> {
    said.iter().map(ToString::to_string).collect()
}

#[tokio::test]
async fn silence_is_told_on_its_first_day_and_again_once_it_has_ceased() {
    let mut month = Month::of(World::new()).await;
    month.world.done(&[silent("gone", &at(1, "00:00:00"), 2)]).await;
    month.happens_at(&at(1, "13:00:00"), &[event("acme", "c", "e1", &at(1, "12:00:00"))]).await;
    month.ticks(4, "01:59:59").await;
    assert_eq!(month.said().await, lines(&[]), "day 3 is due at two");
    month.ticks(4, "02:00:00").await;
    let first = lines(&["gone c 2026-11-03 1"]);
    assert_eq!(month.said().await, first);
    let alert = &month.alerts().await[0];
    assert_eq!(alert["decided_at"], at(4, "02:00:00.000"));
    assert_eq!(alert["state"], "unread");
    assert!(alert.get("period").is_none() && alert.get("score_id").is_none(), "{alert}");
    for day in 5..8 {
        month.ticks(day, "02:00:00").await;
    }
    assert_eq!(month.said().await, first, "it goes on");
    // An event that comes late, of a day that was decided: the alert stays. What ceases on the day before is told again.
    month.happens(&[event("acme", "c", "e2", &at(3, "12:00:00"))]).await;
    month.ticks(8, "02:00:00").await;
    assert_eq!(month.said().await, first);
    month.happens_at(&at(8, "13:00:00"), &[event("acme", "c", "e3", &at(8, "12:00:00"))]).await;
    for day in 9..13 {
        month.ticks(day, "02:00:00").await;
    }
    assert_eq!(month.said().await, lines(&["gone c 2026-11-03 1", "gone c 2026-11-10 3"]));
}

#[tokio::test]
async fn a_score_below_its_bound_is_told_by_its_day_and_marked_as_read() {
    let mut month = Month::of(World::new()).await;
    month.world.done(&[score("health", &at(1, "00:00:00"), 20)]).await;
    let twice = [("e1", at(1, "10:00:00")), ("e2", at(2, "10:00:00"))];
    month.happens_at(&at(2, "11:00:00"), &twice.map(|(id, at)| event("acme", "c", id, &at))).await;
    month.ticks(3, "02:00:00").await;
    // On the first there was one login, on the second there were two.
    assert_eq!(month.said().await, lines(&["health c 2026-11-01 2"]));
    month.ticks(4, "02:00:00").await;
    assert_eq!(month.said().await, lines(&["health c 2026-11-01 2", "health c 2026-11-03 2"]));
    let alerts = month.alerts().await;
    assert_eq!(alerts[0]["score_id"], "health");
    assert!(alerts[0].get("rule_id").is_none() && alerts[0].get("period").is_none());
    let read = json!({"type": "alerts.read", "tenant_id": "acme", "read": [{"alert_id": alerts[0]["alert_id"]}]});
    month.world.done(&[read]).await;
    assert_eq!(month.alerts().await[0]["state"], "read");
}

#[tokio::test]
async fn what_was_decided_stays_listed_whatever_becomes_of_its_definition() {
    let mut month = Month::of(World::new()).await;
    let first = at(1, "00:00:00");
    month.world.done(&[silent("gone", &first, 1), silent("other", &first, 1)]).await;
    month.happens(&[event("acme", "c", "e1", &first)]).await;
    month.ticks(3, "02:00:00").await;
    let told = ["gone c 2026-11-02 1", "other c 2026-11-02 1"];
    assert_eq!(month.said().await, lines(&told));
    // What is superseded holds for its successor again; what is deleted does not.
    let now = at(3, "03:00:00");
    month.world.set_clock(&now);
    month.world.done(&[silent("gone", &now, 1), deleted("rule", "other", &now)]).await;
    month.ticks(4, "02:00:00").await;
    month.ticks(5, "02:00:00").await;
    let told = [&told[..], &["gone c 2026-11-03 1"]].concat();
    assert_eq!(month.said().await, lines(&told));
    month.world.done(&[deleted("rule", "gone", &at(5, "01:00:00"))]).await;
    month.ticks(6, "02:00:00").await;
    assert_eq!(month.said().await, lines(&told));
}

#[tokio::test]
async fn a_definition_begins_with_the_day_in_which_it_is_recorded() {
    let mut month = Month::of(World::new()).await;
    month.happens_at(&at(1, "13:00:00"), &[event("acme", "c", "e1", &at(1, "12:00:00"))]).await;
    month.ticks(9, "00:30:00").await;
    month.world.done(&[silent("gone", &at(1, "00:00:00"), 1)]).await;
    month.ticks(9, "02:00:00").await;
    assert_eq!(month.said().await, lines(&[]), "day 8 was over");
    month.ticks(12, "02:00:00").await;
    assert_eq!(month.said().await, lines(&["gone c 2026-11-09 1"]), "days are caught up in order");
}

#[tokio::test]
async fn days_that_were_missed_for_too_long_are_given_up() {
    let mut month = Month::of(World::new()).await;
    month.world.done(&[silent("gone", &at(1, "00:00:00"), 1)]).await;
    month.happens_at(&at(1, "13:00:00"), &[event("acme", "c", "e1", &at(1, "12:00:00"))]).await;
    month.world.set_clock("2026-12-25T02:00:00Z");
    let ticked = month.world.keeper.tick(soon()).await.unwrap();
    assert!(ticked.done >= u64::from(shared::history::tenants::MOST_DAYS), "{ticked:?}");
    assert_eq!(month.said().await, lines(&["gone c 2026-11-20 1"]), "35 days before Christmas");
}

#[tokio::test]
async fn what_cannot_be_read_holds_up_nobody_else() {
    let mut month = Month::of(World::new()).await;
    let first = at(1, "00:00:00");
    let mut bad = silent("gone", &first, 1);
    bad["tenant_id"] = json!("bad");
    month.world.done(&[bad.clone(), silent("gone", &first, 1)]).await;
    let events = ["c1", "c2", "c3"].map(|id| event("acme", id, "e", &first));
    month.happens(&events).await;
    let ledger = month.world.writer.ledger.clone();
    let said = || [("at".to_owned(), text("no instant"))];
    let tenant = TenantId::new("bad").unwrap();
    ledger.put(keys::rule(&tenant, &"gone".parse().unwrap()), said()).await.unwrap();
    let customer = "acme#c2".parse().unwrap();
    ledger.put(keys::daily_decisions(&customer), said()).await.unwrap();
    month.ticks(3, "02:00:00").await;
    let told = ["gone c1 2026-11-02 1", "gone c3 2026-11-02 1"];
    assert_eq!(month.said().await, lines(&told));
    let undecided = || {
        let lines = month.world.metrics.lines();
        lines.iter().filter_map(|line| line["UndecidedRules"].as_u64()).sum::<u64>()
    };
    assert_eq!(undecided(), 3, "a tenant, and a customer on two days");
    // Once repaired, they are decided by the next day.
    ledger.delete(keys::daily_decisions(&customer)).await.unwrap();
    month.ticks(4, "02:00:00").await;
    assert!(month.said().await.contains("gone c2 2026-11-03 1"));
}

/// Days of a customer that are in blocks beside their view are looked at.
#[tokio::test]
async fn days_in_blocks_are_decided_on() {
    let limits = shared::platform::dynamo::Limits {
        row_bytes: 512,
        ..shared::platform::dynamo::Limits::DYNAMODB
    };
    let mut month = Month::of(World::within(&limits, |inside| inside)).await;
    month.world.done(&[silent("gone", &at(1, "00:00:00"), 4)]).await;
    month.world.set_clock(&at(12, "01:00:00"));
    let days = (1..12).filter(|day| *day != 9).chain([12]);
    let events: Vec<_> =
        days.map(|day| event("acme", "c", &format!("e{day}"), &at(day, "00:30:00"))).collect();
    month.happens(&events).await;
    month.ticks(12, "02:00:00").await;
    assert_eq!(month.said().await, lines(&[]));
}

/// A thousand customers, one in ten of whom is silent.
#[tokio::test(start_paused = true)]
async fn a_day_costs_three_calls_for_a_hundred_customers() {
    let counter = UnitCounter::new();
    let customers = |some: fn(&usize) -> bool| (0..1_000).filter(some).map(|n| format!("c{n:04}"));
    counter
        .uncounted(async |world| {
            world.set_clock(&at(1, "00:00:00"));
            world.keeper.tick(soon()).await.unwrap();
            world.done(&[silent("gone", &at(1, "00:00:00"), 1)]).await;
            world.set_clock(&at(2, "01:30:00"));
            let first = customers(|_| true).map(|id| event("acme", &id, "e1", &at(1, "01:00:00")));
            let active = customers(|n| n % 10 > 0);
            let second = active.map(|id| event("acme", &id, "e2", &at(2, "01:00:00")));
            let batches: Vec<_> = first.chain(second).collect();
            for events in batches.chunks(100) {
                world.done(&[json!({"type": "events.recorded", "events": events})]).await;
            }
            for some in world.engine.stream_of(TABLE, 0, usize::MAX).unwrap().chunks(500) {
                let batch = event_of(TABLE, "shard", some).unwrap();
                let answer = world.fold(batch, soon()).await.unwrap();
                assert_eq!(answer.batch_item_failures, []);
            }
            world.set_clock(&at(2, "02:00:00"));
            world.keeper.tick(soon()).await.unwrap();
        })
        .await;
    let ticked = async |day: u32| {
        counter.world.set_clock(&at(day, "02:00:00"));
        assert!(!counter.world.keeper.tick(soon()).await.unwrap().more_due);
        counter.take()
    };
    counter.world.keeper.tick(soon()).await.unwrap();
    let idle = counter.take();
    let some = ticked(3).await;
    let told = alerts(&counter.world, "acme").await.len();
    counter.take();
    assert_eq!(told, 100);
    let rest = ticked(4).await;
    let none = ticked(5).await;
    println!("idle {idle:?}\n100 of 1,000 {some:?}\n900 of 1,000 {rest:?}\nnone {none:?}");
    // Eleven pages of which the last is empty, the definitions, and a note.
    let walk = 11 + 2 * 10 + 1 + 1;
    assert_eq!(none.calls - idle.calls, walk);
    assert_eq!(some.calls - idle.calls, walk + 3 * 100);
    assert_eq!(rest.calls - idle.calls, walk + 3 * 900);
}

/// A tick is as long as a page or two.
#[tokio::test(start_paused = true)]
async fn a_tick_that_is_out_of_time_goes_on_behind_the_customer_it_came_to() {
    let handle = nagare_telemetry::faults::FaultsHandle::default();
    let slow = |inside| SharedHttpConnector::new(Faulty::by(&handle, inside));
    let mut month = Month::of(World::behind(slow)).await;
    let first = at(1, "00:00:00");
    month.world.done(&[silent("gone", &first, 1)]).await;
    let events: Vec<_> =
        (0..250).map(|n| event("acme", &format!("c{n:03}"), "e", &first)).collect();
    for events in events.chunks(100) {
        month.happens(&[json!({"type": "events.recorded", "events": events})]).await;
    }
    month.world.set_clock(&at(3, "02:00:00"));
    handle.set("slow=400ms".parse().unwrap());
    let mut ticks = 1;
    while month.world.keeper.tick(Deadline::after(Duration::from_secs(8))).await.unwrap().more_due {
        ticks += 1;
        assert!(ticks < 50, "it never ends");
    }
    assert!(ticks > 2, "{ticks}");
    handle.set("slow=0ms".parse().unwrap());
    assert_eq!(month.said().await.len(), 250);
}
