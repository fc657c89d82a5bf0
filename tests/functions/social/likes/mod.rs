//! Likes: the latest command wins, counts equal a recount whatever is repeated, and each reads what is theirs.

use function_http::Authorization;
use futures::future::join_all;
use nagare_local::engine::stream::StreamRecord;
use nagare_local::stream_source::event;
use proptest::prelude::*;
use serde_json::{Value, json};
use tests::{World, delete, follow, publish, soon};

use crate::platform::projecting::records;

mod listed;

const AT: &str = "2026-11-20T11:00:00.000Z";

fn change(viewer: &str, activity: &str, minute: u8, liked: bool) -> Value {
    let what = if liked { "like.created" } else { "like.deleted" };
    let at = format!("2026-11-20T11:{minute:02}:00.000Z");
    json!({"type": what, "viewer_id": viewer, "activity_id": activity, "at": at})
}

fn like(viewer: &str, activity: &str, minute: u8) -> Value {
    change(viewer, activity, minute, true)
}

fn undo(viewer: &str, activity: &str, minute: u8) -> Value {
    change(viewer, activity, minute, false)
}

/// What is shown of the likes of an activity.
async fn likes(world: &World, activity: &str, query: &str) -> Value {
    let (status, _, body) = world.get(&format!("/v1/activities/{activity}"), query).await;
    assert_eq!(status, 200, "{body}");
    body["likes"].clone()
}

async fn count(world: &World, activity: &str) -> Value {
    likes(world, activity, "").await["count"].clone()
}

/// What a viewer likes, by id.
async fn liked_by(world: &World, viewer: &str) -> Vec<String> {
    let (status, _, body) = world.get(&format!("/v1/viewers/{viewer}/likes"), "").await;
    assert_eq!(status, 200, "{body}");
    let items = body["items"].as_array().unwrap().iter();
    items.map(|item| item["activity_id"].as_str().unwrap().to_owned()).collect()
}

/// Those that are not about who published what.
fn likes_of(mut records: Vec<StreamRecord>) -> Vec<StreamRecord> {
    records.retain(|record| record.keys.get().contains("likes#"));
    records
}

/// Hands records over as a batch of a shard; how many the answer leaves.
async fn project(world: &World, shard: &str, records: &[StreamRecord]) -> usize {
    let batch = event(shard, records).unwrap();
    world.fold(batch, soon()).await.unwrap().batch_item_failures.len()
}

#[tokio::test]
async fn an_activity_is_shown_with_its_likes() {
    let world = World::new();
    let (status, _, body) = world.get("/v1/activities/live-1", "").await;
    assert_eq!((status, &body["type"]), (404, &json!("urn:nagare:problem:not-found")));
    world.done(&[publish("anna", "live-1", AT)]).await;
    let (status, _, body) = world.get("/v1/activities/live-1", "viewer=bob").await;
    let activity = json!({"activity_id": "live-1", "actor_id": "anna", "kind": "post", "published_at": AT,
        "payload": {"of": "live-1"}, "likes": {"count": 0, "liked": false}});
    assert_eq!((status, body), (200, activity));
    world
        .done(&[like("bob", "live-1", 1), like("anna", "live-1", 2), undo("eve", "live-1", 3)])
        .await;
    // To others nobody is counted yet; one's own like is, and is listed, at once.
    assert_eq!(likes(&world, "live-1", "viewer=bob").await, json!({"count": 1, "liked": true}));
    assert_eq!(likes(&world, "live-1", "viewer=eve").await, json!({"count": 0, "liked": false}));
    assert_eq!(liked_by(&world, "bob").await, ["live-1"]);
    world.project("a").await;
    assert_eq!(likes(&world, "live-1", "viewer=bob").await, json!({"count": 2, "liked": true}));
    assert_eq!(likes(&world, "live-1", "viewer=eve").await, json!({"count": 2, "liked": false}));
    assert_eq!(likes(&world, "live-1", "").await, json!({"count": 2, "liked": null}));
    world.done(&[delete("anna", "live-1")]).await;
    assert_eq!(world.get("/v1/activities/live-1", "").await.0, 404);
    assert_eq!(liked_by(&world, "bob").await, [""; 0]);
}

#[tokio::test]
async fn likes_come_before_their_activity() {
    let world = World::new();
    world
        .done(&[like("bob", "live-1", 1), undo("eve", "live-1", 2), like("eve", "live-1", 1)])
        .await;
    world.project("a").await;
    assert_eq!(world.get("/v1/activities/live-1", "").await.0, 404);
    assert_eq!(liked_by(&world, "bob").await, [""; 0]);
    world.done(&[publish("anna", "live-1", AT)]).await;
    assert_eq!(count(&world, "live-1").await, 1);
    assert_eq!(liked_by(&world, "bob").await, ["live-1"]);
    assert_eq!(liked_by(&world, "eve").await, [""; 0]);
}

