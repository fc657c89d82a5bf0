//! Pages of what an actor published: of any age, of all kinds or of some.

use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

use fastrand::Rng;
use serde_json::{Value, json};
use shared::platform::runtime::hold::Hold;
use shared::platform::values::Timestamp;
use tests::{World, delete, publish};

use crate::platform::overtaking::{Asked, command, overtaken_page, page_among};
use crate::platform::units::UnitCounter;

fn at(n: usize) -> String {
    Timestamp::from_unix_millis(1_795_000_000_000 + 1_000 * n as i64).to_string()
}

fn of_kind(mut publish: Value, kind: &str) -> Value {
    publish["kind"] = json!(kind);
    publish
}

fn becomes(id: &str, actor: &str, kind: &str, minute: usize) -> Value {
    json!({"type": "activity.updated", "activity_id": id, "actor_id": actor, "kind": kind,
        "at": format!("2026-11-20T11:{minute:02}:00Z"), "payload": null})
}

async fn page(world: &World, actor: &str, query: &str) -> Value {
    let (status, _, page) = world.get(&format!("/v1/actors/{actor}/activities"), query).await;
    assert_eq!(status, 200, "{page}");
    assert_eq!(page["actor_id"], actor);
    page
}

fn ids(page: &Value) -> Vec<String> {
    let items = page["items"].as_array().unwrap().iter();
    items.map(|item| item["activity_id"].as_str().unwrap().to_owned()).collect()
}

/// All ids of a walk. A page is short only if it is the last one.
async fn walk(world: &World, actor: &str, query: &str, limit: usize) -> Vec<String> {
    let (mut found, mut query) = (Vec::new(), format!("{query}&limit={limit}"));
    loop {
        let page = page(world, actor, &query).await;
        found.extend(ids(&page));
        let Some(cursor) = page["next_cursor"].as_str() else { return found };
        assert_eq!(ids(&page).len(), limit, "a short page that is not the last");
        query = format!("cursor={cursor}&limit={limit}");
    }
}

/// What the query says, given all publishes with the kinds that they have in the end.
fn expected(all: &[(String, &str)], kinds: &[&str], newest: bool) -> Vec<String> {
    let shown = all.iter().filter(|(_, kind)| kinds.is_empty() || kinds.contains(kind));
    let mut ids: Vec<_> = shown.map(|(id, _)| id.clone()).collect();
    if newest {
        ids.reverse();
    }
    ids
}

#[tokio::test]
async fn what_is_of_some_kinds_is_walked_both_ways() {
    let world = World::new();
    let mut random = Rng::with_seed(7);
    let mut all = Vec::new();
    for n in 0..60 {
        let (id, kind) = (format!("a{n:02}"), random.choice(["post", "live", "image"]).unwrap());
        world.done(&[of_kind(publish("anna", &id, &at(n)), kind)]).await;
        match random.u8(0..4) {
            0 => world.done(&[delete("anna", &id)]).await,
            1 => {
                world.done(&[becomes(&id, "anna", "clip", 5)]).await;
                all.push((id, "clip"));
            }
            _ => all.push((id, kind)),
        }
    }
    for kinds in [&[][..], &["image"], &["live", "clip"], &["clip", "post", "image"], &["none"]] {
        let query: String = kinds.iter().map(|kind| format!("&kind={kind}")).collect();
        for (order, newest) in [("newest", true), ("oldest", false)] {
            let expected = expected(&all, kinds, newest);
            for limit in [1, 3, 20, 100] {
                let query = format!("order={order}{query}");
                assert_eq!(walk(&world, "anna", &query, limit).await, expected, "{query} {limit}");
            }
        }
        let cut = format!("order=oldest{query}&from={}&to={}", at(10), at(40));
        let inside = |id: &&String| ("a10".."a40").contains(&id.as_str());
        let expected: Vec<_> =
            expected(&all, kinds, false).iter().filter(inside).cloned().collect();
        assert_eq!(walk(&world, "anna", &cut, 7).await, expected, "{cut}");
    }
}

