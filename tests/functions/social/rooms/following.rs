//! Following a room: each message comes once, whenever it is processed and whatever its `at`.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering::SeqCst};

use aws_smithy_runtime_api::client::http::{
    HttpConnector, HttpConnectorFuture, SharedHttpConnector,
};
use aws_smithy_runtime_api::client::orchestrator::HttpRequest;
use proptest::prelude::*;
use serde_json::{Value, json};
use shared::platform::runtime::hold::Hold;
use shared::platform::values::Timestamp;
use tests::{NOW, World};

use super::{delete, ids_of, join, page, post};
use crate::platform::overtaking::{before_call, command, interrupted};
use crate::platform::units::UnitCounter;

const MINUTE: i64 = 60_000;

/// A message `ago` milliseconds before now.
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
            all.extend(ids_of(&page));
            if page["next_cursor"].is_null() {
                self.shown.extend(all.iter().cloned());
                return all;
            }
        }
    }
}

fn cursor(page: &Value) -> String {
    page["newer_cursor"].as_str().unwrap().to_owned()
}

/// The break that is looked for: a message dated ahead, behind which nothing is seen any more.
#[tokio::test]
async fn late_or_ahead_each_comes_once() {
    let world = World::new();
    world.done(&[said("a", 10 * MINUTE), said("z", MINUTE)]).await;
    let mut client = Client::new(&world, "").await;
    assert_eq!(client.shown, ["z", "a"]);
    world.done(&[said("ahead", -4 * MINUTE), said("late", 90_000)]).await;
    assert_eq!(client.poll(&world, 20).await, ["late", "ahead"]);
    world.done(&[said("now", 0), said("very-late", 600 * MINUTE)]).await;
    assert_eq!(client.poll(&world, 20).await, ["very-late", "now"]);
    world.done(&[said("now", 0), said("gone", 1), delete("r", "gone", "bob")]).await;
    assert_eq!(client.poll(&world, 20).await, [""; 0]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    /// However busy the room is, and however late messages are.
    #[test]
    fn each_comes_once(
        batches in proptest::collection::vec(
            proptest::collection::vec((0_i64..90_000, 0_u8..8), 1..16), 1..8,
        ),
        limit in 1_usize..12,
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let world = World::new();
            world.done(&[said("first", MINUTE)]).await;
            let mut client = Client::new(&world, "").await;
            for (number, batch) in batches.iter().enumerate() {
                let id = |n: usize| format!("{number:02}-{n:02}");
                let all: Vec<_> = batch.iter().enumerate().map(|(n, (ago, _))| said(&id(n), *ago)).collect();
                world.done(&all).await;
                let is_gone = |n: usize| batch[n].1 == 0;
                let gone = (0..batch.len()).filter(|n| is_gone(*n)).map(|n| delete("r", &id(n), "bob"));
                world.done(&gone.collect::<Vec<_>>()).await;
                world.done(&all[..1]).await;
                // Twice at once, and then another one.
                let twice = said(&format!("{number:02}-twice"), 5).to_string();
                assert_eq!(world.write(&[&twice, &twice], 1).await, [0_usize; 0]);
                let mut came = client.poll(&world, limit).await;
                came.sort();
                let mut expected: Vec<_> =
                    (0..batch.len()).filter(|n| !is_gone(*n)).map(id).collect();
                expected.push(format!("{number:02}-twice"));
                prop_assert_eq!(came, expected);
            }
            Ok(())
        })?;
    }
}

/// The break that is looked for: a message that comes while a page is read, and is on neither side of its cursor, or on both.
#[tokio::test]
async fn what_comes_while_a_page_is_read_comes_once() {
    for query in ["", "author=bob"] {
        for nth in 1.. {
            let (by, left) = before_call(nth, command(&said("new", 0)));
            let world = interrupted(Hold::NONE, &[said("a", MINUTE)], by).await;
            let mut client = Client::new(&world, query).await;
            let was_there = left.swap(0, SeqCst) == 0;
            if !was_there {
                break;
            }
            client.poll(&world, 20).await;
            client.shown.sort();
            assert_eq!(client.shown, ["a", "new"], "{query} before call {nth}");
        }
    }
}

/// Of two that arrived together one is in its place, and the other comes there while a page is read, or after it. The breaks that are looked
/// for: a page that shows what its cursor does not pass, and one that passes what it has not shown.
#[tokio::test]
async fn what_comes_into_its_place_while_a_page_is_read_comes_once() {
    for query in ["", "author=bob"] {
        for nth in 1.. {
            let (by, left) = before_call(0, command(&said("late", 0)));
            let world = interrupted(Hold::NONE, &[said("a", MINUTE)], by).await;
            let both = ["early", "late"].map(|id| said(id, 0).to_string());
            assert_eq!(world.write(&both.each_ref().map(String::as_str), 1).await, [0_usize; 0]);
            take_out(&world, "late");
            left.store(nth, SeqCst);
            let mut client = Client::new(&world, query).await;
            let was_there = left.swap(0, SeqCst) == 0;
            world.done(&[said("late", 0)]).await;
            client.poll(&world, 20).await;
            client.shown.sort();
            assert_eq!(client.shown, ["a", "early", "late"], "{query} before call {nth}");
            if !was_there {
                break;
            }
        }
    }
}

