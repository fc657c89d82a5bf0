//! `nagare estimate` counts the units that the tables report.

mod counter;

use fanout_writer::FanOutLimits;
use nagare_local::stream_source::event_of;
use nagare_operator::cost::bill::{LIKE_METRICS, PROJECTOR_METRICS};
use nagare_operator::cost::month::Graph;
use nagare_operator::cost::work::{self, Audience, Work};
use nagare_operator::cost::{Activity, Edge};
use nagare_operator::cost::{events, likes};
use serde_json::{Value, json};
use shared::platform::runtime::hold::Hold;
use shared::social::activities::changes::Copies;
use tests::{NOW, delete, follow, publish, soon, unfollow};

pub(crate) use counter::{UnitCounter, Units};

/// An instant after everybody has followed.
const LATER: &str = "2026-11-20T12:01:00.000Z";

impl UnitCounter {
    /// The units of one page.
    async fn take_after(&self, viewer: &str, query: &str) -> Units {
        self.world.ids(viewer, query).await;
        self.take()
    }

    /// Makes N viewers follow an actor, without counting.
    async fn followers(&self, actor: &str, followers: usize) -> Audience {
        let mut audience = Audience::default();
        for name in (0..followers).map(|n| format!("viewer-{n}")) {
            self.uncounted(async |world| world.done(&[follow(&name, actor, NOW)]).await).await;
            audience.add(name.len() as f64);
        }
        audience
    }
}

fn expect(said: Work, used: Units, what: &str) {
    assert_eq!((said.writes, said.reads), (used.writes, used.reads), "{what}: {said:?} {used:?}");
}

/// The activity that a command publishes.
fn activity(command: &Value) -> Activity {
    let length = |name: &str| command[name].as_str().map_or(0.0, |text| text.len() as f64);
    Activity {
        id: length("activity_id"),
        actor: length("actor_id"),
        kind: command["kind"].as_str().unwrap_or("post").len() as f64,
        payload: command["payload"].to_string().len() as f64,
    }
}

fn edge(follower: &str, followee: &str) -> Edge {
    Edge { follower: follower.len() as f64, followee: followee.len() as f64 }
}

#[tokio::test]
async fn of_a_publish() {
    let counter = UnitCounter::new();
    for (followers, payload) in [(0, 10), (1, 10), (60, 600), (60, 1_900), (333, 4_000)] {
        let actor = format!("actor-{followers}-{payload}");
        let audience = counter.followers(&actor, followers).await;
        let mut command = publish(&actor, &format!("{actor}-live"), NOW);
        command["payload"] = json!("x".repeat(payload));
        counter.apply(std::slice::from_ref(&command)).await;
        let said = work::publish(&activity(&command), &audience);
        expect(said, counter.take(), &actor);
        assert_eq!(said.entries, followers as f64);
    }
}

/// Of three followers in four nothing was heard, and the process has just begun.
#[tokio::test]
async fn of_a_publish_with_idle_viewers() {
    for followers in [4, 60, 100] {
        let mut counter = UnitCounter::new();
        counter.world.writer.idle_viewers = "30".parse().unwrap();
        counter.world.reader.idle_viewers = counter.world.writer.idle_viewers.clone();
        counter.world.reader.hold = Hold::NONE;
        let audience = counter.followers("anna", followers).await;
        counter.apply(&[publish("anna", "first", NOW)]).await;
        counter.world.set_clock("2026-12-15T12:00:00.000Z");
        for n in (0..followers).filter(|n| n % 4 == 0) {
            assert_eq!(counter.world.ids(&format!("viewer-{n}"), "limit=1").await, ["first"]);
        }
        let at = "2027-01-10T12:00:00.000Z";
        counter.world.set_clock(at);
        counter.world.writer.idle_viewers = counter.world.writer.idle_viewers.remembering_nothing();
        let command = publish("anna", "later", at);
        counter.take();
        counter.apply(std::slice::from_ref(&command)).await;
        let audience = Audience { parked: Some(0.75), ..audience };
        let said = work::publish(&activity(&command), &audience);
        expect(said, counter.take(), &format!("{followers} followers"));
        assert_eq!(said.entries, followers as f64 / 4.0);
        // The pages: who reads, and who does not ask whether a viewer is idle.
        let page = counter.world.get("/v1/timelines/viewer-0", "").await.2;
        let cursor = page["newer_cursor"].as_str().unwrap();
        counter.take();
        counter.world.get("/v1/timelines/viewer-0", &format!("cursor={cursor}")).await;
        expect(work::poll(true), counter.take(), "a poll");
    }
}

