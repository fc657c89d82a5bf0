//! Nobody writes entries for a viewer who has not read for long; when they come back, nothing is missing.

use std::sync::atomic::Ordering::SeqCst;

use futures::future::join_all;
use nagare_operator::audit::Auditor;
use serde_json::{Value, json};
use shared::command::Command;
use shared::platform::dynamo::Update;
use shared::platform::dynamo::item::number;
use shared::platform::paging::Slice;
use shared::platform::runtime::deadline::Deadline;
use shared::platform::runtime::hold::Hold;
use shared::platform::values::{Order, Retention, Span, Timestamp, ViewerId};
use shared::social::follows::{IdleViewers, keys};
use shared::social::timelines::EntryWrite;
use tests::{NOW, World, delete, follow, publish, soon, unfollow};
use timeline_reader::PATIENCE;
use tokio::time::Instant;

use crate::platform::overtaking::{before_call, interrupted_in};
use crate::platform::units::UnitCounter;

const DAY: i64 = 86_400_000;
const ALL: Slice<'static> = Slice {
    span: Span { from: Timestamp::FIRST, to: None, order: Order::Oldest },
    after: None,
    limit: 10,
};
const PATH: &str = "/v1/timelines/bob";

/// The instant so many days after noon of the first.
fn day(n: i64) -> String {
    NOW.parse::<Timestamp>().unwrap().plus_millis(n * DAY).to_string()
}

fn skipping_idle_viewers(mut world: World) -> World {
    // A return waits for one.
    world.reader.hold = Hold::NONE;
    world.writer.idle_viewers = "30".parse().unwrap();
    world.reader.idle_viewers = world.writer.idle_viewers.remembering_nothing();
    world
}

/// Publishes an activity of anna on a day, and says how many entries that makes.
async fn published(world: &World, activity: &str, on: i64) -> u64 {
    let before = world.entry_count().await;
    world.set_clock(&day(on));
    world.done(&[publish("anna", activity, &day(on))]).await;
    world.entry_count().await - before
}

/// A world in which bob follows anna and is idle: his timeline lacks what she published on day 58.
async fn with_bob_idle(world: World) -> World {
    let world = skipping_idle_viewers(world);
    world.done(&[follow("bob", "anna", &day(0))]).await;
    assert_eq!(published(&world, "day-20", 20).await, 1, "bob was heard of 20 days ago");
    assert_eq!(published(&world, "day-50", 50).await, 1, "and of a publish 30 days ago");
    assert_eq!(published(&world, "day-58", 58).await, 0, "bob has not read for 38 days");
    world
}

#[tokio::test]
async fn who_comes_back_misses_nothing() {
    let world = with_bob_idle(World::new()).await;
    assert_eq!(world.ids("bob", "").await, ["day-58", "day-50"]);
    assert_eq!(world.entry_count().await, 3, "it was brought in");
    assert_eq!(published(&world, "day-59", 59).await, 1, "bob reads again");
    assert_eq!(world.ids("bob", "limit=1").await, ["day-59"]);
}

/// A client that comes back with several requests at once is answered each of them.
#[tokio::test(start_paused = true)]
async fn who_comes_back_several_times_at_once_is_answered_each_time() {
    let mut counter = UnitCounter::far();
    counter.world = skipping_idle_viewers(counter.world);
    let world = &counter.world;
    counter
        .uncounted(async |world| {
            let follows: Vec<_> =
                (0..30).map(|n| follow("bob", &format!("actor-{n}"), &day(0))).collect();
            let mut first: Vec<_> =
                (0..30).map(|n| publish(&format!("actor-{n}"), &format!("f{n}"), NOW)).collect();
            world.done(&follows).await;
            world.done(&first).await;
            world.set_clock(&day(50));
            first = (0..30)
                .map(|n| publish(&format!("actor-{n}"), &format!("late-{n:02}"), &day(50)))
                .collect();
            world.done(&first).await;
        })
        .await;
    let pages = join_all((0..4).map(|_| world.get(PATH, "limit=100"))).await;
    for (status, _, page) in pages {
        assert_eq!(status, 200, "{page}");
        assert_eq!(page["items"].as_array().unwrap().len(), 30);
    }
}

