//! Units of commands and pages that the table of `nagare estimate` has no row for. `requests.rs` measures that table.

mod counter;

use nagare_operator::cost::bill::{PROJECTED_METRICS, PROJECTOR_METRICS};
use serde_json::{Value, json};
use shared::social::activities::changes::Copies;
use tests::{NOW, delete, follow, publish, unfollow};

pub(crate) use counter::{UnitCounter, Units};

/// An instant after all follows.
const LATER: &str = "2026-11-20T12:01:00.000Z";

/// A delete writes the record, the outbox row, the row of its kind, the fact, and the entries of followers only.
#[tokio::test]
async fn of_a_delete() {
    let counter = UnitCounter::new();
    let followers: Vec<_> = (0..60).map(|n| follow(&format!("viewer-{n}"), "star", NOW)).collect();
    counter.apply(&followers).await;
    let left: Vec<_> = (0..7).map(|n| unfollow(&format!("viewer-{n}"), "star", LATER)).collect();
    counter.apply(&left).await;
    counter.apply(&[publish("star", "star-live", NOW)]).await;
    counter.apply(&[publish("star", "other", NOW), delete("star", "other")]).await;
    counter.take();
    counter.apply(&[delete("star", "star-live")]).await;
    // Readers are told in each copy of the change log.
    assert_eq!(counter.take().writes, 4.0 + 53.0 + Copies::default().get() as f64);
}

/// A change of a viewer's like.
fn like(kind: &str, viewer: &str, at: &str) -> Value {
    json!({"type": kind, "viewer_id": viewer, "activity_id": "star-live", "at": at})
}

/// A publish lists the activity for people who were tagged before it; and pages of tags.
#[tokio::test]
async fn of_tags() {
    let counter = UnitCounter::new();
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

/// The bill has the number and the length of the projector's metrics.
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
    assert_eq!((lines.len(), metrics as f64), (1, PROJECTED_METRICS), "{lines:#?}");
    let length = lines[0].to_string().len() as f64 + 1.0;
    assert!((PROJECTOR_METRICS / length - 1.0).abs() < 0.1, "{length}: {lines:#?}");
}