#[tokio::test]
async fn what_a_viewer_likes_is_listed_the_latest_first() {
    let world = World::new();
    let posts = ["a", "b", "c", "d"].map(|id| publish("anna", id, AT));
    world.done(&posts).await;
    let likes =
        [like("bob", "b", 5), like("bob", "a", 7), like("bob", "c", 5), like("bob", "d", 1)];
    world.done(&likes).await;
    world.done(&[undo("bob", "d", 2), like("bob", "never-published", 9)]).await;
    assert_eq!(liked_by(&world, "bob").await, ["a", "c", "b"]);
    let (_, _, body) = world.get("/v1/viewers/bob/likes", "").await;
    let first = json!({"activity_id": "a", "actor_id": "anna", "kind": "post", "published_at": AT,
        "payload": {"of": "a"}, "liked_at": "2026-11-20T11:07:00.000Z"});
    assert_eq!(body["items"][0], first);
    assert_eq!(liked_by(&world, "nobody").await, [""; 0]);
}

#[tokio::test]
async fn what_a_viewer_likes_comes_in_pages() {
    let world = World::new();
    for n in 0..25_u8 {
        world
            .done(&[publish("anna", &format!("a{n:02}"), AT), like("bob", &format!("a{n:02}"), n)])
            .await;
    }
    world.done(&[delete("anna", "a20"), delete("anna", "a03")]).await;
    let mut expected: Vec<_> =
        (0..25).filter(|n| ![3, 20].contains(n)).map(|n| format!("a{n:02}")).collect();
    expected.reverse();
    for limit in [1, 4, 7, 23, 100] {
        let (mut shown, mut query) = (Vec::new(), format!("limit={limit}"));
        loop {
            let (status, _, body) = world.get("/v1/viewers/bob/likes", &query).await;
            assert_eq!(status, 200, "{body}");
            let page = body["items"].as_array().unwrap().clone();
            let cursor = body["next_cursor"].as_str().map(ToOwned::to_owned);
            assert!(page.len() == limit || cursor.is_none(), "{body}");
            shown.extend(page.iter().map(|item| item["activity_id"].as_str().unwrap().to_owned()));
            let Some(cursor) = cursor else { break };
            // What is liked meanwhile is newer, and moves nothing.
            query = format!("limit={limit}&cursor={cursor}");
        }
        assert_eq!(shown, expected, "in pages of {limit}");
    }
    let (_, _, body) = world.get("/v1/viewers/bob/likes", "limit=3").await;
    let cursor = body["next_cursor"].as_str().unwrap();
    let (_, _, timeline) = world.get("/v1/timelines/bob", "").await;
    let foreign = timeline["newer_cursor"].as_str().unwrap();
    for (path, query) in [
        ("/v1/viewers/eve/likes", format!("cursor={cursor}")),
        ("/v1/timelines/bob", format!("cursor={cursor}")),
        ("/v1/viewers/bob/likes", format!("cursor={foreign}")),
        ("/v1/viewers/bob/likes", format!("cursor={}", &cursor[1..])),
    ] {
        let (status, _, body) = world.get(path, &query).await;
        assert_eq!((status, &body["parameter"]), (400, &json!("cursor")), "{path}");
    }
    assert_eq!(world.get("/v1/viewers/bob/likes", "limit=0").await.0, 400);
}

#[tokio::test]
async fn a_timeline_is_shown_with_likes_if_asked() {
    let world = World::new();
    world.done(&[follow("bob", "anna", AT)]).await;
    for n in 0..9_u8 {
        world
            .done(&[publish("anna", &format!("a{n}"), &format!("2026-11-20T11:{n:02}:00.000Z"))])
            .await;
        for viewer in 0..n {
            world.done(&[like(&format!("v{viewer}"), &format!("a{n}"), 20)]).await;
        }
    }
    world.project("a").await;
    let (mut shown, mut query) = (Vec::new(), "include=likes&viewer=v2&limit=4".to_owned());
    loop {
        let (status, _, body) = world.get("/v1/timelines/bob", &query).await;
        assert_eq!(status, 200, "{body}");
        shown.extend(body["items"].as_array().unwrap().clone());
        let Some(cursor) = body["next_cursor"].as_str() else { break };
        // The cursor goes on with them, and for whom is said again.
        query = format!("limit=4&viewer=v2&cursor={cursor}");
    }
    assert_eq!(shown.len(), 9);
    for (item, n) in shown.iter().zip((0..9).rev()) {
        assert_eq!(item["likes"], json!({"count": n, "liked": n > 2}), "{item}");
    }
    let (_, _, plain) = world.get("/v1/timelines/bob", "").await;
    assert_eq!(plain["items"][0].get("likes"), None);
    let (_, _, nobody) = world.get("/v1/timelines/bob", "include=likes").await;
    assert_eq!(nobody["items"][0]["likes"], json!({"count": 8, "liked": null}));
    for (query, parameter) in [
        ("include=dislikes", "include"),
        ("include=", "include"),
        ("include=likes&viewer=v%23", "viewer"),
    ] {
        let (status, _, body) = world.get("/v1/timelines/bob", query).await;
        assert_eq!((status, &body["parameter"]), (400, &json!(parameter)), "{query}");
    }
}

