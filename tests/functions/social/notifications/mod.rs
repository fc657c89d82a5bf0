//! Notifications: each viewer once for each activity, and numbers that equal a recount.

mod marks;
mod moment;

use function_http::Authorization;
use serde_json::{Value, json};
use tests::{World, delete, publish};

use crate::platform::projecting::{project, records};

const AT: &str = "2026-11-20T11:00:00.000Z";

/// `n` seconds after eleven.
fn second(n: u32) -> String {
    format!("2026-11-20T11:{:02}:{:02}.000Z", n / 60, n % 60)
}

fn like(viewer: &str, activity: &str, at: u32) -> Value {
    json!({"type": "like.created", "viewer_id": viewer, "activity_id": activity, "at": second(at)})
}

fn undo(viewer: &str, activity: &str, at: u32) -> Value {
    json!({"type": "like.deleted", "viewer_id": viewer, "activity_id": activity, "at": second(at)})
}

fn mark(viewer: &str, id: &Value, through: u64) -> Value {
    let read = json!([{"notification_id": id, "through": through}]);
    json!({"type": "notifications.read", "viewer_id": viewer, "read": read})
}

/// Applies commands one by one, each projected before the next.
async fn in_turn(world: &World, commands: &[Value]) {
    for command in commands {
        world.done(std::slice::from_ref(command)).await;
        world.project("a").await;
    }
}

async fn page(world: &World, viewer: &str, query: &str) -> Value {
    let (status, _, body) = world.get(&format!("/v1/notifications/{viewer}"), query).await;
    assert_eq!(status, 200, "{body}");
    body
}

/// All notifications, read in pages of `limit`.
async fn all(world: &World, viewer: &str, limit: usize, state: &str) -> Vec<Value> {
    let (mut items, mut query) = (Vec::new(), format!("limit={limit}{state}"));
    loop {
        let body = page(world, viewer, &query).await;
        let some = body["items"].as_array().unwrap().clone();
        let next = body["next_cursor"].as_str().map(ToOwned::to_owned);
        assert!(some.len() == limit || next.is_none(), "{body}");
        items.extend(some);
        let Some(cursor) = next else { return items };
        query = format!("limit={limit}&cursor={cursor}");
    }
}

/// What is said of each: activity, state, number of likes, names.
fn said(items: &[Value]) -> Vec<(String, String, u64, String)> {
    let text = |item: &Value, name: &str| item[name].as_str().unwrap().to_owned();
    let names = |item: &Value| {
        let names = item["viewers"].as_array().unwrap().iter();
        names.map(|name| name.as_str().unwrap()).collect::<Vec<_>>().join(" ")
    };
    let said = items.iter().map(|item| {
        let count = item["count"].as_u64().unwrap();
        (text(item, "activity_id"), text(item, "state"), count, names(item))
    });
    said.collect()
}

async fn shown(world: &World, viewer: &str) -> (u64, Vec<(String, String, u64, String)>) {
    let body = page(world, viewer, "").await;
    (body["unread_count"].as_u64().unwrap(), said(body["items"].as_array().unwrap()))
}

fn row(activity: &str, state: &str, count: u64, names: &str) -> (String, String, u64, String) {
    (activity.to_owned(), state.to_owned(), count, names.to_owned())
}

#[tokio::test]
async fn an_actor_is_told_who_likes_what() {
    let world = World::new();
    assert_eq!(
        page(&world, "anna", "").await,
        json!({"viewer_id": "anna", "unread_count": 0, "items": [], "next_cursor": null})
    );
    in_turn(&world, &[publish("anna", "live-1", AT)]).await;
    let likes: Vec<_> = ["bob", "carl", "dan", "eve"]
        .iter()
        .zip(1..)
        .map(|(v, at)| like(v, "live-1", at))
        .collect();
    world.done(&likes).await;
    world.project("a").await;
    let body = page(&world, "anna", "").await;
    let item = &body["items"][0];
    assert_eq!(
        body,
        json!({"viewer_id": "anna", "unread_count": 4, "next_cursor": null, "items": [{
            "notification_id": item["notification_id"], "kind": "like", "activity_id": "live-1", "state": "unread",
            "count": 4, "through": 4, "viewers": ["eve", "dan", "carl"], "first_at": second(1),
            "last_at": second(4), "read_at": null}]})
    );
    assert!(item["notification_id"].as_str().is_some_and(|id| !id.is_empty()));
}

