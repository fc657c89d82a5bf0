//! Profiles: the latest update wins, whatever the order of arrival.

use nagare_operator::erasure::marks::Marks;
use proptest::prelude::*;
use serde_json::{Value, json};
use shared::platform::ledger::LedgerKey;
use tests::World;

fn update(viewer: &str, minute: u8, says: u8) -> Value {
    let at = format!("2026-11-20T11:{minute:02}:00.000Z");
    json!({"type": "profile.updated", "viewer_id": viewer, "at": at, "payload": {"says": says}})
}

async fn read(world: &World, viewer: &str) -> (i64, Value) {
    let (status, _, body) = world.get(&format!("/v1/profiles/{viewer}"), "").await;
    (status, body)
}

#[tokio::test]
async fn a_profile_is_what_its_latest_update_says() {
    let world = World::new();
    let (status, body) = read(&world, "bob").await;
    assert_eq!((status, &body["type"]), (404, &json!("urn:nagare:problem:not-found")));
    let bare = json!({"type": "profile.updated", "viewer_id": "bob", "at": "2026-11-20T11:00:00Z"});
    world.done(&[bare]).await;
    let at = "2026-11-20T11:00:00.000Z";
    let profile = json!({"viewer_id": "bob", "payload": null, "updated_at": at});
    assert_eq!(read(&world, "bob").await, (200, profile));
    world.done(&[update("bob", 1, 7)]).await;
    let at = "2026-11-20T11:01:00.000Z";
    let profile = json!({"viewer_id": "bob", "payload": {"says": 7}, "updated_at": at});
    assert_eq!(read(&world, "bob").await, (200, profile));
    assert_eq!(read(&world, "bo").await.0, 404);
    assert_eq!(read(&world, "b%23").await.1["parameter"], "viewer_id");
}

#[tokio::test]
async fn others_read_it_too_and_nobody_unknown() {
    use function_http::Authorization;

    let mut world = World::new();
    world.done(&[update("bob", 1, 7)]).await;
    world.set_authorization(Authorization::Jwt);
    for (caller, status) in [(Some("bob"), 200), (Some("anna"), 200), (None, 401)] {
        let answer = world.request("GET", "/v1/profiles/bob", "", caller).await;
        assert_eq!(answer.0, status, "{caller:?}");
    }
    assert_eq!(world.request("PUT", "/v1/profiles/bob", "", Some("bob")).await.0, 405);
}

/// An update that was in flight while the person was erased brings nothing back; a new one is a new fact.
#[tokio::test]
async fn an_erased_profile_comes_back_by_a_later_update_only() {
    let world = World::new();
    world.done(&[update("bob", 5, 7)]).await;
    let key = LedgerKey { pk: "person#bob#profile".to_owned(), sk: "profile".to_owned() };
    let marks = Marks(world.tables.ledger.clone());
    let [seen, other] = ["2026-11-20T11:05:00.000Z", "2026-11-20T11:04:00.000Z"];
    assert!(!marks.empty(&key, other, 2_000_000_000).await.unwrap());
    assert!(marks.empty(&key, seen, 2_000_000_000).await.unwrap());
    for stale in [update("bob", 5, 7), update("bob", 4, 9), update("bob", 5, 9)] {
        world.done(&[stale]).await;
        assert_eq!(read(&world, "bob").await.0, 404);
    }
    world.done(&[update("bob", 6, 1)]).await;
    assert_eq!(read(&world, "bob").await.1["payload"], json!({"says": 1}));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]
    #[test]
    fn order_and_repetition_do_not_matter(
        updates in proptest::collection::vec((0_u8..4, 0_u8..10), 1..8)
            .prop_flat_map(|all| (Just(all.clone()), Just(all).prop_shuffle())),
    ) {
        let (said, shuffled) = updates;
        let (minute, says) = *said.iter().max().unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let shown = runtime.block_on(async {
            let world = World::new();
            for (minute, says) in said.iter().chain(&shuffled) {
                world.done(&[update("bob", *minute, *says)]).await;
            }
            read(&world, "bob").await.1
        });
        let at = format!("2026-11-20T11:{minute:02}:00.000Z");
        prop_assert_eq!(shown, json!({"viewer_id": "bob", "payload": {"says": says}, "updated_at": at}));
    }
}
