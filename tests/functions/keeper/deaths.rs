//! The keeper dies at each call, or the call fails.

use std::sync::Arc;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use aws_smithy_runtime_api::client::http::{
    HttpConnector, HttpConnectorFuture, SharedHttpConnector,
};
use aws_smithy_runtime_api::client::orchestrator::HttpRequest;
use nagare::local::faults::{Fault, inject};
use shared::events::PeriodState;
use tests::{World, soon};
use tokio::sync::Notify;

use super::{
    DROPPED, EXPIRED, SEALED, Sizes, check_archive, check_nothing_is_lost, in_table, keeping,
    record, row,
};

/// What happens at one call.
#[derive(Debug, Clone, Copy)]
enum Blow {
    DiesBefore,
    DiesAfter,
    Fails(Fault),
}

const BLOWS: [Blow; 4] =
    [Blow::DiesBefore, Blow::DiesAfter, Blow::Fails(Fault::LostAnswer), Blow::Fails(Fault::Denied)];

/// Counts the calls, and strikes one of them.
#[derive(Debug, Clone, Default)]
struct Steps {
    taken: Arc<AtomicUsize>,
    blow: Arc<Mutex<Option<(usize, Blow)>>>,
    died: Arc<Notify>,
}

#[derive(Debug)]
struct Stepwise {
    inside: SharedHttpConnector,
    steps: Steps,
}

impl HttpConnector for Stepwise {
    fn call(&self, request: HttpRequest) -> HttpConnectorFuture {
        let (inside, steps) = (self.inside.clone(), self.steps.clone());
        let step = steps.taken.fetch_add(1, Ordering::SeqCst);
        let blow = steps.blow.lock().unwrap().filter(|(at, _)| *at == step).map(|(_, blow)| blow);
        HttpConnectorFuture::new(async move {
            match blow {
                None => inside.call(request).await,
                Some(Blow::Fails(fault)) => inject(Some(fault), request, &inside).await,
                Some(blow) => {
                    if matches!(blow, Blow::DiesAfter) {
                        let _ = inside.call(request).await;
                    }
                    steps.died.notify_one();
                    std::future::pending().await
                }
            }
        })
    }
}

/// Follows a period to its end, with one blow. Returns how many calls there were.
async fn life(blow: Option<(usize, Blow)>) -> (usize, World) {
    let steps = Steps::default();
    *steps.blow.lock().unwrap() = blow;
    let behind = |inside| SharedHttpConnector::new(Stepwise { inside, steps: steps.clone() });
    let mut world = keeping(World::behind(behind));
    world.keeper.sizes = Sizes { chunk_bytes: 4_000, segment_bytes: 4_000, page_items: None };
    let mut recorded = std::collections::BTreeSet::new();
    for at in [super::WITHIN, SEALED, DROPPED, EXPIRED] {
        world.set_clock(at);
        for tick in 0.. {
            let is_done = tokio::select! {
                ticked = world.keeper.tick(soon()) => ticked.is_ok_and(|it| !it.more_due),
                () = steps.died.notified() => false,
            };
            if !recorded.is_empty() && at < EXPIRED {
                check_nothing_is_lost(&world, &recorded);
            }
            if is_done {
                break;
            }
            assert!(tick < 10, "it never ends: {blow:?} at {at}");
        }
        if at == super::WITHIN {
            recorded = record(&world, 0..20);
        }
        if at == DROPPED {
            let row = row(&world);
            assert_eq!(row.state, PeriodState::Dropped, "{blow:?}: {:?}", row.dispute);
            assert_eq!(in_table(&world), None);
            check_archive(&world, &recorded);
        }
    }
    let row = row(&world);
    assert!(row.expired, "{blow:?}");
    (steps.taken.load(Ordering::SeqCst), world)
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
