//! Tags: the latest command wins, before and after the publish, and each activity is listed where its tags say.

use std::time::Duration;

use aws_smithy_runtime_api::client::http::SharedHttpConnector;
use function_http::Authorization;
use nagare_local::faults::Faulty;
use proptest::prelude::*;
use serde_json::{Value, json};
use shared::platform::ledger::FORGET_AT;
use shared::platform::runtime::deadline::Deadline;
use tests::{NOW, World, delete, event, message, publish, unfinished};

use crate::platform::overtaking::overtaken;

const AT: &str = "2026-11-20T11:00:00.000Z";

fn change(activity: &str, tagged: &str, minute: u8, created: bool) -> Value {
    let what = if created { "tag.created" } else { "tag.deleted" };
    let at = format!("2026-11-20T11:{minute:02}:00.000Z");
    json!({"type": what, "activity_id": activity, "tagged_id": tagged, "at": at})
}

fn tag(activity: &str, tagged: &str, minute: u8) -> Value {
    change(activity, tagged, minute, true)
}

fn untag(activity: &str, tagged: &str, minute: u8) -> Value {
    change(activity, tagged, minute, false)
}

fn profile(viewer: &str, name: &str) -> Value {
    json!({"type": "profile.updated", "viewer_id": viewer, "at": AT, "payload": {"name": name}})
}

/// A page of the tags of an activity.
async fn page(world: &World, activity: &str, query: &str) -> Value {
    let (status, _, body) = world.get(&format!("/v1/activities/{activity}/tags"), query).await;
    assert_eq!(status, 200, "{body}");
    body
}

/// Who is tagged in an activity.
async fn tagged(world: &World, activity: &str) -> Vec<String> {
    let body = page(world, activity, "limit=100").await;
    let items = body["items"].as_array().unwrap().iter();
    items.map(|item| item["tagged_id"].as_str().unwrap().to_owned()).collect()
}

fn ledger(world: &World) -> Vec<Value> {
    let (mut request, mut items) = (json!({"TableName": "nagare-ledger"}), Vec::new());
    loop {
        let (status, answer) = world.engine.call("Scan", request.to_string().as_bytes());
        assert_eq!(status, 200, "{answer}");
        let answer: Value = serde_json::from_str(&answer).unwrap();
        items.extend(answer["Items"].as_array().unwrap().clone());
        let Some(last) = answer.get("LastEvaluatedKey") else { return items };
        request["ExclusiveStartKey"] = last.clone();
    }
}

/// What is listed among what somebody is tagged in, as it is stored.
fn listed(world: &World, person: &str) -> Vec<String> {
    let pk = format!("person#{person}#tagged");
    let theirs = ledger(world).into_iter().filter(|item| item["pk"]["S"] == pk.as_str());
    let in_force = theirs.filter(|item| item["tagged"]["BOOL"] == true);
    in_force
        .map(|item| {
            let (sort_key, actor) = (&item["sk"]["S"], &item["actor_id"]["S"]);
            format!("{} of {}", sort_key.as_str().unwrap(), actor.as_str().unwrap())
        })
        .collect()
}

#[tokio::test]
async fn who_is_tagged_is_shown_with_profiles_by_id() {
    let world = World::new();
    world.done(&[publish("anna", "img-1", AT), profile("bob", "Bob"), profile("eve", "Eve")]).await;
    world.done(&[tag("img-1", "eve", 1), tag("img-1", "bob", 2), tag("img-1", "Zoe", 3)]).await;
    world.done(&[tag("img-1", "dan", 3), untag("img-1", "dan", 4), tag("img-2", "dan", 1)]).await;
    let items = json!([
        {"tagged_id": "Zoe", "profile": null},
        {"tagged_id": "bob", "profile": {"name": "Bob"}},
        {"tagged_id": "eve", "profile": {"name": "Eve"}},
    ]);
    assert_eq!(page(&world, "img-1", "").await, json!({"items": items, "next_cursor": null}));
}

#[tokio::test]
async fn nothing_is_shown_of_an_activity_that_is_not_there() {
    let world = World::new();
    let nothing = json!({"items": [], "next_cursor": null});
    assert_eq!(page(&world, "img-1", "").await, nothing);
    world.done(&[tag("img-1", "bob", 1)]).await;
    assert_eq!(page(&world, "img-1", "").await, nothing);
    world.done(&[publish("anna", "img-1", AT)]).await;
    assert_eq!(tagged(&world, "img-1").await, ["bob"]);
    world.done(&[delete("anna", "img-1")]).await;
    assert_eq!(page(&world, "img-1", "").await, nothing);
    world.done(&[tag("img-1", "eve", 1)]).await;
    assert_eq!(page(&world, "img-1", "").await, nothing);
}

