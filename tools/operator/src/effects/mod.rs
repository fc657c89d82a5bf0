//! Whether a command that was sent is in effect: what `--wait` waits for.
//!
//! # Why the answer is exact
//!
//! SQS does not tell a producer what became of a message, and its numbers of messages are approximate. So the tables are asked, with
//! strongly consistent reads. Commands are idempotent: each states a fact in the ledger and makes the timelines agree with the
//! ledger. A command is therefore done when applying it would change nothing:
//!
//! * **The fact.** Merging it into what is on record changes nothing. If the record holds this very fact, the command counts. If it
//!   holds one that wins, the command was overtaken, and is done.
//! * **The timelines.** Every entry that follows from the fact is read. For a follow or unfollow these are the entries of one
//!   timeline, one for each activity in the actor's outbox. Then the edge is read once more, because whoever changes it takes over.
//!   For a publish or delete it is one entry for each follower, read after the outbox row was there: who follows later reconciles
//!   their own timeline. A fan-out that was cut into segments notes its own end, after every segment was checked twice
//!   ([`shared::social::fanout`]).
//! * **The readers.** A follow is done when its actor is no longer hidden. An edit or a delete counts from when the record says so.
//!   Readers with a cached record are told a moment later, before the command is acknowledged.
//! * **The count.** A like is done when its row is recorded. The count follows, normally within a second. The status of a like says
//!   so if nobody has published its activity.
//! * **Tags.** A tag is done when it is recorded and, if its activity is published, listed for the person who is tagged. A publish is
//!   done when it is listed for everybody who was tagged before.
//! * **Polls and battles.** A vote is done when it is recorded; the sums follow like the count of likes. A vote outside the poll's
//!   time, or for a choice that the poll does not have, is without effect. A hit is done when it has landed, or when it is too late;
//!   the status says which.
//! * **Rooms.** A message is done when its claim and both its rows are there. A delete is done when its marker is there and both rows
//!   are tombstones.
//! * **Events.** An event is done when it is in its table. A message with several is done when each of them is there, or is refused.
//! * **The dead letter.** It has the id of the message and its body. A refusal may be counted without one.
//!
//! A command may be in effect because the same command was sent before; then this one changes nothing. Nothing is ever concluded from
//! time that has passed, or from an empty queue. If none of the above holds, the command is [`Pending`](CommandStatus::Pending).
//!
//! # What it costs
//!
//! A look reads the dead letter and the record. The entries are read once, a hundred a call, and a look continues where the last one
//! stopped. A publish to N followers, few enough not to be cut into segments, costs N reads of edges and N of entries. A follow costs
//! as many reads of entries as the actor published within retention. It takes the permissions that an audit takes: `GetItem`,
//! `BatchGetItem` and `Query` on four of the tables.

mod activities;
mod follows;
mod polls_battles;
mod rooms;
mod tags;
mod tenants;
mod viewers;

use std::cmp::Ordering;

use futures::future::BoxFuture;
use nagare_client::clock::clock;
use nagare_client::failure::Failure;
use nagare_client::remote::Remote;
use shared::command::Command;
use shared::history::events::{EventRecorded, Events};
use shared::history::refusals::Refusals;
use shared::platform::dead_letters::DeadLetters;
use shared::platform::ledger::Ledger;
use shared::platform::runtime::clock::Clock;
use shared::platform::values::Retention;
use shared::social::activities::Activities;
use shared::social::battles::Battles;
use shared::social::fanout::FanOuts;
use shared::social::follows::Follows;
use shared::social::likes::Likes;
use shared::social::notifications::Notifications;
use shared::social::polls::Polls;
use shared::social::profiles::Profiles;
use shared::social::rooms::Rooms;
use shared::social::tags::Tags;
use shared::social::timelines::Timelines;

use super::Result;
use activities::FollowersSeen;
use follows::RowsSeen;

/// Pages that one look goes through at most, so that those who wait can give up in between.
const PAGES: usize = 20;

type Looked = Result<CommandStatus>;

/// What became of a command, as far as the tables say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CommandStatus {
    /// Nothing is known yet.
    Pending,
    Applied {
        /// The number of entries that it inserted into timelines, if it is a command that inserts any.
        entries: Option<u64>,
        /// What else there is to know about its effect.
        remark: Option<&'static str>,
    },
    /// It was applied and has no effect, or will have none, for this reason.
    Overtaken(String),
    DeadLetter {
        /// Why, in a short fixed word.
        reason: String,
        /// Why, in a sentence.
        detail: String,
    },
}

impl CommandStatus {
    /// In effect, without entries or a remark.
    fn applied() -> Self {
        Self::Applied { entries: None, remark: None }
    }

    fn with_entries(entries: u64) -> Self {
        Self::Applied { entries: Some(entries), remark: None }
    }

    fn applied_if(is_there: bool) -> Self {
        if is_there { Self::applied() } else { Self::Pending }
    }

    fn overtaken(why: impl Into<String>) -> Self {
        Self::Overtaken(why.into())
    }

    /// In effect if the record holds what was sent, and overtaken if it holds something greater, which wins.
    fn of_record<T: PartialOrd>(
        there: Option<T>,
        sent: T,
        overtaken: impl FnOnce(T) -> String,
    ) -> Self {
        let Some(there) = there else { return Self::Pending };
        match there.partial_cmp(&sent) {
            Some(Ordering::Equal) => Self::applied(),
            Some(Ordering::Greater) => Self::Overtaken(overtaken(there)),
            _ => Self::Pending,
        }
    }

