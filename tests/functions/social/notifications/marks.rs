//! Marking notifications as read: what came after the answer stays unread, and what was read expires.

use serde_json::{Value, json};
use tests::{World, publish};

use super::{AT, all, in_turn, like, mark, page, row, shown};

fn mark_all(viewer: &str) -> Value {
    json!({"type": "notifications.read", "viewer_id": viewer, "all": true})
}

#[tokio::test]
async fn what_comes_after_the_answer_stays_unread() {
    let world = World::new();
    in_turn(
        &world,
        &[publish("anna", "live-1", AT), like("bob", "live-1", 1), like("carl", "live-1", 2)],
    )
    .await;
    let first = page(&world, "anna", "").await["items"][0]["notification_id"].clone();
    in_turn(&world, &[like("dan", "live-1", 3), mark("anna", &first, 2)]).await;
    let expected = vec![row("live-1", "unread", 1, "dan"), row("live-1", "read", 2, "carl bob")];
    assert_eq!(shown(&world, "anna").await, (1, expected.clone()));
    let body = page(&world, "anna", "").await;
    let second = body["items"][0]["notification_id"].clone();
    assert_ne!(first, second);
    assert_eq!(body["items"][1]["notification_id"], first);
    assert!(body["items"][1]["read_at"].is_string());
    // Again, late, smaller, unknown, somebody else's: nothing changes.
    in_turn(
        &world,
        &[
            mark("anna", &first, 2),
            mark("anna", &first, 1),
            mark("anna", &first, 0),
            mark("anna", &json!("live-1"), 9),
            mark("anna", &json!("like:7:live-1"), 9),
            mark("anna", &json!("like:0:live-2"), 9),
            mark("bob", &second, 1),
        ],
    )
    .await;
    assert_eq!(shown(&world, "anna").await, (1, expected));
    // More than there is marks what there is, and not what is to come.
    in_turn(&world, &[mark("anna", &second, 100), like("eve", "live-1", 4)]).await;
    let expected = vec![
        row("live-1", "unread", 1, "eve"),
        row("live-1", "read", 1, "dan"),
        row("live-1", "read", 2, "carl bob"),
    ];
    assert_eq!(shown(&world, "anna").await, (1, expected));
}

#[tokio::test]
async fn two_marks_of_one_notification_end_alike_in_any_order() {
    for marks in [[2, 4], [4, 2]] {
        let world = World::new();
        in_turn(&world, &[publish("anna", "live-1", AT)]).await;
        let likes: Vec<_> = (0..5).map(|n| like(&format!("viewer-{n}"), "live-1", n)).collect();
        in_turn(&world, &likes).await;
        let id = page(&world, "anna", "").await["items"][0]["notification_id"].clone();
        in_turn(&world, &marks.map(|through| mark("anna", &id, through))).await;
        let expected = vec![
            row("live-1", "unread", 1, "viewer-4"),
            row("live-1", "read", 4, "viewer-3 viewer-2 viewer-1"),
        ];
        assert_eq!(shown(&world, "anna").await, (1, expected), "{marks:?}");
    }
}

#[tokio::test]
async fn all_are_marked_once_for_a_message() {
    let world = World::new();
    for n in 0..60 {
        let id = format!("live-{n}");
        in_turn(&world, &[publish("anna", &id, AT), like("bob", &id, n), like("eve", &id, n)])
            .await;
    }
    assert_eq!(page(&world, "anna", "").await["unread_count"], 120);
    let body = mark_all("anna").to_string();
    assert_eq!(world.write(&[&body], 1).await, [0_usize; 0]);
    world.project("a").await;
    assert_eq!(page(&world, "anna", "").await["unread_count"], 0);
    assert_eq!(all(&world, "anna", 7, "&state=unread").await, [Value::Null; 0]);
    assert_eq!(all(&world, "anna", 7, "").await.len(), 60);
    // The queue delivers it again, after another like.
    in_turn(&world, &[like("dan", "live-0", 70)]).await;
    assert_eq!(world.write(&[&body], 1).await, [0_usize; 0]);
    world.project("a").await;
    assert_eq!(page(&world, "anna", "").await["unread_count"], 1);
}

#[tokio::test]
async fn what_was_read_expires_and_what_is_unread_does_not() {
    let world = World::new();
    in_turn(&world, &[publish("anna", "a", AT), publish("anna", "b", AT)]).await;
    in_turn(&world, &[like("bob", "a", 1), like("bob", "b", 2)]).await;
    let id = page(&world, "anna", "").await["items"][1]["notification_id"].clone();
    in_turn(&world, &[mark("anna", &id, 1)]).await;
    let now = world.clock.now();
    let day = 86_400_000;
    world.clock.set(now.plus_millis(30 * day - 1_000));
    assert_eq!(page(&world, "anna", "").await["items"].as_array().unwrap().len(), 2);
    world.clock.set(now.plus_millis(30 * day + 2_000));
    assert_eq!(shown(&world, "anna").await, (1, vec![row("b", "unread", 1, "bob")]));
    world.engine.sweep(now.plus_millis(400 * day)).unwrap();
    world.clock.set(now.plus_millis(400 * day));
    assert_eq!(shown(&world, "anna").await, (1, vec![row("b", "unread", 1, "bob")]));
}

#[tokio::test]
async fn a_mark_says_what_is_wrong_with_it() {
    let world = World::new();
    let mark = |rest: Value| {
        let mut body = json!({"type": "notifications.read", "viewer_id": "anna"});
        body.as_object_mut().unwrap().extend(rest.as_object().unwrap().clone());
        body.to_string()
    };
    for (rest, member) in [
        (json!({}), "read"),
        (json!({"all": false}), "read"),
        (json!({"all": "yes"}), "all"),
        (json!({"all": true, "read": []}), "read"),
        (json!({"read": {}}), "read"),
        (json!({"read": [{"notification_id": "x"}]}), "read"),
        (json!({"read": [{"notification_id": "x", "through": -1}]}), "read"),
        (json!({"read": [{"notification_id": 7, "through": 1}]}), "read"),
        (json!({"read": [["like:0:x", 1]]}), "read"),
    ] {
        let body = mark(rest);
        assert_eq!(world.write(&[&body], 1).await, [0_usize; 0], "{body}");
        let letters = world.take_dead_letters().await;
        let detail = letters[0].message_attributes["nagare.detail"].string_value.clone().unwrap();
        assert!(detail.contains(&format!("`{member}`")), "{body}: {detail}");
    }
    let body = mark(json!({"read": [], "all": null}));
    assert_eq!(world.write(&[&body], 1).await, [0_usize; 0]);
    assert!(world.take_dead_letters().await.is_empty());
}
