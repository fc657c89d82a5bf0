//! `newer_cursor`: what became visible since, each once, as far as an hour behind the newest that was shown.

mod cut;

use std::collections::BTreeSet;

use serde_json::Value;
use shared::platform::dynamo::{Query, item};
use shared::platform::ledger::{FORGET_AT, LedgerKey};
use shared::platform::paging::{CursorSeal, MAX_CURSOR_LENGTH, seen_sets};
use shared::platform::values::Timestamp;
use tests::{NOW, World, delete, follow, publish, secrets, soon, unfollow};

use crate::platform::units::UnitCounter;

const HOUR: i64 = 3_600_000;

/// A client that keeps what it was shown, and its latest cursor.
struct Client<'w> {
    world: &'w World,
    path: &'static str,
    shown: Vec<String>,
    newer: String,
    next: Option<String>,
}

impl<'w> Client<'w> {
    /// Reads a first page of a timeline.
    async fn new(world: &'w World, query: &str) -> Self {
        Self::of(world, "/v1/timelines/bob", query).await
    }

    /// Reads a first page of a list.
    async fn of(world: &'w World, path: &'static str, query: &str) -> Self {
        let mut client = Self { world, path, shown: Vec::new(), newer: String::new(), next: None };
        client.read(query).await;
        client
    }

    /// Reads a page; what it shows, none of it shown before.
    async fn read(&mut self, query: &str) -> Vec<String> {
        let (status, _, page) = self.world.get(self.path, query).await;
        assert_eq!(status, 200, "{page}");
        let items = page["items"].as_array().unwrap().iter();
        let ids: Vec<_> = items.map(|item| text(&item["activity_id"])).collect();
        for id in &ids {
            assert!(!self.shown.contains(id), "{id} comes twice");
            self.shown.push(id.clone());
        }
        (self.newer, self.next) =
            (text(&page["newer_cursor"]), page["next_cursor"].as_str().map(Into::into));
        for cursor in self.next.iter().chain([&self.newer]) {
            assert!(cursor.len() <= MAX_CURSOR_LENGTH, "{} characters", cursor.len());
        }
        ids
    }

    async fn poll(&mut self, limit: usize) -> Vec<String> {
        self.read(&format!("limit={limit}&cursor={}", self.newer)).await
    }

    async fn next(&mut self, limit: usize) -> Vec<String> {
        let next = self.next.clone().unwrap();
        self.read(&format!("limit={limit}&cursor={next}")).await
    }
}

fn text(value: &Value) -> String {
    value.as_str().unwrap().to_owned()
}

/// The instant some milliseconds before noon.
fn ago(millis: i64) -> String {
    Timestamp::from_unix_millis(NOW.parse::<Timestamp>().unwrap().unix_millis() - millis)
        .to_string()
}

/// A world in which bob follows anna and carl.
async fn followed(world: World) -> World {
    let actors = ["anna", "carl"].map(|actor| follow("bob", actor, "2026-11-19T00:00:00Z"));
    world.done(&actors).await;
    world
}

/// Anna publishes: ids, and how long before noon.
async fn published(world: &World, activities: impl IntoIterator<Item = (String, i64)>) {
    let bodies = activities.into_iter().map(|(id, millis)| publish("anna", &id, &ago(millis)));
    let bodies: Vec<_> = bodies.map(|body| body.to_string()).collect();
    for batch in bodies.chunks(100) {
        let batch: Vec<_> = batch.iter().map(String::as_str).collect();
        assert_eq!(world.write(&batch, 1).await, [0_usize; 0]);
    }
}

fn named(prefix: &str, count: usize) -> impl Iterator<Item = String> {
    (0..count).map(move |n| format!("{prefix}{n:04}"))
}

async fn one(world: &World, id: &str, millis: i64) {
    published(world, [(id.to_owned(), millis)]).await;
}

/// The sets that are stored for bob: their keys, and when they expire.
async fn stored(world: &World) -> Vec<(LedgerKey, i64)> {
    let query = Query {
        keys: Some("pk = :pk"),
        values: vec![(":pk", item::text(seen_sets("bob")))],
        ..Query::default()
    };
    let rows = world.tables.ledger.table().all(query).await.unwrap();
    let sets = rows.iter().map(|row| (LedgerKey::of(row).unwrap(), row.number(FORGET_AT).unwrap()));
    sets.collect()
}

async fn forget_stored(world: &World) {
    for (key, _) in stored(world).await {
        world.tables.ledger.delete(key).await.unwrap();
    }
}