#[tokio::test]
async fn the_latest_command_wins_and_on_a_tie_the_untag() {
    let world = World::new();
    world.done(&[publish("anna", "img-1", AT), untag("img-1", "bob", 5)]).await;
    for stale in [tag("img-1", "bob", 4), tag("img-1", "bob", 5)] {
        world.done(&[stale]).await;
        assert_eq!(tagged(&world, "img-1").await, [""; 0]);
        assert_eq!(listed(&world, "bob"), [""; 0]);
    }
    world.done(&[tag("img-1", "bob", 6)]).await;
    assert_eq!(tagged(&world, "img-1").await, ["bob"]);
    assert_eq!(listed(&world, "bob"), [format!("{AT}#img-1 of anna")]);
    world.done(&[untag("img-1", "bob", 6)]).await;
    assert_eq!((tagged(&world, "img-1").await, listed(&world, "bob")), (vec![], vec![]));
}

#[tokio::test]
async fn a_publish_lists_whoever_was_tagged_before() {
    let world = World::new();
    let before = [tag("img-1", "bob", 1), tag("img-1", "eve", 1), untag("img-1", "eve", 2)];
    world.done(&before).await;
    assert_eq!((listed(&world, "bob"), listed(&world, "eve")), (vec![], vec![]));
    // Whoever publishes it later owns nothing, and has nothing listed.
    world.done(&[publish("anna", "img-1", AT)]).await;
    let refused = publish("mallory", "img-1", AT).to_string();
    assert_eq!(world.write(&[&refused], 1).await, [0_usize; 0]);
    assert_eq!(listed(&world, "bob"), [format!("{AT}#img-1 of anna")]);
    assert_eq!(listed(&world, "eve"), [""; 0]);
    world.done(&before).await;
    world.done(&[publish("anna", "img-1", AT)]).await;
    assert_eq!(listed(&world, "bob"), [format!("{AT}#img-1 of anna")]);
}

/// More than are read at once, and some that are not in force between them.
#[tokio::test]
async fn a_publish_lists_everybody_however_many() {
    let world = World::new();
    for n in 0..1_100 {
        world.done(&[tag("img-1", &format!("v{n:04}"), 1)]).await;
    }
    world.done(&[untag("img-1", "v0499", 2), untag("img-1", "v0500", 2)]).await;
    world.done(&[publish("anna", "img-1", AT)]).await;
    let is_listed = |item: &&Value| item["tagged"]["BOOL"] == true && item["actor_id"].is_object();
    assert_eq!(ledger(&world).iter().filter(is_listed).count(), 1_098);
    assert_eq!(listed(&world, "v1099"), [format!("{AT}#img-1 of anna")]);
    let noted = |item: &&Value| item["pk"]["S"].as_str().unwrap().starts_with("listing#");
    assert_eq!(ledger(&world).iter().filter(noted).count(), 0);
}

#[tokio::test]
async fn an_untag_is_listed_for_three_days_and_the_tag_says_so_for_good() {
    let world = World::new();
    world.done(&[publish("anna", "img-1", AT), untag("img-1", "bob", 1)]).await;
    let rows = |world: &World| -> Vec<Value> {
        let is_of_bob = |item: &Value| item.to_string().contains("bob");
        ledger(world).into_iter().filter(is_of_bob).collect()
    };
    let now: shared::platform::values::Timestamp = NOW.parse().unwrap();
    let listing = rows(&world).into_iter().find(|item| item.get(FORGET_AT).is_some()).unwrap();
    let until = now.unix_millis() / 1000 + 3 * 86_400;
    assert_eq!(listing[FORGET_AT]["N"], until.to_string());
    world.engine.sweep(now.plus_millis(3 * 86_400_000 + 1_000)).unwrap();
    let [left] = &rows(&world)[..] else { panic!("{:?}", rows(&world)) };
    assert_eq!(left["pk"]["S"], "tags#img-1");
    world.done(&[tag("img-1", "bob", 0)]).await;
    assert_eq!((tagged(&world, "img-1").await, listed(&world, "bob")), (vec![], vec![]));
}