/// Takes the rows of a message out, as if they were not written yet. It has arrived anyway.
fn take_out(world: &World, message: &str) {
    let (_, ledger) =
        world.engine.call("Scan", json!({"TableName": "nagare-ledger"}).to_string().as_bytes());
    let ledger: Value = serde_json::from_str(&ledger).unwrap();
    let is_row = |item: &&Value| {
        let key = item["sk"]["S"].as_str().unwrap();
        item["arrived"].is_object() && key.ends_with(&format!("#{message}"))
    };
    let rows: Vec<_> = ledger["Items"].as_array().unwrap().iter().filter(is_row).collect();
    assert_eq!(rows.len(), 2, "{ledger}");
    for row in rows {
        let key = json!({"pk": row["pk"], "sk": row["sk"]});
        let delete = json!({"TableName": "nagare-ledger", "Key": key}).to_string();
        assert_eq!(world.engine.call("DeleteItem", delete.as_bytes()).0, 200);
    }
}

/// Lets N calls through and none after them.
#[derive(Debug, Clone)]
struct CutOff {
    inside: SharedHttpConnector,
    left: Arc<AtomicI64>,
}

impl HttpConnector for CutOff {
    fn call(&self, request: HttpRequest) -> HttpConnectorFuture {
        match self.left.fetch_sub(1, SeqCst) > 0 {
            true => self.inside.call(request),
            false => HttpConnectorFuture::new(std::future::pending()),
        }
    }
}

/// The break that is looked for: an arrival whose message is not in the room, which a cursor passes.
#[tokio::test(start_paused = true)]
async fn a_delivery_that_dies_anywhere_loses_nothing() {
    for another in [false, true] {
        for is_deleted in [false, true] {
            for calls in 0..9 {
                dies_after(calls, another, is_deleted).await;
            }
        }
    }
}

async fn dies_after(calls: i64, another: bool, is_deleted: bool) {
    let left = Arc::new(AtomicI64::new(i64::MAX));
    let shared = Arc::clone(&left);
    let world =
        World::behind(move |inside| SharedHttpConnector::new(CutOff { inside, left: shared }));
    world.done(&[said("a", MINUTE)]).await;
    let mut early = Client::new(&world, "").await;
    left.store(calls, SeqCst);
    let body = said("m", 0).to_string();
    let unfinished = world.write(&[&body], 1).await;
    left.store(i64::MAX, SeqCst);
    if is_deleted {
        world.done(&[delete("r", "m", "bob")]).await;
    }
    let mut clients = vec![Client::new(&world, "").await, Client::new(&world, "author=bob").await];
    early.poll(&world, 20).await;
    if another {
        world.done(&[said("b", 0)]).await;
        clients.push(Client::new(&world, "limit=1").await);
        clients.push(Client::new(&world, "").await);
    }
    if !unfinished.is_empty() {
        world.done(&[said("m", 0)]).await;
    }
    clients.push(early);
    for (nth, client) in clients.iter_mut().enumerate() {
        client.poll(&world, 20).await;
        let came = client.shown.iter().filter(|id| *id == "m").count();
        // The one that was shown a page of one message has had its own share.
        let is_of_one = another && nth == 2;
        let what = format!("{calls} {another} {is_deleted} {nth}: {:?}", client.shown);
        assert!(came == usize::from(!is_deleted) || (is_of_one && came == 0), "{what}");
    }
    let request = json!({"TableName": "nagare-ledger"}).to_string();
    let (_, ledger) = world.engine.call("Scan", request.as_bytes());
    assert!(!is_deleted || !ledger.contains("m of bob"), "{calls} {another}: {ledger}");
}

/// A poll that finds nothing costs the same whatever was said within the hour.
#[tokio::test(start_paused = true)]
async fn what_a_poll_costs() {
    let mut all = Vec::new();
    for (messages, apart) in [(60, MINUTE), (600, 20)] {
        let used = poll(messages, apart).await;
        println!("{messages} messages, one in {apart} ms: {used:?}");
        all.push((used.reads, used.writes));
    }
    assert_eq!(all, [(3.0, 0.0); 2]);
}

/// Has a client be shown messages, and measures its next poll.
async fn poll(messages: usize, apart: i64) -> crate::platform::units::Units {
    let counter = UnitCounter::new();
    let cursor = counter
        .uncounted(async |world| {
            world.done(&[join("r", "ann", 1)]).await;
            let ago = |n: usize| i64::try_from(messages - n).unwrap() * apart;
            let posts: Vec<_> = (0..messages).map(|n| said(&format!("m{n:05}"), ago(n))).collect();
            for posts in posts.chunks(500) {
                world.done(posts).await;
            }
            let mut newest = page(world, "r", "limit=100&viewer=ann").await;
            while let Some(cursor) = newest["next_cursor"].as_str() {
                newest = page(world, "r", &format!("limit=100&viewer=ann&cursor={cursor}")).await;
            }
            cursor(&newest)
        })
        .await;
    let found = page(&counter.world, "r", &format!("viewer=ann&cursor={cursor}")).await;
    assert_eq!(ids_of(&found), [""; 0]);
    counter.take()
}