#[tokio::test]
async fn of_a_publish_that_is_cut_into_segments() {
    let mut counter = UnitCounter::new();
    let limits = FanOutLimits { page: 50, segment: 1_000, ..FanOutLimits::default() };
    counter.world.writer.limits = limits;
    for followers in [49, 50, 650] {
        let actor = format!("actor-{followers}");
        let audience = counter.followers(&actor, followers).await;
        let command = publish(&actor, &format!("{actor}-live"), NOW);
        counter.apply(std::slice::from_ref(&command)).await;
        let (said, used) =
            (work::publish_in(limits, &activity(&command), &audience), counter.take());
        assert_eq!(said.writes, used.writes, "{actor}: {said:?} {used:?}");
        // The segments differ a little in size, so that the last page of one may be a unit less.
        assert!((said.reads - used.reads).abs() <= 0.05 * used.reads, "{actor}: {said:?} {used:?}");
    }
}

/// The record, the outbox row, the row of its kind, the fact, and the entries of those who follow: nobody else is written to.
#[tokio::test]
async fn of_a_delete() {
    let counter = UnitCounter::new();
    counter.followers("star", 60).await;
    let left: Vec<_> = (0..7).map(|n| unfollow(&format!("viewer-{n}"), "star", LATER)).collect();
    counter.apply(&left).await;
    counter.apply(&[publish("star", "star-live", NOW)]).await;
    counter.apply(&[publish("star", "other", NOW), delete("star", "other")]).await;
    counter.take();
    counter.apply(&[delete("star", "star-live")]).await;
    // Readers are told in each copy of the change log.
    assert_eq!(counter.take().writes, 4.0 + 53.0 + Copies::default().get() as f64);
}

#[tokio::test]
async fn of_a_follow() {
    let counter = UnitCounter::new();
    for activities in [0, 1, 70, 700] {
        let actor = format!("actor-{activities}");
        let at = |n: usize| format!("2026-11-20T11:{:02}:{:02}.000Z", n / 60, n % 60);
        let published =
            (0..activities).map(|n| publish(&actor, &format!("{actor}-{n:03}"), &at(n)));
        let published: Vec<_> = published.collect();
        if let Some(one) = published.first() {
            counter.apply(&published).await;
            counter.take();
            counter.apply(&[follow("bob", &actor, NOW)]).await;
            let said = work::follow(&edge("bob", &actor), activities as f64, &activity(one));
            expect(said, counter.take(), &actor);
        } else {
            counter.apply(&[follow("bob", &actor, NOW)]).await;
            let none = Activity { id: 0.0, actor: 0.0, kind: 0.0, payload: 0.0 };
            expect(work::follow(&edge("bob", &actor), 0.0, &none), counter.take(), &actor);
        }
    }
}

/// A change of a viewer's like.
fn like(kind: &str, viewer: &str, at: &str) -> Value {
    json!({"type": kind, "viewer_id": viewer, "activity_id": "star-live", "at": at})
}

/// The row among the facts, and the fold: once, however many likes are folded at once.
#[tokio::test]
async fn of_likes_and_undos() {
    let counter = UnitCounter::new();
    let published = publish("star", "star-live", NOW);
    counter.apply(std::slice::from_ref(&published)).await;
    counter.take();
    let activity = activity(&published);
    counter.world.project("shard").await;
    expect(likes::fold_publish(), counter.take(), "a publish");
    // Fewer changes than a batch of this world has, of as many people as a view lists.
    for (viewers, at) in [(1, NOW), (10, LATER)] {
        let names = (0..viewers).map(|n| format!("viewer-{viewers}-{n:02}"));
        let names: Vec<_> = names.collect();
        let length = names[0].len() as f64;
        // The first is folded alone.
        let folded = if viewers == 1 { likes::fold_first_likes() } else { likes::fold_likes() };
        for (kind, each, fold) in [
            ("like.created", likes::like(length, &activity), folded),
            ("like.deleted", likes::undo(length, &activity), likes::fold_undos()),
        ] {
            let changes: Vec<_> = names.iter().map(|name| like(kind, name, at)).collect();
            counter.apply(&changes).await;
            expect(each * f64::from(viewers), counter.take(), kind);
            counter.world.project("shard").await;
            expect(fold, counter.take(), &format!("{viewers} folded, {kind}"));
        }
    }
}

