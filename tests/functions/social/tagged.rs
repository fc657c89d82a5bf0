//! What somebody is tagged in: activities of anybody and of any age, in the order of time, page by page.

use function_http::Authorization;
use serde_json::{Value, json};
use shared::ledger_item::LedgerItem;
use shared::social::tags::TagItem;
use tests::{World, delete, publish, unfollow};

fn instant(minute: usize) -> String {
    format!("2026-11-20T11:{minute:02}:00.000Z")
}

fn change(what: &str, activity: &str, tagged: &str, minute: usize) -> Value {
    json!({"type": what, "activity_id": activity, "tagged_id": tagged, "at": instant(minute)})
}

fn tag(activity: &str, tagged: &str) -> Value {
    change("tag.created", activity, tagged, 30)
}

fn untag(activity: &str, tagged: &str) -> Value {
    change("tag.deleted", activity, tagged, 31)
}

async fn page(world: &World, viewer: &str, query: &str) -> Value {
    let (status, _, body) = world.get(&format!("/v1/viewers/{viewer}/tagged"), query).await;
    assert_eq!(status, 200, "{body}");
    body
}

fn ids(page: &Value) -> Vec<String> {
    let items = page["items"].as_array().unwrap().iter();
    items.map(|item| item["activity_id"].as_str().unwrap().to_owned()).collect()
}

/// What somebody is tagged in, on one page.
async fn tagged(world: &World, viewer: &str) -> Vec<String> {
    ids(&page(world, viewer, "limit=100").await)
}

/// All pages of a walk, and what else the last of them says.
async fn walk(world: &World, viewer: &str, query: &str, limit: usize) -> Vec<String> {
    let (mut shown, mut next) = (Vec::new(), format!("{query}&limit={limit}"));
    loop {
        let body = page(world, viewer, &next).await;
        let some = ids(&body);
        let cursor = body["next_cursor"].as_str().map(ToOwned::to_owned);
        assert!(some.len() == limit || cursor.is_none(), "{body}");
        shown.extend(some);
        let Some(cursor) = cursor else { return shown };
        next = format!("limit={limit}&cursor={cursor}");
    }
}

/// Ten activities of two actors, in all of which bob is tagged, some before their publish.
async fn ten() -> World {
    let world = World::new();
    for n in 0..10 {
        let (id, actor) = (format!("img-{n}"), ["anna", "Zoe"][n % 2]);
        let mut commands = [publish(actor, &id, &instant(n)), tag(&id, "bob")];
        if n % 3 == 0 {
            commands.reverse();
        }
        world.done(&commands).await;
    }
    world
}

#[tokio::test]
async fn what_somebody_is_tagged_in_is_shown_as_in_a_timeline() {
    let world = World::new();
    let empty = page(&world, "bob", "").await;
    assert_eq!((&empty["viewer_id"], &empty["items"]), (&json!("bob"), &json!([])));
    assert!(empty["next_cursor"].is_null() && empty["newer_cursor"].is_string());
    assert_eq!(empty.get("retained_from"), None);
    world.done(&[publish("anna", "img-1", &instant(1)), tag("img-1", "bob")]).await;
    let item = json!({"activity_id": "img-1", "actor_id": "anna", "kind": "post",
        "published_at": instant(1), "payload": {"of": "img-1"}});
    assert_eq!(page(&world, "bob", "").await["items"], json!([item]));
    let mut edit = publish("anna", "img-1", "");
    (edit["type"], edit["at"], edit["payload"]) =
        (json!("activity.updated"), json!(instant(2)), json!("edited"));
    world.done(&[edit]).await;
    assert_eq!(page(&world, "bob", "").await["items"][0]["payload"], "edited");
    world.done(&[untag("img-1", "bob")]).await;
    assert_eq!(tagged(&world, "bob").await, [""; 0]);
}

#[tokio::test]
async fn it_follows_no_follows() {
    let world = World::new();
    world.done(&[publish("anna", "img-1", &instant(1)), tag("img-1", "bob")]).await;
    world.done(&[unfollow("bob", "anna", &instant(2))]).await;
    assert_eq!(tagged(&world, "bob").await, ["img-1"]);
}

