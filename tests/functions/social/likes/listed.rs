//! The list of what a viewer likes: read page by page, whatever is unknown or undone before it.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use aws_smithy_runtime_api::client::http::SharedHttpConnector;
use nagare_operator::audit::LikedAuditor;
use serde_json::json;
use shared::platform::dynamo::item::Key;
use shared::platform::runtime::hold::Hold;
use shared::platform::values::{ActivityId, ViewerId};
use shared::social::likes::keys;
use tests::{World, delete, publish};

use super::{AT, like, liked_by, undo};
use crate::platform::overtaking::{Asked, command, page_among};
use crate::platform::projecting::{everything, size};
use crate::platform::units::UnitCounter;
use crate::social::battles::Dying;

/// Likes of bob, one a second, and the activity of each fiftieth.
async fn many(world: &World, number: usize) -> Vec<String> {
    let id = |n: usize| format!("a{n:05}");
    let at = |n: usize| format!("2026-11-20T11:{:02}:{:02}.000Z", n / 60, n % 60);
    let known = (0..number).step_by(50).map(id);
    world.done(&known.clone().map(|id| publish("anna", &id, AT)).collect::<Vec<_>>()).await;
    let likes = (0..number).map(
        |n| json!({"type": "like.created", "viewer_id": "bob", "activity_id": id(n), "at": at(n)}),
    );
    world.done(&likes.collect::<Vec<_>>()).await;
    known.rev().collect()
}

/// Walks through the pages; `each` looks at every one.
async fn walk(world: &World, limit: usize, mut each: impl FnMut(usize)) -> Vec<String> {
    let (mut shown, mut query) = (Vec::new(), format!("limit={limit}"));
    loop {
        let (status, _, body) = world.get("/v1/viewers/bob/likes", &query).await;
        assert_eq!(status, 200, "{body}");
        let items = body["items"].as_array().unwrap();
        each(items.len());
        shown.extend(items.iter().map(|item| item["activity_id"].as_str().unwrap().to_owned()));
        let Some(cursor) = body["next_cursor"].as_str() else { return shown };
        query = format!("limit={limit}&cursor={cursor}");
    }
}

#[tokio::test]
async fn a_page_costs_the_same_whatever_is_unknown_before_it() {
    let counter = UnitCounter::new();
    let known = counter.uncounted(async |world| many(world, 1_000).await).await;
    for limit in [1, 20] {
        let mut pages = 0;
        let shown = walk(&counter.world, limit, |_| {
            let used = counter.take();
            // Three queries: of the list, claims, rows and records.
            assert!(used.reads <= 330.0 && used.calls <= 16, "{used:?}");
            pages += 1;
        });
        assert_eq!(shown.await, known, "in pages of {limit}");
        assert!(pages >= 4, "{pages}");
    }
    // Where nothing is unknown a page is full, and the list is asked once.
    counter
        .uncounted(async |world| {
            for n in 0..30 {
                let id = format!("z{n:02}");
                world.done(&[publish("anna", &id, AT)]).await;
                let at = format!("2026-11-20T11:59:{n:02}.000Z");
                world.done(&[json!({"type": "like.created", "viewer_id": "bob", "activity_id": id, "at": at})]).await;
            }
        })
        .await;
    let (_, _, body) = counter.world.get("/v1/viewers/bob/likes", "limit=20").await;
    assert_eq!(body["items"].as_array().unwrap().len(), 20);
    let used = counter.take();
    assert!(used.calls == 4 && used.reads < 70.0, "{used:?}");
}

/// What is liked, undone and liked again is listed once, and leaves nothing behind.
#[tokio::test]
async fn what_is_liked_again_and_again_is_listed_once() {
    let world = World::new();
    world.done(&[publish("anna", "a", AT), publish("anna", "b", AT)]).await;
    for minute in 0..20 {
        world.done(&[like("bob", "a", 2 * minute), like("bob", "b", 2 * minute)]).await;
        world.done(&[undo("bob", "b", 2 * minute + 1)]).await;
    }
    // Late ones, and again.
    world.done(&[like("bob", "a", 7), like("bob", "b", 4), undo("bob", "b", 38)]).await;
    assert_eq!(liked_by(&world, "bob").await, ["a"]);
    let entries = entries(&world).await;
    assert_eq!(entries, ["2026-11-20T11:38:00.000Z#a"]);
    world.done(&[delete("anna", "a")]).await;
    assert_eq!(liked_by(&world, "bob").await, [""; 0]);
}