/// Whatever order they come in, and however often, an activity is of the kind of its latest edit.
#[tokio::test]
async fn the_order_of_edits_does_not_matter() {
    for seed in 0..40 {
        let (world, mut random) = (World::new(), Rng::with_seed(seed));
        let mut commands = vec![of_kind(publish("anna", "a", &at(1)), "image")];
        let edits: Vec<_> = (0..4).map(|_| (random.usize(0..4), random.usize(0..3))).collect();
        commands.extend(
            edits.iter().map(|(minute, kind)| becomes("a", "anna", &format!("k{kind}"), *minute)),
        );
        commands.extend_from_within(..);
        random.shuffle(&mut commands);
        world.done(&commands).await;
        let latest = edits.iter().max().map(|(_, kind)| format!("k{kind}")).unwrap();
        for kind in ["image", "k0", "k1", "k2"] {
            let found = ids(&page(&world, "anna", &format!("kind={kind}")).await);
            assert_eq!(found.len(), usize::from(kind == latest), "seed {seed}: {kind}, {edits:?}");
        }
    }
}

/// Commands after which `b` is an image that was a clip before: a row of each list has been there.
fn of_changing_kinds() -> [Value; 5] {
    [
        of_kind(publish("anna", "a", &at(1)), "live"),
        of_kind(publish("anna", "b", &at(2)), "image"),
        of_kind(publish("anna", "c", &at(3)), "clip"),
        becomes("b", "anna", "clip", 1),
        becomes("b", "anna", "image", 2),
    ]
}

const OF_KINDS: Asked<'_> = Asked {
    before: &[],
    path: "/v1/actors/anna/activities",
    query: "kind=clip&kind=image&kind=live",
    hold: Hold::NONE,
};

/// A page of several kinds is of one moment, though each of them is a list of its own: what goes from one to the other is on
/// it, whenever it goes. With a hold its writer waits before it leaves the first; without one the page is checked, and may end
/// before what goes at its very end.
#[tokio::test(start_paused = true)]
async fn what_changes_its_kind_while_a_page_of_both_is_read_is_on_it() {
    let before = &of_changing_kinds();
    for (hold, least) in [(Hold::default(), 4), (Hold::NONE, 6)] {
        for kind in ["clip", "live"] {
            let (asked, mut calls) = (Asked { before, hold, ..OF_KINDS }, 0);
            let by = becomes("b", "anna", kind, 3);
            for nth in 1.. {
                let Some(page) = overtaken_page(asked, &by, nth).await else { break };
                let is_cut = hold == Hold::NONE && page["next_cursor"].is_string();
                let shown = if is_cut { &["c"][..] } else { &["c", "b", "a"] };
                assert_eq!(ids(&page), shown, "{hold:?}: a {kind} before call {nth}");
                calls = nth;
            }
            assert!(calls >= least, "{calls} calls");
        }
    }
}

/// The worst that can be: it is always in the list that is not read now.
#[tokio::test]
async fn what_changes_its_kind_again_and_again_is_on_the_page_too() {
    for most in 0..20 {
        let (before, edits) = (&of_changing_kinds(), AtomicUsize::new(0));
        let page = page_among(Asked { before, ..OF_KINDS }, move |request| {
            let is_query = request.headers().get("x-amz-target")?.ends_with(".Query");
            let body = std::str::from_utf8(request.body().bytes()?).unwrap();
            let read =
                ["image", "clip"].into_iter().find(|it| body.contains(&format!("#kind#{it}")))?;
            // The list of clips is read before that of images.
            let (other, is_even) = if read == "image" { ("clip", true) } else { ("image", false) };
            let done = edits.load(SeqCst);
            let is_due = is_query && done < most && done.is_multiple_of(2) == is_even;
            is_due.then(|| {
                edits.store(done + 1, SeqCst);
                command(&becomes("b", "anna", other, 3 + done))
            })
        });
        assert_eq!(ids(&page.await), ["c", "b", "a"], "{most} edits");
    }
}