#[tokio::test]
async fn each_reads_what_is_theirs() {
    let mut world = World::new();
    world.done(&[publish("anna", "live-1", AT), like("bob", "live-1", 1)]).await;
    world.project("a").await;
    world.set_authorization(Authorization::Jwt);
    let asked = [
        ("/v1/viewers/bob/likes", "", Some("bob"), 200),
        ("/v1/viewers/bob/likes", "", Some("eve"), 403),
        ("/v1/viewers/bob/likes", "", None, 401),
        ("/v1/activities/live-1", "", Some("eve"), 200),
        ("/v1/activities/live-1", "viewer=eve", Some("eve"), 200),
        ("/v1/activities/live-1", "viewer=bob", Some("eve"), 403),
        ("/v1/activities/live-1", "viewer=b%23", Some("eve"), 400),
        ("/v1/activities/live-1", "", None, 401),
        ("/v1/activities/l%23", "", Some("eve"), 400),
    ];
    for (path, query, caller, status) in asked {
        let answer = world.request("GET", path, query, caller).await;
        assert_eq!(answer.0, status, "{path} {query} {caller:?}");
    }
    let (_, _, body) = world.request("GET", "/v1/activities/live-1", "", Some("bob")).await;
    assert_eq!(body["likes"]["liked"], true);
}

/// Everything since yesterday once more, cut anywhere; and the same rows from a shard's child.
#[tokio::test]
async fn a_change_is_counted_once_however_often_it_comes() {
    let world = World::new();
    world.done(&[publish("anna", "a", AT)]).await;
    world.done(&["bob", "eve", "dan"].map(|viewer| like(viewer, "a", 1))).await;
    let all = likes_of(records(&world));
    assert_eq!(all.len(), 3);
    for batch in [&all[..2], &all[1..], &all[..], &all[..1]] {
        assert_eq!(project(&world, "parent", batch).await, 0);
    }
    assert_eq!(count(&world, "a").await, 3);
    world.done(&[undo("bob", "a", 2), like("bob", "a", 3), undo("eve", "a", 2)]).await;
    let later = likes_of(records(&world)).split_off(3);
    for batch in [&later[..], &later[..2], &later[..]] {
        assert_eq!(project(&world, "child", batch).await, 0);
    }
    // From the horizon, the parent first.
    assert_eq!(project(&world, "parent", &all).await, 0);
    assert_eq!(project(&world, "child", &later).await, 0);
    assert_eq!(count(&world, "a").await, 2);
}

/// Shards are worked on side by side, and meet in one view.
#[tokio::test]
async fn shards_side_by_side_lose_nothing() {
    let world = World::new();
    world.done(&[publish("anna", "a", AT)]).await;
    for n in 0..24 {
        world.done(&[like(&format!("viewer-{n}"), "a", 1)]).await;
    }
    let all = likes_of(records(&world));
    let shards = ["s0", "s1", "s2", "s3"];
    let batches = all.chunks(6).zip(shards).map(|(batch, shard)| project(&world, shard, batch));
    assert_eq!(join_all(batches).await, [0; 4]);
    assert_eq!(count(&world, "a").await, 24);
}

#[tokio::test]
async fn without_a_shard_nothing_is_folded() {
    let world = World::new();
    world.done(&[like("bob", "a", 1)]).await;
    let mut batch = event("s", &records(&world)).unwrap();
    batch.shard_id = None;
    let error = world.fold(batch, soon()).await.unwrap_err();
    assert!(error.to_string().contains("tumbling window"), "{error}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]
    #[test]
    fn counts_equal_a_recount(
        changes in proptest::collection::vec((0_u8..4, 0_u8..3, 0_u8..4, any::<bool>()), 1..14)
            .prop_flat_map(|all| (Just(all.clone()), Just(all).prop_shuffle())),
        cuts in proptest::collection::vec((0_usize..30, 1_usize..30), 0..6),
    ) {
        let (said, shuffled) = changes;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let shown = runtime.block_on(async {
            let world = World::new();
            for activity in 0..3 {
                world.done(&[publish("anna", &format!("a{activity}"), AT)]).await;
            }
            for (viewer, activity, minute, liked) in said.iter().chain(&shuffled) {
                let (viewer, activity) = (format!("v{viewer}"), format!("a{activity}"));
                world.done(&[change(&viewer, &activity, *minute, *liked)]).await;
            }
            let all = records(&world);
            let mut reached = 0;
            for (start, length) in cuts {
                // Never ahead of what was worked off.
                let start = start.min(reached);
                let end = (start + length).min(all.len());
                project(&world, "s", &all[start..end]).await;
                reached = reached.max(end);
            }
            project(&world, "s", &all).await;
            let mut shown = Vec::new();
            for activity in 0..3 {
                shown.push(count(&world, &format!("a{activity}")).await);
            }
            shown
        });
        let recount = (0..3).map(|activity| {
            let of = |viewer: u8| {
                let theirs = said.iter().filter(|c| (c.0, c.1) == (viewer, activity));
                theirs.map(|(_, _, minute, liked)| (*minute, !liked)).max()
            };
            json!((0..4).filter(|viewer| of(*viewer).is_some_and(|(_, undone)| !undone)).count())
        });
        prop_assert_eq!(shown, recount.collect::<Vec<_>>());
    }
}