#[tokio::test]
async fn tags_come_in_pages() {
    let world = World::new();
    world.done(&[publish("anna", "img-1", AT), publish("anna", "img-2", AT)]).await;
    let ids: Vec<_> = (0..25).map(|n| format!("v{n:02}")).collect();
    for id in &ids {
        world.done(&[tag("img-1", id, 1)]).await;
    }
    world.done(&[untag("img-1", "v03", 2), untag("img-1", "v20", 2)]).await;
    let expected: Vec<_> = ids.iter().filter(|id| !["v03", "v20"].contains(&id.as_str())).collect();
    for limit in [1, 4, 7, 23, 100] {
        let (mut shown, mut query) = (Vec::new(), format!("limit={limit}"));
        loop {
            let body = page(&world, "img-1", &query).await;
            let items = body["items"].as_array().unwrap().clone();
            let cursor = body["next_cursor"].as_str().map(ToOwned::to_owned);
            assert!(items.len() == limit || cursor.is_none(), "{body}");
            shown.extend(items.iter().map(|item| item["tagged_id"].as_str().unwrap().to_owned()));
            let Some(cursor) = cursor else { break };
            query = format!("limit={limit}&cursor={cursor}");
        }
        assert_eq!(shown.iter().collect::<Vec<_>>(), expected, "in pages of {limit}");
    }
    let body = page(&world, "img-1", "limit=3").await;
    let cursor = body["next_cursor"].as_str().unwrap();
    for (path, query) in [
        ("/v1/activities/img-2/tags", format!("cursor={cursor}")),
        ("/v1/viewers/img-1/likes", format!("cursor={cursor}")),
        ("/v1/activities/img-1/tags", format!("cursor={}", &cursor[1..])),
        ("/v1/activities/img-1/tags", "cursor=".to_owned()),
    ] {
        let (status, _, body) = world.get(path, &query).await;
        assert_eq!((status, &body["parameter"]), (400, &json!("cursor")), "{path}");
    }
    let (status, _, body) = world.get("/v1/activities/img-1/tags", "limit=101").await;
    assert_eq!((status, &body["parameter"]), (400, &json!("limit")));
}

/// A page goes on behind those who were untagged, however many.
#[tokio::test]
async fn untags_are_passed_over() {
    let world = World::new();
    world.done(&[publish("anna", "img-1", AT), tag("img-1", "a", 1), tag("img-1", "z", 1)]).await;
    for n in 0..1_200 {
        world.done(&[untag("img-1", &format!("m{n}"), 1)]).await;
    }
    let body = page(&world, "img-1", "limit=1").await;
    assert_eq!(body["items"][0]["tagged_id"], "a");
    let next = format!("limit=1&cursor={}", body["next_cursor"].as_str().unwrap());
    let body = page(&world, "img-1", &next).await;
    assert_eq!((&body["items"][0]["tagged_id"], &body["next_cursor"]), (&json!("z"), &Value::Null));
}

#[tokio::test]
async fn everybody_with_a_token_reads_them() {
    let mut world = World::new();
    world.done(&[publish("anna", "img-1", AT), tag("img-1", "bob", 1)]).await;
    world.set_authorization(Authorization::Jwt);
    for (path, caller, status) in [
        ("/v1/activities/img-1/tags", Some("bob"), 200),
        ("/v1/activities/img-1/tags", Some("eve"), 200),
        ("/v1/activities/img-1/tags", None, 401),
        ("/v1/activities/i%23/tags", Some("eve"), 400),
    ] {
        let answer = world.request("GET", path, "", caller).await;
        assert_eq!(answer.0, status, "{path} {caller:?}");
    }
    assert_eq!(world.request("PUT", "/v1/activities/img-1/tags", "", Some("bob")).await.0, 405);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]
    /// Commands of few people and activities, publishes and deletes among them, twice and in any order.
    #[test]
    fn order_and_repetition_do_not_matter(
        changes in proptest::collection::vec((0_u8..4, 0_u8..3, 0_u8..4, any::<bool>()), 1..14)
            .prop_flat_map(|all| (Just(all.clone()), Just(all).prop_shuffle())),
        publishes in proptest::collection::vec((0_u8..3, 0_usize..28), 0..5),
    ) {
        let (said, shuffled) = changes;
        let instant = |activity: u8| format!("2026-11-20T10:0{activity}:00.000Z");
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let (shown, stored) = runtime.block_on(async {
            let world = World::new();
            for (turn, (viewer, activity, minute, created)) in said.iter().chain(&shuffled).enumerate() {
                for (published, _) in publishes.iter().filter(|(_, at)| *at == turn) {
                    world.done(&[publish("anna", &format!("a{published}"), &instant(*published))]).await;
                }
                let (viewer, activity) = (format!("v{viewer}"), format!("a{activity}"));
                world.done(&[change(&activity, &viewer, *minute, *created)]).await;
            }
            for (published, _) in &publishes {
                world.done(&[publish("anna", &format!("a{published}"), &instant(*published))]).await;
            }
            let mut shown = Vec::new();
            for activity in 0..3 {
                shown.push(tagged(&world, &format!("a{activity}")).await);
            }
            let stored: Vec<_> = (0..4).map(|viewer| listed(&world, &format!("v{viewer}"))).collect();
            (shown, stored)
        });
        let is_tagged = |viewer: u8, activity: u8| {
            let of = said.iter().filter(|(v, a, ..)| (*v, *a) == (viewer, activity));
            let latest = of.map(|(_, _, minute, created)| (*minute, !created)).max();
            publishes.iter().any(|(published, _)| *published == activity)
                && latest.is_some_and(|(_, undone)| !undone)
        };
        for activity in 0..3_u8 {
            let expected: Vec<_> = (0..4).filter(|v| is_tagged(*v, activity)).map(|v| format!("v{v}")).collect();
            prop_assert_eq!(&shown[usize::from(activity)], &expected);
        }
        for viewer in 0..4_u8 {
            let expected: Vec<_> = (0..3).filter(|a| is_tagged(viewer, *a))
                .map(|a| format!("{}#a{a} of anna", instant(a))).collect();
            prop_assert_eq!(&stored[usize::from(viewer)], &expected);
        }
    }
}

