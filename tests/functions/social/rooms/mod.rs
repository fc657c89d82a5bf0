//! Rooms: messages in order, each once, whatever the order of arrival; private ones for their members alone.

mod busy;
mod erased;
mod following;
mod private;
mod races;
mod restored;
mod units;

use proptest::prelude::*;
use serde_json::{Value, json};
use tests::World;

pub(crate) use erased::erasure;

use crate::platform::units::UnitCounter;

/// The instant `minute` minutes after eleven.
pub(crate) fn instant(minute: u32) -> String {
    format!("2026-11-20T11:{minute:02}:00.000Z")
}

pub(crate) fn post(room: &str, id: &str, author: &str, minute: u32) -> Value {
    json!({"type": "message.posted", "room_id": room, "message_id": id, "author_id": author,
        "at": instant(minute), "payload": {"text": format!("{id} of {author}")}})
}

pub(crate) fn delete(room: &str, id: &str, author: &str) -> Value {
    json!({"type": "message.deleted", "room_id": room, "message_id": id, "author_id": author})
}

pub(crate) fn join(room: &str, viewer: &str, minute: u32) -> Value {
    json!({"type": "room.joined", "room_id": room, "viewer_id": viewer, "at": instant(minute)})
}

fn leave(room: &str, viewer: &str, minute: u32) -> Value {
    json!({"type": "room.left", "room_id": room, "viewer_id": viewer, "at": instant(minute)})
}

/// A page of a room.
async fn page(world: &World, room: &str, query: &str) -> Value {
    let (status, _, page) = world.get(&format!("/v1/rooms/{room}/messages"), query).await;
    assert_eq!(status, 200, "{page}");
    page
}

fn ids_of(page: &Value) -> Vec<String> {
    let items = page["items"].as_array().unwrap().iter();
    items.map(|item| item["message_id"].as_str().unwrap().to_owned()).collect()
}

pub(crate) async fn ids(world: &World, room: &str, query: &str) -> Vec<String> {
    ids_of(&page(world, room, query).await)
}

/// All there is in a room, walked page by page.
async fn walk(world: &World, room: &str, query: &str, limit: usize) -> Vec<String> {
    let viewer = query.split('&').find(|part| part.starts_with("viewer="));
    let viewer = viewer.map(|viewer| format!("&{viewer}")).unwrap_or_default();
    let mut all = Vec::new();
    let mut page = page(world, room, &format!("{query}&limit={limit}")).await;
    loop {
        all.extend(ids_of(&page));
        let Some(cursor) = page["next_cursor"].as_str() else { return all };
        assert_eq!(ids_of(&page).len(), limit, "a page is short only if it is the last");
        let query = format!("limit={limit}&cursor={cursor}{viewer}");
        page = self::page(world, room, &query).await;
    }
}

/// Gives the writer a command that it refuses. Returns why.
async fn refused(world: &World, command: &Value) -> String {
    world.done(std::slice::from_ref(command)).await;
    let letters = world.take_dead_letters().await;
    assert_eq!(letters.len(), 1, "{command}");
    let reason = &letters[0].message_attributes["nagare.reason"];
    reason.string_value.clone().unwrap()
}

