//! The members of commands: how each kind of value is read, written, and searched by.

use super::{Body, CommandError, LogIds, Members};
use crate::platform::values::{
    ActivityId, ActorId, BattleId, HitId, Kind, Payload, PollId, RoomId, TenantId, Timestamp,
    ViewerId,
};

/// The value of a member.
pub trait Member: Sized {
    /// # Errors
    /// [`CommandError`] names the member and what was expected; it is permanent.
    fn read(members: &Members<'_>, name: &'static str) -> Result<Self, CommandError>;

    fn write(&self, name: &'static str, body: Body) -> Body;

    /// Adds it to what a log line is searched by, if it is an id.
    fn note(&self, _: &'static str, _: &mut LogIds) {}
}

/// Ids are strings, and what log lines are searched by.
macro_rules! ids {
    ($($id:ident),* $(,)?) => {$(
        impl Member for $id {
            fn read(members: &Members<'_>, name: &'static str) -> Result<Self, CommandError> {
                members.parsed(name, Self::new)
            }

            fn write(&self, name: &'static str, body: Body) -> Body {
                body.text(name, self)
            }

            fn note(&self, name: &'static str, subject: &mut LogIds) {
                subject.set(name, self.to_string());
            }
        }
    )*};
}

ids! { ActivityId, ActorId, BattleId, HitId, PollId, RoomId, TenantId, ViewerId }

/// An instant from 2015 to five minutes after now.
impl Member for Timestamp {
    fn read(members: &Members<'_>, name: &'static str) -> Result<Self, CommandError> {
        members.instant(name)
    }

    fn write(&self, name: &'static str, body: Body) -> Body {
        body.text(name, self)
    }
}

/// Where it is not given, it is the default.
impl Member for Kind {
    fn read(members: &Members<'_>, _: &'static str) -> Result<Self, CommandError> {
        Ok(members.kind()?.unwrap_or_default())
    }

    fn write(&self, name: &'static str, body: Body) -> Body {
        body.text(name, self)
    }
}

/// Where it is not given, nothing changes.
impl Member for Option<Kind> {
    fn read(members: &Members<'_>, _: &'static str) -> Result<Self, CommandError> {
        members.kind()
    }

    fn write(&self, name: &'static str, body: Body) -> Body {
        self.iter().fold(body, |body, kind| body.text(name, kind))
    }
}

/// Where it is not given, it is `null`.
impl Member for Payload {
    fn read(members: &Members<'_>, name: &'static str) -> Result<Self, CommandError> {
        Ok(members.json(name)?.unwrap_or_default())
    }

    fn write(&self, name: &'static str, body: Body) -> Body {
        body.json(name, self.as_json())
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
}

/// Declares the command that a struct is: its types, the field that fair queues group its messages by, the field with its sender (`of`) if
/// that is another, `SHOWN` if it is, and its members. Members are fields of the same names, in the order in which they are written. A member that its type does not say all of has a reader of its own.
///
/// A command of two types is a [`Register`](crate::platform::register::Register) in its field `state`, with its instant in the member `at`: the first type sets it, the second
/// undoes it.
macro_rules! command {
    (
        $command:ty: [$type:literal] by $group:ident $(of $person:ident)? $(, $shown:ident)?
        { $($member:ident $(= $read:expr)?),+ $(,)? }
    ) => {
        impl $crate::platform::message::CommandPayload for $command {
            const TYPES: &'static [&'static str] = &[$type];
            const MEMBERS: &'static [&'static str] = &[$(stringify!($member)),+];

            fn read(
                _: &str,
                members: &$crate::platform::message::Members<'_>,
            ) -> Result<Self, $crate::platform::message::CommandError> {
                Ok(Self {
                    $($member: $crate::platform::message::command!(@read members $member $(= $read)?)?),+
                })
            }

            $crate::platform::message::command!(@common $group $(of $person)? $(, $shown)? [$($member)+]);
        }
    };
    (
        $command:ty: [$on:literal, $off:literal] by $group:ident $(of $person:ident)? $(, $shown:ident)?
        { $($member:ident),+ $(,)? }
    ) => {
        impl $crate::platform::message::CommandPayload for $command {
            const TYPES: &'static [&'static str] = &[$on, $off];
            const MEMBERS: &'static [&'static str] = &[$(stringify!($member)),+, "at"];

            fn type_name(&self) -> &'static str {
                if self.state.on { $on } else { $off }
            }

            fn read(
                type_name: &str,
                members: &$crate::platform::message::Members<'_>,
            ) -> Result<Self, $crate::platform::message::CommandError> {
                Ok(Self {
                    $($member: $crate::platform::message::command!(@read members $member)?,)+
                    state: $crate::platform::register::Register {
                        on: type_name == $on,
                        changed_at: members.instant("at")?,
                    },
                })
            }

            $crate::platform::message::command!(@common $group $(of $person)? $(, $shown)? [$($member)+] state);
        }
    };
    (@read $members:ident $member:ident = $read:expr) => {
        $read($members)
    };
    (@read $members:ident $member:ident) => {
        $crate::platform::message::Member::read($members, stringify!($member))
    };
    (@common $group:ident $(of $person:ident)? $(, $shown:ident)? [$($member:ident)+] $($state:ident)?) => {
        $(const $shown: bool = true;)?

        fn write(&self, body: $crate::platform::message::Body) -> $crate::platform::message::Body {
            use $crate::platform::message::Member as _;
            $(let body = self.$member.write(stringify!($member), body);)+
            $(let body = body.text("at", &self.$state.changed_at);)?
            body
        }

        fn subject(&self) -> $crate::platform::message::LogIds {
            use $crate::platform::message::Member as _;
            let mut subject = $crate::platform::message::LogIds::default();
            $(self.$member.note(stringify!($member), &mut subject);)+
            subject
        }

        fn group(&self) -> &str {
            self.$group.as_str()
        }

        $(fn person(&self) -> &str {
            self.$person.as_str()
        })?
    };
}

pub(crate) use command;