/// The sort keys of bob's list.
async fn entries(world: &World) -> Vec<String> {
    let all = everything(world.tables.ledger.table()).await;
    let of_bob = all.iter().filter(|item| item["pk"].as_s().unwrap() == "person#bob#liked");
    assert!(of_bob.clone().all(|item| size(item) < 512));
    let mut keys: Vec<_> = of_bob.map(|item| item["sk"].as_s().unwrap().clone()).collect();
    keys.sort_unstable();
    keys
}

/// The writer dies after each of its calls in turn; the message comes again.
#[tokio::test]
async fn the_list_agrees_with_the_rows_wherever_the_writer_dies() {
    for calls in 0..12 {
        let left = Arc::new(AtomicUsize::new(usize::MAX));
        let world = World::behind(|inside| {
            SharedHttpConnector::new(Dying { inside, left: Arc::clone(&left) })
        });
        world.done(&[publish("anna", "a", AT)]).await;
        for (command, expected) in [
            (like("bob", "a", 1), Some("2026-11-20T11:01:00.000Z")),
            (like("bob", "a", 3), Some("2026-11-20T11:03:00.000Z")),
            (undo("bob", "a", 3), None),
            (like("bob", "a", 5), Some("2026-11-20T11:05:00.000Z")),
            (undo("bob", "a", 6), None),
        ] {
            let message = command.to_string();
            left.store(calls, Ordering::Relaxed);
            // The message comes again, whatever became of it.
            world.write(&[&message], 1).await;
            left.store(usize::MAX, Ordering::Relaxed);
            let rows = state(&world).await;
            let (_, _, body) = world.get("/v1/viewers/bob/likes", "").await;
            assert_eq!(
                body["items"][0]["liked_at"].as_str().map(ToOwned::to_owned),
                rows,
                "{calls}: {body}"
            );
            assert_eq!(world.write(&[&message], 2).await, [0_usize; 0]);
            let listed: Vec<_> = expected.map(|at| format!("{at}#a")).into_iter().collect();
            assert_eq!(entries(&world).await, listed, "{calls}: {command}");
        }
    }
}

/// A like moves before each read of a page: it is on the page at the place that it had when the list was read.
#[tokio::test(start_paused = true)]
async fn what_is_liked_again_before_every_read_is_on_the_page() {
    let before = [
        publish("anna", "a", AT),
        publish("anna", "b", AT),
        like("bob", "a", 1),
        like("bob", "b", 2),
    ];
    for most in 0..6 {
        let moved = AtomicUsize::new(0);
        let path = "/v1/viewers/bob/likes";
        let asked = Asked { before: &before, path, query: "", hold: Hold::NONE };
        let page = page_among(asked, move |request| {
            let target = request.headers().get("x-amz-target").unwrap_or_default();
            let is_read = target.ends_with(".Query") || target.ends_with(".BatchGetItem");
            let n = if is_read { moved.fetch_add(1, Ordering::Relaxed) } else { most };
            (n < most).then(|| command(&like("bob", "a", 3 + u8::try_from(n).unwrap())))
        });
        let page = page.await;
        let items = page["items"].as_array().unwrap();
        let shown: BTreeSet<_> = items.iter().map(|item| item["activity_id"].as_str()).collect();
        assert_eq!(shown, BTreeSet::from([Some("a"), Some("b")]), "{most} moves: {page}");
        assert_eq!(items.len(), 2, "{page}");
    }
}

