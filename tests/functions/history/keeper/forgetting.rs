//! The events of a tenant or of a customer are erased, wherever that dies: what is left can be verified, dropped and expired.

use std::collections::BTreeSet;

use nagare_local::faults::Fault;
use nagare_local::stream_source::event_of;
use nagare_operator::audit::EventsAuditor;
use nagare_operator::erasure::history::events::{ErasedEvents, EventErasure, EventErasureError};
use nagare_operator::event_scope::EventScope;
use serde_json::{Value, json};
use shared::history::events::archive::{self, Line};
use shared::history::events::{EventTables, Events, PeriodState, Tally};
use shared::history::summaries::Summaries;
use shared::platform::crypto::hash::sha256;
use tests::{EVENTS_TABLE_PREFIX, World, soon};

use super::{
    DROPPED, EXPIRED, SEALED, SETTINGS, WITHIN, in_archive, in_table, item, keeping, period, row,
    table, ticks,
};
use crate::platform::blows::{Blow, Steps};

const BLOWS: [Blow; 3] = [Blow::DiesBefore, Blow::DiesAfter, Blow::Fails(Fault::LostAnswer)];

fn scope(tenant: &str, customer: Option<&str>) -> EventScope {
    let customer_id = customer.map(|id| id.parse().unwrap());
    EventScope { tenant_id: tenant.parse().unwrap(), customer_id }
}

fn erasure(world: &World, scope: &EventScope, steps: &Steps) -> EventErasure {
    let (tables, objects) = world.operator(|inside| steps.before(inside));
    let dynamo = tables.ledger.table().dynamo();
    let of_events = EventTables::new(dynamo, EVENTS_TABLE_PREFIX);
    let events = Events::new(SETTINGS, &of_events, &tables.ledger);
    let (stored, clock) = ((&tables.ledger, &tables.views), world.clock.clone());
    EventErasure::new(scope.clone(), events, stored, objects, clock)
}

async fn erase(world: &World, scope: &EventScope) -> Result<ErasedEvents, EventErasureError> {
    erasure(world, scope, &Steps::with(None)).run().await
}

/// A period that nothing goes wrong with, up to an instant, with sixty events where their customers have one key.
async fn lived_until(world: &World, instant: &str) -> BTreeSet<String> {
    ticks(&world.keeper).await;
    let mut recorded = BTreeSet::new();
    for event in (0..60).map(super::event) {
        let put = json!({"TableName": table(), "Item": item(&event, 1)});
        let (status, answer) = world.engine.call("PutItem", put.to_string().as_bytes());
        assert_eq!(status, 200, "{answer}");
        recorded.insert(event.line());
    }
    let records = world.engine.stream_of(&table(), 0, usize::MAX).unwrap();
    let answer = world.fold(event_of(&table(), "one", &records).unwrap(), soon()).await;
    assert_eq!(answer.unwrap().batch_item_failures, []);
    for at in [SEALED, DROPPED] {
        if at <= instant {
            world.set_clock(at);
            assert_eq!(ticks(&world.keeper).await.failed, 0);
        }
    }
    recorded
}

/// The lines that are not of a scope.
fn others(recorded: &BTreeSet<String>, scope: &EventScope) -> BTreeSet<String> {
    let is_of_others = |line: &&String| {
        let line = Line::parse(line).unwrap();
        !scope.holds(line.tenant_id, line.customer_id)
    };
    recorded.iter().filter(is_of_others).cloned().collect()
}