#[tokio::test]
async fn what_arrives_late_comes_once_as_far_as_an_hour_behind() {
    let world = followed(World::new()).await;
    one(&world, "first", 0).await;
    let mut client = Client::new(&world, "").await;
    assert_eq!(client.poll(20).await, [""; 0]);
    for (id, millis) in
        [("newer", -1), ("edge", HOUR), ("beyond", HOUR + 1), ("late", HOUR / 2), ("same", 0)]
    {
        one(&world, id, millis).await;
    }
    // The hour ends with the newest that was shown.
    assert_eq!(client.poll(3).await, ["edge", "late", "same"]);
    assert_eq!(client.poll(20).await, ["newer"]);
    one(&world, "later", HOUR / 3).await;
    one(&world, "at-the-old-edge", HOUR).await;
    assert_eq!(client.poll(20).await, ["later"]);
    assert_eq!(client.poll(20).await, [""; 0]);
    // What comes later still is in the pages.
    let pages = world.ids("bob", "").await;
    assert!(["beyond", "at-the-old-edge"].iter().all(|id| pages.contains(&(*id).to_owned())));
}

#[tokio::test]
async fn what_lies_below_a_page_is_left_to_its_next_cursor() {
    let world = followed(World::new()).await;
    published(&world, named("a", 10).zip((0..10).rev().map(|n| 60_000 * n))).await;
    let mut client = Client::new(&world, "limit=3").await;
    assert_eq!(client.shown, ["a0009", "a0008", "a0007"]);
    // The same instant as the end of the page, on either side of it.
    for id in ["a0006z", "a0007z"] {
        one(&world, id, 2 * 60_000).await;
    }
    assert_eq!(client.poll(20).await, ["a0007z"]);
    let mut client = Client::new(&world, "limit=3").await;
    one(&world, "a0008z", 60_000).await;
    assert_eq!(client.next(3).await, ["a0007", "a0006z", "a0006"]);
    one(&world, "a0009z", 0).await;
    // The newer cursor of the second page speaks for both.
    assert_eq!(client.poll(20).await, ["a0008z", "a0009z"]);
    assert_eq!(client.poll(20).await, [""; 0]);
    // And after the last page for all of them.
    let mut client = Client::new(&world, "limit=4").await;
    while client.next.is_some() {
        client.next(4).await;
    }
    for (id, millis) in [("b", 30_000), ("c", 55 * 60_000), ("d", 2 * HOUR)] {
        one(&world, id, millis).await;
    }
    assert_eq!(client.poll(20).await, ["c", "b"]);
}

#[tokio::test]
async fn pages_of_the_oldest_go_on_with_what_was_late_too() {
    let world = followed(World::new()).await;
    published(&world, named("a", 6).zip((0..6).rev().map(|n| 60_000 * n))).await;
    let mut client = Client::new(&world, "limit=2&order=oldest").await;
    one(&world, "a0000z", 5 * 60_000).await;
    assert_eq!(client.next(2).await, ["a0002", "a0003"]);
    assert_eq!(client.poll(3).await, ["a0000z", "a0004", "a0005"]);
    assert_eq!(client.poll(3).await, [""; 0]);
}

#[tokio::test]
async fn a_range_is_kept() {
    let world = followed(World::new()).await;
    one(&world, "a", 60_000).await;
    let range = format!("from={}&to={}", ago(120_000), ago(0));
    let mut client = Client::new(&world, &range).await;
    for (id, millis) in [("before", 120_001), ("from", 120_000), ("in", 1), ("to", 0)] {
        one(&world, id, millis).await;
    }
    assert_eq!(client.poll(20).await, ["from", "in"]);
    assert_eq!(client.poll(20).await, [""; 0]);
}

/// What was seen counts as seen while it is within the window; who is hidden is not seen.
#[tokio::test]
async fn unfollowing_following_and_deleting() {
    let world = followed(World::new()).await;
    let said = |id: &str, millis| publish("carl", id, &ago(millis));
    world.done(&[said("c1", 3), said("c2", 2)]).await;
    one(&world, "a1", 1).await;
    let mut client = Client::new(&world, "").await;
    world.done(&[unfollow("bob", "carl", &ago(10)), said("c3", 0)]).await;
    assert_eq!(client.poll(20).await, [""; 0]);
    world.done(&[follow("bob", "carl", &ago(5)), delete("carl", "c1")]).await;
    assert_eq!(client.poll(20).await, ["c3"]);
    // Brought in, within the hour and before it.
    world.done(&[publish("dora", "d1", &ago(HOUR)), publish("dora", "d2", &ago(HOUR + 1))]).await;
    world.done(&[follow("bob", "dora", &ago(0))]).await;
    assert_eq!(client.poll(20).await, ["d1"]);
    assert_eq!(client.poll(20).await, [""; 0]);
}