/// Many unknown activities make a page read the list several times. A like that moves meanwhile stays on the page.
#[tokio::test(start_paused = true)]
async fn what_is_liked_again_while_a_page_is_filled_is_on_the_page() {
    let like = move |activity: &str, second: usize| {
        let at = format!("2026-11-20T11:{:02}:{:02}.000Z", second / 60, second % 60);
        json!({"type": "like.created", "viewer_id": "bob", "activity_id": activity, "at": at})
    };
    for (known, unknown, limit) in [(3, 30, 20), (3, 120, 20), (2, 3, 3), (3, 30, 3)] {
        let ids: Vec<_> = (0..known).map(|n| format!("a{n}")).collect();
        let mut before: Vec<_> = ids.iter().map(|id| publish("anna", id, AT)).collect();
        before.extend((0..unknown).map(|n| like(&format!("u{n}"), n)));
        before.extend(ids.iter().enumerate().map(|(n, id)| like(id, 1_000 + n)));
        for first in 0..8 {
            let reads = AtomicUsize::new(0);
            let (path, query) = ("/v1/viewers/bob/likes", format!("limit={limit}"));
            let asked = Asked { before: &before, path, query: &query, hold: Hold::NONE };
            let page = page_among(asked, move |request| {
                let target = request.headers().get("x-amz-target").unwrap_or_default();
                let is_read = target.ends_with(".Query") || target.ends_with(".BatchGetItem");
                let n = if is_read { reads.fetch_add(1, Ordering::Relaxed) } else { 0 };
                (is_read && n == first).then(|| command(&like("a0", 3_000)))
            });
            let page = page.await;
            let items = page["items"].as_array().unwrap();
            let shown: BTreeSet<_> = items.iter().map(|it| it["activity_id"].as_str()).collect();
            let moved = ids[..1].iter().chain(ids[1..].iter().rev());
            let newest = [ids.iter().rev().collect(), moved.collect::<Vec<_>>()];
            let newest = newest.map(|ids| {
                let shown = ids.into_iter().take(limit).map(|id| Some(id.as_str()));
                shown.collect::<BTreeSet<_>>()
            });
            assert!(
                newest.contains(&shown),
                "{unknown} unknown, limit {limit}, at read {first}: {page}"
            );
        }
    }
}

/// Since when bob likes the activity, as his row says.
async fn state(world: &World) -> Option<String> {
    let (bob, a) = (ViewerId::new("bob").unwrap(), ActivityId::new("a").unwrap());
    let row = world.tables.facts.table().get(keys::like(&bob, &a).into_item()).await.unwrap();
    let row = row.filter(|row| row.flag("liked").unwrap())?;
    Some(row.text("changed_at").unwrap().to_owned())
}

/// As after a restore of the ledger: some entries are gone, and one is of what is not liked.
#[tokio::test]
async fn an_audit_lists_what_is_liked() {
    let world = World::new();
    let known = many(&world, 200).await;
    let listed = entries(&world).await;
    let ledger = world.tables.ledger.table();
    let key = |sk: &str| Key { pk: "person#bob#liked".to_owned(), sk: sk.to_owned() }.into_item();
    for sk in listed.iter().step_by(3) {
        ledger.delete(key(sk), None).await.unwrap();
    }
    let stray = "2026-11-20T11:00:00.000Z#a00001";
    ledger.put(key(stray)).await.unwrap();
    let auditor = LikedAuditor::new(&world.tables.ledger, &world.tables.facts);
    let bob = ViewerId::new("bob").unwrap();
    assert_eq!(auditor.likers().await.unwrap(), std::slice::from_ref(&bob));
    let found = auditor.differences(&bob).await.unwrap();
    let (extra, missing): (Vec<_>, Vec<_>) = found.iter().partition(|it| it.listed);
    assert_eq!((extra.len(), missing.len()), (1, listed.len().div_ceil(3)), "{found:?}");
    auditor.repair(&found).await.unwrap();
    assert_eq!(auditor.differences(&bob).await.unwrap(), []);
    assert_eq!(entries(&world).await, listed);
    assert_eq!(walk(&world, 20, |_| ()).await, known);
}