/// What an operator is told is missing is not what comes with the viewer.
#[tokio::test]
async fn an_audit_misses_nothing_of_who_is_idle() {
    let world = with_bob_idle(World::new()).await;
    let tables = &world.tables;
    let (timelines, clock) = (tables.timelines.clone(), world.clock.clone());
    let auditor = Auditor::new(&tables.ledger, timelines, Retention::default(), clock);
    let bob = ViewerId::new("bob").unwrap();
    let differences = async || auditor.differences(&bob).await.unwrap().len();
    assert_eq!(differences().await, 0);
    assert_eq!(world.ids("bob", "limit=1").await, ["day-58"]);
    assert_eq!(differences().await, 0);
    let all = tables.timelines.entries(&bob, ALL).await.unwrap().0;
    let deletions =
        all.iter().map(|row| EntryWrite::Delete { viewer: &bob, sort_key: &row.sort_key });
    tables.timelines.write(deletions, soon()).await.unwrap().whole().unwrap();
    assert_eq!(differences().await, 2, "of who reads everything has to be there");
}

#[tokio::test]
async fn who_reads_is_not_idle() {
    let world = skipping_idle_viewers(World::new());
    world.done(&[follow("bob", "anna", &day(0))]).await;
    for week in 0..30 {
        let activity = format!("week-{week:02}");
        assert_eq!(published(&world, &activity, 7 * week).await, 1, "in week {week}");
        assert_eq!(world.ids("bob", "limit=1").await, [activity]);
    }
}

/// A client that polls reads too, although it never asks for more.
#[tokio::test]
async fn who_polls_is_not_idle() {
    let world = skipping_idle_viewers(World::new());
    world.done(&[follow("bob", "anna", &day(0))]).await;
    assert_eq!(published(&world, "first", 0).await, 1);
    let mut cursor = newer(&world.get(PATH, "").await.2);
    for week in 1..30 {
        world.set_clock(&day(7 * week));
        let (status, _, page) = world.get(PATH, &format!("cursor={cursor}")).await;
        assert_eq!((status, &page["items"]), (200, &json!([])), "in week {week}");
        cursor = newer(&page);
    }
    assert_eq!(published(&world, "last", 210).await, 1);
}

fn newer(page: &Value) -> String {
    page["newer_cursor"].as_str().unwrap().to_owned()
}

/// The hole that a timeline has elsewhere which is filled anew from the newest down: what came between the last page and the return.
#[tokio::test]
async fn a_return_leaves_no_hole() {
    let world = with_bob_idle(World::new()).await;
    for n in 0..12 {
        let hour = world.clock.now().plus_millis(3_600_000);
        world.clock.set(hour);
        world.done(&[publish("anna", &format!("late-{n:02}"), &hour.to_string())]).await;
        // Half-way, bob looks at the newest and leaves again.
        if n == 5 {
            assert_eq!(world.ids("bob", "limit=1").await, ["late-05"]);
        }
    }
    let (mut seen, mut query) = (Vec::new(), "limit=3".to_owned());
    loop {
        let (status, _, page) = world.get(PATH, &query).await;
        assert_eq!(status, 200, "{page}");
        let items = page["items"].as_array().unwrap().iter();
        seen.extend(items.map(|item| item["activity_id"].as_str().unwrap().to_owned()));
        let Some(next) = page["next_cursor"].as_str() else { break };
        query = format!("limit=3&cursor={next}");
    }
    let late = (0..12).rev().map(|n| format!("late-{n:02}"));
    let all: Vec<_> = late.chain(["day-58".to_owned(), "day-50".to_owned()]).collect();
    assert_eq!(seen, all);
}

/// What a poll from before shows is what came since, in its order, and once.
#[tokio::test]
async fn a_poll_from_before_shows_all_that_came_since() {
    let world = skipping_idle_viewers(World::new());
    world.done(&[follow("bob", "anna", &day(0))]).await;
    assert_eq!(published(&world, "day-20", 20).await, 1);
    let mut cursor = newer(&world.get(PATH, "").await.2);
    for on in 60..70 {
        assert_eq!(published(&world, &format!("day-{on}"), on).await, 0);
    }
    let mut seen = Vec::new();
    loop {
        let (status, _, page) = world.get(PATH, &format!("limit=4&cursor={cursor}")).await;
        assert_eq!(status, 200, "{page}");
        let items = page["items"].as_array().unwrap().iter();
        seen.extend(items.map(|item| item["activity_id"].as_str().unwrap().to_owned()));
        if page["items"] == json!([]) {
            break;
        }
        cursor = page["next_cursor"].as_str().map_or_else(|| newer(&page), ToOwned::to_owned);
    }
    assert_eq!(seen, (60..70).map(|on| format!("day-{on}")).collect::<Vec<_>>());
}