#[tokio::test]
async fn a_viewer_counts_once_whatever_is_undone_and_done_again() {
    let world = World::new();
    in_turn(
        &world,
        &[
            publish("anna", "live-1", AT),
            like("bob", "live-1", 3),
            undo("bob", "live-1", 4),
            like("bob", "live-1", 5),
            undo("bob", "live-1", 6),
            like("bob", "live-1", 3),
            // The first undo comes before the first like.
            undo("eve", "live-1", 2),
            like("eve", "live-1", 1),
            like("eve", "live-1", 8),
            // One's own like is no news.
            like("anna", "live-1", 9),
        ],
    )
    .await;
    assert_eq!(shown(&world, "anna").await, (2, vec![row("live-1", "unread", 2, "bob eve")]));
    let body = page(&world, "anna", "").await;
    assert_eq!(
        (&body["items"][0]["first_at"], &body["items"][0]["last_at"]),
        (&json!(second(1)), &json!(second(3)))
    );
    // An earlier one turns up late.
    in_turn(&world, &[like("bob", "live-1", 0)]).await;
    assert_eq!(shown(&world, "anna").await, (2, vec![row("live-1", "unread", 2, "eve bob")]));
}

#[tokio::test]
async fn likes_may_come_first() {
    let world = World::new();
    in_turn(
        &world,
        &[
            like("bob", "live-1", 1),
            like("anna", "live-1", 2),
            like("eve", "live-1", 3),
            publish("anna", "live-1", AT),
        ],
    )
    .await;
    assert_eq!(shown(&world, "anna").await, (2, vec![row("live-1", "unread", 2, "eve bob")]));
}

/// There are more likes than a view keeps names of, and one is the actor's own: the view cannot tell whether it has
/// counted that one.
#[tokio::test]
async fn likes_may_come_first_in_any_number() {
    for own in [0, 60, 199] {
        for projected in [0, 100, 200] {
            let world = World::new();
            let likes: Vec<_> = (0..200)
                .map(|n| {
                    let viewer = if n == own { "anna".to_owned() } else { format!("viewer-{n}") };
                    like(&viewer, "live-1", n % 50)
                })
                .collect();
            world.done(&likes[..projected]).await;
            for some in records(&world).chunks(9) {
                project(&world, "a", some).await;
            }
            world.done(&likes[projected..]).await;
            world.done(&[publish("anna", "live-1", AT)]).await;
            // What is folded out of order is of different rows, which may be in different shards.
            let all = records(&world);
            let (before, after) = all.split_at(projected);
            project(&world, "b", &after[after.len() - 1..]).await;
            project(&world, "a", before).await;
            project(&world, "c", &after[..after.len() - 1]).await;
            let (unread, items) = shown(&world, "anna").await;
            assert_eq!((unread, items[0].2), (199, 199), "own {own}, projected {projected}");
        }
    }
}

#[tokio::test]
async fn the_latest_come_first_in_pages_of_any_size() {
    let world = World::new();
    let mut expected = Vec::new();
    for n in 0..70 {
        let id = format!("activity-{n:02}");
        in_turn(&world, &[publish("anna", &id, AT), like("bob", &id, 100 + (n * 37) % 70)]).await;
        expected.push((second(100 + (n * 37) % 70), id.clone()));
        if n % 3 == 0 {
            let body = all(&world, "anna", 50, "").await;
            let item = body.iter().find(|item| item["activity_id"] == json!(id)).unwrap();
            in_turn(&world, &[mark("anna", &item["notification_id"], 1)]).await;
        }
    }
    expected.sort();
    expected.reverse();
    let order = |items: &[Value]| -> Vec<(String, String)> {
        let text = |item: &Value, name: &str| item[name].as_str().unwrap().to_owned();
        items.iter().map(|item| (text(item, "last_at"), text(item, "activity_id"))).collect()
    };
    for limit in [1, 2, 9, 20, 70, 100] {
        assert_eq!(order(&all(&world, "anna", limit, "").await), expected, "limit {limit}");
    }
    let unread = all(&world, "anna", 11, "&state=unread").await;
    assert_eq!(unread.len(), 46);
    assert!(unread.iter().all(|item| item["state"] == "unread"));
    // A like of what was listed long ago moves it to the top, and deletes leave nothing.
    in_turn(&world, &[like("eve", "activity-01", 300)]).await;
    assert_eq!(
        order(&all(&world, "anna", 9, "").await)[0],
        (second(300), "activity-01".to_owned())
    );
    assert_eq!(all(&world, "anna", 9, "").await.len(), 70);
    let deletes: Vec<_> = (0..70).map(|n| delete("anna", &format!("activity-{n:02}"))).collect();
    in_turn(&world, &deletes).await;
    assert_eq!(page(&world, "anna", "").await["unread_count"], 0);
    assert_eq!(all(&world, "anna", 9, "").await, [Value::Null; 0]);
}

