//! Private rooms: whoever is not in it reads nothing, by no cursor.

use function_http::Authorization;
use serde_json::json;
use tests::World;

use super::{ids_of, instant, join, leave, page, post};

/// What a page of a room is answered with, for the owner of a token.
async fn status(world: &World, caller: &str, query: &str) -> i64 {
    world.request("GET", "/v1/rooms/r/messages", query, Some(caller)).await.0
}

fn guarded() -> World {
    let mut world = World::new();
    world.set_authorization(Authorization::Jwt);
    world
}

#[tokio::test]
async fn a_room_that_nobody_has_joined_is_open() {
    let world = guarded();
    world.done(&[post("r", "a", "bob", 1), leave("r", "bob", 2)]).await;
    assert_eq!(status(&world, "eve", "").await, 200);
    assert_eq!(world.request("GET", "/v1/rooms/r/messages", "", None).await.0, 401);
}

#[tokio::test]
async fn only_present_members_read_a_private_room() {
    let world = guarded();
    world.done(&[post("r", "a", "bob", 1), join("r", "bob", 2), join("r", "ann", 10)]).await;
    for (caller, expected) in [("bob", 200), ("ann", 200), ("eve", 403), ("bo", 403)] {
        assert_eq!(status(&world, caller, "").await, expected, "{caller}");
        assert_eq!(status(&world, caller, "author=bob").await, expected, "{caller}");
    }
    // What was said before included.
    let (_, _, body) = world.request("GET", "/v1/rooms/r/messages", "", Some("ann")).await;
    assert_eq!(ids_of(&body), ["a"]);
    let (_, _, body) = world.request("GET", "/v1/rooms/r/messages", "", Some("eve")).await;
    assert_eq!(body["type"], "urn:nagare:problem:forbidden");
    assert!(!body.to_string().contains("bob"), "{body}");
    // A member asks for nobody else.
    assert_eq!(status(&world, "bob", "viewer=bob").await, 200);
    assert_eq!(status(&world, "bob", "viewer=ann").await, 403);
    assert_eq!(status(&world, "eve", "viewer=ann").await, 403);
}

/// The break that is looked for: a page of a private room by a cursor from another time, another room, another caller.
#[tokio::test]
async fn no_cursor_opens_a_private_room() {
    let world = guarded();
    let posts: Vec<_> = (1..6).map(|n| post("r", &format!("m{n}"), "bob", n)).collect();
    world.done(&posts).await;
    // eve reads while the room is open.
    let (_, _, body) = world.request("GET", "/v1/rooms/r/messages", "limit=2", Some("eve")).await;
    let cursors =
        ["next_cursor", "newer_cursor"].map(|name| body[name].as_str().unwrap().to_owned());
    world.done(&[join("r", "bob", 10), join("r", "ann", 11)]).await;
    for cursor in &cursors {
        assert_eq!(status(&world, "eve", &format!("cursor={cursor}")).await, 403);
        assert_eq!(status(&world, "eve", &format!("cursor={cursor}&limit=5")).await, 403);
    }
    let (_, _, body) = world.request("GET", "/v1/rooms/r/messages", "limit=2", Some("ann")).await;
    let cursors =
        ["next_cursor", "newer_cursor"].map(|name| body[name].as_str().unwrap().to_owned());
    for cursor in &cursors {
        assert_eq!(status(&world, "ann", &format!("cursor={cursor}")).await, 200);
        assert_eq!(status(&world, "eve", &format!("cursor={cursor}")).await, 403, "ann's cursor");
    }
    world.done(&[leave("r", "ann", 12), post("r", "secret", "bob", 13)]).await;
    for cursor in &cursors {
        assert_eq!(status(&world, "ann", &format!("cursor={cursor}")).await, 403, "ann has left");
    }
    // A room of eve's own gives no cursor for another.
    let other: Vec<_> = (1..6).map(|n| post("e", &format!("m{n}"), "eve", n)).collect();
    world.done(&other).await;
    world.done(&[join("e", "eve", 10), join("e", "ann", 10)]).await;
    let (_, _, body) = world.request("GET", "/v1/rooms/e/messages", "limit=2", Some("eve")).await;
    for name in ["next_cursor", "newer_cursor"] {
        let query = format!("cursor={}", body[name].as_str().unwrap());
        for caller in ["bob", "eve"] {
            assert_eq!(status(&world, caller, &query).await, 400, "{caller}");
        }
    }
}

#[tokio::test]
async fn a_room_stays_private_once_it_was() {
    let world = guarded();
    // The join that makes it private has lost before it came.
    world.done(&[post("r", "a", "bob", 1), leave("r", "bob", 5), join("r", "bob", 4)]).await;
    assert_eq!(status(&world, "eve", "").await, 403);
    assert_eq!(status(&world, "bob", "").await, 403);
    world.done(&[join("r", "bob", 6)]).await;
    assert_eq!(status(&world, "bob", "").await, 200);
}

#[tokio::test]
async fn the_latest_change_wins_and_of_two_at_once_the_leave() {
    let changes =
        [join("r", "bob", 5), leave("r", "bob", 5), join("r", "bob", 3), leave("r", "bob", 2)];
    for first in 0..changes.len() {
        for step in 1..changes.len() {
            let world = guarded();
            let order = (0..4).map(|n| changes[(first + n * step) % 4].clone());
            world.done(&order.collect::<Vec<_>>()).await;
            world.done(&changes).await;
            assert_eq!(status(&world, "bob", "").await, 403, "{first} {step}");
            world.done(&[join("r", "bob", 6), leave("r", "bob", 5), join("r", "bob", 5)]).await;
            assert_eq!(status(&world, "bob", "").await, 200, "{first} {step}");
        }
    }
}