#[tokio::test]
async fn a_deleted_activity_is_gone_at_once_and_stays_so() {
    let world = ten().await;
    world.done(&[delete("anna", "img-4"), delete("Zoe", "img-9")]).await;
    let expected = ["img-8", "img-7", "img-6", "img-5", "img-3", "img-2", "img-1", "img-0"];
    assert_eq!(tagged(&world, "bob").await, expected);
    // Deleted before it was published, and tagged before and after.
    world.done(&[tag("img-x", "bob"), delete("anna", "img-x")]).await;
    world.done(&[publish("anna", "img-x", &instant(1)), tag("img-x", "bob")]).await;
    world.done(&[publish("anna", "img-4", &instant(4)), tag("img-4", "bob")]).await;
    assert_eq!(tagged(&world, "bob").await, expected);
}

#[tokio::test]
async fn pages_go_on_in_both_orders_and_within_a_range() {
    let world = ten().await;
    world.done(&[untag("img-2", "bob"), untag("img-7", "bob"), delete("anna", "img-6")]).await;
    let mut expected: Vec<_> =
        (0..10).filter(|n| ![2, 6, 7].contains(n)).map(|n| format!("img-{n}")).collect();
    for limit in [1, 2, 3, 7, 100] {
        assert_eq!(walk(&world, "bob", "order=oldest", limit).await, expected);
    }
    expected.reverse();
    for limit in [1, 2, 3, 7, 100] {
        assert_eq!(walk(&world, "bob", "order=newest", limit).await, expected);
    }
    let range = format!("from={}&to={}", instant(3), instant(8));
    assert_eq!(walk(&world, "bob", &range, 2).await, ["img-5", "img-4", "img-3"]);
    assert_eq!(walk(&world, "bob", "to=2026-11-19", 2).await, [""; 0]);
}

/// Whoever comes back is shown what came since, once, wherever it stands within the hour.
#[tokio::test]
async fn what_came_since_is_read_with_the_newer_cursor() {
    let world = ten().await;
    let first = page(&world, "bob", "limit=4").await;
    let newer = |page: &Value| format!("cursor={}", page["newer_cursor"].as_str().unwrap());
    assert_eq!(ids(&page(&world, "bob", &newer(&first)).await), [""; 0]);
    world.done(&[publish("anna", "new", &instant(20)), tag("new", "bob")]).await;
    // Published before the newest that was shown, and tagged since.
    world.done(&[publish("anna", "late", &format!("{}7Z", &instant(8)[..22]))]).await;
    world.done(&[tag("late", "bob")]).await;
    let since = page(&world, "bob", &newer(&first)).await;
    assert_eq!(ids(&since), ["late", "new"]);
    assert_eq!(ids(&page(&world, "bob", &newer(&since)).await), [""; 0]);
}

#[tokio::test]
async fn likes_are_shown_if_asked_for() {
    let world = ten().await;
    let like = json!({"type": "like.created", "viewer_id": "eve", "activity_id": "img-9", "at": instant(40)});
    world.done(&[like]).await;
    world.project("a").await;
    let body = page(&world, "bob", "include=likes&viewer=eve&limit=2").await;
    assert_eq!(body["items"][0]["likes"], json!({"count": 1, "liked": true}));
    assert_eq!(body["items"][1]["likes"], json!({"count": 0, "liked": false}));
    assert_eq!(page(&world, "bob", "").await["items"][0].get("likes"), None);
}

#[tokio::test]
async fn cursors_are_of_one_list() {
    let world = ten().await;
    world.done(&[tag("img-1", "eve")]).await;
    let body = page(&world, "bob", "limit=2").await;
    let [next, newer] = ["next_cursor", "newer_cursor"].map(|name| body[name].as_str().unwrap());
    let timeline = world.get("/v1/timelines/bob", "").await.2;
    let foreign = timeline["newer_cursor"].as_str().unwrap();
    for (path, cursor) in [
        ("/v1/viewers/eve/tagged", next),
        ("/v1/viewers/eve/tagged", newer),
        ("/v1/timelines/bob", next),
        ("/v1/viewers/bob/likes", next),
        ("/v1/viewers/bob/tagged", foreign),
        ("/v1/viewers/bob/tagged", &next[1..]),
    ] {
        let (status, _, body) = world.get(path, &format!("cursor={cursor}")).await;
        assert_eq!((status, &body["parameter"]), (400, &json!("cursor")), "{path}");
    }
    for (query, parameter) in
        [("limit=0", "limit"), ("order=up", "order"), ("include=x", "include"), ("from=x", "from")]
    {
        let (status, _, body) = world.get("/v1/viewers/bob/tagged", query).await;
        assert_eq!((status, &body["parameter"]), (400, &json!(parameter)), "{query}");
    }
}