#[tokio::test]
async fn messages_are_read_in_order() {
    let world = World::new();
    assert_eq!(ids(&world, "r", "").await, [""; 0], "a room that nobody has heard of");
    world
        .done(&[post("r", "b", "bob", 2), post("r", "c", "ann", 3), post("r", "a", "bob", 1)])
        .await;
    world.done(&[post("r", "bb", "ann", 2), post("other", "x", "bob", 2)]).await;
    let page = page(&world, "r", "").await;
    let item = json!({"message_id": "c", "author_id": "ann", "at": instant(3),
        "payload": {"text": "c of ann"}});
    assert_eq!(page["items"][0], item);
    assert_eq!(page["room_id"], "r");
    assert_eq!(ids_of(&page), ["c", "bb", "b", "a"]);
    for (query, expected) in [
        ("order=oldest", "a b bb c"),
        ("limit=1", "c"),
        (&format!("from={}&to={}", instant(2), instant(3)), "bb b"),
        ("from=2026-11-21", ""),
        ("to=2026-11-20&order=oldest&limit=2", "a b"),
        ("author=bob", "b a"),
        ("author=bob&order=oldest", "a b"),
        (&format!("author=ann&to={}", instant(3)), "bb"),
        ("author=carl", ""),
    ] {
        assert_eq!(ids(&world, "r", query).await.join(" "), expected, "{query}");
    }
    for query in ["", "order=oldest", "author=bob"] {
        let all = ids(&world, "r", query).await;
        for limit in 1..5 {
            assert_eq!(walk(&world, "r", query, limit).await, all, "{query}");
        }
    }
}

#[tokio::test]
async fn what_is_asked_for_has_to_be_right() {
    let world = World::new();
    world
        .done(&[post("r", "a", "bob", 1), post("r", "b", "bob", 2), post("s", "c", "bob", 3)])
        .await;
    let newest = page(&world, "r", "limit=1").await;
    let cursor = newest["next_cursor"].as_str().unwrap();
    let of_bob = page(&world, "r", "limit=1&author=bob").await;
    let of_bob = of_bob["next_cursor"].as_str().unwrap();
    for (room, query, parameter) in [
        ("r%23", "", "room_id"),
        ("r", "limit=0", "limit"),
        ("r", "order=random", "order"),
        ("r", "author=b%23", "author"),
        ("r", "author=bob&author=ann", "author"),
        ("r", "from=yesterday", "from"),
        ("r", "viewer=b%23", "viewer"),
        ("s", &format!("cursor={cursor}"), "cursor"),
        ("r", &format!("cursor={cursor}&author=bob"), "author"),
        ("r", &format!("cursor={cursor}x"), "cursor"),
    ] {
        let (status, _, body) = world.get(&format!("/v1/rooms/{room}/messages"), query).await;
        assert_eq!((status, &body["parameter"]), (400, &json!(parameter)), "{room} {query}");
    }
    // A cursor carries the author.
    assert_eq!(ids(&world, "r", &format!("cursor={of_bob}")).await, ["a"]);
}

#[tokio::test]
async fn an_id_belongs_to_the_first_message() {
    let world = World::new();
    let first = post("r", "m", "bob", 1);
    world.done(&[first.clone(), first.clone()]).await;
    for other in [post("r", "m", "ann", 1), post("r", "m", "bob", 2)] {
        assert_eq!(refused(&world, &other).await, "conflict");
    }
    let mut other = first.clone();
    other["payload"] = json!("something else");
    world.done(&[other]).await;
    assert_eq!(world.take_dead_letters().await.len(), 0);
    let shown = page(&world, "r", "").await;
    assert_eq!(shown["items"][0]["payload"], json!({"text": "m of bob"}));
    assert_eq!(ids_of(&shown), ["m"]);
    assert_eq!(ids(&world, "r", "author=ann").await, [""; 0]);
    // Within its room.
    world.done(&[post("s", "m", "ann", 2)]).await;
    assert_eq!(ids(&world, "s", "").await, ["m"]);
}

