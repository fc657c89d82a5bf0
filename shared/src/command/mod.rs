//! The commands there are. Each is declared by its feature ([`CommandPayload`]); this is the list of them.
//!
//! What the writer sends to itself goes back to the queue that producers send to, sealed
//! ([`InternalSeal`]).

mod internal;

use std::fmt::Write;

use crate::history::events::{EventRecorded, EventsRecorded};
use crate::history::tenants::{AlertsRead, CustomerUpdated, RuleChange, ScoreChange};
use crate::platform::dynamo::item::Key;
#[cfg(test)]
use crate::platform::message::TypeSchema;
use crate::platform::message::{
    Body, CommandError, CommandPayload, LogIds, MemberNames, Members, TYPE,
};
use crate::platform::projection::UnfoldedChange;
use crate::platform::queue::Message;
use crate::platform::values::{Origin, Timestamp};
use crate::social::activities::owner;
use crate::social::activities::{ActivityUpdate, Delete, Publish};
use crate::social::battles::{BattleHit, BattleOpened, BattleRow};
use crate::social::fanout::FanOutSegment;
use crate::social::follows::FollowChange;
use crate::social::likes::{self, LikeChange};
use crate::social::notifications::{self, MarkRead};
use crate::social::polls::keys::PollRow;
use crate::social::polls::{PollClosed, PollOpened, Vote};
use crate::social::profiles::ProfileUpdate;
use crate::social::rooms::{MembershipChange, MessageDeleted, MessagePosted};
use crate::social::tags::TagChange;

use internal::{CONTINUED, INTERNAL};
pub use internal::{InternalSeal, MAX_INTERNAL_LENGTH};

/// Declares [`Command`] and all that is said of each of its variants.
macro_rules! commands {
    ($($about:literal { $($variant:ident($fact:ty),)+ })+) => {
        /// One change that a producer asks for, or that the writer asks of itself.
        #[derive(Debug, Clone, PartialEq, Eq)]
        pub enum Command {
            $($(
                #[doc = concat!("See [`", stringify!($fact), "`].")]
                $variant($fact),
            )+)+
            /// Not for producers: the writer sends it to itself, sealed.
            Segment(FanOutSegment),
            /// Not for producers: a projector makes it, sealed, of a change that it cannot fold.
            Changed(UnfoldedChange),
            /// `command.continued`. Not for producers: the writer sends it to itself, sealed.
            Continued(Continued),
        }

        /// The types of producers' commands.
        const TYPES: &[&[&str]] = &[$($(<$fact>::TYPES,)+)+];
        /// Their members, and those of internal commands.
        const NAMES: MemberNames = &[&[TYPE], $($(<$fact>::MEMBERS,)+)+ INTERNAL_MEMBERS];

        /// What the schema says of the types of producers' commands, each with what it is about.
        #[cfg(test)]
        fn types() -> Vec<(&'static str, TypeSchema)> {
            let types = [$($(($about, <$fact>::types()),)+)+];
            let of_one = |(about, types): (_, Vec<_>)| types.into_iter().map(move |it| (about, it));
            types.into_iter().flat_map(of_one).collect()
        }

        impl Command {
            fn read(type_name: &str, members: &Members<'_>) -> Result<Self, CommandError> {
                $($(
                    if <$fact>::TYPES.contains(&type_name) {
                        return <$fact>::read(type_name, members).map(Self::$variant);
                    }
                )+)+
                Err(unknown_type(type_name))
            }

            /// The `type` member of this command.
            pub fn type_name(&self) -> &'static str {
                match self {
                    $($(Self::$variant(fact) => fact.type_name(),)+)+
                    Self::Segment(segment) => segment.type_name(),
                    Self::Changed(change) => change.type_name(),
                    Self::Continued(_) => CONTINUED,
                }
            }

            fn write(&self, body: Body) -> Body {
                match self {
                    $($(Self::$variant(fact) => fact.write(body),)+)+
                    Self::Segment(segment) => segment.write(body),
                    Self::Changed(change) => change.write(body),
                    Self::Continued(continued) => continued.write(body),
                }
            }

            /// The ids that it is about: what a log line is searched by.
            pub fn subject(&self) -> LogIds {
                match self {
                    $($(Self::$variant(fact) => fact.subject(),)+)+
                    Self::Segment(segment) => segment.subject(),
                    Self::Changed(change) => subject_of(change),
                    Self::Continued(continued) => continued.command.subject(),
                }
            }

            /// The person, or the tenant, whose command it is; `None` for the writer's own.
            pub fn person(&self) -> Option<&str> {
                match self {
                    $($(Self::$variant(fact) => Some(fact.person()),)+)+
                    Self::Segment(_) | Self::Changed(_) | Self::Continued(_) => None,
                }
            }

            /// True if it changes pages of [one moment](CommandPayload::SHOWN).
            pub fn is_shown(&self) -> bool {
                match self {
                    $($(Self::$variant(_) => <$fact>::SHOWN,)+)+
                    Self::Segment(_) => FanOutSegment::SHOWN,
                    Self::Changed(_) => UnfoldedChange::SHOWN,
                    Self::Continued(continued) => continued.command.is_shown(),
                }
            }

            /// What fair queues group messages by: the actor or followee, the viewer of a profile, the room,
            /// the tenant.
            pub fn group(&self) -> &str {
                match self {
                    $($(Self::$variant(fact) => fact.group(),)+)+
                    Self::Segment(segment) => segment.group(),
                    Self::Changed(change) => change.group(),
                    Self::Continued(continued) => continued.command.group(),
                }
            }
        }
    };
}