#[tokio::test]
async fn what_happened_meanwhile_is_in_the_timeline_or_out_of_it() {
    let world = with_bob_idle(World::new()).await;
    let soon = world.clock.now().to_string();
    world
        .done(&[
            publish("anna", "deleted", &soon),
            delete("anna", "deleted"),
            delete("anna", "day-50"),
            publish("dora", "dora-1", &soon),
            publish("carl", "carl-1", &soon),
            follow("bob", "carl", &soon),
            follow("bob", "dora", &soon),
            publish("carl", "carl-2", &soon),
            publish("dora", "dora-2", &soon),
            unfollow("bob", "dora", &world.clock.now().plus_millis(1).to_string()),
        ])
        .await;
    assert_eq!(world.ids("bob", "order=oldest").await, ["carl-1", "carl-2", "day-58"]);
    assert_eq!(world.entry_count().await, 4, "of which day-20 is past retention");
}

/// Something happens in full before any one call of a return.
#[tokio::test]
async fn what_happens_during_a_return_is_neither_lost_nor_left_behind() {
    let at = day(40);
    let cases = [
        (publish("anna", "now", &at), vec!["now", "day-40", "day-20"]),
        (publish("carl", "now", &at), vec!["now", "day-40", "day-20"]),
        (delete("anna", "day-40"), vec!["day-20"]),
        (unfollow("bob", "anna", &at), vec![]),
        (follow("bob", "dora", &at), vec!["dora-40", "day-40", "day-20"]),
    ];
    for (command, expected) in cases {
        for nth in 1.. {
            let (by, left) =
                before_call(0, Command::parse(&command.to_string(), at.parse().unwrap()).unwrap());
            let follows = ["anna", "carl"].map(|actor| follow("bob", actor, &day(0)));
            let world = interrupted_in(skipping_idle_viewers, &follows, by).await;
            published(&world, "day-0", 0).await;
            assert_eq!(published(&world, "day-20", 20).await, 1);
            assert_eq!(published(&world, "day-40", 40).await, 0);
            world.done(&[publish("dora", "dora-40", &day(40))]).await;
            left.store(nth, SeqCst);
            let (status, _, page) = world.get(PATH, "").await;
            assert_eq!(status, 200, "{command} before call {nth}: {page}");
            let was_there = left.swap(0, SeqCst) == 0;
            if !was_there {
                assert!(nth > 6, "{nth} calls");
                break;
            }
            assert_eq!(world.ids("bob", "").await, expected, "{command} before call {nth}");
            world.engine.sweep(world.clock.now()).unwrap();
            let entries = world.entry_count().await;
            assert_eq!(entries, expected.len() as u64, "{command} before call {nth}");
        }
    }
}

/// What is left of somebody who was erased is about to go, and a fan-out that is late does not keep it.
#[tokio::test]
async fn nothing_is_noted_of_who_is_erased() {
    let world = skipping_idle_viewers(World::new());
    world.done(&[follow("bob", "anna", &day(0)), follow("carl", "anna", &day(0))]).await;
    let ledger = &world.tables.ledger;
    let key = |viewer| keys::hidden(&ViewerId::new(viewer).unwrap());
    let erased = Update {
        expression: "SET forget_at = :soon",
        values: vec![(":soon", number(2_000_000_000))],
        ..Update::default()
    };
    ledger.table().update(key("bob").into_item(), erased).await.unwrap();
    assert_eq!(published(&world, "day-0", 0).await, 2);
    for (viewer, is_noted) in [("bob", false), ("carl", true), ("dora", false)] {
        let row = ledger.get(key(viewer)).await.unwrap();
        let noted = row.is_some_and(|row| row.item.contains_key("reading_until"));
        assert_eq!(noted, is_noted, "{viewer}");
    }
}

