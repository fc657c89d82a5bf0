//! Whom a viewer follows, and who follows an actor: each list equals what the commands say, in pages of any size.

use std::collections::{BTreeMap, BTreeSet};

use function_http::Authorization;
use proptest::prelude::*;
use serde_json::{Value, json};
use shared::platform::values::{ActorId, ViewerId};
use shared::social::follows::keys;
use tests::{NOW, World, follow, unfollow};

use crate::platform::units::UnitCounter;

/// Who is listed, and since when.
type List = Vec<(String, String)>;

pub(crate) fn following(viewer: &str) -> String {
    format!("/v1/viewers/{viewer}/following")
}

pub(crate) fn followers(actor: &str) -> String {
    format!("/v1/actors/{actor}/followers")
}

pub(crate) fn at(minute: u8) -> String {
    format!("2026-11-20T11:{minute:02}:00.000Z")
}

async fn page(world: &World, path: &str, query: &str) -> (List, Option<String>) {
    let (status, _, body) = world.get(path, query).await;
    assert_eq!(status, 200, "{body}");
    let text = |item: &Value, name: &str| item[name].as_str().unwrap().to_owned();
    let items = body["items"].as_array().unwrap().iter();
    let items = items.map(|item| (text(item, "viewer_id"), text(item, "since")));
    (items.collect(), body["next_cursor"].as_str().map(ToOwned::to_owned))
}

/// The whole list, in pages of this many. Each is full but the last.
pub(crate) async fn walk(world: &World, path: &str, limit: usize) -> List {
    let (mut listed, mut query) = (Vec::new(), format!("limit={limit}"));
    loop {
        let (items, cursor) = page(world, path, &query).await;
        assert!(items.len() == limit || cursor.is_none(), "{path}?{query}: {items:?}");
        listed.extend(items);
        let Some(cursor) = cursor else { return listed };
        query = format!("limit={limit}&cursor={cursor}");
    }
}

fn ids(list: &List) -> BTreeSet<&str> {
    let ids: BTreeSet<_> = list.iter().map(|(id, _)| id.as_str()).collect();
    assert_eq!(ids.len(), list.len(), "somebody twice: {list:?}");
    ids
}

#[tokio::test]
async fn both_lists_say_since_when_and_show_profiles() {
    let world = World::new();
    let profile = json!({"type": "profile.updated", "viewer_id": "bob", "at": NOW, "payload": {"name": "Bob"}});
    world
        .done(&[
            profile,
            follow("bob", "carl", &at(1)),
            follow("bob", "anna", &at(2)),
            follow("bob", "bob", &at(3)),
            follow("bob", "left", &at(3)),
            unfollow("bob", "left", &at(4)),
            follow("eve", "bob", &at(5)),
        ])
        .await;
    let (_, _, body) = world.get(&following("bob"), "").await;
    let items = json!([
        {"viewer_id": "anna", "since": at(2), "profile": null},
        {"viewer_id": "bob", "since": at(3), "profile": {"name": "Bob"}},
        {"viewer_id": "carl", "since": at(1), "profile": null},
    ]);
    assert_eq!(body, json!({"items": items, "next_cursor": null}));
    let (_, _, mut body) = world.get(&followers("bob"), "").await;
    body["items"].as_array_mut().unwrap().sort_by_key(|item| item["viewer_id"].to_string());
    let items = json!([
        {"viewer_id": "bob", "since": at(3), "profile": {"name": "Bob"}},
        {"viewer_id": "eve", "since": at(5), "profile": null},
    ]);
    assert_eq!(body, json!({"items": items, "next_cursor": null}));
    // The follow that is in force says since when: one that is repeated later, and one after an unfollow.
    world.done(&[follow("eve", "bob", &at(7)), follow("bob", "left", &at(8))]).await;
    assert_eq!(page(&world, &following("eve"), "").await.0, [("bob".to_owned(), at(7))]);
    assert_eq!(page(&world, &followers("left"), "").await.0, [("bob".to_owned(), at(8))]);
    assert_eq!(walk(&world, &following("bob"), 2).await.len(), 4);
    for path in [following("nobody"), followers("nobody")] {
        let (status, _, body) = world.get(&path, "").await;
        assert_eq!((status, body), (200, json!({"items": [], "next_cursor": null})));
    }
}

#[tokio::test]
async fn whom_a_viewer_follows_is_theirs_and_followers_are_for_all() {
    let mut world = World::new();
    world.done(&[follow("bob", "anna", NOW)]).await;
    world.set_authorization(Authorization::Jwt);
    for (path, caller, status) in [
        (following("bob"), Some("bob"), 200),
        (following("bob"), Some("eve"), 403),
        (following("bob"), None, 401),
        (followers("anna"), Some("eve"), 200),
        (followers("anna"), None, 401),
    ] {
        let answer = world.request("GET", &path, "", caller).await;
        assert_eq!(answer.0, status, "{path} {caller:?}");
    }
    assert_eq!(world.request("PUT", &followers("anna"), "", Some("eve")).await.0, 405);
}