/// The tag, whose the activity is, and the listing; what was tagged before a publish; and pages.
#[tokio::test]
async fn of_tags() {
    let counter = UnitCounter::new();
    let published = publish("star", "star-live", NOW);
    counter.apply(std::slice::from_ref(&published)).await;
    counter.take();
    for (kind, at) in [("tag.created", NOW), ("tag.deleted", LATER)] {
        let tag =
            json!({"type": kind, "activity_id": "star-live", "tagged_id": "viewer-01", "at": at});
        counter.apply(&[tag]).await;
        expect(work::tag(9.0, &activity(&published)), counter.take(), kind);
    }
    let tags: Vec<_> = (0..60)
        .map(|n| {
            let tagged = format!("viewer-{n:02}");
            json!({"type": "tag.created", "activity_id": "other", "tagged_id": tagged, "at": NOW})
        })
        .collect();
    counter.uncounted(async |world| world.done(&tags).await).await;
    // Whoever was tagged before has it listed by the publish.
    counter.apply(&[publish("star", "other", NOW)]).await;
    assert_eq!(counter.take().writes, 5.0 + 60.0);
    let (status, _, body) = counter.world.get("/v1/viewers/viewer-07/tagged", "").await;
    assert_eq!((status, body["items"].as_array().unwrap().len()), (200, 1));
    // The listings, what has changed, and a record: nobody is hidden here.
    let units = counter.take();
    assert_eq!((units.writes, units.reads), (0.0, 3.0), "{units:?}");
    let (_, _, body) = counter.world.get("/v1/activities/other/tags", "limit=50").await;
    assert_eq!(body["items"].as_array().unwrap().len(), 50);
    let units = counter.take();
    // The activity, its tags, and the profiles, a unit for each of those that there could be.
    assert_eq!((units.calls, units.reads), (3, 1.0 + 1.0 + 50.0), "{units:?}");
}

/// Two calls, the first page and those behind it, however many likes they stand for; the unread number is in them.
#[tokio::test]
async fn of_a_page_of_notifications() {
    let counter = UnitCounter::new();
    let posts: Vec<_> = (0..60).map(|n| publish("star", &format!("post-{n:02}"), NOW)).collect();
    counter
        .uncounted(async |world| {
            world.done(&posts).await;
            for (n, post) in (0..60).zip(&posts) {
                for viewer in 0..5 {
                    let at = format!("2026-11-20T11:{n:02}:0{viewer}.000Z");
                    let mut like = like("like.created", &format!("viewer-{viewer}"), &at);
                    like["activity_id"] = post["activity_id"].clone();
                    world.done(&[like]).await;
                }
                world.project("shard").await;
                if n == 30 {
                    let all =
                        json!({"type": "notifications.read", "viewer_id": "star", "all": true});
                    world.done(&[all]).await;
                    world.project("shard").await;
                }
            }
        })
        .await;
    for limit in [20, 50] {
        let (mut query, mut shown) = (format!("limit={limit}"), 0);
        loop {
            let (status, _, body) = counter.world.get("/v1/notifications/star", &query).await;
            assert_eq!((status, &body["unread_count"]), (200, &json!(29 * 5)));
            let units = counter.take();
            // A long page carries on where a short cursor can say how.
            assert!(units.calls == 2, "{query}: {units:?}");
            shown += body["items"].as_array().unwrap().len();
            let Some(cursor) = body["next_cursor"].as_str() else { break };
            query = format!("limit={limit}&cursor={cursor}");
        }
        assert_eq!(shown, 60);
    }
}

/// Marking all once more costs the same however much was read before.
#[tokio::test]
async fn of_marking_all_where_all_is_read() {
    let mut costs = Vec::new();
    for activities in [2, 200] {
        let counter = UnitCounter::new();
        let all = json!({"type": "notifications.read", "viewer_id": "star", "all": true});
        counter
            .uncounted(async |world| {
                for n in 0..activities {
                    let id = format!("post-{n:03}");
                    let mut like = like("like.created", "bob", NOW);
                    like["activity_id"] = json!(id);
                    world.done(&[publish("star", &id, NOW), like]).await;
                }
                world.project("shard").await;
                world.done(std::slice::from_ref(&all)).await;
                world.project("shard").await;
            })
            .await;
        counter.apply(&[all]).await;
        let Units { reads, writes, .. } = counter.take();
        costs.push((reads, writes));
    }
    assert_eq!(costs[0], costs[1]);
}

/// What the estimate's bill has for the projector's metrics.
#[tokio::test]
async fn of_the_projectors_metrics() {
    let counter = UnitCounter::new();
    counter.apply(&[like("like.created", "bob", NOW)]).await;
    // Later than the system's clock, by which the stream goes.
    counter.world.clock.set("2030-01-01T00:00:00Z".parse().unwrap());
    let before = counter.world.metrics.lines().len();
    counter.world.project("shard").await;
    let lines = counter.world.metrics.lines().split_off(before);
    let metrics = lines[0]["_aws"]["CloudWatchMetrics"][0]["Metrics"].as_array().unwrap().len();
    assert_eq!((lines.len(), metrics as f64), (1, LIKE_METRICS), "{lines:#?}");
    let length = lines[0].to_string().len() as f64 + 1.0;
    assert!((PROJECTOR_METRICS / length - 1.0).abs() < 0.1, "{length}: {lines:#?}");
}