#[tokio::test]
async fn a_delete_is_final_whenever_it_comes() {
    let world = World::new();
    world
        .done(&[post("r", "a", "bob", 1), post("r", "b", "bob", 2), post("r", "c", "ann", 3)])
        .await;
    world.done(&[delete("r", "a", "bob"), delete("r", "b", "ann"), delete("r", "d", "bob")]).await;
    for query in ["", "author=bob"] {
        let shown = ids(&world, "r", query).await;
        assert!(!shown.contains(&"a".to_owned()) && shown.contains(&"b".to_owned()), "{query}");
    }
    world.done(&[post("r", "d", "bob", 4), post("r", "a", "bob", 1)]).await;
    assert_eq!(ids(&world, "r", "").await, ["c", "b"]);
    // The id stays bob's.
    assert_eq!(refused(&world, &post("r", "a", "ann", 1)).await, "conflict");
    // What stood in its place goes by itself, and the delete is not forgotten.
    let later = "2026-12-20T12:00:00.000Z".parse().unwrap();
    world.engine.sweep(later).unwrap();
    world.done(&[post("r", "d", "bob", 4), post("r", "a", "bob", 1)]).await;
    assert_eq!(ids(&world, "r", "").await, ["c", "b"]);
    assert_eq!(ids(&world, "r", "author=bob").await, ["b"]);
}

/// A delete by somebody else before the post has no effect either.
#[tokio::test]
async fn nobody_else_deletes_a_message_ahead() {
    let world = World::new();
    world.done(&[delete("r", "a", "eve"), delete("s", "a", "bob"), post("r", "a", "bob", 1)]).await;
    assert_eq!(ids(&world, "r", "").await, ["a"]);
}

#[tokio::test]
async fn a_quiet_room_costs_two_rounds() {
    let counter = UnitCounter::new();
    let posts: Vec<_> = (0..30).map(|n| post("r", &format!("m{n}"), "bob", n)).collect();
    counter.uncounted(async |world| world.done(&posts).await).await;
    for (query, shown) in [("", 20), ("author=bob&limit=5", 5), ("order=oldest&limit=15", 15)] {
        assert_eq!(ids(&counter.world, "r", query).await.len(), shown);
        let used = counter.take();
        // The room and its last arrivals; the messages, who may read, and what became of those.
        assert_eq!(used.calls, 5, "{query}");
        assert!(used.reads <= 8.0, "{query}: {used:?}");
    }
}

/// What is posted between two pages comes by `newer_cursor`, each message once, whatever its `at`.
#[tokio::test]
async fn what_comes_later_is_read_with_newer_cursor() {
    let world = World::new();
    world.done(&[post("r", "a", "bob", 10), post("r", "b", "ann", 20)]).await;
    let mut newer = page(&world, "r", "limit=1").await["newer_cursor"].as_str().unwrap().to_owned();
    let mut seen = Vec::new();
    for command in
        [post("r", "c", "bob", 30), post("r", "late", "bob", 15), post("r", "d", "ann", 31)]
    {
        world.done(&[command]).await;
        let page = page(&world, "r", &format!("cursor={newer}")).await;
        newer = page["newer_cursor"].as_str().unwrap().to_owned();
        seen.push(ids_of(&page).join(" "));
    }
    assert_eq!(seen, ["c", "late", "d"]);
    // The cursor carries author and range.
    let query = format!("author=bob&from={}&to={}", instant(20), instant(40));
    let newer = page(&world, "r", &query).await["newer_cursor"].as_str().unwrap().to_owned();
    let said =
        [("e", "ann", 30), ("f", "bob", 19), ("g", "bob", 20), ("h", "bob", 40), ("i", "bob", 39)];
    world.done(&said.map(|(id, author, minute)| post("r", id, author, minute))).await;
    assert_eq!(ids(&world, "r", &format!("cursor={newer}")).await, ["g", "i"]);
}

/// Not even the longest ids make a cursor too long.
#[tokio::test]
async fn cursors_are_short() {
    let (world, long) = (World::new(), "x".repeat(128));
    let posts: Vec<_> =
        (0..3).map(|n| post(&long, &format!("{n}{}", &long[1..]), &long, n)).collect();
    world.done(&posts).await;
    let query = format!("author={long}&from={}&to={}&limit=1", instant(0), instant(9));
    let page = page(&world, &long, &query).await;
    for name in ["next_cursor", "newer_cursor"] {
        let cursor = page[name].as_str().unwrap();
        assert!(cursor.len() <= 512, "{name}: {}", cursor.len());
        assert_eq!(
            ids(&world, &long, &format!("cursor={cursor}")).await.len(),
            if name == "next_cursor" { 2 } else { 0 }
        );
    }
}