/// Many tags, a slow table, and little time: a delivery notes up to whom it has come and hands on the rest.
#[tokio::test(start_paused = true)]
async fn a_long_publish_goes_on_where_it_stopped() {
    const PEOPLE: usize = 3_000;
    let faults = "slow=10ms,seed=1".parse().unwrap();
    let world = World::behind(|inside| SharedHttpConnector::new(Faulty::new(faults, inside)));
    for n in 0..PEOPLE {
        let text = |text: String| json!({"S": text});
        let item = json!({"pk": text("tags#img-1".to_owned()), "sk": text(format!("v{n:04}")),
            "at": text(AT.to_owned()), "tagged": {"BOOL": true}});
        let put = json!({"TableName": "nagare-ledger", "Item": item}).to_string();
        assert_eq!(world.engine.call("PutItem", put.as_bytes()).0, 200);
    }
    let place = |world: &World| {
        let noted = |item: &Value| item["pk"]["S"] == "listing#img-1";
        let noted = ledger(world).into_iter().find(noted)?;
        Some(noted["place"]["S"].as_str().unwrap().to_owned())
    };
    let in_force = |world: &World| {
        let listed = |item: &Value| item["actor_id"]["S"] == "anna" && item["tagged"].is_object();
        ledger(world).iter().filter(|item| listed(item)).count()
    };
    let first = publish("anna", "img-1", AT).to_string();
    let (mut batch, mut places) = (vec![message("m", &first, 1)], Vec::new());
    while !batch.is_empty() {
        let deadline = Deadline::after(Duration::from_millis(600));
        let answer = world.writer.handle(event(batch), deadline).await.unwrap();
        assert_eq!(unfinished(&answer), [0_usize; 0]);
        batch = world.take_commands().await;
        places.push(place(&world));
        assert!(places.len() < 10, "{places:?}");
    }
    assert!(places.len() > 1 && places.is_sorted_by(|one, other| other.is_none() || one < other));
    assert_eq!((in_force(&world), places.last().unwrap()), (PEOPLE, &None));
}

/// Whoever overtakes whom, between any two calls: the activity is listed as the tag says in the end.
#[tokio::test]
async fn a_listing_says_what_the_tag_says_whoever_overtakes_whom() {
    let published = publish("anna", "img-1", AT);
    let (tagged_at, untagged) = (tag("img-1", "bob", 1), untag("img-1", "bob", 2));
    let there = || vec![format!("{AT}#img-1 of anna")];
    for (before, first, second, expected, least) in [
        (vec![], &tagged_at, &published, there(), 2),
        (vec![], &published, &tagged_at, there(), 5),
        (vec![&tagged_at], &published, &untagged, vec![], 5),
        (vec![&tagged_at], &untagged, &published, vec![], 2),
        (vec![&published], &tagged_at, &untagged, vec![], 3),
        (vec![&published], &untagged, &tagged_at, vec![], 3),
    ] {
        let before: Vec<_> = before.into_iter().cloned().collect();
        let mut calls = 0;
        for nth in 1.. {
            let (world, was_there) = overtaken(&before, first, second, nth).await;
            if !was_there {
                break;
            }
            assert_eq!(listed(&world, "bob"), expected, "{second} before call {nth} of {first}");
            calls = nth;
        }
        assert!(calls >= least, "{calls} calls of {first}");
    }
}
