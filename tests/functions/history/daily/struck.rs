//! The keeper dies at each call, or the call fails, or another one is at work beside it.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use aws_smithy_runtime_api::client::http::SharedHttpConnector;
use fastrand::Rng;
use nagare_local::faults::Fault;
use tests::{World, soon};

use super::{Month, at, deleted, event, lines, score, silent};
use crate::platform::blows::{Blow, Steps};
use crate::platform::yielding::Yielding;

const BLOWS: [Blow; 4] =
    [Blow::DiesBefore, Blow::DiesAfter, Blow::Fails(Fault::LostAnswer), Blow::Fails(Fault::Denied)];

/// Two customers, one of whom ceases to be silent; a rule and a score.
async fn begin(world: World) -> Month {
    let mut month = Month::of(world).await;
    let first = at(1, "00:00:00");
    month.world.done(&[silent("gone", &first, 1), score("health", &first, 10)]).await;
    let events = [("a", 1), ("b", 1), ("b", 3)];
    month.world.set_clock(&at(3, "03:00:00"));
    let events =
        events.map(|(id, day)| event("acme", id, &format!("e{day}"), &at(day, "02:00:00")));
    month.happens(&events).await;
    month
}

fn expected() -> BTreeSet<String> {
    lines(&[
        "gone a 2026-11-02 1",
        "gone b 2026-11-02 2",
        "gone b 2026-11-04 2",
        "health a 2026-11-03 1",
        "health b 2026-11-05 2",
    ])
}

/// What the bus was told, as alerts are listed.
fn told(world: &World) -> BTreeSet<String> {
    let told = crate::platform::outbound::told(world).into_values();
    let line = |event: serde_json::Value| {
        assert_eq!(event["detail-type"], "alert.raised");
        let mut alert = event["detail"].clone();
        alert["decided_on"] = serde_json::json!({"events": alert["events"]});
        super::line(&alert)
    };
    told.map(line).collect()
}

/// Days pass, the first two at once, with one blow. Returns the calls before and behind which the keeper makes its own.
async fn life(blow: Option<(usize, Blow)>) -> (usize, usize) {
    let steps = Steps::with(blow);
    let month = begin(World::with_bus(|inside| steps.before(inside))).await;
    let before = steps.taken();
    let mut minute = 0;
    for day in [4, 5, 6] {
        loop {
            month.world.set_clock(&at(day, &format!("02:{minute:02}:00")));
            minute += 1;
            let is_done = tokio::select! {
                ticked = month.world.keeper.tick(soon()) => ticked.is_ok_and(|it| !it.more_due),
                () = steps.died() => false,
            };
            if is_done {
                break;
            }
            assert!(minute < 20, "it never ends: {blow:?}");
        }
    }
    let after = steps.taken();
    assert_eq!(month.said().await, expected(), "{blow:?}");
    assert_eq!(told(&month.world), expected(), "{blow:?}");
    (before, after)
}

#[tokio::test(start_paused = true)]
async fn each_day_is_decided_once_wherever_it_dies() {
    let (before, after) = life(None).await;
    assert!(after - before > 45, "{before} {after}");
    for blow in BLOWS {
        for at in before..after {
            life(Some((at, blow))).await;
        }
    }
}

#[tokio::test]
async fn two_keepers_decide_each_day_once() {
    for seed in 0..50 {
        let random = Arc::new(Mutex::new(Rng::with_seed(seed)));
        let behind = |inside| SharedHttpConnector::new(Yielding { inside, random });
        let month = begin(World::behind(behind)).await;
        let other = month.world.keeper.clone();
        for day in [4, 5, 6] {
            month.world.set_clock(&at(day, "02:00:00"));
            for _ in 0..4 {
                let (one, two) = tokio::join!(month.world.keeper.tick(soon()), other.tick(soon()));
                for ticked in [one.unwrap(), two.unwrap()] {
                    assert_eq!(ticked.failed, 0, "seed {seed}");
                }
            }
        }
        assert_eq!(month.said().await, expected(), "seed {seed}");
    }
}

/// A walk that died is taken up by the next one after an event came late: what was told stays, and is not told again.
#[tokio::test(start_paused = true)]
async fn what_is_folded_between_two_walks_of_a_day_changes_no_decision() {
    let quiet = begin(World::new()).await;
    quiet.ticks(4, "02:00:00").await;
    let told = quiet.said().await;
    let (before, after) = life(None).await;
    let mut stayed = 0;
    for at_call in before..after {
        let steps = Steps::with(Some((at_call, Blow::DiesAfter)));
        let mut month = begin(World::behind(|inside| steps.before(inside))).await;
        month.world.set_clock(&at(4, "02:00:00"));
        tokio::select! {
            _ = month.world.keeper.tick(soon()) => break,
            () = steps.died() => {}
        }
        let there = month.said().await;
        month.happens(&["a", "b"].map(|id| event("acme", id, "late", &at(2, "12:00:00")))).await;
        month.ticks(4, "02:15:00").await;
        let then = month.said().await;
        assert!(there.is_subset(&then), "{there:?} {then:?}");
        let days = |said: &BTreeSet<String>| -> BTreeSet<String> {
            said.iter().map(|line| line.rsplit_once(' ').unwrap().0.to_owned()).collect()
        };
        assert_eq!(days(&then).len(), then.len(), "one is told twice: {then:?}");
        stayed += usize::from(there.iter().any(|line| told.contains(line)));
    }
    assert!(stayed > 5, "{stayed}");
}

/// The keeper is struck at a call of its first tick. Before the next, the rule is deleted or defined
/// again, and so is the score. Returns the calls before and after the tick.
async fn redefined(blow: Option<(usize, Blow)>, is_deleted: bool) -> (usize, usize) {
    let steps = Steps::with(blow);
    let month = begin(World::with_bus(|inside| steps.before(inside))).await;
    let before = steps.taken();
    month.world.set_clock(&at(4, "02:00:00"));
    tokio::select! {
        _ = month.world.keeper.tick(soon()) => {}
        () = steps.died() => {}
    }
    let (after, now) = (steps.taken(), at(4, "02:01:00"));
    month.world.set_clock(&now);
    let defined_again = match is_deleted {
        true => [deleted("rule", "gone", &now), deleted("score", "health", &now)],
        false => [silent("gone", &now, 2), score("health", &now, 20)],
    };
    month.world.done(&defined_again).await;
    for day in 4..9 {
        month.ticks(day, "02:02:00").await;
    }
    assert_eq!(told(&month.world), month.said().await, "{blow:?}, deleted: {is_deleted}");
    (before, after)
}

#[tokio::test(start_paused = true)]
async fn what_is_listed_is_told_whatever_becomes_of_its_definition() {
    for is_deleted in [false, true] {
        let (before, after) = redefined(None, is_deleted).await;
        for call in before..after {
            for blow in BLOWS {
                redefined(Some((call, blow)), is_deleted).await;
            }
        }
    }
}
