//! In any order of likes, deliveries, redrives, views that break and a queue that fails: each like counts once.

use std::sync::atomic::Ordering;

use futures::future::join_all;
use proptest::prelude::*;
use tests::publish;

use super::{
    break_view, count, deliver, kept, like, redrive, repair_view, with_a_queue_that_fails,
};
use crate::platform::projecting::records;

/// One thing that happens.
#[derive(Debug, Clone)]
enum Happens {
    Like(u8),
    Break,
    Repair,
    QueueFails(bool),
    /// Again from somewhere before, as far as somewhere behind, perhaps to two functions at once.
    Deliver(usize, usize, bool),
    Redrive,
}

fn happens() -> impl Strategy<Value = Happens> {
    prop_oneof![
        4 => any::<u8>().prop_map(Happens::Like),
        1 => Just(Happens::Break),
        1 => Just(Happens::Repair),
        1 => any::<bool>().prop_map(Happens::QueueFails),
        4 => (0_usize..4, 1_usize..6, any::<bool>())
            .prop_map(|(back, ahead, twice)| Happens::Deliver(back, ahead, twice)),
        1 => Just(Happens::Redrive),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]
    #[test]
    fn all_that_was_set_aside_counts_once(all in proptest::collection::vec(happens(), 1..40)) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let (shown, likes) = runtime.block_on(async {
            let (world, fails) = with_a_queue_that_fails();
            world.done(&[publish("anna", "a", "2026-11-20T11:00:00Z"), like("first", "a")]).await;
            let (mut done, mut viewers) = (0, std::collections::BTreeSet::new());
            let mut redriven = Vec::new();
            for happens in all {
                match happens {
                    Happens::Like(viewer) => {
                        viewers.insert(viewer);
                        world.done(&[like(&format!("v{viewer}"), "a")]).await;
                    }
                    Happens::Break => break_view(&world, "a"),
                    Happens::Repair => repair_view(&world, "a"),
                    Happens::QueueFails(fail) => fails.store(fail, Ordering::Relaxed),
                    Happens::Deliver(back, ahead, twice) => {
                        let records = records(&world);
                        let end = (done + ahead).min(records.len());
                        let start = done.saturating_sub(back).min(end);
                        let batch = &records[start..end];
                        let times = (0..=u8::from(twice)).map(|_| deliver(&world, batch));
                        let failed = join_all(times).await[0];
                        let first = |number| records.iter().position(|r| r.number == number);
                        done = done.max(failed.and_then(first).unwrap_or(end));
                    }
                    Happens::Redrive => {
                        fails.store(false, Ordering::Relaxed);
                        let letters = kept(&world).await;
                        redrive(&world, &letters).await;
                        redriven.extend(letters);
                        // Some were sent twice.
                        redrive(&world, &redriven).await;
                    }
                }
            }
            fails.store(false, Ordering::Relaxed);
            repair_view(&world, "a");
            loop {
                assert_eq!(deliver(&world, &records(&world)[done..]).await, None);
                done = records(&world).len();
                let letters = kept(&world).await;
                if letters.is_empty() {
                    break;
                }
                redrive(&world, &letters).await;
            }
            (count(&world, "a").await, viewers.len() as u64 + 1)
        });
        prop_assert_eq!(shown, likes);
    }
}
