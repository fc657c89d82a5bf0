//! A page that reads its messages twice stays within its bound.

use shared::platform::values::{Order, RoomId, Span};
use shared::social::rooms::{ArrivalPosition, Effort, MessageList, MessagesQuery, Rooms, Shards};
use tests::World;

use super::{delete, post};
use crate::platform::units::UnitCounter;

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