/// Thousands that were deleted again are passed in bounded steps.
#[tokio::test(start_paused = true)]
async fn what_was_deleted_is_passed_in_steps() {
    let counter = UnitCounter::new();
    let gone: Vec<_> = (0..500).map(|n| post("r", &format!("gone{n:04}"), "bob", 30)).collect();
    let deleted: Vec<_> = (0..500).map(|n| delete("r", &format!("gone{n:04}"), "bob")).collect();
    let left: Vec<_> = (0..5).map(|n| post("r", &format!("m{n}"), "bob", n)).collect();
    let poll = counter
        .uncounted(async |world| {
            world.done(&left).await;
            let before = page(world, "r", "").await["newer_cursor"].as_str().unwrap().to_owned();
            world.done(&gone).await;
            world.done(&deleted).await;
            before
        })
        .await;
    for query in ["limit=20", "limit=1", "limit=20&author=bob", &format!("limit=20&cursor={poll}")]
    {
        let (mut found, mut query, mut pages) = (Vec::new(), query.to_owned(), 0);
        loop {
            let page = page(&counter.world, "r", &query).await;
            let used = counter.take();
            assert!(used.reads <= 200.0 && used.calls <= 10, "{query}: {used:?}");
            found.extend(ids_of(&page));
            pages += 1;
            let Some(next) = page["next_cursor"].as_str() else { break };
            query = format!("limit=20&cursor={next}");
        }
        println!("{pages} pages for {query:.20}");
        assert!(pages <= 12, "{query}: {pages}");
        assert!(found == ["m4", "m3", "m2", "m1", "m0"] || found.is_empty(), "{found:?}");
    }
}

/// A command, and what the commands mean.
#[derive(Debug, Clone)]
enum Say {
    Post(usize, usize),
    Delete(usize, usize),
}

const AUTHORS: [&str; 2] = ["ann", "bob"];

fn commands() -> impl Strategy<Value = Vec<Say>> {
    let any = prop_oneof![
        (0_usize..5, 0_usize..2).prop_map(|(id, author)| Say::Post(id, author)),
        (0_usize..5, 0_usize..2).prop_map(|(id, author)| Say::Delete(id, author)),
    ];
    proptest::collection::vec(any, 1..14)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]
    #[test]
    fn order_and_repetition_do_not_matter(said in commands(), again in commands()) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let world = World::new();
            let all: Vec<_> = said.iter().chain(&again).chain(&said).collect();
            let (mut owners, mut deleted) = (vec![None; 5], vec![vec![]; 5]);
            for one in all {
                let command = match one {
                    Say::Post(id, author) => {
                        owners[*id].get_or_insert(*author);
                        post("r", &format!("m{id}"), AUTHORS[*author], 3)
                    }
                    Say::Delete(id, author) => {
                        deleted[*id].push(*author);
                        delete("r", &format!("m{id}"), AUTHORS[*author])
                    }
                };
                world.done(&[command]).await;
            }
            let left = (0..5).filter(|id| owners[*id].is_some_and(|owner| !deleted[*id].contains(&owner)));
            let left: Vec<_> = left.map(|id| format!("m{id}")).collect();
            prop_assert_eq!(ids(&world, "r", "order=oldest").await, left.clone());
            for (nth, author) in AUTHORS.iter().enumerate() {
                let shown = ids(&world, "r", &format!("author={author}&order=oldest")).await;
                let is_theirs = |id: &&String| owners[id[1..].parse::<usize>().unwrap()] == Some(nth);
                let theirs: Vec<_> = left.iter().filter(is_theirs).cloned().collect();
                prop_assert_eq!(shown, theirs);
            }
            Ok(())
        })?;
    }
}
