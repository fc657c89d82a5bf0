//! Following a room: each message comes once, late ones included, as far back as is looked.

use std::collections::BTreeMap;

use proptest::prelude::*;
use serde_json::{Value, json};
use shared::paging::MOST;
use shared::values::Timestamp;
use tests::{NOW, World};

use super::{ids_of, page, post};
use crate::units::UnitCounter;

const MINUTE: i64 = 60_000;

/// A message so many milliseconds before now.
fn said(id: &str, ago: i64) -> Value {
    let mut post = post("r", id, "bob", 1);
    let now: Timestamp = NOW.parse().unwrap();
    post["at"] = json!(now.plus_millis(-ago).to_string());
    post
}

/// Whoever keeps the latest `newer_cursor`.
struct Client {
    cursor: String,
    shown: Vec<String>,
}

impl Client {
    async fn new(world: &World, query: &str) -> Self {
        let page = page(world, "r", query).await;
        Self { cursor: cursor(&page), shown: ids_of(&page) }
    }

    /// Polls until nothing comes. Returns what has come.
    async fn poll(&mut self, world: &World, limit: usize) -> Vec<String> {
        let mut all = Vec::new();
        loop {
            let page = page(world, "r", &format!("limit={limit}&cursor={}", self.cursor)).await;
            self.cursor = cursor(&page);
            if ids_of(&page).is_empty() {
                self.shown.extend(all.iter().cloned());
                return all;
            }
            all.extend(ids_of(&page));
        }
    }
}

fn cursor(page: &Value) -> String {
    page["newer_cursor"].as_str().unwrap().to_owned()
}

/// A minute, not an hour: what comes later than that is on the pages.
#[tokio::test]
async fn what_is_late_comes_within_a_minute_of_the_newest() {
    let world = World::new();
    world.done(&[said("a", 10 * MINUTE), said("z", MINUTE)]).await;
    let mut client = Client::new(&world, "").await;
    world.done(&[said("too-late", 2 * MINUTE + 1), said("late", 2 * MINUTE)]).await;
    assert_eq!(client.poll(&world, 20).await, ["late"]);
    world.done(&[said("new", 0), said("later", MINUTE - 1), said("gone-by", 2 * MINUTE - 1)]).await;
    assert_eq!(client.poll(&world, 20).await, ["gone-by", "later", "new"]);
    world.done(&[said("at-last", MINUTE + 1), said("in-time", MINUTE)]).await;
    assert_eq!(client.poll(&world, 20).await, ["in-time"]);
    let all = ids_of(&page(&world, "r", "").await).join(" ");
    assert_eq!(all, "new later z in-time at-last gone-by late too-late a");
}

/// Follows a room into which messages come in batches, which say when each was said, and compares.
async fn followed(
    batches: &[Vec<i64>],
    limit: usize,
    (inline, most): (usize, usize),
) -> Result<(), TestCaseError> {
    let mut world = World::new();
    world.reader.seal = world.reader.seal.clone().holding(inline).remembering(most);
    let ago = |at: i64| 20 * MINUTE - at;
    world.done(&[said("first", ago(0))]).await;
    let mut client = Client::new(&world, "").await;
    let mut at = BTreeMap::from([("first".to_owned(), 0)]);
    for (number, batch) in batches.iter().enumerate() {
        for (n, said_at) in batch.iter().enumerate() {
            let id = format!("{number:02}-{n:02}");
            world.done(&[said(&id, ago(*said_at))]).await;
            at.insert(id, *said_at);
        }
        let came = client.poll(&world, limit).await;
        let newest = client.shown.iter().map(|id| at[id]).max().unwrap();
        let shown = &client.shown;
        for id in at.keys().filter(|id| id.starts_with(&format!("{number:02}-"))) {
            let newer = shown.iter().filter(|other| at[*other] >= at[id] && *other != id).count();
            let is_looked_for = at[id] >= newest - MINUTE && newer < most;
            let is_shown = came.contains(id);
            prop_assert!(is_shown || !is_looked_for, "{} of {:?}: {:?}", id, at, shown);
        }
    }
    let mut once = client.shown.clone();
    once.sort();
    once.dedup();
    prop_assert_eq!(once.len(), client.shown.len(), "each once: {:?}", client.shown);
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]
    /// However busy the room is, and however late messages are: each comes once, but for what is a minute behind or
    /// has more newer ones than are remembered.
    #[test]
    fn each_comes_once_as_far_back_as_is_looked(
        batches in proptest::collection::vec(
            proptest::collection::vec(0_i64..90_000, 1..16), 1..8,
        ),
        slow: bool,
        limit in 1_usize..12,
        inline in 0_usize..6,
        most in 1_usize..40,
    ) {
        // Each batch is said a little after the one before, so that time goes on.
        let step = if slow { 45_000 } else { 5_000 };
        let scale = if slow { 1 } else { 9 };
        let batches: Vec<Vec<_>> = (0_i64..)
            .zip(batches)
            .map(|(n, batch)| batch.into_iter().map(|at| n * step + at / scale).collect())
            .collect();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(followed(&batches, limit, (inline, most)))?;
    }
}

/// What a poll that finds nothing costs, by how many messages were shown and how long one comes after the other.
#[tokio::test(start_paused = true)]
async fn what_a_poll_costs() {
    let mut all = Vec::new();
    for (messages, apart) in [(60, MINUTE), (3_000, 1_000), (1_000, 60), (3_000, 20)] {
        let used = poll(messages, apart).await;
        println!("{messages} messages, one in {apart} ms: {used:?}");
        all.push((used.reads, used.writes));
    }
    assert_eq!(all, [(2.0, 0.0), (4.0, 0.0), (24.0, 0.0), (70.0, 0.0)]);
}

/// As much as is remembered.
#[tokio::test(start_paused = true)]
#[ignore = "a measurement that takes minutes"]
async fn what_a_poll_of_the_busiest_room_costs() {
    println!("{:?}", poll(MOST + 3_000, 0).await);
}

/// Has a client be shown messages, and measures its next poll.
async fn poll(messages: usize, apart: i64) -> crate::units::Units {
    let counter = UnitCounter::new();
    let cursor = counter
        .uncounted(async |world| {
            let ago = |n: usize| match apart {
                0 => i64::try_from((messages - n) / 3).unwrap(),
                apart => i64::try_from(messages - n).unwrap() * apart,
            };
            let posts: Vec<_> = (0..messages).map(|n| said(&format!("m{n:05}"), ago(n))).collect();
            for posts in posts.chunks(500) {
                world.done(posts).await;
            }
            let mut newest = page(world, "r", "limit=100").await;
            while let Some(cursor) = newest["next_cursor"].as_str() {
                newest = page(world, "r", &format!("limit=100&cursor={cursor}")).await;
            }
            cursor(&newest)
        })
        .await;
    let found = page(&counter.world, "r", &format!("cursor={cursor}")).await;
    assert_eq!(ids_of(&found), [""; 0]);
    counter.take()
}