/// A note for each viewer once, and later a read for each whom the process does not remember as reading.
#[tokio::test]
async fn a_fan_out_asks_who_is_idle() {
    const VIEWERS: u64 = 90;
    let mut counter = UnitCounter::new();
    counter.world = skipping_idle_viewers(counter.world);
    let viewers: Vec<_> = (0..VIEWERS).map(|n| follow(&format!("v{n}"), "anna", &day(0))).collect();
    counter.uncounted(async |world| world.done(&viewers).await).await;
    let mut used = Vec::new();
    for (activity, on, entries) in [("a", 0, VIEWERS), ("b", 1, VIEWERS), ("c", 60, 0)] {
        let before = counter.uncounted(async |world| world.entry_count().await).await;
        counter.world.set_clock(&day(on));
        counter.apply(&[publish("anna", activity, &day(on))]).await;
        used.push(counter.take());
        let after = counter.uncounted(async |world| world.entry_count().await).await;
        assert_eq!(after - before, entries, "{activity}");
    }
    let [first, known, idle] = used[..] else { panic!() };
    assert_eq!(first.writes - known.writes, VIEWERS as f64, "notes");
    assert_eq!(first.reads - known.reads, VIEWERS as f64, "reads of who is known");
    assert_eq!(known.writes - idle.writes, VIEWERS as f64, "entries");
    assert!((idle.reads - known.reads - VIEWERS as f64).abs() < 10.0, "{idle:?} {known:?}");
}

/// Calls take 40 ms, and bob follows hundreds. No request takes longer than its patience, and each goes on where the one before has
/// ended.
#[tokio::test(start_paused = true)]
async fn a_long_return_is_made_of_several_requests() {
    const ACTORS: u64 = 600;
    let mut counter = UnitCounter::far();
    counter.world = skipping_idle_viewers(counter.world);
    let actors: Vec<_> = (0..ACTORS).map(|n| format!("actor-{n:03}")).collect();
    counter
        .uncounted(async |world| {
            for actor in &actors {
                let first = publish(actor, &format!("{actor}-first"), NOW);
                world.done(&[follow("bob", actor, &day(0)), first]).await;
            }
            world.set_clock(&day(50));
            for actor in &actors {
                world.done(&[publish(actor, &format!("{actor}-late"), &day(50))]).await;
            }
            assert_eq!(world.entry_count().await, ACTORS, "bob is idle");
        })
        .await;
    let (mut attempts, mut entries) = (0, ACTORS);
    let page = loop {
        attempts += 1;
        let (begun, deadline) = (Instant::now(), Deadline::after(PATIENCE));
        let (status, headers, page) = counter.world.get_within(PATH, "limit=100", deadline).await;
        assert!(begun.elapsed() <= PATIENCE, "{:?}", begun.elapsed());
        if status == 200 {
            break page;
        }
        assert_eq!(page["type"], "urn:nagare:problem:returning", "{page}");
        assert!(headers.contains(&("retry-after".to_owned(), "1".to_owned())), "{headers:?}");
        let now = counter.uncounted(async |world| world.entry_count().await).await;
        assert!(now > entries, "attempt {attempts} has brought in nothing");
        entries = now;
        assert!(attempts < 10, "{entries} entries after {attempts} attempts");
    };
    assert_eq!(page["items"].as_array().unwrap().len(), 100);
    assert_eq!(counter.uncounted(async |world| world.entry_count().await).await, 2 * ACTORS);
    assert!(attempts > 1, "it was not long");
}

/// If idle viewers are not skipped any more, each of them returns once.
#[tokio::test]
async fn skipping_can_be_turned_off() {
    let mut world = with_bob_idle(World::new()).await;
    world.writer.idle_viewers = IdleViewers::off();
    world.reader.idle_viewers = IdleViewers::off();
    assert_eq!(published(&world, "day-59", 59).await, 1);
    assert_eq!(world.ids("bob", "").await, ["day-59", "day-58", "day-50"]);
    world.set_clock(&day(400));
    assert_eq!(world.ids("bob", "").await, [""; 0]);
    assert_eq!(published(&world, "day-401", 401).await, 1);
    assert_eq!(world.ids("bob", "").await, ["day-401"]);
}
