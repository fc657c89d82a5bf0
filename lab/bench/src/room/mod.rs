//! `nagare-bench room`: the messages of one room, through the code that ships.
//!
//! ```text
//! report   what is printed
//! ```

mod report;
#[cfg(test)]
mod simulated;

use std::time::Duration;

use clap::Args;
use futures::future::try_join;
use nagare::Failure;
use shared::command::Command;
use shared::platform::dynamo::DynamoError;
use shared::platform::paging::RowChunk;
use shared::platform::values::{MessageId, Order, Payload, RoomId, Span, Timestamp, ViewerId};
use shared::social::rooms::{
    ArrivalPosition, Effort, MessageKey, MessageList, MessagePosted, MessagesQuery, RoomMessage,
    Rooms,
};
use tokio::time::Instant;

use super::deliveries::repeated;
use super::running::{Running, WRITERS, queue, send};
use super::stage::{Stage, broken};
use super::{Setting, follower, in_flight, number, share};
use report::{RoomMeasurement, print_rooms};

/// Messages on a page.
const PAGE: usize = 100;
/// How often the newest page is read.
const READS: usize = 200;
/// Messages have instants that lie so close together, as in a chat of three thousand a second.
const A_MILLISECOND: usize = 3;

#[derive(Debug, Args)]
pub(crate) struct Room {
    /// How many messages there are.
    #[arg(long, value_name = "N", default_value_t = 60_000, value_parser = number)]
    messages: usize,
    /// How many authors they have, in turn.
    #[arg(long, value_name = "N", default_value_t = 5_000, value_parser = number)]
    authors: usize,
    /// The share of messages that are delivered twice, from 0 to 1.
    #[arg(long, value_name = "SHARE", default_value = "0.1", value_parser = share)]
    duplicates: f64,
    /// What the tables admit, as `nagare up` takes it; several times, for one run each.
    #[arg(long, value_name = "FAULTS", default_value = "partition-writes=1000")]
    faults: Vec<Setting>,
    /// Invocations of the writer at once.
    #[arg(long, value_name = "N", default_value_t = WRITERS, value_parser = in_flight)]
    writers: usize,
    /// Print one JSON object a line.
    #[arg(long)]
    json: bool,
}

/// What was read of the room in the end.
struct RoomRead {
    /// Messages that were found, in order and each once.
    found: usize,
    shards: u16,
    /// How long each reading of the newest page took.
    took: Vec<Duration>,
}

impl Room {
    pub(super) async fn run(self) -> Result<(), Failure> {
        let mut all = Vec::new();
        for setting in &self.faults {
            all.push(self.measure(setting).await?);
        }
        print_rooms(&all, self.json)
    }

    async fn measure(&self, setting: &Setting) -> Result<RoomMeasurement, Failure> {
        let stage = Stage::new(&setting.faults)?;
        let (room, now) = (RoomId::new("bench-room")?, stage.clock.now());
        let messages = (0..self.messages).map(|number| self.message(&room, number, now));
        let deliveries = repeated(messages.collect::<Result<_, _>>()?, self.duplicates);
        send(&queue(&stage)?, &deliveries)?;
        let running = Running::start(&stage, self.writers)?;
        let begun = Instant::now();
        running.end().await?;
        let (ended, measured) = (Instant::now(), stage.meter.read());
        let read = read(&stage, &room).await?;
        let counts = (self.messages, deliveries.len());
        Ok(RoomMeasurement::of(
            &setting.text,
            counts,
            &measured,
            ended.duration_since(begun),
            &read,
        ))
    }

    fn message(&self, room: &RoomId, number: usize, now: Timestamp) -> Result<Command, Failure> {
        let key = MessageKey {
            room_id: room.clone(),
            message_id: MessageId::new(format!("message-{number:07}"))?,
            author_id: ViewerId::new(follower((number % self.authors) as u64))?,
        };
        let payload = Payload::parse(&format!(r#"{{"text":"message {number} of a busy chat"}}"#));
        let payload = payload.map_err(|e| broken(&e))?;
        let before = (self.messages - number) / A_MILLISECOND;
        let at = now.plus_millis(-i64::try_from(before).unwrap_or(0));
        Ok(Command::Post(MessagePosted { key, at, payload, private: false }))
    }
}

/// Walks through all pages, and reads the newest again and again.
async fn read(stage: &Stage, room: &RoomId) -> Result<RoomRead, Failure> {
    let rooms = Rooms::new(&stage.tables.ledger);
    let shards = rooms.room(room).await?.shards.count();
    let (mut all, mut after) = (Vec::new(), None);
    loop {
        let page = page(&rooms, room, after.as_deref()).await?;
        all.extend(page.rows.into_iter().map(|message| message.sort_key));
        after = page.next;
        if after.is_none() {
            break;
        }
    }
    if !all.is_sorted_by(|later, earlier| later > earlier) {
        return Err(Failure::No("the messages are not read in order, each once".to_owned()));
    }
    let mut took = Vec::with_capacity(READS);
    for _ in 0..READS {
        let begun = Instant::now();
        page(&rooms, room, None).await?;
        took.push(begun.elapsed());
    }
    Ok(RoomRead { found: all.len(), shards, took })
}

/// A page as a reader reads it, of all that has arrived.
async fn page(
    rooms: &Rooms,
    room: &RoomId,
    after: Option<&str>,
) -> Result<RowChunk<RoomMessage>, DynamoError> {
    let (known, last) = try_join(rooms.room(room), rooms.last_arrivals(room)).await?;
    let list = MessageList { room, shards: known.shards, author: None };
    let until = last.map_or(ArrivalPosition::NOTHING, |last| ArrivalPosition::end_of(last.number));
    let asked = MessagesQuery { span: Span::all(Order::Newest), after, wanted: PAGE + 1, until };
    let entrance = rooms.entrance(room, None);
    let mut effort = Effort::of_page(PAGE + 1, 0);
    let messages = rooms.messages(list, asked, &mut effort);
    try_join(messages, entrance).await.map(|(page, _)| page)
}