#[tokio::test]
async fn everybody_with_a_token_reads_it() {
    let mut world = ten().await;
    world.set_authorization(Authorization::Jwt);
    for (caller, status) in [(Some("bob"), 200), (Some("eve"), 200), (None, 401)] {
        let answer = world.request("GET", "/v1/viewers/bob/tagged", "", caller).await;
        assert_eq!(answer.0, status, "{caller:?}");
    }
    assert_eq!(world.request("PUT", "/v1/viewers/bob/tagged", "", Some("bob")).await.0, 405);
    let asked = world.request("GET", "/v1/viewers/bob/tagged", "viewer=bob", Some("eve")).await;
    assert_eq!(asked.0, 403);
}

/// Every item that a tag leaves is one that the erasure knows.
#[tokio::test]
async fn what_is_stored_has_a_name() {
    let world = ten().await;
    let request = json!({"TableName": "nagare-ledger"}).to_string();
    let answer: Value =
        serde_json::from_str(&world.engine.call("Scan", request.as_bytes()).1).unwrap();
    let kinds = answer["Items"].as_array().unwrap().iter().map(|item| {
        LedgerItem::of(item["pk"]["S"].as_str().unwrap(), item["sk"]["S"].as_str().unwrap())
            .unwrap_or_else(|| panic!("{item}"))
    });
    let kinds: Vec<_> = kinds.collect();
    assert_eq!(
        kinds.iter().filter(|kind| matches!(kind, LedgerItem::Tag(TagItem::Tag(..)))).count(),
        10
    );
    assert_eq!(
        kinds.iter().filter(|kind| matches!(kind, LedgerItem::Tag(TagItem::Listing(..)))).count(),
        10
    );
}

/// The record says of which kind an activity is, so an edit takes it from one page to the other.
#[tokio::test]
async fn kinds_are_asked_for_and_carried_by_cursors() {
    let world = World::new();
    for n in 0..12 {
        let mut activity = publish("anna", &format!("img-{n:02}"), &instant(n));
        activity["kind"] = json!(["image", "clip", "post"][n % 3]);
        world.done(&[activity, tag(&format!("img-{n:02}"), "bob")]).await;
    }
    let of = |kinds: &[usize]| -> Vec<_> {
        let shown = (0..12).rev().filter(|n| kinds.contains(&(n % 3)));
        shown.map(|n| format!("img-{n:02}")).collect()
    };
    assert_eq!(walk(&world, "bob", "kind=image", 3).await, of(&[0]));
    assert_eq!(walk(&world, "bob", "kind=image&kind=clip", 3).await, of(&[0, 1]));
    assert_eq!(walk(&world, "bob", "kind=none", 3).await, [] as [String; 0]);
    let first = page(&world, "bob", "kind=clip&limit=1").await;
    let cursor = first["next_cursor"].as_str().unwrap();
    let (status, _, problem) =
        world.get("/v1/viewers/bob/tagged", &format!("cursor={cursor}&kind=post")).await;
    assert_eq!((status, &problem["parameter"]), (400, &json!("kind")));
    let edit = json!({"type": "activity.updated", "activity_id": "img-02", "actor_id": "anna",
        "kind": "clip", "at": instant(40), "payload": null});
    world.done(&[edit]).await;
    assert_eq!(walk(&world, "bob", "kind=post", 3).await, ["img-11", "img-08", "img-05"]);
    assert!(walk(&world, "bob", "kind=clip", 3).await.contains(&"img-02".to_owned()));
}