/// Where everybody is trusted, whoever names a viewer reads as they do, and nobody in particular is in no room.
#[tokio::test]
async fn the_trusted_say_for_whom_they_read() {
    let world = World::new();
    world.done(&[post("r", "a", "bob", 1)]).await;
    assert_eq!(ids_of(&page(&world, "r", "").await), ["a"]);
    world.done(&[join("r", "bob", 2)]).await;
    assert_eq!(ids_of(&page(&world, "r", "viewer=bob").await), ["a"]);
    for query in ["viewer=eve", ""] {
        let (status, _, _) = world.get("/v1/rooms/r/messages", query).await;
        assert_eq!(status, 403, "{query}");
    }
}

fn private(id: &str, author: &str, minute: u32) -> serde_json::Value {
    let mut post = post("r", id, author, minute);
    post["private"] = json!(true);
    post
}

/// Nobody has joined it, and its author is no member either.
#[tokio::test]
async fn a_room_is_private_from_the_first_message_that_says_so() {
    let world = guarded();
    world.done(&[post("r", "a", "bob", 1)]).await;
    assert_eq!(status(&world, "eve", "").await, 200);
    world.done(&[private("b", "bob", 2)]).await;
    for query in ["", "author=bob", "order=oldest&limit=1"] {
        assert_eq!(
            [status(&world, "eve", query).await, status(&world, "bob", query).await],
            [403, 403]
        );
    }
    world.done(&[join("r", "bob", 3)]).await;
    let (_, _, body) = world.request("GET", "/v1/rooms/r/messages", "", Some("bob")).await;
    assert_eq!(ids_of(&body), ["b", "a"]);
    assert_eq!(body["items"][0].as_object().unwrap().len(), 4);
}

/// The break that is looked for: a room that stays open because nothing became of the message.
#[tokio::test]
async fn a_private_message_that_comes_to_nothing_closes_the_room() {
    let deleted = super::delete("r", "m", "bob");
    for (before, after) in [
        (post("r", "m", "bob", 1), "conflict"),
        (post("r", "m", "ann", 1), "conflict"),
        (deleted, ""),
    ] {
        let world = guarded();
        world.done(&[before]).await;
        world.done(&[private("m", "bob", 1)]).await;
        let letters = world.take_dead_letters().await;
        let reasons: Vec<_> = letters
            .iter()
            .filter_map(|it| it.message_attributes["nagare.reason"].string_value.clone())
            .collect();
        assert_eq!(reasons.join(" "), after);
        assert_eq!(status(&world, "eve", "").await, 403);
    }
    // And the other way round.
    let world = guarded();
    world.done(&[private("m", "bob", 1)]).await;
    assert_eq!(super::refused(&world, &post("r", "m", "bob", 1)).await, "conflict");
    let mut same = private("m", "bob", 1);
    world.done(&[same.clone()]).await;
    assert_eq!(world.take_dead_letters().await.len(), 0);
    for value in [json!(1), json!("true"), json!(null), json!([true])] {
        same["private"] = value;
        assert_eq!(super::refused(&world, &same).await, "malformed");
    }
    let world = guarded();
    let mut open = post("r", "m", "bob", 1);
    open["private"] = json!(false);
    world.done(&[open, post("r", "m", "bob", 1)]).await;
    assert_eq!(world.take_dead_letters().await.len(), 0);
    assert_eq!(status(&world, "eve", "").await, 200);
}

/// The break that is looked for: a page that finds the room open, and then the message that closes it.
#[tokio::test]
async fn no_page_has_a_private_message_however_it_is_overtaken() {
    let secret = private("secret", "bob", 2);
    for query in ["", "author=bob", "order=oldest"] {
        for nth in 1.. {
            let (by, left) = crate::platform::overtaking::before_call(
                nth,
                crate::platform::overtaking::command(&secret),
            );
            let before = [post("r", "a", "bob", 1)];
            let world = crate::platform::overtaking::interrupted(
                shared::platform::runtime::hold::Hold::NONE,
                &before,
                by,
            )
            .await;
            let (status, _, body) = world.get("/v1/rooms/r/messages", query).await;
            let was_there = left.swap(0, std::sync::atomic::Ordering::SeqCst) == 0;
            assert!(status == 403 || ids_of(&body) == ["a"], "{query} {nth}: {body}");
            if !was_there {
                break;
            }
        }
    }
}

/// Instants as they are stored, and nothing else of the member.
#[tokio::test]
async fn membership_is_about_one_person_alone() {
    let world = World::new();
    world.done(&[join("r", "bob", 2)]).await;
    let request = json!({"TableName": "nagare-ledger", "Key": {"pk": {"S": "person#bob#rooms"}, "sk": {"S": "room#r"}}});
    let (_, answer) = world.engine.call("GetItem", request.to_string().as_bytes());
    let answer: serde_json::Value = serde_json::from_str(&answer).unwrap();
    let item = json!({"pk": {"S": "person#bob#rooms"}, "sk": {"S": "room#r"}, "at": {"S": instant(2)}, "present": {"BOOL": true}});
    assert_eq!(answer["Item"], item);
}