#[tokio::test]
async fn what_a_cursor_has_no_room_for_is_stored() {
    let world = followed(World::new()).await;
    let id = |n: usize, at: &str| format!("{:x<128}", format!("{at}{n:03}"));
    published(&world, (0..25).map(|n| (id(n, "a"), 60_000))).await;
    let range = "from=2026-11-20&to=2026-11-20&limit=100";
    let mut client = Client::new(&world, range).await;
    assert_eq!((client.shown.len(), stored(&world).await.len()), (25, 0));
    assert_eq!(client.poll(20).await, [""; 0]);
    assert_eq!(stored(&world).await.len(), 0);
    // One more.
    one(&world, &id(25, "a"), 60_000).await;
    assert_eq!(client.poll(20).await.len(), 1);
    let [(_, expires)] = stored(&world).await[..] else { panic!("one set") };
    assert_eq!(expires * 1000, NOW.parse::<Timestamp>().unwrap().unix_millis() + 48 * HOUR);
    // The same page once more stores the same set.
    let mut again = Client::new(&world, "limit=26").await;
    let mut other = Client::new(&world, "limit=26").await;
    assert_eq!(stored(&world).await.len(), 1);
    for client in [&mut again, &mut other, &mut client] {
        assert_eq!(client.poll(100).await, [""; 0]);
    }
    // Room for another 25 beside the set, then it is stored with them.
    for round in 0..20 {
        published(
            &world,
            (0..7).map(|n| (id(100 * (round % 9) + n, &format!("b{}", round / 9)), 120_000)),
        )
        .await;
        for client in [&mut client, &mut again] {
            assert_eq!(client.poll(100).await.len(), 7, "{round}");
        }
    }
    assert!((2..=12).contains(&stored(&world).await.len()), "{}", stored(&world).await.len());
    // Who comes back on the next day keeps it for another two.
    world.set_clock("2026-11-21T11:59:59.000Z");
    let before = stored(&world).await;
    assert_eq!(client.poll(100).await, [""; 0]);
    assert_eq!(stored(&world).await, before);
    world.set_clock("2026-11-21T12:00:01.000Z");
    assert_eq!(client.poll(100).await, [""; 0]);
    let latest = stored(&world).await.iter().map(|(_, expires)| *expires).max();
    assert_eq!(latest, Some(world.clock.now().unix_millis() / 1_000 + 48 * 3_600));
    assert_eq!(client.poll(100).await, [""; 0]);
    // Once the window has moved on, nothing needs to be stored.
    published(&world, [("far".to_owned(), -240_000), ("further".to_owned(), -2 * HOUR)]).await;
    assert_eq!(client.poll(100).await, ["far", "further"]);
    assert!(client.newer.len() < 100, "{}", client.newer.len());
}

#[tokio::test]
async fn the_longest_cursors() {
    let world = followed(World::new()).await;
    let id = |n: usize| format!("{:x<128}", format!("a{n:03}"));
    published(&world, (0..120).map(|n| (id(n), 0))).await;
    let mut longest = 0;
    for limit in [24, 25, 26, 50] {
        let range = "from=2026-11-20&to=2026-11-20";
        let mut client = Client::new(&world, &format!("{range}&limit={limit}")).await;
        longest = longest.max(client.newer.len());
        // The end of each page lies within the hour.
        while client.next.is_some() {
            client.next(25).await;
            longest = longest.max(client.newer.len());
        }
        assert_eq!(client.shown.len(), 120);
        assert_eq!(client.poll(100).await, [""; 0]);
    }
    // A cursor whose set and 25 more stand beside the longest id.
    assert_eq!(longest, 507);
}

