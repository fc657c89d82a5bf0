//! What messages and their pages cost: `nagare estimate` counts the units that the tables report, and what is read twice for
//! a page costs no more than its bound.

use nagare_operator::cost::work::Work;
use nagare_operator::cost::{Message, rooms};
use serde_json::{Value, json};
use shared::platform::values::{Order, RoomId, Span};
use shared::social::rooms::{ArrivalPosition, Effort, MessageList, MessagesQuery, Rooms, Shards};
use tests::World;

use super::{delete, ids, post};
use crate::platform::units::UnitCounter;

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

/// Of rounds that a page makes, all but the one that reads the room and its last arrivals.
const ROUNDS: usize = 7;

/// Something arrives while a page is read, above more than it passes that was deleted: then it reads its messages once more, with
/// what is left of its effort.
#[tokio::test(start_paused = true)]
async fn what_is_read_once_more_is_within_the_bound_of_a_page() {
    const GONE: usize = 1_300;
    let name = |n: usize| format!("gone{n:04}");
    let posts: Vec<_> = (0..GONE).map(|n| post("r", &name(n), "bob", 30)).collect();
    let deletes: Vec<_> = (0..GONE).map(|n| delete("r", &name(n), "bob")).collect();
    let counter = UnitCounter::new();
    let setting = async |world: &World| {
        world.done(&posts).await;
        world.done(&deletes).await;
        Rooms::new(&world.tables.ledger)
    };
    let (rooms, room) = (counter.uncounted(setting).await, RoomId::new("r").unwrap());
    for others in [0, 35] {
        let mut effort = Effort::of_page(21, others);
        for reading in 0..2 {
            let list = MessageList { room: &room, shards: Shards::ONE, author: None };
            let span = Span::all(Order::Newest);
            let until = ArrivalPosition::end_of(u64::MAX >> 8);
            let asked = MessagesQuery { span, after: None, wanted: 21, until };
            let read = rooms.messages(list, asked, &mut effort).await.unwrap();
            assert!(read.rows.is_empty() && read.next.is_some(), "{reading}: it comes further");
        }
        let used = counter.take();
        println!("beside {others} others: {used:?}");
        assert_eq!(used.calls, ROUNDS);
        assert!(used.reads + 2.0 * others as f64 + 8.0 <= 200.0, "{used:?}");
    }
}