#[tokio::test]
async fn of_a_page() {
    let counter = UnitCounter::new();
    let mut last = Value::Null;
    counter
        .uncounted(async |_| {
            for n in 0..45 {
                let actor = format!("actor-{:02}", n % 9);
                last = publish(
                    &actor,
                    &format!("activity-{n:02}"),
                    &format!("2026-11-20T11:00:{n:02}.000Z"),
                );
                counter.apply(&[follow("bob", &actor, NOW), last.clone()]).await;
            }
        })
        .await;
    // What one page has read the next has kept.
    let pages = [(3, 4.0, 4.0), (20, 21.0, 17.0), (20, 21.0, 0.0), (100, 45.0, 24.0)];
    for (limit, entries, records) in pages {
        counter.world.ids("bob", &format!("limit={limit}")).await;
        // Of 45 within an hour more than the cursors hold is stored.
        let stored = if limit > 45 { 1.0 } else { 0.0 };
        let said = work::page(entries, records, 3.0, &activity(&last));
        let said = Work { writes: stored, ..said };
        expect(said, counter.take(), &limit.to_string());
    }
    let bob_again = counter.take_after("bob", "").await;
    assert!(bob_again.reads <= 4.0, "{bob_again:?}");
    counter.world.ids("nobody", "").await;
    expect(work::page(0.0, 0.0, 6.0, &activity(&last)), counter.take(), "an empty page");
    let (_, _, page) = counter.world.get("/v1/timelines/bob", "include=likes&viewer=bob").await;
    let with_likes = work::page(21.0, 0.0, 3.0, &activity(&last));
    // Nobody has liked anything: half a unit for each count that is not there, and one for a query that finds none.
    let with_likes = with_likes + work::likes_of_page(21.0, 0.0, 3.0, &activity(&last));
    expect(with_likes, counter.take(), "a page with likes");
    let newer = page["newer_cursor"].as_str().unwrap();
    counter.world.get("/v1/timelines/bob", &format!("cursor={newer}")).await;
    expect(work::poll(false), counter.take(), "a poll");
}

#[tokio::test]
async fn of_a_graph_and_its_posts() {
    let (counter, mut graph) = (UnitCounter::new(), Graph::default());
    let follows: Vec<_> = (0..400).map(|n| (n * n % 61, n * 7 % 23)).collect();
    let mut once = std::collections::BTreeSet::new();
    for (follower, followee) in follows.into_iter().filter(|edge| once.insert(*edge)) {
        let (follower, followee) = (format!("{follower}"), format!("{followee}"));
        graph.follow(&follower, &followee);
        counter.apply(&[follow(&follower, &followee, NOW)]).await;
    }
    expect(graph.import, counter.take(), "the import");
    for n in 0..120 {
        let (author, second) = ((n * 5 % 31).to_string(), 1_795_000_000 + n * 60);
        let at = shared::platform::values::Timestamp::from_unix_millis(second * 1_000).to_string();
        let mut command = publish(&author, &format!("{author}-{second}"), &at);
        command["payload"] = Value::Null;
        graph.publish(&author, second, activity(&command));
        counter.apply(&[command]).await;
    }
    expect(graph.published, counter.take(), "the posts");
    let entries = counter.world.entry_count().await;
    assert_eq!(graph.published.entries, entries as f64);
}

/// The views that events are folded into, however many events there are. A customer who is new is listed as well.
#[tokio::test]
async fn of_summaries() {
    let counter = UnitCounter::new();
    let table = "nagare-events-2026-11";
    counter.uncounted(async |world| world.make_period("2026-11").await).await;
    let (mut said, mut used) = (Vec::new(), Vec::new());
    for (customers, of_each) in [(1, 1), (1, 20), (20, 1), (20, 4)] {
        for (round, new) in [f64::from(customers), 0.0].into_iter().enumerate() {
            let event = |n: u32| {
                let customer = format!("c-{customers}-{of_each}-{}", n % customers);
                json!({"tenant_id": "acme", "customer_id": customer, "event_id": format!("e-{round}-{n}"),
                    "name": "login", "at": "2026-11-20T10:00:00Z", "properties": {}})
            };
            let events: Vec<_> = (0..customers * of_each).map(event).collect();
            let recorded = events.len();
            let command = json!({"type": "events.recorded", "events": events});
            counter.uncounted(async |world| world.done(&[command]).await).await;
            let all = counter.world.engine.stream_of(table, 0, usize::MAX).unwrap();
            let batch = event_of(table, "one", &all[all.len() - recorded..]).unwrap();
            let response = counter.world.fold(batch, soon()).await.unwrap();
            assert_eq!(response.batch_item_failures, []);
            let folded = events::fold(f64::from(customers), new);
            said.push((customers, of_each, folded.writes, folded.reads));
            let units = counter.take();
            used.push((customers, of_each, units.writes, units.reads));
        }
    }
    assert_eq!(said, used);
}