/// Everything of others is there, once, and each object is what was noted of it; so is the period's number.
async fn check(world: &World, recorded: &BTreeSet<String>, scope: &EventScope) {
    let left = others(recorded, scope);
    if let Some(there) = in_table(world) {
        assert!(there.is_superset(&left) && there.is_subset(recorded));
    }
    let row = row(world);
    let Some(noted) = row.tally else { return };
    let (objects, next) = world.keeper.archives.of_period(period(), None, 1_000).await.unwrap();
    assert!(next.is_none());
    let (bucket, mut sum, mut lines) = (world.bucket.objects(), Tally::default(), Vec::new());
    for object in objects {
        // What is empty may be gone, and its row not yet.
        if object.tally.events > 0 {
            let bytes = &bucket[&object.key()];
            assert_eq!((sha256(bytes), bytes.len() as u64), (object.sha256.clone(), object.size));
            archive::read(bytes, |line| lines.push(line.to_owned())).unwrap();
        }
        sum.add(object.tally);
    }
    assert_eq!(sum, noted);
    let number = lines.len();
    let lines: BTreeSet<_> = lines.into_iter().collect();
    assert_eq!(lines.len(), number, "an event is there twice");
    assert!(lines.is_superset(&left) && lines.is_subset(recorded));
}

/// Nothing of the scope is anywhere, and all of the others is.
async fn check_erased(world: &World, recorded: &BTreeSet<String>, scope: &EventScope) {
    check(world, recorded, scope).await;
    let left = others(recorded, scope);
    let mut tally = Tally::default();
    left.iter().for_each(|line| tally.add(Tally::of_line(line)));
    let witness = Summaries::new(&world.tables.views).witness(period()).await.unwrap();
    assert_eq!(witness, tally);
    let there = in_table(world);
    let row = row(world);
    assert!(!row.forgetting);
    if let Some(there) = &there {
        assert_eq!(*there, left);
    }
    if row.tally.is_some() {
        let lines = in_archive(world);
        assert_eq!(lines.len(), left.len());
        assert_eq!(lines.into_iter().collect::<BTreeSet<_>>(), left);
        check_manifest(world, left.len());
    }
    let steps = Steps::with(None);
    let EventErasure { events, archives, objects, .. } = erasure(world, scope, &steps);
    let auditor = EventsAuditor::new(events, archives, objects);
    for tenant in ["t0", "t1", "t2"] {
        let found = auditor.differences(&self::scope(tenant, None)).await.unwrap();
        assert!(found.differences.is_empty() && found.busy.is_empty(), "{found:?}");
    }
}

/// The manifest lists what is in the bucket, and nothing else is there.
fn check_manifest(world: &World, events: usize) {
    let mut objects = world.bucket.objects();
    let manifest = objects.remove(&archive::manifest_key(period(), 0)).unwrap();
    let manifest: Value = serde_json::from_slice(&manifest).unwrap();
    assert_eq!(manifest["events"].as_u64().unwrap(), events as u64);
    let listed = manifest["objects"].as_array().unwrap().iter();
    let listed: BTreeSet<_> = listed.map(|it| it["key"].as_str().unwrap()).collect();
    assert_eq!(listed, objects.keys().map(String::as_str).collect());
}

/// Whatever is left of the period comes to its end: a day after something was removed from it, and as far as the stream has brought it.
async fn check_end(world: &World) {
    for at in [SEALED, DROPPED, "2026-12-12T00:00:00Z"] {
        world.set_clock(at);
        assert_eq!(ticks(&world.keeper).await.failed, 0);
    }
    let row = row(world);
    assert_eq!(row.state, PeriodState::Dropped, "{:?}", row.dispute);
    world.set_clock(EXPIRED);
    ticks(&world.keeper).await;
    let left = world.bucket.objects().into_keys().filter(|key| key.contains(super::PERIOD));
    assert_eq!(left.collect::<Vec<_>>(), [""; 0]);
}

