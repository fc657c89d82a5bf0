//! The same in simulated time: what the tables admit, where the machine does not matter.
//!
//! ```sh
//! cd lab && cargo test --locked -p nagare-bench room::simulated -- --show-output
//! ```
#![allow(clippy::unwrap_used)]

use super::*;

/// A partition as DynamoDB has it; calls take up to 10 ms.
const SETTING: &str = "partition-writes=1000,slow=10ms";

async fn measured(messages: usize, writers: usize) -> RoomMeasurement {
    let room = Room {
        messages,
        authors: 2_000,
        duplicates: 0.1,
        faults: Vec::new(),
        writers,
        json: false,
    };
    let measurement = room.measure(&SETTING.parse().unwrap()).await.unwrap();
    print_rooms(std::slice::from_ref(&measurement), false).unwrap();
    measurement
}

/// Ten processes add rows to one list of arrivals, one after the other.
#[tokio::test(start_paused = true)]
async fn a_busy_room_takes_hundreds_of_messages_a_second() {
    let measurement = measured(3_000, WRITERS).await;
    assert!(measurement.per_second > 200.0, "{measurement:?}");
    assert_eq!(measurement.found, 3_000);
}

#[tokio::test(start_paused = true)]
async fn a_room_that_is_not_busy_has_one_shard() {
    let measurement = measured(2_000, 1).await;
    assert_eq!((measurement.shards, measurement.found), (1, 2_000), "{measurement:?}");
    // A claim, at most an arrival each, two rows, and for each duplicate what its claim is refused with.
    assert!(measurement.write_units_each < 4.6, "{measurement:?}");
}
