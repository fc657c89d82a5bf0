//! The storms in simulated time: what the tables admit, where the machine does not matter.
//!
//! ```sh
//! cargo test --locked -p nagare --lib likes::simulated -- --show-output
//! ```
#![allow(clippy::unwrap_used, clippy::panic)]

use super::*;

/// Calls take up to 10 ms.
const LATENCY: &str = "slow=10ms";
/// Writers enough for a table that admits 4,000 writes a second, with a hold after each batch.
const MORE_WRITERS: usize = 30;
/// Likes enough to use up the burst of such a table, and many of them after it.
const LIKES: usize = 20_000;

fn options(m3_likes: usize) -> Likes {
    Likes {
        likes: LIKES,
        m3_likes,
        undos: 0.0,
        duplicates: 0.1,
        faults: Vec::new(),
        writers: WRITERS,
        hold_ms: None,
        clients: 64,
        rate: None,
        json: false,
    }
}

/// Storms of m3's design in four tables and in one, with as many likes as use up the burst (few, because its list makes
/// them slow here); and of the code that ships: as it is deployed, with more writers, and without a hold.
async fn storms(limits: &str, [in_four, in_one]: [usize; 2]) -> [Storm; 5] {
    let setting: Setting = format!("{limits},{LATENCY}").parse().unwrap();
    let m3 =
        async |name, design, likes| options(likes).m3((name, &design), &setting).await.unwrap();
    let nagare =
        async |design, options: Likes| Storm { design, ..options.ours(&setting).await.unwrap() };
    let storms = [
        m3("m3, four tables", Design::in_four(), in_four).await,
        m3("m3, one table", Design::in_one(), in_one).await,
        nagare("nagare", options(0)).await,
        nagare("nagare, 30 writers", Likes { writers: MORE_WRITERS, ..options(0) }).await,
        nagare("nagare, no hold", Likes { hold_ms: Some(0), ..options(0) }).await,
    ];
    print_storms(&storms, false).unwrap();
    for storm in &storms {
        assert_eq!(storm.counted.likes, storm.truth, "{storm:?}");
    }
    storms
}

fn rate(storm: &Storm) -> f64 {
    storm.likes_per_second_after_burst.unwrap_or(storm.likes_per_second)
}

#[tokio::test(start_paused = true)]
async fn at_what_a_table_admits() {
    let [_, one, _, nagare, _] = storms("writes=4000", [2_700, 1_000]).await;
    assert!(rate(&nagare) > 7.5 * rate(&one), "{nagare:?} {one:?}");
    assert!(nagare.write_units_per_like <= 1.1, "{nagare:?}");
}

#[tokio::test(start_paused = true)]
async fn at_what_a_partition_admits() {
    let [four, one, _, nagare, _] = storms("partition-writes=1000", [1_000, 1_000]).await;
    assert!(rate(&nagare) > 8.0 * rate(&four).max(rate(&one)), "{nagare:?} {four:?} {one:?}");
}

#[tokio::test(start_paused = true)]
async fn a_thousand_a_second_are_in_their_view_within_a_second() {
    let likes = Likes { likes: 5_000, ..options(0) };
    let setting = LATENCY.parse().unwrap();
    let lag = likes.at_rate(1_000.0, &setting).await.unwrap();
    lag.print(false).unwrap();
    assert!(lag.fact_to_view.unwrap().p99_ms < 1_000.0);
}