// The headings are those of forms and of docs/PRODUCERS.md.
commands! {
    "Activities" {
        Publish(Publish),
        Update(ActivityUpdate),
        Delete(Delete),
    }
    "Follows" {
        Follow(FollowChange),
    }
    "Profiles" {
        Profile(ProfileUpdate),
    }
    "Likes and notifications" {
        Like(LikeChange),
        MarkRead(MarkRead),
    }
    "Polls" {
        OpenPoll(PollOpened),
        ClosePoll(PollClosed),
        Vote(Vote),
    }
    "Battles" {
        OpenBattle(BattleOpened),
        Hit(BattleHit),
    }
    "Tags" {
        Tag(TagChange),
    }
    "Rooms" {
        Post(MessagePosted),
        DeleteMessage(MessageDeleted),
        Membership(MembershipChange),
    }
    "Events" {
        RecordEvent(EventRecorded),
        RecordEvents(EventsRecorded),
    }
    "Tenants" {
        UpdateCustomer(CustomerUpdated),
        Rule(RuleChange),
        Score(ScoreChange),
        ReadAlerts(AlertsRead),
    }
}

/// The rest of a command that an earlier delivery acknowledged before all of it was done, because
/// it takes longer than one invocation. How far it has come is noted in the ledger.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Continued {
    /// The id of the message with which the command came first: its progress is noted under it.
    pub origin: Origin,
    /// Whether an earlier delivery may have died half-way.
    pub redelivered: bool,
    /// The command, which is not itself continued.
    pub command: Box<Command>,
}

/// Members of internal commands.
const INTERNAL_MEMBERS: &[&str] = &[
    "followers",
    "origin",
    "redelivered",
    "seal",
    "command",
    "key",
    "view",
    "shard",
    "sequence",
    "before",
    "after",
];

impl Command {
    /// Reads one message body of a producer at the instant `now`. An internal command is none.
    ///
    /// # Errors
    /// [`CommandError`] names the member and what was expected; it is permanent.
    pub fn parse(body: &str, now: Timestamp) -> Result<Self, CommandError> {
        Self::open(body, now, |_, _| false)
    }

    /// The same for those who look at bodies and apply none: internal commands are read too, whoever
    /// sealed them.
    ///
    /// # Errors
    /// [`CommandError`] names the member and what was expected; it is permanent.
    pub fn parse_unverified(body: &str, now: Timestamp) -> Result<Self, CommandError> {
        Self::open(body, now, |_, _| true)
    }

    /// Reads a body, and an envelope for whose seal and command `is_sealed` vouches.
    fn open(
        body: &str,
        now: Timestamp,
        is_sealed: impl FnOnce(&str, &str) -> bool,
    ) -> Result<Self, CommandError> {
        let members = Members::read(body, NAMES, now)?;
        let type_name = members.string(TYPE)?;
        if type_name != INTERNAL {
            return Self::read(&type_name, &members);
        }
        match (members.string("seal"), members.required("command")) {
            (Ok(seal), Ok(command))
                if body.len() <= MAX_INTERNAL_LENGTH && is_sealed(&seal, command) =>
            {
                Self::read_internal(&Members::read(command, NAMES, now)?)
            }
            _ => Err(unknown_type(&type_name)),
        }
    }