#[tokio::test]
async fn what_is_asked_for_wrongly_is_named() {
    let world = World::new();
    for n in 0..3 {
        world
            .done(&[follow("bob", &format!("a{n}"), NOW), follow(&format!("f{n}"), "anna", NOW)])
            .await;
    }
    let cursor = async |path: &str| page(&world, path, "limit=1").await.1.unwrap();
    let (theirs, hers) = (cursor(&following("bob")).await, cursor(&followers("anna")).await);
    let (_, _, timeline) = world.get("/v1/timelines/bob", "").await;
    let foreign = timeline["newer_cursor"].as_str().unwrap();
    for (path, query, parameter) in [
        (following("eve"), format!("cursor={theirs}"), "cursor"),
        (following("bob"), format!("cursor={hers}"), "cursor"),
        (following("bob"), format!("cursor={foreign}"), "cursor"),
        (followers("bob"), format!("cursor={theirs}"), "cursor"),
        (followers("anna"), format!("cursor={theirs}"), "cursor"),
        (followers("anna"), format!("cursor={}", &hers[..hers.len() - 1]), "cursor"),
        ("/v1/viewers/bob/likes".to_owned(), format!("cursor={theirs}"), "cursor"),
        (followers("anna"), "limit=0".to_owned(), "limit"),
        (following("bob"), "limit=101".to_owned(), "limit"),
        (following("b%23"), String::new(), "viewer_id"),
        (followers("b%23"), String::new(), "actor_id"),
    ] {
        let (status, _, body) = world.get(&path, &query).await;
        assert_eq!((status, &body["parameter"]), (400, &json!(parameter)), "{path}?{query}");
    }
}

#[tokio::test]
async fn pages_of_any_size_show_everybody_once() {
    let world = World::new();
    let mut here = BTreeSet::new();
    for n in 0..130 {
        let name = format!("p{n:03}");
        world.done(&[follow("bob", &name, NOW), follow(&name, "anna", NOW)]).await;
        // Two of five leave.
        if n % 5 < 2 {
            let later = "2026-11-20T12:01:00.000Z";
            world.done(&[unfollow("bob", &name, later), unfollow(&name, "anna", later)]).await;
        } else {
            here.insert(name);
        }
    }
    let here: BTreeSet<_> = here.iter().map(String::as_str).collect();
    let in_order = walk(&world, &followers("anna"), 100).await;
    for limit in [1, 7, 39, 77, 78, 79, 100] {
        let list = walk(&world, &following("bob"), limit).await;
        assert!(list.is_sorted() && ids(&list) == here, "in pages of {limit}: {list:?}");
        let list = walk(&world, &followers("anna"), limit).await;
        assert_eq!((ids(&list), &list), (here.clone(), &in_order), "in pages of {limit}");
    }
}

/// Those who are there throughout are shown once, whoever comes and leaves meanwhile.
#[tokio::test]
async fn a_walk_goes_on_while_people_come_and_leave() {
    let world = World::new();
    let name = |n: usize| format!("p{n:03}");
    for n in 0..60 {
        world.done(&[follow("bob", &name(n), &at(0)), follow(&name(n), "anna", &at(0))]).await;
    }
    for path in [following("bob"), followers("anna")] {
        let change = |n: usize, minute: u8, stays: bool| {
            let command = if stays { follow } else { unfollow };
            match path == following("bob") {
                true => command("bob", &name(n), &at(minute)),
                false => command(&name(n), "anna", &at(minute)),
            }
        };
        let (mut shown, mut query, mut step) = (Vec::new(), "limit=7".to_owned(), 0);
        loop {
            let (items, cursor) = page(&world, &path, &query).await;
            shown.extend(items);
            // Those with a number of three leave and come back by turns; others come for the first time.
            let mut changes: Vec<_> =
                (0..60).step_by(3).map(|n| change(n, 1 + step, step % 2 == 1)).collect();
            changes.push(change(100 + usize::from(step), 30, true));
            world.done(&changes).await;
            step += 1;
            let Some(cursor) = cursor else { break };
            query = format!("limit=7&cursor={cursor}");
        }
        assert!(step > 5, "{step} pages");
        let shown = ids(&shown);
        let stays = (0..60).filter(|n| n % 3 != 0).map(name);
        assert!(stays.into_iter().all(|name| shown.contains(name.as_str())), "{path}: {shown:?}");
    }
}

