//! `nagare estimate` counts the units that the tables report for votes and hits.

use nagare_local::stream_source;
use nagare_operator::cost::work::Work;
use nagare_operator::cost::{Hit, polls_battles};
use serde_json::{Value, json};
use shared::platform::values::Timestamp;
use tests::{NOW, soon};

use crate::platform::units::UnitCounter;

const POLL: &str = "poll-0000000000000000000";
const BATTLE: &str = "battle-00000000000000000";

/// A world, and how much of its stream is folded.
struct Arena {
    counter: UnitCounter,
    folded: usize,
}

/// The units of some folds, beside what the estimate says of them.
#[derive(Debug, Default)]
struct Folded {
    said: Work,
    writes: f64,
    reads: f64,
}

impl Arena {
    async fn opened(command: Value) -> Self {
        let mut polls_battles = Self { counter: UnitCounter::new(), folded: 0 };
        polls_battles.counter.apply(&[command]).await;
        polls_battles.fold().await;
        polls_battles.counter.take();
        polls_battles
    }

    async fn fold(&mut self) {
        let world = &self.counter.world;
        let records = world.engine.stream_behind(0, usize::MAX).unwrap();
        let batch = stream_source::event("shard", &records[self.folded..]).unwrap();
        let response = world.fold(batch, soon()).await.unwrap();
        assert_eq!(response.batch_item_failures, []);
        self.folded = records.len();
    }

    /// Applies commands, whose units are as the estimate says, and folds them at once.
    async fn play(&mut self, commands: &[Value], each: Work, fold: Work, sum: &mut Folded) {
        self.counter.apply(commands).await;
        let used = self.counter.take();
        let said = each * commands.len() as f64;
        assert_eq!((said.writes, said.reads), (used.writes, used.reads), "{said:?} {used:?}");
        self.fold().await;
        let used = self.counter.take();
        sum.said += fold;
        sum.writes += used.writes;
        sum.reads += used.reads;
    }
}

fn near(sum: &Folded, what: &str) {
    assert!((sum.said.writes / sum.writes - 1.0).abs() < 0.1, "{what}: {sum:?}");
    assert_eq!(sum.said.reads, sum.reads, "{what}: {sum:?}");
}

#[tokio::test]
async fn of_votes() {
    for (folds, together) in [(300, 1), (30, 30), (4, 200)] {
        let mut polls_battles = Arena::opened(json!({
            "type": "poll.opened", "poll_id": POLL, "actor_id": "anna", "choices": ["red-team", "blue-team"],
            "opens_at": "2026-11-20T00:00:00Z", "closes_at": "2026-11-21T00:00:00Z",
        }))
        .await;
        let (mut sum, opens_at) =
            (Folded::default(), "2026-11-20T00:00:00Z".parse::<Timestamp>().unwrap());
        for fold in 0..folds {
            let votes = (0..together).map(|n| {
                // Far apart: what is stored of an instant is how long it is after the one before.
                let at = opens_at.plus_millis((fold * together + n) as i64 * 40_000).to_string();
                let choice = ["red-team", "blue-team"][n % 2];
                let viewer = format!("viewer-{fold:03}-{n:03}");
                json!({"type": "vote.cast", "poll_id": POLL, "viewer_id": viewer, "choice": choice, "at": at})
            });
            let votes: Vec<_> = votes.collect();
            let each = polls_battles::vote(14.0, POLL.len() as f64, 8.0);
            polls_battles
                .play(&votes, each, polls_battles::fold_votes(together as f64), &mut sum)
                .await;
        }
        near(&sum, &format!("{together} votes at once"));
    }
}

#[tokio::test]
async fn of_hits() {
    for (folds, together, players) in [(60, 1, 7), (20, 5, 5), (6, 50, 50), (4, 200, 20)] {
        let mut polls_battles = Arena::opened(json!({
            "type": "battle.opened", "battle_id": BATTLE, "actor_id": "anna", "hp": 1_000_000, "at": NOW,
        }))
        .await;
        let mut sum = Folded::default();
        let each = Hit { battle: BATTLE.len() as f64, id: 24.0, viewer: 14.0 };
        for fold in 0..folds {
            let hits = (0..together).map(|n| {
                let (id, viewer) = (format!("hit-{fold:08}-{n:011}"), format!("viewer-{:07}", n % players));
                json!({"type": "battle.hit", "battle_id": BATTLE, "hit_id": id, "viewer_id": viewer, "damage": 80, "at": NOW})
            });
            let hits: Vec<_> = hits.collect();
            let fold = polls_battles::fold_hits(together as f64, players as f64, &each);
            polls_battles.play(&hits, polls_battles::hit(&each), fold, &mut sum).await;
        }
        near(&sum, &format!("{together} hits of {players} viewers at once"));
    }
}
