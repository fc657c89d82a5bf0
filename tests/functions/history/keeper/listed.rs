//! `GET /v1/tenants/{tenant_id}/archives`.

use serde_json::{Value, json};
use shared::history::events::{PeriodRow, PeriodState, archive};
use shared::platform::crypto::hash::sha256;
use tests::{World, api_event, soon};

use super::{DROPPED, EXPIRED, SEALED, keeping, lived_until, row, ticks};

const PATH: &str = "/v1/tenants/t1/archives";

async fn listed(world: &World, query: &str) -> Value {
    let (status, _, page) = world.get(PATH, query).await;
    assert_eq!(status, 200, "{page}");
    page
}

#[tokio::test]
async fn what_is_archived_is_listed_until_it_expires() {
    let world = keeping(World::new());
    let recorded = lived_until(&world, super::WITHIN).await;
    assert_eq!(listed(&world, "").await, json!({"items": [], "next_cursor": null}));
    world.set_clock(SEALED);
    ticks(&world.keeper).await;
    let page = listed(&world, "").await;
    let [item] = page["items"].as_array().unwrap().as_slice() else { panic!("{page}") };
    assert_eq!((&item["period"], &item["state"]), (&json!("2026-11"), &json!("verified")));
    assert_eq!(item["from"], "2026-11-01T00:00:00.000Z");
    assert_eq!(item["to"], "2026-12-01T00:00:00.000Z");
    let of_tenant = recorded.iter().filter(|line| line.contains(r#""tenant_id":"t1""#));
    let (mut lines, mut bytes, mut keys) = (Vec::new(), 0, Vec::new());
    let stored = world.bucket.objects();
    for object in item["objects"].as_array().unwrap() {
        let key = object["key"].as_str().unwrap();
        let there = &stored[key];
        assert_eq!(object["sha256"], sha256(there));
        assert_eq!(object["bytes"], there.len());
        let url = object["url"].as_str().unwrap();
        assert!(
            url.starts_with(&format!("http://s3.local/archive/{key}?X-Amz-Algorithm=")),
            "{url}"
        );
        assert!(url.contains("X-Amz-Expires=900&") && url.contains("X-Amz-Date=20261202T010000Z"));
        archive::read(there, |line| lines.push(line.to_owned())).unwrap();
        bytes += there.len();
        keys.push(key);
    }
    assert!(keys.is_sorted() && keys.len() > 1, "{keys:?}");
    lines.sort();
    assert!(lines.iter().eq(of_tenant), "another tenant's, or not all");
    assert_eq!((&item["events"], &item["bytes"]), (&json!(lines.len()), &json!(bytes)));
    world.set_clock(DROPPED);
    ticks(&world.keeper).await;
    assert_eq!(listed(&world, "").await["items"][0]["state"], "dropped");
    world.set_clock(EXPIRED);
    ticks(&world.keeper).await;
    assert_eq!(listed(&world, "").await["items"], json!([]));
}

#[tokio::test]
async fn pages_are_of_whole_periods_the_newest_first_and_cursors_of_one_tenant() {
    let world = keeping(World::new());
    lived_until(&world, SEALED).await;
    // Another month, with what is known of this one's objects.
    let (objects, _) = world.keeper.archives.of_period(super::period(), None, 100).await.unwrap();
    let earlier = "2026-10".parse().unwrap();
    for object in objects {
        let object = shared::history::events::ArchivedObject { period: earlier, ..object };
        world.keeper.archives.note(&object).await.unwrap();
    }
    world.keeper.periods.plan(earlier).await.unwrap();
    let planned = PeriodRow::planned(earlier);
    let dropped = PeriodRow { state: PeriodState::Dropped, ..planned };
    assert!(world.keeper.periods.replace(&dropped).await.unwrap());
    let whole = listed(&world, "").await;
    let periods: Vec<_> =
        whole["items"].as_array().unwrap().iter().map(|it| &it["period"]).collect();
    assert_eq!(periods, ["2026-11", "2026-10"]);
    let first = listed(&world, "limit=1").await;
    assert_eq!(first["items"], json!([whole["items"][0]]));
    let cursor = first["next_cursor"].as_str().unwrap();
    let second = listed(&world, &format!("limit=1&cursor={cursor}")).await;
    assert_eq!(second["items"], json!([whole["items"][1]]));
    assert_eq!(second["next_cursor"], Value::Null);
    let other = world.get("/v1/tenants/t2/archives", &format!("cursor={cursor}")).await;
    assert_eq!(other.0, 400);
    assert_eq!(world.get(PATH, "cursor=x").await.0, 400);
    assert_eq!(world.get(PATH, "limit=0").await.0, 400);
}

/// What is in dispute is not shown as an archive.
#[tokio::test]
async fn a_disputed_archive_is_not_listed() {
    let world = keeping(World::new());
    lived_until(&world, SEALED).await;
    let disputed = PeriodRow { state: PeriodState::Disputed, ..row(&world) };
    assert!(world.keeper.periods.replace(&disputed).await.unwrap());
    assert_eq!(listed(&world, "").await["items"], json!([]));
}

#[tokio::test]
async fn a_token_reads_its_own_tenant_alone() {
    let world = keeping(World::new());
    for (claims, status) in [
        (json!({"sub": "bob", "tenant_id": "t1"}), 200),
        (json!({"sub": "bob", "tenant_id": "t2"}), 403),
        (json!({"sub": "t1"}), 403),
    ] {
        let event = api_event("GET", PATH, "", Some(json!({"jwt": {"claims": claims}})));
        assert_eq!(world.answer(event, soon()).await.0, status, "{claims}");
    }
}
