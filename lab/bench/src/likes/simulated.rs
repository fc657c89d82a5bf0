//! The storms in simulated time: what the tables admit, where the machine does not matter.
//!
//! ```sh
//! cd lab && cargo test --locked -p nagare-bench likes::simulated -- --include-ignored --show-output
//! ```
#![allow(clippy::unwrap_used, clippy::panic)]

use super::*;

/// Calls take up to 10 ms.
const LATENCY: &str = "slow=10ms";

fn options(likes: usize) -> Likes {
    Likes {
        likes,
        m3_likes: likes,
        undos: 0.0,
        duplicates: 0.1,
        faults: Vec::new(),
        writers: WRITERS,
        clients: 64,
        rate: None,
        json: false,
    }
}

/// Storms of m3's design in four tables and in one, and of the code that ships as it is deployed. Each with as many
/// likes as use up the burst; of m3's few, because its list makes them slow here.
async fn storms(limits: &str, [in_four, in_one, likes]: [usize; 3]) -> [Storm; 3] {
    let setting: Setting = format!("{limits},{LATENCY}").parse().unwrap();
    let m3 = async |name, design, likes| {
        options(likes).transaction((name, &design), &setting).await.unwrap()
    };
    let storms = [
        m3("m3, four tables", Design::in_four(), in_four).await,
        m3("m3, one table", Design::in_one(), in_one).await,
        options(likes).ours(&setting).await.unwrap(),
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
#[ignore = "a minute"]
async fn at_what_a_table_admits() {
    let [_, one, nagare] = storms("writes=4000", [2_700, 1_000, 20_000]).await;
    assert!(rate(&nagare) > 8.0 * rate(&one), "{nagare:?} {one:?}");
    // The row, and its entry in the viewer's list; the views are written for many at once.
    assert!(nagare.write_units_per_like <= 2.2, "{nagare:?}");
}

#[tokio::test(start_paused = true)]
async fn at_what_a_partition_admits() {
    let [four, one, nagare] = storms("partition-writes=1000", [1_000, 1_000, 6_000]).await;
    assert!(rate(&nagare) > 8.0 * rate(&four).max(rate(&one)), "{nagare:?} {four:?} {one:?}");
}

#[tokio::test(start_paused = true)]
async fn a_thousand_a_second_are_in_their_view_within_a_second() {
    let likes = options(5_000);
    let setting = LATENCY.parse().unwrap();
    let lag = likes.at_rate(1_000.0, &setting).await.unwrap();
    lag.print(false).unwrap();
    assert!(lag.fact_to_view.unwrap().p99_ms < 1_000.0);
}