#[tokio::test]
async fn a_tenant_or_a_customer_is_erased_from_tables_and_archives() {
    for (scope, gone) in [(scope("t1", None), 20), (scope("t1", Some("c2")), 4)] {
        for at in [WITHIN, SEALED, DROPPED] {
            let world = keeping(World::new());
            let recorded = lived_until(&world, at).await;
            let erased = erase(&world, &scope).await.unwrap();
            let in_tables = if at == DROPPED { 0 } else { gone };
            let in_archives = if at == WITHIN { 0 } else { gone };
            assert_eq!((erased.in_tables, erased.in_archives), (in_tables, in_archives), "{at}");
            check_erased(&world, &recorded, &scope).await;
            // Sealed again, against deletes as well.
            if at == SEALED {
                let first = item(&super::event(0), 1);
                let key = json!({"pk": first["pk"], "sk": first["sk"]});
                let delete = json!({"TableName": table(), "Key": key});
                let (status, _) = world.engine.call("DeleteItem", delete.to_string().as_bytes());
                assert_eq!(status, 400);
            }
            let again = erase(&world, &scope).await.unwrap();
            assert_eq!((again.in_tables, again.in_archives), (0, 0));
            check_erased(&world, &recorded, &scope).await;
            check_end(&world).await;
        }
    }
}

/// It dies at each of its calls, and is run again. A keeper that comes in between leaves the period alone.
#[tokio::test(start_paused = true)]
async fn it_ends_wherever_it_dies() {
    let scope = scope("t1", Some("c2"));
    for at in [WITHIN, SEALED, DROPPED] {
        for blow in BLOWS {
            for call in 0.. {
                let world = keeping(World::new());
                let recorded = lived_until(&world, at).await;
                let steps = Steps::with(Some((call, blow)));
                let dying = erasure(&world, &scope, &steps);
                tokio::select! {
                    ended = dying.run() => drop(ended),
                    () = steps.died() => {}
                }
                check(&world, &recorded, &scope).await;
                let before = row(&world);
                world.set_clock(DROPPED);
                ticks(&world.keeper).await;
                if before.forgetting {
                    assert_eq!(row(&world), before, "{blow:?} at {call}");
                    let marked = world.metrics.lines().pop().unwrap()["MarkedPeriods"].as_u64();
                    assert!(marked >= Some(1), "no metric: {blow:?} at {call}");
                }
                check(&world, &recorded, &scope).await;
                erase(&world, &scope).await.unwrap();
                check_erased(&world, &recorded, &scope).await;
                check_end(&world).await;
                if steps.taken() <= call {
                    assert!(call > 10, "{call}");
                    break;
                }
            }
        }
    }
}

/// A keeper that is at work is waited for, and one that has died until it cannot live any longer.
#[tokio::test]
async fn keepers_at_work_are_waited_for() {
    let world = keeping(World::new());
    let recorded = lived_until(&world, WITHIN).await;
    let at_work = world.keeper.keepers.begin().await.unwrap();
    let scope = scope("t1", None);
    let erasing = erase(&world, &scope);
    let mut erasing = std::pin::pin!(erasing);
    tokio::select! {
        biased;
        _ = &mut erasing => unreachable!("it has not waited"),
        () = async { while !row(&world).forgetting { tokio::task::yield_now().await } } => {}
    }
    assert_eq!(in_table(&world).unwrap(), recorded, "nothing goes before keepers are done");
    world.keeper.keepers.end(at_work).await.unwrap();
    erasing.await.unwrap();
    check_erased(&world, &recorded, &scope).await;
}

/// While an archive is made nothing is removed from its period.
#[tokio::test]
async fn what_is_being_archived_waits() {
    let world = keeping(World::new());
    let recorded = lived_until(&world, WITHIN).await;
    let mut half = row(&world);
    half.state = PeriodState::Sealed;
    assert!(world.keeper.periods.replace(&half).await.unwrap());
    let scope = scope("t1", None);
    let erased = erase(&world, &scope).await.unwrap();
    assert_eq!(erased.waiting, [period()]);
    assert_eq!(in_table(&world).unwrap(), recorded);
    world.set_clock(SEALED);
    ticks(&world.keeper).await;
    assert_eq!(erase(&world, &scope).await.unwrap().waiting, []);
    check_erased(&world, &recorded, &scope).await;
}
