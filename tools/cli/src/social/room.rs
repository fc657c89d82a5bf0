//! Rooms: `nagare say` and `unsay` send one command each, `nagare room` reads what was said.

use clap::Args;
use nagare_client::api::{Api, Query};
use nagare_client::clock;
use serde::Deserialize;
use serde_json::value::RawValue;
use shared::command::Command;
use shared::platform::values::{MessageId, Payload, RoomId, Timestamp, ViewerId};
use shared::social::rooms::{MessageDeleted, MessageKey, MessagePosted};
use uuid::Uuid;

use crate::Failure;
use crate::pages::{List, Pages, unexpected};
use crate::print::{one_line, printable, say};
use crate::submit::Submission;

/// The caller where no viewer is named: an API that takes tokens wants somebody's, and shows everybody an open room.
const ANYBODY: &str = "anybody";

#[derive(Debug, Args)]
pub(crate) struct Say {
    /// The room.
    room: RoomId,
    /// Who says it.
    author: ViewerId,
    /// What: sent as the payload {"text": TEXT}.
    #[arg(required_unless_present = "payload", conflicts_with = "payload")]
    text: Option<String>,
    /// Instead: any JSON value of at most 4 KiB.
    #[arg(long, value_name = "JSON")]
    payload: Option<Payload>,
    /// The message's id within its room: the same one is shown once, however often it is sent. One of its own, if it
    /// is not given.
    #[arg(long, value_name = "ID")]
    message_id: Option<MessageId>,
    /// When, as an RFC 3339 instant; now, if it is not given. It decides where in the room the message is.
    #[arg(long, value_name = "T")]
    at: Option<Timestamp>,
    /// Only members read it. The room is private from then on, permanently.
    #[arg(long)]
    private: bool,
    #[command(flatten)]
    submission: Submission,
}

#[derive(Debug, Args)]
pub(crate) struct Unsay {
    /// The room.
    room: RoomId,
    /// Who said it.
    author: ViewerId,
    /// The message's id.
    message: MessageId,
    #[command(flatten)]
    submission: Submission,
}

#[derive(Debug, Args)]
pub(crate) struct Room {
    /// The room.
    room: RoomId,
    /// Who reads: in a private room one of its members.
    #[arg(long)]
    viewer: Option<ViewerId>,
    /// Only what this author said.
    #[arg(long, conflicts_with = "cursor")]
    author: Option<ViewerId>,
    /// Show the latest page, the earliest first, and go on with what comes.
    #[arg(long, conflicts_with_all = ["order", "to", "all"])]
    follow: bool,
    #[command(flatten)]
    pages: Pages,
}

#[derive(Deserialize)]
struct Message<'a> {
    #[serde(borrow)]
    message_id: &'a str,
    author_id: &'a str,
    at: &'a str,
    payload: &'a RawValue,
}

/// What `nagare say` sends.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Text {
    text: String,
}

impl Say {
    pub(crate) async fn send(self) -> Result<(), Failure> {
        let Self {
            room: room_id,
            author: author_id,
            text,
            payload,
            message_id,
            at,
            private,
            submission,
        } = self;
        let message_id = match message_id {
            Some(message_id) => message_id,
            None => MessageId::new(Uuid::new_v4().to_string())?,
        };
        let payload = match payload {
            Some(payload) => payload,
            None => {
                let said = serde_json::json!({"text": text.unwrap_or_default()}).to_string();
                Payload::parse(&said).map_err(|e| Failure::Usage(format!("the text: {e}")))?
            }
        };
        let at = at.unwrap_or_else(|| clock::clock().now());
        let key = MessageKey { room_id, message_id, author_id };
        submission.send(Command::Post(MessagePosted { key, at, payload, private })).await
    }
}

impl Unsay {
    pub(crate) async fn send(self) -> Result<(), Failure> {
        let Self { room: room_id, author: author_id, message: message_id, submission } = self;
        let key = MessageKey { room_id, message_id, author_id };
        submission.send(Command::DeleteMessage(MessageDeleted { key })).await
    }
}

impl Room {
    pub(crate) async fn run(self) -> Result<(), Failure> {
        let Self { room, viewer, author, follow, pages } = self;
        let caller = viewer.as_ref().map_or(ANYBODY, ViewerId::as_str);
        let mut api = Api::on_behalf_of(caller).await?;
        let named = |name, id: &Option<ViewerId>| -> Query {
            id.iter().map(|id| (name, id.to_string())).collect()
        };
        let list = List {
            path: &["v1", "rooms", room.as_str(), "messages"],
            always: named("viewer", &viewer),
            at_first: named("author", &author),
            print: print_message,
            nothing: format!("nobody has said anything in {room}"),
        };
        match follow {
            true => pages.follow(&mut api, &list).await,
            false => pages.run(&mut api, &list).await,
        }
    }
}

/// Prints a message for people.
fn print_message(message: &RawValue) -> Result<(), Failure> {
    let Message { message_id, author_id, at, payload } =
        serde_json::from_str(message.get()).map_err(unexpected)?;
    let said = match serde_json::from_str::<Text>(payload.get()) {
        Ok(Text { text }) => printable(&text),
        Err(_) => one_line(payload),
    };
    say!("{at}  {author_id:<16} {message_id:<24} {said}")
}