#[tokio::test]
async fn a_deleted_activity_notifies_of_nothing() {
    let world = World::new();
    in_turn(&world, &[publish("anna", "a", AT), publish("anna", "b", AT)]).await;
    in_turn(&world, &[like("bob", "a", 1), like("bob", "b", 2), like("eve", "b", 3)]).await;
    let id = page(&world, "anna", "").await["items"][1]["notification_id"].clone();
    in_turn(&world, &[mark("anna", &id, 1), like("carl", "a", 4)]).await;
    in_turn(&world, &[delete("anna", "a"), like("dan", "a", 5), mark("anna", &id, 9)]).await;
    assert_eq!(shown(&world, "anna").await, (2, vec![row("b", "unread", 2, "eve bob")]));
    // Deleted before anybody liked it, and before it was published.
    in_turn(&world, &[publish("anna", "c", AT), delete("anna", "c"), like("bob", "c", 6)]).await;
    in_turn(&world, &[delete("anna", "d"), like("bob", "d", 6), publish("anna", "d", AT)]).await;
    assert_eq!(page(&world, "anna", "").await["unread_count"], 2);
}

#[tokio::test]
async fn records_may_come_again_in_any_cut() {
    let world = World::new();
    in_turn(&world, &[publish("anna", "live-1", AT)]).await;
    let likes: Vec<_> = (0..40).map(|n| like(&format!("viewer-{n}"), "live-1", n)).collect();
    world.done(&likes).await;
    for cut in [1, 3, 40] {
        for some in records(&world).chunks(cut) {
            project(&world, "a", some).await;
            project(&world, "a", some).await;
        }
    }
    assert_eq!(page(&world, "anna", "").await["unread_count"], 40);
}

#[tokio::test]
async fn notifications_are_their_viewers_alone() {
    let mut world = World::new();
    in_turn(&world, &[publish("anna", "a", AT), publish("anna", "b", AT)]).await;
    in_turn(&world, &[like("bob", "a", 1), like("bob", "b", 2)]).await;
    let cursor = page(&world, "anna", "limit=1").await["next_cursor"].as_str().unwrap().to_owned();
    for (path, query, parameter) in [
        ("/v1/notifications/eve", format!("cursor={cursor}"), "cursor"),
        ("/v1/viewers/anna/likes", format!("cursor={cursor}"), "cursor"),
        ("/v1/timelines/anna", format!("cursor={cursor}"), "cursor"),
        ("/v1/notifications/anna", format!("cursor=x{cursor}"), "cursor"),
        ("/v1/notifications/anna", "limit=0".to_owned(), "limit"),
        ("/v1/notifications/anna", "limit=101".to_owned(), "limit"),
        ("/v1/notifications/anna", "state=read".to_owned(), "state"),
        ("/v1/notifications/a%20b", String::new(), "viewer_id"),
    ] {
        let (status, _, body) = world.get(path, &query).await;
        assert_eq!(
            (status, &body["parameter"]),
            (400, &json!(parameter)),
            "{path}?{query}: {body}"
        );
    }
    world.set_authorization(Authorization::Jwt);
    let (status, _, _) = world.get("/v1/notifications/anna", "").await;
    assert_ne!(status, 200);
}