/// One query and one batch of profiles, also where every second one has left.
#[tokio::test]
async fn a_page_is_two_calls() {
    let counter = UnitCounter::new();
    counter
        .uncounted(async |world| {
            for n in 0..420 {
                let name = format!("p{n:03}");
                world.done(&[follow("bob", &name, NOW), follow(&name, "anna", NOW)]).await;
                if n % 2 == 0 {
                    let later = "2026-11-20T12:01:00.000Z";
                    let left = [unfollow("bob", &name, later), unfollow(&name, "anna", later)];
                    world.done(&left).await;
                }
            }
        })
        .await;
    for path in [following("bob"), followers("anna")] {
        let (mut query, mut shown, mut pages) = ("limit=100".to_owned(), 0, 0);
        loop {
            let (items, cursor) = page(&counter.world, &path, &query).await;
            let units = counter.take();
            assert_eq!(units.calls, 2, "{path}?{query}: {units:?}");
            (shown, pages) = (shown + items.len(), pages + 1);
            let Some(cursor) = cursor else { break };
            query = format!("limit=100&cursor={cursor}");
        }
        assert_eq!((shown, pages), (210, 3));
    }
}

/// Former followers without number are passed a part at a time: no request looks at all of them.
#[tokio::test]
async fn very_many_who_have_left_are_passed_in_several_requests() {
    const MANY: usize = 70_000;
    let counter = UnitCounter::new();
    let anna = ActorId::new("anna").unwrap();
    let edges = (0..MANY).map(|n| {
        let viewer = ViewerId::new(format!("p{n:05}")).unwrap();
        let key = keys::edge(&viewer, &anna);
        json!({
            "pk": {"S": key.pk}, "sk": {"S": key.sk}, "follower_id": {"S": viewer.as_str()},
            "followee_id": {"S": "anna"}, "following": {"BOOL": n % 10_000 == 77}, "changed_at": {"S": NOW},
        })
    });
    counter.world.engine.import("nagare-ledger", edges.collect()).unwrap();
    let (mut query, mut shown, mut requests, mut most) = ("limit=100".to_owned(), Vec::new(), 0, 0);
    loop {
        let (items, cursor) = page(&counter.world, &followers("anna"), &query).await;
        most = most.max(counter.take().calls);
        requests += 1;
        shown.extend(items);
        let Some(cursor) = cursor else { break };
        query = format!("limit=100&cursor={cursor}");
    }
    assert_eq!(ids(&shown).len(), 7);
    assert!((2..60).contains(&requests) && most <= 5, "{requests} requests, at most {most} calls");
}

/// Since when each follows each, by the commands alone: of those on one pair the latest counts, on a tie the unfollow.
fn model(changes: &[(u8, u8, u8, bool)]) -> BTreeMap<(u8, u8), u8> {
    let mut latest = BTreeMap::<_, (u8, bool)>::new();
    for (follower, followee, minute, follows) in changes {
        let state = latest.entry((*follower, *followee)).or_default();
        *state = (*state).max((*minute + 1, !follows));
    }
    let follows = latest.into_iter().filter(|(_, (_, left))| !left);
    follows.map(|(pair, (minute, _))| (pair, minute - 1)).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]
    #[test]
    fn lists_equal_the_commands_whatever_their_order(
        history in proptest::collection::vec((0_u8..4, 0_u8..4, 0_u8..5, any::<bool>()), 1..40)
            .prop_flat_map(|all| (Just(all.clone()), Just(all).prop_shuffle())),
        repeated in 0_usize..40,
        limit in 1_usize..5,
    ) {
        let (said, shuffled) = history;
        let name = |n: u8| format!("p{n}");
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let world = World::new();
            for (follower, followee, minute, follows) in said.iter().take(repeated).chain(&shuffled) {
                let command = if *follows { follow } else { unfollow };
                world.done(&[command(&name(*follower), &name(*followee), &at(*minute))]).await;
            }
            let follows = model(&said);
            for person in 0..4 {
                let theirs = follows.iter().filter(|((follower, _), _)| *follower == person);
                let theirs: Vec<_> = theirs.map(|((_, to), minute)| (name(*to), at(*minute))).collect();
                assert_eq!(walk(&world, &following(&name(person)), limit).await, theirs);
                let of_them = follows.iter().filter(|((_, followee), _)| *followee == person);
                let of_them: Vec<_> = of_them.map(|((from, _), minute)| (name(*from), at(*minute))).collect();
                let mut shown = walk(&world, &followers(&name(person)), limit).await;
                shown.sort();
                assert_eq!(shown, of_them);
            }
        });
    }
}
