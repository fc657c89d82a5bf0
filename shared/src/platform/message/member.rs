//! The members of commands: how each kind of value is read, written, searched by, and what the
//! schema says of it.

use super::{Body, CommandError, LogIds, Members, Plain};
#[cfg(test)]
use super::{MemberSchema, ValueSchema};
use crate::platform::register::Register;
use crate::platform::values::{
    ActivityId, ActorId, AlertId, BattleId, Choice, CustomerId, EventId, EventName, HitId, Kind,
    MessageId, Payload, PollId, RoomId, RuleId, ScoreId, TenantId, Timestamp, ViewerId,
};
#[cfg(test)]
use crate::platform::values::{
    MAX_CHOICE_LENGTH, MAX_EVENT_NAME_LENGTH, MAX_ID_LENGTH, MAX_KIND_LENGTH, MAX_PAYLOAD_BYTES,
    MAX_PAYLOAD_DEPTH,
};

/// The value of a member, or of several that belong together.
pub trait Member: Sized {
    /// The names of the members, if they do not have that of their field.
    const MEMBERS: &'static [&'static str] = &[];

    /// # Errors
    /// [`CommandError`] names the member and what was expected; it is permanent.
    fn read(members: &Members<'_>, name: &'static str) -> Result<Self, CommandError>;

    fn write(&self, name: &'static str, body: Body) -> Body;

    /// Adds the ids that log lines are searched by.
    fn note(&self, _: &'static str, _: &mut LogIds) {}

    #[cfg(test)]
    fn schema() -> ValueSchema;

    #[cfg(test)]
    fn members(name: &'static str, doc: &'static str) -> Vec<MemberSchema> {
        vec![MemberSchema::new(name, doc, Self::schema())]
    }
}

/// A field by which a command is of one of two types: the first sets it, the second undoes it.
pub trait State: Sized {
    /// The names of the members, if they do not have that of their field.
    const MEMBERS: &'static [&'static str] = &[];

    fn is_set(&self) -> bool;

    /// # Errors
    /// [`CommandError`] names the member and what was expected; it is permanent.
    fn read(is_set: bool, name: &'static str, members: &Members<'_>) -> Result<Self, CommandError>;

    fn write(&self, name: &'static str, body: Body) -> Body;

    #[cfg(test)]
    fn members(is_set: bool, name: &'static str, doc: &'static str) -> Vec<MemberSchema>;
}

/// Ids and words: text that their type checks. Log lines are searched by ids.
macro_rules! texts {
    ($($($text:ident),+: $schema:expr;)+) => {$($(
        impl Plain for $text {}

        impl Member for $text {
            fn read(members: &Members<'_>, name: &'static str) -> Result<Self, CommandError> {
                members.parsed(name, Self::new)
            }

            fn write(&self, name: &'static str, body: Body) -> Body {
                body.text(name, self)
            }

            fn note(&self, name: &'static str, ids: &mut LogIds) {
                ids.set(name, self.to_string());
            }

            #[cfg(test)]
            fn schema() -> ValueSchema {
                $schema
            }
        }
    )+)+};
}

texts! {
    ActivityId, ActorId, AlertId, BattleId, CustomerId, EventId, HitId, MessageId, PollId, RoomId, RuleId, ScoreId, TenantId,
    ViewerId: ValueSchema::id(MAX_ID_LENGTH).named("id");
    Choice: ValueSchema::id(MAX_CHOICE_LENGTH).named("choice");
    EventName: ValueSchema::word("", MAX_EVENT_NAME_LENGTH).named("name");
}

/// From 2015 to five minutes after now.
impl Member for Timestamp {
    fn read(members: &Members<'_>, name: &'static str) -> Result<Self, CommandError> {
        members.instant(name)
    }

    fn write(&self, name: &'static str, body: Body) -> Body {
        body.text(name, self)
    }

    #[cfg(test)]
    fn schema() -> ValueSchema {
        let doc = "RFC 3339 with any offset, kept to the millisecond: finer digits are cut. From 2015-01-01T00:00:00Z to five minutes after now, which a schema cannot say.";
        ValueSchema::instant(doc).named("instant")
    }
}

/// `post`, if it is not given.
impl Member for Kind {
    fn read(members: &Members<'_>, _: &'static str) -> Result<Self, CommandError> {
        Ok(members.kind()?.unwrap_or_default())
    }

    fn write(&self, name: &'static str, body: Body) -> Body {
        body.text(name, self)
    }

    #[cfg(test)]
    fn schema() -> ValueSchema {
        <Option<Self>>::schema().or(r#""post""#)
    }
}

impl Member for Option<Kind> {
    fn read(members: &Members<'_>, _: &'static str) -> Result<Self, CommandError> {
        members.kind()
    }

    fn write(&self, name: &'static str, body: Body) -> Body {
        self.iter().fold(body, |body, kind| body.text(name, kind))
    }

    #[cfg(test)]
    fn schema() -> ValueSchema {
        let about = "The sort of the activity; null stands for not given. ";
        ValueSchema::word(about, MAX_KIND_LENGTH).or_null().named("kind").optional()
    }
}

/// `null`, if it is not given.
impl Member for Payload {
    fn read(members: &Members<'_>, name: &'static str) -> Result<Self, CommandError> {
        Ok(members.json(name)?.unwrap_or_default())
    }

    fn write(&self, name: &'static str, body: Body) -> Body {
        body.json(name, self.as_json())
    }

    #[cfg(test)]
    fn schema() -> ValueSchema {
        let doc = format!(
            "Any JSON value of at most {MAX_PAYLOAD_BYTES} bytes as sent, at most {MAX_PAYLOAD_DEPTH} levels deep and without lone surrogates (which a schema cannot say), given back to readers byte for byte."
        );
        ValueSchema::new("").described(&doc).named("payload").or("null")
    }
}

/// A whole number. Commands say their own bounds.
impl Member for u64 {
    fn read(members: &Members<'_>, name: &'static str) -> Result<Self, CommandError> {
        members.number(name, 0..=Self::MAX, "a whole number")
    }

    fn write(&self, name: &'static str, body: Body) -> Body {
        body.json(name, &self.to_string())
    }

    #[cfg(test)]
    fn schema() -> ValueSchema {
        ValueSchema::integer(0..=Self::MAX)
    }
}

/// False, if it is not given.
impl Member for bool {
    fn read(members: &Members<'_>, name: &'static str) -> Result<Self, CommandError> {
        Ok(members.truth(name)?.unwrap_or_default())
    }

    fn write(&self, name: &'static str, body: Body) -> Body {
        if *self { body.json(name, "true") } else { body }
    }

    #[cfg(test)]
    fn schema() -> ValueSchema {
        ValueSchema::new(r#""type": "boolean""#).or("false")
    }
}

/// A register of the command's subject. Its instant is `at`.
impl State for Register {
    const MEMBERS: &'static [&'static str] = &["at"];

    fn is_set(&self) -> bool {
        self.on
    }

    fn read(is_set: bool, _: &'static str, members: &Members<'_>) -> Result<Self, CommandError> {
        Ok(Self { on: is_set, changed_at: members.instant("at")? })
    }

    fn write(&self, _: &'static str, body: Body) -> Body {
        body.text("at", &self.changed_at)
    }

    #[cfg(test)]
    fn members(_: bool, _: &'static str, doc: &'static str) -> Vec<MemberSchema> {
        Timestamp::members("at", doc)
    }
}

/// What only the first of both types has.
impl<T: Member> State for Option<T> {
    const MEMBERS: &'static [&'static str] = T::MEMBERS;

    fn is_set(&self) -> bool {
        self.is_some()
    }

    fn read(is_set: bool, name: &'static str, members: &Members<'_>) -> Result<Self, CommandError> {
        is_set.then(|| T::read(members, name)).transpose()
    }

    fn write(&self, name: &'static str, body: Body) -> Body {
        self.iter().fold(body, |body, value| value.write(name, body))
    }

    #[cfg(test)]
    fn members(is_set: bool, name: &'static str, doc: &'static str) -> Vec<MemberSchema> {
        if is_set { T::members(name, doc) } else { Vec::new() }
    }
}
