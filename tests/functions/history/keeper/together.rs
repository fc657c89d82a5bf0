//! Two keepers at once: each of their calls lets the other one go on, or not.

use std::sync::{Arc, Mutex};

use aws_smithy_runtime_api::client::http::SharedHttpConnector;
use fastrand::Rng;
use shared::history::events::PeriodState;
use tests::{World, soon};

use super::{
    DROPPED, KeeperLimits, SEALED, bring, check_archive, check_nothing_is_lost, keeping, mapped,
    record, row,
};
use crate::platform::yielding::Yielding;

const SEEDS: u64 = 50;

#[tokio::test]
async fn two_keepers_make_one_archive() {
    let mut expected = None;
    for seed in 0..SEEDS {
        let random = Arc::new(Mutex::new(Rng::with_seed(seed)));
        let behind = |inside| SharedHttpConnector::new(Yielding { inside, random });
        let mut world = keeping(World::behind(behind));
        world.keeper.limits = KeeperLimits { chunk_bytes: 3_000, ..super::SIZES };
        // The second one ends its chunks elsewhere, if nobody has told it where they end.
        let mut other = world.keeper.clone();
        other.limits = KeeperLimits { chunk_bytes: 3_000, page_items: Some(5), ..super::SIZES };
        let mut recorded = std::collections::BTreeSet::new();
        for at in [super::WITHIN, SEALED, DROPPED] {
            world.set_clock(at);
            for _ in 0..4 {
                let (one, two) = tokio::join!(world.keeper.tick(soon()), other.tick(soon()));
                for ticked in [one.unwrap(), two.unwrap()] {
                    assert_eq!(ticked.failed, 0, "seed {seed}");
                }
                if !recorded.is_empty() {
                    check_nothing_is_lost(&world, &recorded);
                }
            }
            if at == super::WITHIN {
                recorded = record(&world, 0..40);
                bring(&world, &recorded);
            }
        }
        let row = row(&world);
        assert_eq!(row.state, PeriodState::Dropped, "seed {seed}: {:?}", row.dispute);
        assert_eq!(row.tally.unwrap().events, 40);
        assert_eq!(mapped(&world), [""; 0], "seed {seed}");
        check_archive(&world, &recorded);
        let objects = world.bucket.objects();
        assert_eq!(*expected.get_or_insert_with(|| objects.clone()), objects, "seed {seed}");
    }
}

/// Two that would end their chunks elsewhere: one of them is told where they end.
#[tokio::test]
async fn where_a_chunk_ends_is_decided_once() {
    for seed in 0..SEEDS {
        let random = Arc::new(Mutex::new(Rng::with_seed(seed)));
        let behind = |inside| SharedHttpConnector::new(Yielding { inside, random });
        let world = keeping(World::behind(behind));
        let mut other = world.keeper.clone();
        other.limits.chunk_bytes = 1_700;
        let recorded = super::lived_until(&world, super::WITHIN).await;
        world.set_clock(SEALED);
        for _ in 0..4 {
            let (one, two) = tokio::join!(world.keeper.tick(soon()), other.tick(soon()));
            let _ = (one.unwrap(), two.unwrap());
        }
        let row = row(&world);
        assert_eq!(row.state, PeriodState::Verified, "seed {seed}: {:?}", row.dispute);
        check_archive(&world, &recorded);
    }
}