    fn but(remark: &'static str) -> Self {
        Self::Applied { entries: None, remark: Some(remark) }
    }
}

/// The tables in which effects are looked for. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Effects {
    activities: Activities,
    follows: Follows,
    ledger: Ledger,
    profiles: Profiles,
    likes: Likes,
    notifications: Notifications,
    polls: Polls,
    battles: Battles,
    tags: Tags,
    rooms: Rooms,
    events: Events,
    fan_outs: FanOuts,
    timelines: Timelines,
    letters: DeadLetters,
    retention: Retention,
    clock: Clock,
}

impl Effects {
    /// Looks for effects in the tables of a stack.
    ///
    /// # Errors
    /// [`Failure::Usage`] if a table is not named.
    pub fn new(remote: &Remote) -> Result<Self, Failure> {
        let (ledger, facts) = (remote.ledger()?, remote.facts()?);
        let (timelines, letters, views) =
            (remote.timelines()?, remote.dead_letters()?, remote.views()?);
        Ok(Self {
            activities: Activities::new(&ledger),
            follows: Follows::new(&ledger),
            profiles: Profiles::new(&ledger),
            likes: Likes::new(&facts),
            notifications: Notifications::new(&facts, &views),
            polls: Polls::new(&facts, &views),
            battles: Battles::new(&facts, &views),
            tags: Tags::new(&ledger),
            rooms: Rooms::new(&ledger),
            fan_outs: FanOuts::new(&ledger),
            ledger,
            timelines,
            letters,
            retention: remote.retention()?,
            events: remote.events()?,
            clock: clock(),
        })
    }

    /// Watches a command that was sent as the message with this id.
    pub fn watch(&self, command: Command, message_id: String) -> Watch<'_> {
        let (followers, rows) = Default::default();
        Watch { effects: self, body: command.to_body(), command, message_id, followers, rows }
    }

    /// The dead letter of a message, if there is one.
    async fn letter(&self, message_id: &str, body: &str) -> Result<Option<CommandStatus>> {
        let letter = self.letters.get(message_id).await?;
        // Anybody who may send to the dead-letter queue can use any id.
        if let Some(letter) = letter.filter(|letter| letter.body == body) {
            return Ok(Some(CommandStatus::DeadLetter {
                reason: letter.reason,
                detail: letter.detail,
            }));
        }
        // Of a subject with many letters, further refusals are only counted. A refusal with a letter is seen once that is there.
        let Ok(origin) = message_id.parse() else { return Ok(None) };
        let reason = Refusals::new(&self.ledger).unkept(&origin).await?;
        Ok(reason.map(|reason| CommandStatus::DeadLetter {
            reason: reason.to_string(),
            detail:
                "refused like many of the same person or tenant today, and counted without a letter"
                    .to_owned(),
        }))
    }
}

/// A command that was sent, and how much of its effect has been seen.
#[derive(Debug)]
pub struct Watch<'a> {
    effects: &'a Effects,
    command: Command,
    body: String,
    message_id: String,
    followers: FollowersSeen,
    rows: RowsSeen,
}

impl Watch<'_> {
    /// Looks up what has become of the command by now.
    /// If it fails, it is safe to look again.
    pub fn look(&mut self) -> BoxFuture<'_, Looked> {
        Box::pin(async move {
            if let Some(letter) = self.effects.letter(&self.message_id, &self.body).await? {
                return Ok(letter);
            }
            let (effects, followers, rows) = (self.effects, &mut self.followers, &mut self.rows);
            match &self.command {
                Command::Publish(publish) => effects.published(publish, followers).await,
                Command::Update(update) => effects.updated(update).await,
                Command::Delete(delete) => effects.deleted(delete, followers).await,
                Command::Follow(change) => effects.followed(change, rows).await,
                Command::Profile(update) => effects.profile(update).await,
                Command::Like(change) => effects.liked(change).await,
                Command::MarkRead(mark) => effects.marked(mark, &self.message_id).await,
                Command::OpenPoll(opened) => effects.poll_opened(opened).await,
                Command::ClosePoll(closed) => effects.poll_closed(closed).await,
                Command::Vote(vote) => effects.voted(vote).await,
                Command::OpenBattle(opened) => effects.battle_opened(opened).await,
                Command::Hit(hit) => effects.hit(hit).await,
                Command::Tag(change) => effects.tagged(change).await,
                Command::Post(post) => effects.posted(post).await,
                Command::DeleteMessage(delete) => effects.message_deleted(delete).await,
                Command::Membership(change) => effects.membership(change).await,
                Command::RecordEvent(EventRecorded { event }) => effects.event(event).await,
                Command::RecordEvents(events) => effects.events(events).await,
                Command::UpdateCustomer(update) => effects.customer(update).await,
                Command::Rule(rule) => effects.rule(rule).await,
                Command::Score(score) => effects.score(score).await,
                Command::ReadAlerts(read) => effects.alerts_read(read).await,
                // The functions alone make these; what they do belongs to another command.
                Command::Segment(_) | Command::Changed(_) | Command::Continued(_) => {
                    Ok(CommandStatus::Pending)
                }
            }
        })
    }
}