/// The cost of a page of 20 images of an actor who published `published` activities, if the images are spread evenly, and a twentieth of the
/// others was an image for a while. A row that nobody needs any more is gone.
async fn a_page_of_images_among(published: usize) {
    let counter = UnitCounter::new();
    let is_image = |n: usize| n.is_multiple_of(published / 20);
    let was_image = |n: usize| n % 20 == 7;
    let id = |n: usize| format!("a{n:06}");
    for n in 0..published {
        let kind = if is_image(n) || was_image(n) { "image" } else { "post" };
        let mut commands = vec![of_kind(publish("anna", &id(n), &at(n)), kind)];
        if was_image(n) && !is_image(n) {
            commands.push(becomes(&id(n), "anna", "post", n % 60));
        }
        counter.uncounted(async |world| world.done(&commands).await).await;
    }
    let found = page(&counter.world, "anna", "kind=image&limit=100").await;
    let expected: Vec<_> = (0..published).rev().filter(|n| is_image(*n)).map(id).collect();
    assert_eq!(ids(&found), expected);
    let used = counter.take();
    println!("20 images of {published}: {} calls, {} read units", used.calls, used.reads);
    assert!(used.calls <= 3 && used.reads <= 60.0, "{used:?}");
}

#[tokio::test]
async fn a_page_of_a_kind_costs_what_it_shows() {
    a_page_of_images_among(1_000).await;
}

#[tokio::test]
#[ignore = "publishes a hundred thousand activities, which takes minutes"]
async fn a_page_of_a_kind_costs_what_it_shows_of_a_hundred_thousand() {
    a_page_of_images_among(100_000).await;
}

#[tokio::test]
async fn what_is_older_than_retention_is_on_pages_and_in_no_timeline() {
    let world = World::new();
    world.done(&[tests::follow("bob", "anna", "2026-11-20T10:00:00Z")]).await;
    world.done(&[of_kind(publish("anna", "old", "2016-01-01T00:00:00Z"), "image")]).await;
    assert_eq!(ids(&page(&world, "anna", "").await), ["old"]);
    assert_eq!(ids(&page(&world, "anna", "kind=image").await), ["old"]);
    assert!(world.ids("bob", "").await.is_empty());
    // Its id is taken.
    let other = publish("eve", "old", "2026-11-20T11:00:00Z").to_string();
    world.write(&[&other], 1).await;
    assert!(ids(&page(&world, "eve", "").await).is_empty());
    world.done(&[delete("anna", "old")]).await;
    assert!(ids(&page(&world, "anna", "").await).is_empty());
    assert!(ids(&page(&world, "anna", "kind=image").await).is_empty());
}

#[tokio::test]
async fn newer_brings_each_once_also_what_became_of_the_kind() {
    let world = World::new();
    for n in 0..4 {
        world.done(&[of_kind(publish("anna", &format!("a{n}"), &at(n)), "image")]).await;
    }
    world.done(&[publish("anna", "later", &at(2))]).await;
    let first = page(&world, "anna", "kind=image").await;
    let newer = |page: &Value| format!("cursor={}", page["newer_cursor"].as_str().unwrap());
    let none = page(&world, "anna", &newer(&first)).await;
    assert!(ids(&none).is_empty());
    world.done(&[becomes("later", "anna", "image", 3)]).await;
    world.done(&[of_kind(publish("anna", "a5", &at(5)), "image")]).await;
    world.done(&[publish("anna", "a6", &at(6))]).await;
    let more = page(&world, "anna", &newer(&none)).await;
    assert_eq!(ids(&more), ["later", "a5"]);
    assert!(ids(&page(&world, "anna", &newer(&more)).await).is_empty());
}

