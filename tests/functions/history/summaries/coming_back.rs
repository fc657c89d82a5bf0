//! A change of a summary that could not be folded comes back through the facts: the projector of history folds it once, and the other
//! one passes it.

use nagare_local::stream_source::{event as batch, event_of};
use serde_json::json;
use shared::command::Command;
use shared::history::summaries::{CustomerView, Summaries, SummaryView};
use shared::platform::projection::{UnfoldedChange, View};
use shared::social::likes::LikeCounts;
use tests::{World, internal_seal, soon};

use super::{filled, records, table};

const SHARD: &str = "facts";

/// A tenant who is called like a kind of facts.
const CUSTOMER: &str = "likes#c-1";

async fn folded(world: &World) -> u64 {
    let (summaries, customer) = (Summaries::new(&world.tables.views), CUSTOMER.parse().unwrap());
    let summary = summaries.customer(&customer).await.unwrap();
    summary.map_or(0, |summary| summary.events())
}

async fn liked(world: &World) -> u64 {
    let counts = LikeCounts::new(&world.tables.views).read(&["live-1".parse().unwrap()]).await;
    counts.unwrap().into_values().next().unwrap_or_default().count()
}

/// A world with a like, and an event that comes back for the view of its customer.
async fn with_both() -> World {
    let world = World::new();
    let at = "2026-11-01T00:00:00.000Z".to_owned();
    filled(&world, &[("likes", "c-1".to_owned(), "login".to_owned(), at)]).await;
    let of_events = event_of(&table("2026-11"), "a", &records(&world, "2026-11")).unwrap();
    let (_, shard, changes) = of_events.of_streams().unwrap();
    let view = SummaryView::Customer(CUSTOMER.parse().unwrap()).key();
    let comes_back = Command::Changed(UnfoldedChange::of(&changes[0], shard, view));
    let comes_back = internal_seal().to_body(&comes_back);
    assert_eq!(world.write(&[&comes_back], 1).await, [0_usize; 0]);
    let like = json!({"type": "like.created", "viewer_id": "bob", "activity_id": "live-1",
        "at": "2026-11-01T00:00:00.000Z"});
    world.done(&[like]).await;
    world
}

#[tokio::test]
async fn each_projector_folds_its_own() {
    let world = with_both().await;
    let all = world.engine.stream_behind(0, usize::MAX).unwrap();
    for _ in 0..2 {
        let answer = world.projector.handle(batch(SHARD, &all).unwrap(), soon()).await.unwrap();
        assert_eq!(answer.batch_item_failures, []);
        assert_eq!((liked(&world).await, folded(&world).await), (1, 0));
    }
    for _ in 0..2 {
        // All of it, whatever the filter of its mapping keeps from it.
        let given = batch(SHARD, &all).unwrap();
        let answer = world.history_projector.handle(given, soon()).await.unwrap();
        assert_eq!(answer.batch_item_failures, []);
        assert_eq!((liked(&world).await, folded(&world).await), (1, 1));
    }
}

#[tokio::test]
async fn no_projector_takes_the_marks_of_the_other_for_its_own() {
    let world = with_both().await;
    world.project(SHARD).await;
    assert_eq!((liked(&world).await, folded(&world).await), (1, 1));
    let view = SummaryView::Customer(CUSTOMER.parse().unwrap()).key();
    let view = world.tables.views.read(view, View::<CustomerView>::read_to_fold).await.unwrap();
    let all = world.engine.stream_behind(0, usize::MAX).unwrap();
    let (shard, changes) = batch(SHARD, &all).unwrap().of_one_stream().unwrap();
    let (_, own, _) = batch(SHARD, &all).unwrap().of_streams().unwrap();
    let changes: Vec<_> = changes.iter().filter(|it| it.key.pk.starts_with("changed#")).collect();
    assert_eq!((view.passed(own, &changes), view.passed(shard, &changes)), (1, 0));
}
