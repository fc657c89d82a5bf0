//! `nagare estimate` counts the units that the tables report for messages.

use nagare::cost::rooms::{self, Message};
use nagare::cost::work::Work;
use serde_json::{Value, json};

use super::{ids, post};
use crate::units::UnitCounter;

fn of(command: &Value) -> Message {
    let length = |name: &str| command[name].as_str().unwrap().len() as f64;
    let payload = command["payload"].to_string().len() as f64;
    let (room, id, author) = (length("room_id"), length("message_id"), length("author_id"));
    Message { room, id, author, payload }
}

#[tokio::test]
async fn of_messages_and_their_pages() {
    let counter = UnitCounter::new();
    // The first of a room finds no last row.
    counter.uncounted(async |world| world.done(&[post("r", "m000", "bob", 0)]).await).await;
    for length in [20, 700, 900, 1_000, 3_000] {
        let mut command = post("r", &format!("m{length}"), "bob", 1);
        command["payload"] = json!("x".repeat(length));
        counter.apply(std::slice::from_ref(&command)).await;
        let (said, used) = (rooms::message(&of(&command)), counter.take());
        assert_eq!((said.writes, said.reads), (used.writes, used.reads), "{length}");
    }
    let posts: Vec<_> = (0..30).map(|n| post("s", &format!("m{n:03}"), "bob", n)).collect();
    counter.uncounted(async |world| world.done(&posts).await).await;
    for shown in [1, 10, 20] {
        assert_eq!(ids(&counter.world, "s", &format!("limit={shown}")).await.len(), shown);
        // There is one more beyond the page.
        let read = (shown + 1) as f64;
        let (Work { reads, .. }, used) = (rooms::page(read, &of(&posts[0])), counter.take());
        assert_eq!((reads, 0.0), (used.reads, used.writes), "{shown}");
    }
}