/// Nothing comes twice and nothing fails: what was late is in the pages.
#[tokio::test]
async fn without_what_was_stored_only_what_is_newer_comes() {
    let world = followed(World::new()).await;
    published(&world, named("a", 60).zip((0..60).rev().map(|n| 1_000 * n))).await;
    let mut client = Client::new(&world, "limit=50").await;
    let mut walking = Client::new(&world, "limit=30").await;
    forget_stored(&world).await;
    for (id, millis) in [("late", 500), ("newer", -1), ("newest", -60_000)] {
        one(&world, id, millis).await;
    }
    assert_eq!(client.poll(1).await, ["newer"]);
    assert_eq!(client.poll(1).await, ["newest"]);
    // From then on it is whole again.
    one(&world, "late-again", -2).await;
    one(&world, "too-late", 2).await;
    assert_eq!(client.poll(20).await, ["late-again"]);
    assert_eq!(client.poll(20).await, [""; 0]);
    assert_eq!(walking.next(100).await.len(), 30);
    assert_eq!(walking.poll(100).await, ["newer", "late-again", "newest"]);
    assert_eq!(walking.poll(100).await, [""; 0]);
}

/// A secret is changed while clients keep their cursors: the next reader seals with another one.
#[tokio::test]
async fn a_secret_is_changed() {
    let mut world = followed(World::new()).await;
    published(&world, named("a", 9).zip(0..)).await;
    let page = world.get("/v1/timelines/bob", "").await.2;
    let both = secrets(9).also_opening(&[7; 32]).unwrap();
    world.reader.requests.seal = CursorSeal::new(&both);
    one(&world, "late", 60_000).await;
    let query = format!("cursor={}", text(&page["newer_cursor"]));
    let page = world.get("/v1/timelines/bob", &query).await.2;
    assert_eq!(page["items"].as_array().unwrap().len(), 1);
    world.reader.requests.seal = CursorSeal::new(&secrets(9));
    let query = format!("cursor={}", text(&page["newer_cursor"]));
    assert_eq!(world.ids("bob", &query).await, [""; 0]);
}

/// What a poll costs, in read and write units, by what was shown within the hour.
#[tokio::test(start_paused = true)]
async fn what_a_poll_costs() {
    for (shown, expected) in [(20, 1.0), (100, 4.0), (500, 12.0), (1_000, 23.0), (3_000, 69.0)] {
        let counter = UnitCounter::new();
        let setting = async |world: &World| {
            world.done(&[follow("bob", "anna", "2026-11-19T00:00:00Z")]).await;
            published(world, named("activity-", shown).zip((0..).map(|n| n * 1_000 + 1))).await;
        };
        counter.uncounted(setting).await;
        let reading = async |world: &World| {
            let mut query = "limit=100".to_owned();
            loop {
                let page = world.get("/v1/timelines/bob", &query).await.2;
                match page["next_cursor"].as_str() {
                    Some(next) => query = format!("limit=100&cursor={next}"),
                    None => return text(&page["newer_cursor"]),
                }
            }
        };
        let cursor = counter.uncounted(reading).await;
        let poll = format!("cursor={cursor}");
        assert_eq!(counter.world.ids("bob", &poll).await, [""; 0]);
        let units = counter.take();
        println!("{shown} within the hour, a poll: {units:?}");
        assert_eq!((units.reads, units.writes), (expected, 0.0));
    }
}

/// Three thousand activities at once, twenty a page.
#[tokio::test(start_paused = true)]
async fn a_follow_that_brings_in_three_thousand() {
    let counter = UnitCounter::new();
    let setting = async |world: &World| {
        world.done(&[follow("bob", "carl", "2026-11-19T00:00:00Z")]).await;
        world.done(&[publish("carl", "c", &ago(0))]).await;
        published(world, named("activity-", 3_000).zip((0..).map(|n| n * 1_000 + 1))).await;
    };
    counter.uncounted(setting).await;
    let mut client = Client::new(&counter.world, "").await;
    assert_eq!(client.shown, ["c"]);
    let follows = async |world: &World| {
        world.done(&[follow("bob", "anna", NOW)]).await;
        loop {
            let segments = world.take_commands().await;
            if segments.is_empty() {
                return;
            }
            let answer = world.writer.handle(tests::event(segments), soon()).await.unwrap();
            assert_eq!(tests::unfinished(&answer), [0_usize; 0]);
        }
    };
    counter.uncounted(follows).await;
    counter.take();
    let (mut pages, mut most) = (0, 0.0_f64);
    loop {
        let page = client.poll(20).await;
        let units = counter.take();
        if page.is_empty() {
            break;
        }
        (pages, most) = (pages + 1, most.max(units.reads));
        if pages % 30 == 0 {
            println!("page {pages}: {units:?}");
        }
    }
    let shown: BTreeSet<_> = client.shown.iter().collect();
    assert_eq!((shown.len(), client.shown.len(), pages), (3_001, 3_001, 150));
    println!("the dearest page: {most} read units");
    assert!(most <= 95.0, "{most}");
}