    /// Reads an internal command: a segment, a change, or the rest of a command.
    fn read_internal(members: &Members<'_>) -> Result<Self, CommandError> {
        let type_name = members.string(TYPE)?;
        match type_name.as_str() {
            CONTINUED => Continued::read(members).map(Self::Continued),
            other => internal(other, members).unwrap_or_else(|| Err(unknown_type(other))),
        }
    }

    /// The message body that [`parse`](Self::parse) reads back, if the command is a producer's. That of
    /// an internal command goes into an envelope ([`InternalSeal`]).
    pub fn to_body(&self) -> String {
        self.write(Body::new(self.type_name())).end()
    }

    /// True for what is sealed: what the writer sends to itself, and what a projector could not fold.
    pub fn is_internal(&self) -> bool {
        matches!(self, Self::Segment(_) | Self::Changed(_) | Self::Continued(_))
    }
}

impl Continued {
    /// What is continued is not itself continued: a body nested in itself a thousand times is not
    /// followed down.
    fn read(members: &Members<'_>) -> Result<Self, CommandError> {
        let origin = members.parsed("origin", |text| text.parse::<Origin>())?;
        let command = members.required("command")?;
        let redelivered = members.raw("redelivered")? == Some("true");
        let members = Members::read(command, NAMES, members.now())?;
        let type_name = members.string(TYPE)?;
        let command = internal(&type_name, &members)
            .unwrap_or_else(|| Command::read(&type_name, &members))?;
        Ok(Self { origin, redelivered, command: Box::new(command) })
    }

    fn write(&self, body: Body) -> Body {
        let body = body.text("origin", &self.origin);
        let body = if self.redelivered { body.json("redelivered", "true") } else { body };
        body.json("command", &self.command.to_body())
    }
}

/// Reads a segment of a fan-out or a change, if the type says that it is one.
fn internal(type_name: &str, members: &Members<'_>) -> Option<Result<Command, CommandError>> {
    if FanOutSegment::TYPES.contains(&type_name) {
        return Some(FanOutSegment::read(type_name, members).map(Command::Segment));
    }
    let is_change = UnfoldedChange::TYPES.contains(&type_name);
    is_change.then(|| UnfoldedChange::read(type_name, members).map(Command::Changed))
}

/// The ids that a change is about: those of the command that the row is of.
fn subject_of(change: &UnfoldedChange) -> LogIds {
    let key @ Key { pk, sk } = &change.key;
    let text = |id: &dyn std::fmt::Display| Some(id.to_string());
    let of_viewer = likes::keys::of_like(pk, sk).or_else(|| notifications::keys::of_mark(pk, sk));
    let mut subject = LogIds::default();
    if let Some((viewer, activity)) = of_viewer {
        (subject.viewer_id, subject.activity_id) = (text(&viewer), text(&activity));
    } else if let Some(activity) = owner::of_key(pk, sk) {
        subject.activity_id = text(&activity);
    } else if let Some(row) = PollRow::of(key) {
        subject.poll_id = text(row.poll());
        match &row {
            PollRow::Vote(viewer, _) => subject.viewer_id = text(viewer),
            PollRow::End(_, actor) => subject.actor_id = text(actor),
            PollRow::Opened(_) => {}
        }
    } else if let Some(row) = BattleRow::of(key) {
        subject.battle_id = text(row.battle());
        if let BattleRow::Hit(_, hit) = &row {
            subject.hit_id = text(hit);
        }
    }
    subject
}

impl From<&Command> for Message {
    fn from(command: &Command) -> Self {
        let group = Some(command.group().to_string());
        Self { body: command.to_body(), group, ..Self::default() }
    }
}

fn unknown_type(found: &str) -> CommandError {
    let types: Vec<_> = TYPES.iter().flat_map(|types| types.iter()).copied().collect();
    let mut expected = String::new();
    for (index, name) in types.iter().enumerate() {
        let separator = match index {
            0 => "",
            _ if index + 1 == types.len() => " or ",
            _ => ", ",
        };
        // Writing to a string cannot fail.
        let _ = write!(expected, "{separator}{name}");
    }
    CommandError::unknown_type(found, expected)
}

#[cfg(test)]
mod schema;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod unknown_members;
