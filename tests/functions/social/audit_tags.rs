//! Audits of tags find what is missing among what people are tagged in, and what should not be there, and repair it.

use nagare_operator::audit::{Kind, TagDifference, TagsAuditor};
use serde_json::{Value, json};
use shared::platform::dynamo::item::{Item, text, truth};
use shared::platform::ledger::LedgerKey;
use shared::platform::values::{ActivityId, ViewerId};
use tests::{World, publish};

const AT: &str = "2026-11-20T11:00:00.000Z";
const LATER: &str = "2026-11-20T11:30:00.000Z";

fn change(what: &str, activity: &str, tagged: &str, at: &str) -> Value {
    json!({"type": what, "activity_id": activity, "tagged_id": tagged, "at": at})
}

fn key(tagged: &str, activity: &str) -> LedgerKey {
    LedgerKey { pk: format!("person#{tagged}#tagged"), sk: format!("{AT}#{activity}") }
}

/// What audits of an activity, and of these people, find.
async fn found(world: &World, activity: &str, people: &[&str]) -> Vec<TagDifference> {
    let auditor = TagsAuditor::new(&world.tables.ledger, world.clock.clone());
    let mut found = auditor.of_activity(&ActivityId::new(activity).unwrap()).await.unwrap();
    for person in people {
        found.extend(auditor.of_viewer(&ViewerId::new(*person).unwrap()).await.unwrap());
    }
    found.sort();
    found.dedup();
    found
}

async fn tagged(world: &World, person: &str) -> Vec<String> {
    let (status, _, body) = world.get(&format!("/v1/viewers/{person}/tagged"), "").await;
    assert_eq!(status, 200, "{body}");
    let items = body["items"].as_array().unwrap().iter();
    items.map(|item| item["activity_id"].as_str().unwrap().to_owned()).collect()
}

/// Two hundred people in one activity, of whom one was untagged.
async fn many() -> World {
    let world = World::new();
    world.done(&[publish("anna", "img-1", AT)]).await;
    for n in 0..200 {
        world.done(&[change("tag.created", "img-1", &format!("v{n:03}"), AT)]).await;
    }
    world.done(&[change("tag.deleted", "img-1", "v150", LATER)]).await;
    world.done(&[change("tag.created", "img-2", "v007", AT)]).await;
    world
}

#[tokio::test]
async fn nothing_is_found_where_commands_did_it_all() {
    let world = many().await;
    assert_eq!(found(&world, "img-1", &["v007", "v150", "nobody"]).await, []);
    assert_eq!(found(&world, "img-2", &[]).await, []);
}

#[tokio::test]
async fn what_is_wrong_is_found_and_repaired_as_the_tags_say() {
    let world = many().await;
    let ledger = &world.tables.ledger;
    let put = async |key: LedgerKey, tagged_at: &str, actor: &str| {
        let item = Item::from([
            ("at".to_owned(), text(tagged_at)),
            ("tagged".to_owned(), truth(true)),
            ("actor_id".to_owned(), text(actor)),
        ]);
        ledger.put(key, item).await.unwrap();
    };
    ledger.delete(key("v000", "img-1")).await.unwrap();
    ledger.delete(key("v199", "img-1")).await.unwrap();
    put(key("v007", "img-1"), LATER, "anna").await;
    put(key("v008", "img-1"), AT, "eve").await;
    put(key("v150", "img-1"), LATER, "anna").await;
    put(key("v160", "img-2"), AT, "anna").await;
    put(key("nobody", "img-1"), AT, "anna").await;
    let people = ["v007", "v008", "v150", "v160", "nobody"];
    let differences = found(&world, "img-1", &people).await;
    let kinds: Vec<_> =
        differences.iter().map(|one| (one.tagged_id.as_str(), one.difference)).collect();
    let expected = [
        ("nobody", Kind::Extra),
        ("v000", Kind::Missing),
        ("v007", Kind::Stale),
        ("v008", Kind::Stale),
        ("v150", Kind::Extra),
        ("v160", Kind::Extra),
        ("v199", Kind::Missing),
    ];
    assert_eq!(kinds, expected);
    let auditor = TagsAuditor::new(ledger, world.clock.clone());
    auditor.repair(&differences).await.unwrap();
    assert_eq!(found(&world, "img-1", &people).await, []);
    for (person, expected) in
        [("v000", 1), ("v199", 1), ("v007", 1), ("v008", 1), ("v150", 0), ("nobody", 0)]
    {
        assert_eq!(tagged(&world, person).await.len(), expected, "{person}");
    }
    // What was repaired takes the next command as if nothing had been.
    world.done(&[change("tag.created", "img-1", "v150", "2026-11-20T11:31:00.000Z")]).await;
    world.done(&[change("tag.deleted", "img-1", "v000", LATER)]).await;
    assert_eq!((tagged(&world, "v150").await.len(), tagged(&world, "v000").await.len()), (1, 0));
}
