//! Counts of likes that are kept for a moment: what a page with them costs, and that it agrees with itself.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use shared::social::likes::{KEPT_FOR, LikeCountCache};
use tests::{World, follow, publish};

use crate::platform::projecting::{project, records};
use crate::platform::units::UnitCounter;

const AT: &str = "2026-11-20T11:00:00.000Z";
/// Longer than any test takes.
const LONG: Duration = Duration::from_hours(1);

fn like(viewer: &str, activity: &str, liked: bool, second: usize) -> Value {
    let kind = if liked { "like.created" } else { "like.deleted" };
    json!({"type": kind, "viewer_id": viewer, "activity_id": activity,
        "at": format!("2026-11-20T11:01:{second:02}.000Z")})
}

/// Activities of anna, whom bob and eve follow, with ids that go up.
async fn published(world: &World, activities: usize) {
    world.done(&[follow("bob", "anna", AT), follow("eve", "anna", AT)]).await;
    for n in 0..activities {
        world.done(&[publish("anna", &format!("post-{n:02}"), AT)]).await;
    }
}

async fn project_all(world: &World) {
    project(world, "s", &records(world)).await;
}

/// The counts on a viewer's page, and what they like of it.
async fn shown(world: &World, viewer: &str) -> Vec<(u64, bool)> {
    let path = format!("/v1/timelines/{viewer}");
    let (status, _, page) = world.get(&path, &format!("include=likes&viewer={viewer}")).await;
    assert_eq!(status, 200, "{page}");
    let items = page["items"].as_array().unwrap().iter();
    let likes = items.map(|item| &item["likes"]);
    likes.map(|it| (it["count"].as_u64().unwrap(), it["liked"].as_bool().unwrap())).collect()
}

#[tokio::test]
async fn a_kept_count_is_shown_for_a_moment_with_the_viewer_s_own_part_as_it_is() {
    let mut world = World::new();
    world.reader.counts = Arc::new(LikeCountCache::keeping_for(LONG));
    published(&world, 2).await;
    assert_eq!(shown(&world, "bob").await, [(0, false), (0, false)]);
    world.done(&[like("eve", "post-01", true, 1)]).await;
    project_all(&world).await;
    // Bob is shown what was kept; eve, her own like with it.
    assert_eq!(shown(&world, "bob").await, [(0, false), (0, false)]);
    assert_eq!(shown(&world, "eve").await, [(1, true), (0, false)]);
    world.done(&[like("bob", "post-01", true, 2)]).await;
    assert_eq!(shown(&world, "bob").await, [(1, true), (0, false)]);
    world.done(&[like("bob", "post-01", false, 3)]).await;
    assert_eq!(shown(&world, "bob").await, [(0, false), (0, false)]);
    // By either clock it is too old.
    world.set_clock("2026-11-20T13:00:01Z");
    project_all(&world).await;
    assert_eq!(shown(&world, "bob").await, [(1, false), (0, false)]);
    world.done(&[like("eve", "post-01", false, 4)]).await;
    project_all(&world).await;
    assert_eq!(shown(&world, "bob").await, [(1, false), (0, false)]);
    // So it is if the clock went back.
    world.set_clock("2026-11-20T12:59:59Z");
    assert_eq!(shown(&world, "bob").await, [(0, false), (0, false)]);
    assert!(KEPT_FOR < Duration::from_secs(1), "normally less than a second ago");
}

#[tokio::test]
async fn a_warm_page_with_likes_costs_twelve_units_at_most() {
    let mut counter = UnitCounter::new();
    counter.world.reader.counts = Arc::new(LikeCountCache::keeping_for(LONG));
    let fifty_likes = async |world: &World| {
        published(world, 20).await;
        for n in 0..50 {
            world.done(&[like("bob", &format!("post-{n:02}"), n % 3 > 0, 1)]).await;
        }
        project_all(world).await;
        shown(world, "eve").await;
    };
    counter.uncounted(fifty_likes).await;
    let page = shown(&counter.world, "bob").await;
    let expected: Vec<_> = (0..20).rev().map(|n| (u64::from(n % 3 > 0), n % 3 > 0)).collect();
    assert_eq!(page, expected);
    let used = counter.take();
    assert!(used.reads <= 12.0, "{used:?}");
}

/// Likes of a viewer before, within and behind the ids of a page, more than are read at once.
#[tokio::test]
async fn of_a_viewer_with_many_likes_those_of_the_page_are_found() {
    let world = World::new();
    published(&world, 20).await;
    for n in 0..20 {
        if n % 2 == 0 {
            world.done(&[like("bob", &format!("post-{n:02}"), n % 4 == 0, 1)]).await;
        }
        // Between this one and the next.
        for between in 0..8 {
            let id = format!("post-{n:02}-{between}");
            world.done(&[like("bob", &id, true, 1)]).await;
        }
    }
    world.done(&[like("bob", "a", true, 1), like("bob", "z", true, 1)]).await;
    project_all(&world).await;
    let expected: Vec<_> = (0..20).rev().map(|n| (u64::from(n % 4 == 0), n % 4 == 0)).collect();
    assert_eq!(shown(&world, "bob").await, expected);
}

#[tokio::test]
async fn a_poll_that_finds_nothing_is_one_query() {
    let counter = UnitCounter::new();
    counter.uncounted(async |world| published(world, 20).await).await;
    let (_, _, page) = counter.world.get("/v1/timelines/bob", "").await;
    counter.take();
    let cursor = page["newer_cursor"].as_str().unwrap().to_owned();
    let (_, _, page) = counter.world.get("/v1/timelines/bob", &format!("cursor={cursor}")).await;
    assert_eq!(page["items"], json!([]));
    let used = counter.take();
    assert!(used.reads <= 2.0 && used.calls == 1, "{used:?}");
    // What is new is shown, and what somebody has left meanwhile is not.
    let later = "2026-11-20T12:00:00.500Z";
    counter.world.done(&[publish("anna", "new", later)]).await;
    let (_, _, page) = counter.world.get("/v1/timelines/bob", &format!("cursor={cursor}")).await;
    assert_eq!(page["items"][0]["activity_id"], "new");
    counter.world.done(&[tests::unfollow("bob", "anna", later)]).await;
    let (_, _, page) = counter.world.get("/v1/timelines/bob", &format!("cursor={cursor}")).await;
    assert_eq!(page["items"], json!([]));
}