#[tokio::test]
async fn a_cursor_is_of_one_actor_and_its_kinds() {
    let world = World::new();
    for n in 0..6 {
        let kind = if n % 2 == 0 { "image" } else { "post" };
        world.done(&[of_kind(publish("anna", &format!("a{n}"), &at(n)), kind)]).await;
    }
    let first = page(&world, "anna", "kind=image&limit=1").await;
    let cursor = first["next_cursor"].as_str().unwrap();
    // It goes on with the kinds it was made for.
    assert_eq!(ids(&page(&world, "anna", &format!("cursor={cursor}")).await), ["a2", "a0"]);
    for (path, query) in [
        ("/v1/actors/eve/activities", format!("cursor={cursor}")),
        ("/v1/timelines/anna", format!("cursor={cursor}")),
    ] {
        let (status, _, problem) = world.get(path, &query).await;
        assert_eq!((status, &problem["parameter"]), (400, &json!("cursor")), "{path}");
    }
    for query in [format!("cursor={cursor}&kind=post"), "kind=a%23".to_owned(), "kind=".to_owned()]
    {
        let (status, _, problem) = world.get("/v1/actors/anna/activities", &query).await;
        assert_eq!((status, &problem["parameter"]), (400, &json!("kind")), "{query}");
    }
    let many: String = (0..11).map(|n| format!("&kind=k{n}")).collect();
    assert_eq!(world.get("/v1/actors/anna/activities", &many).await.0, 400);
    let many: String = (0..10).map(|n| format!("&kind=k{n}")).collect();
    assert_eq!(world.get("/v1/actors/anna/activities", &many).await.0, 200);
}

#[tokio::test]
async fn anybody_who_is_known_reads_it() {
    let mut world = World::new();
    world.done(&[publish("anna", "a", &at(1))]).await;
    world.set_authorization(function_http::Authorization::Jwt);
    for (caller, status) in [(Some("anna"), 200), (Some("bob"), 200), (None, 401)] {
        let answer = world.request("GET", "/v1/actors/anna/activities", "", caller).await;
        assert_eq!(answer.0, status, "{caller:?}");
    }
}

#[tokio::test]
async fn what_is_not_listed_is_found_and_listed_again() {
    use nagare_operator::audit::PagesAuditor;
    use shared::platform::ledger::LedgerKey;
    use shared::platform::values::ActivityId;

    let world = World::new();
    let rows = |id: &str, n: usize, kind: &str| {
        let sk = format!("{}#{id}", at(n));
        let lists = ["outbox#anna".to_owned(), format!("person#anna#kind#{kind}")];
        lists.map(|pk| LedgerKey { pk, sk: sk.clone() })
    };
    world
        .done(&[of_kind(publish("anna", "a", &at(1)), "image"), publish("anna", "b", &at(2))])
        .await;
    world.done(&[becomes("b", "anna", "clip", 3), publish("anna", "c", &at(3))]).await;
    world.done(&[publish("anna", "d", &at(4)), delete("anna", "d")]).await;
    let [outbox, kind] = rows("a", 1, "image");
    world.tables.ledger.delete(outbox).await.unwrap();
    world.tables.ledger.delete(kind).await.unwrap();
    let [_, kind] = rows("b", 2, "clip");
    world.tables.ledger.delete(kind).await.unwrap();
    assert_eq!(ids(&page(&world, "anna", "").await), ["c", "b"]);
    let auditor = PagesAuditor::new(&world.tables.ledger);
    let all: Vec<_> = ["a", "b", "c", "d", "e"].map(|id| ActivityId::new(id).unwrap()).to_vec();
    let found = auditor.differences(&all).await.unwrap();
    let said: Vec<_> = found
        .iter()
        .map(|it| {
            (
                it.activity_id.as_str(),
                it.missing_in_outbox,
                it.missing_of_kind.as_ref().unwrap().as_str(),
            )
        })
        .collect();
    assert_eq!(said, [("a", true, "image"), ("b", false, "clip")]);
    auditor.repair(&found).await.unwrap();
    assert_eq!(auditor.differences(&all).await.unwrap(), []);
    assert_eq!(ids(&page(&world, "anna", "").await), ["c", "b", "a"]);
    assert_eq!(ids(&page(&world, "anna", "kind=clip&kind=image").await), ["b", "a"]);
}
