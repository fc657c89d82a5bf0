//! What a page costs while the entries of somebody unfollowed are still in the timeline: thousands of
//! them, which the purge has yet to remove.

use shared::platform::register::Register;
use shared::platform::runtime::hold::Hold;
use shared::platform::values::{ActorId, Retention, Timestamp, ViewerId};
use shared::social::follows::{FollowChange, Follows};
use shared::social::timelines::EntryWrite;
use tests::{NOW, World, follow, publish, soon};

use crate::platform::units::UnitCounter;

const HIDDEN: usize = 30_000;
const SHOWN: usize = 2_000;
/// What a purge may add to a page, in read units.
const MORE: f64 = 60.0;

/// The instant `n` seconds before noon.
fn before_noon(n: usize) -> Timestamp {
    let noon: Timestamp = NOW.parse().unwrap();
    Timestamp::from_unix_millis(noon.unix_millis() - 1_000 * i64::try_from(n).unwrap())
}

/// A world in which bob follows three actors with some activities, the n-th newest at `seconds(n)`
/// before noon.
async fn with_activities(activities: usize, seconds: impl Fn(usize) -> usize) -> UnitCounter {
    let counter = UnitCounter::new();
    counter
        .uncounted(async |world| {
            let actors = ["anna", "carl", "dora"];
            world.done(&actors.map(|actor| follow("bob", actor, "2026-11-19T00:00:00Z"))).await;
            let commands = (0..activities).map(|n| {
                let (actor, at) = (actors[n % 3], before_noon(seconds(n)).to_string());
                publish(actor, &format!("activity-{n:04}"), &at).to_string()
            });
            let bodies: Vec<_> = commands.collect();
            for batch in bodies.chunks(100) {
                let batch: Vec<_> = batch.iter().map(String::as_str).collect();
                assert_eq!(world.write(&batch, 1).await, [0_usize; 0]);
            }
        })
        .await;
    counter
}

/// Leaves entries of an actor behind whom bob has unfollowed, at these seconds before noon.
async fn leave_behind(counter: &UnitCounter, actor: &str, seconds: impl Iterator<Item = usize>) {
    let (bob, actor) = (ViewerId::new("bob").unwrap(), ActorId::new(actor).unwrap());
    let keys = seconds.map(|n| format!("{}#hidden-{n:05}", before_noon(n)));
    let keys: Vec<_> = keys.collect();
    let entries = keys.iter().map(|sort_key| EntryWrite::Put {
        viewer: &bob,
        sort_key,
        actor: &actor,
        expires_at: 2_000_000_000,
    });
    let state = Register { on: false, changed_at: NOW.parse().unwrap() };
    let unfollow = FollowChange { follower_id: bob.clone(), followee_id: actor.clone(), state };
    counter
        .uncounted(async |world| {
            let (follows, timelines) =
                (Follows::new(&world.tables.ledger), &world.tables.timelines);
            follows
                .record(&unfollow, NOW.parse().unwrap(), Retention::default(), Hold::NONE)
                .await
                .unwrap();
            assert_eq!(
                timelines.write(entries, soon()).await.unwrap().usage.written,
                keys.len() as u64
            );
        })
        .await;
}

/// What the first pages cost, by limit, in read units; all of them full and without a gap.
async fn costs(counter: &UnitCounter) -> Vec<(usize, f64)> {
    let mut costs = Vec::new();
    for limit in [1, 10, 20, 40, 41, 50, 100] {
        let ids = counter.world.ids("bob", &format!("limit={limit}")).await;
        let expected: Vec<_> = (0..limit).map(|n| format!("activity-{n:04}")).collect();
        assert_eq!(ids, expected);
        costs.push((limit, counter.take().reads));
    }
    costs
}

fn compare(layout: &str, usual: &[(usize, f64)], busy: &[(usize, f64)]) -> Vec<f64> {
    let pairs = usual.iter().zip(busy).map(|((limit, usual), (_, busy))| {
        println!("{layout}, limit {limit}: {busy} read units, usually {usual}");
        busy - usual
    });
    pairs.collect()
}

#[tokio::test(start_paused = true)]
async fn a_page_costs_little_more_while_a_purge_of_30_000_entries_runs() {
    // Fifteen hidden ones before each of the others.
    let counter = with_activities(SHOWN, |n| 16 * n + 15).await;
    let usual = costs(&counter).await;
    leave_behind(&counter, "xaver", (0..16 * SHOWN).filter(|n| n % 16 != 15)).await;
    let count = async |world: &World| world.entry_count().await;
    assert_eq!(counter.uncounted(count).await, (HIDDEN + SHOWN) as u64);
    for more in compare("interleaved", &usual, &costs(&counter).await) {
        assert!(more <= MORE, "{more} read units more than usual");
    }
}

/// Nothing says which entries lie behind the hidden ones, so those are read: one unit for forty, and no more than a page may
/// spend. What lies behind them is on a page after that.
#[tokio::test(start_paused = true)]
async fn hidden_entries_that_are_newest_of_all_are_passed_in_several_pages() {
    let counter = with_activities(200, |n| HIDDEN + n).await;
    leave_behind(&counter, "xaver", 0..HIDDEN).await;
    for newest in [true, false] {
        let order = if newest { "newest" } else { "oldest" };
        let (mut shown, mut query, mut pages) = (0, format!("limit=20&order={order}"), 0);
        loop {
            let (status, _, page) = counter.world.get("/v1/timelines/bob", &query).await;
            assert_eq!(status, 200, "{page}");
            let used = counter.take();
            assert!(used.calls <= 9 && used.reads <= 200.0, "{order}, page {pages}: {used:?}");
            shown += page["items"].as_array().unwrap().len();
            pages += 1;
            let Some(cursor) = page["next_cursor"].as_str() else { break };
            query = format!("limit=20&cursor={cursor}");
        }
        println!("{order}: {pages} pages");
        assert!(shown == 200 && pages < 25, "{shown} in {pages} pages");
    }
}

/// What lies behind a full page is read for a while, not to its end.
#[tokio::test(start_paused = true)]
async fn a_full_page_does_not_pass_all_that_is_hidden_behind_it() {
    let counter = with_activities(200, |n| if n < 20 { n } else { HIDDEN + n }).await;
    let page = async || {
        let (status, _, page) = counter.world.get("/v1/timelines/bob", "").await;
        assert_eq!((status, page["items"].as_array().unwrap().len()), (200, 20), "{page}");
        assert!(page["next_cursor"].is_string());
        counter.take().reads
    };
    let usual = page().await;
    leave_behind(&counter, "xaver", 20..HIDDEN).await;
    let busy = page().await;
    println!("behind a full page: {busy} read units, usually {usual}");
    assert!(busy - usual <= 20.0, "{} read units more than usual", busy - usual);
}
