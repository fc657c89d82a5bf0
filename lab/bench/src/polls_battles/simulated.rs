//! The same in simulated time: what the tables admit, where the machine does not matter.
//!
//! ```sh
//! cd lab && cargo test --locked -p nagare-bench polls_battles::simulated -- --show-output
//! ```
#![allow(clippy::unwrap_used)]

use super::*;

/// A partition as DynamoDB has it; calls take up to 10 ms.
const SETTING: &str = "partition-writes=1000,slow=10ms";

pub(super) fn options(commands: usize, players: usize) -> Arena {
    Arena {
        votes: commands,
        hits: commands,
        players,
        duplicates: 0.1,
        faults: Vec::new(),
        writers: WRITERS,
        clients: 64,
        json: false,
    }
}

async fn both(game: Game, commands: usize) -> [VotesMeasurement; 2] {
    let both = options(commands, 200).both(game, &SETTING.parse().unwrap()).await.unwrap();
    print_game(game, &both, false).unwrap();
    both
}

#[tokio::test(start_paused = true)]
async fn hits_of_one_battle_are_not_bound_to_one_partition() {
    let [talk, nagare] = both(Game::Hits, 6_000).await;
    assert!(nagare.per_second > 5.0 * talk.per_second, "{nagare:?} {talk:?}");
    assert_eq!(nagare.counted, nagare.truth);
}

#[tokio::test(start_paused = true)]
async fn votes_of_one_poll_cost_little_more_than_their_facts_and_counted_parts() {
    let [_, nagare] = both(Game::Votes, 6_000).await;
    // A unit for the vote, and one for what the view counts of its viewer.
    assert!(nagare.write_units_each < 2.2, "{nagare:?}");
    assert_eq!(nagare.counted, nagare.truth);
}
