//! The keeper dies at each call, or the call fails.

use nagare_local::faults::Fault;
use shared::history::events::PeriodState;
use tests::{World, soon};

use super::{
    DROPPED, EXPIRED, KeeperLimits, SEALED, bring, check_archive, check_nothing_is_lost, find,
    in_table, keeping, mapped, record, row, table,
};
use crate::platform::blows::{Blow, Steps};

const BLOWS: [Blow; 4] =
    [Blow::DiesBefore, Blow::DiesAfter, Blow::Fails(Fault::LostAnswer), Blow::Fails(Fault::Denied)];

/// A table that may take events is mapped, and no stream is twice.
fn check_mapped(world: &World) {
    let row = find(world);
    let (state, mapped) = (row.map(|row| row.state), mapped(world));
    let takes = [PeriodState::Made, PeriodState::Current, PeriodState::Past];
    let is_mapped = mapped.contains(&table());
    assert!(is_mapped || !state.is_some_and(|state| takes.contains(&state)), "{state:?}");
    assert!(mapped.windows(2).all(|two| two[0] != two[1]), "{mapped:?}");
}

/// Follows a period to its end, with one blow. Returns how many calls there were.
async fn life(blow: Option<(usize, Blow)>) -> (usize, World) {
    let steps = Steps::with(blow);
    let mut world = keeping(World::behind(|inside| steps.before(inside)));
    world.keeper.limits =
        KeeperLimits { chunk_bytes: 4_000, segment_bytes: 4_000, page_items: None, ..super::SIZES };
    let mut recorded = std::collections::BTreeSet::new();
    for at in [super::WITHIN, SEALED, DROPPED, EXPIRED] {
        world.set_clock(at);
        for tick in 0.. {
            let is_done = tokio::select! {
                ticked = world.keeper.tick(soon()) => ticked.is_ok_and(|it| !it.more_due),
                () = steps.died() => false,
            };
            if !recorded.is_empty() && at < EXPIRED {
                check_nothing_is_lost(&world, &recorded);
            }
            check_mapped(&world);
            if is_done {
                break;
            }
            assert!(tick < 10, "it never ends: {blow:?} at {at}");
        }
        if at == super::WITHIN {
            recorded = record(&world, 0..20);
            bring(&world, &recorded);
        }
        if at == DROPPED {
            let row = row(&world);
            assert_eq!(row.state, PeriodState::Dropped, "{blow:?}: {:?}", row.dispute);
            assert_eq!(in_table(&world), None);
            assert_eq!(mapped(&world), [""; 0], "{blow:?}");
            check_archive(&world, &recorded);
        }
    }
    let row = row(&world);
    assert!(row.expired, "{blow:?}");
    (steps.taken(), world)
}

#[tokio::test(start_paused = true)]
async fn no_event_is_lost_wherever_it_dies() {
    let (calls, _) = life(None).await;
    assert!((100..400).contains(&calls), "{calls}");
    for blow in BLOWS {
        for at in 0..calls {
            let (_, world) = life(Some((at, blow))).await;
            let left = world.bucket.objects().into_keys().filter(|key| key.contains("2026-11/"));
            assert_eq!(left.collect::<Vec<_>>(), [""; 0], "{blow:?} at {at}");
        }
    }
}
