//! The command of notifications.

use serde::Serialize;
use serde_json::json;

use crate::platform::message::{Body, CommandError, Member, MemberError, Members, Object, command};
#[cfg(test)]
use crate::platform::message::{MemberSchema, ValueSchema};
use crate::platform::values::ViewerId;

command! {
    /// A viewer read notifications: those that are named, each up to the number that the answer
    /// gave, or all that exist when the command is processed. Notifications that came after the
    /// answer remain unread. A mark that is repeated, late, smaller than an earlier one, or of an
    /// unknown notification changes nothing, and so does a mark of another viewer's. A mark beyond
    /// the end marks everything until the end.
    MarkRead by viewer_id {
        /// The viewer who read them.
        viewer_id: ViewerId,
        what: Marked,
    }
    "notifications.read": r#"{ "viewer_id": "anna", "read": [{ "notification_id": "like:0:live-8391", "through": 5 }] }"#
}

/// Which notifications were read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Marked {
    /// These notifications, each up to the number in the answer.
    These(Vec<ReadThrough>),
    /// All notifications at the moment of processing.
    All,
}

/// A notification, and how much of it was read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ReadThrough {
    /// Its id. An id that was in no answer has no effect.
    pub notification_id: String,
    /// The number of its likes, from the earliest on.
    pub through: u64,
}

fn read_list(json: &str) -> Option<Vec<ReadThrough>> {
    let read = |object: &Object<'_>| {
        let notification_id = object.value("notification_id").ok()??;
        Some(ReadThrough { notification_id, through: object.value("through").ok()?? })
    };
    Object::list(json, &[&["notification_id", "through"]])?.iter().map(read).collect()
}

const READ: &str = "read";
const ALL: &str = "all";

impl Member for Marked {
    const MEMBERS: &'static [&'static str] = &[READ, ALL];

    fn read(members: &Members<'_>, _: &'static str) -> Result<Self, CommandError> {
        let expected = |member, problem| CommandError::Malformed {
            member,
            problem: MemberError::Expected(problem),
        };
        let all = match members.raw(ALL)? {
            None | Some("false" | "null") => false,
            Some("true") => true,
            Some(_) => return Err(expected(ALL, "true or false")),
        };
        match (all, members.raw(READ)?) {
            (true, None | Some("null")) => Ok(Self::All),
            (true, Some(_)) => Err(expected(READ, "nothing beside `all`")),
            (false, None) => Err(CommandError::Missing(READ)),
            (false, Some(list)) => read_list(list).map(Self::These).ok_or_else(|| {
                expected(
                    READ,
                    "a list of objects with a string `notification_id` and a number `through` from 0 on",
                )
            }),
        }
    }

    fn write(&self, _: &'static str, body: Body) -> Body {
        match self {
            Self::All => body.json(ALL, "true"),
            Self::These(list) => {
                // Strings and numbers can always be serialised.
                let list: Vec<_> = list.iter().map(|one| json!(one).to_string()).collect();
                body.json(READ, &format!("[{}]", list.join(",")))
            }
        }
    }

    #[cfg(test)]
    fn schema() -> ValueSchema {
        ValueSchema::object(Self::members("", ""))
    }

    #[cfg(test)]
    fn members(_: &'static str, _: &'static str) -> Vec<MemberSchema> {
        let id = ValueSchema::new(r#""type": "string""#);
        let id = MemberSchema::new("notification_id", "The id in the answer.", id);
        let through = "How much of it was read: the number in the answer.";
        let through = MemberSchema::new("through", through, u64::schema());
        let mark = ValueSchema::object(vec![id, through])
            .described("One notification. Other members are ignored.")
            .named("mark");
        let read = "The notifications, in any number and order.";
        let read = MemberSchema::new(READ, read, ValueSchema::any_list(mark).or_null().optional());
        let all = "True instead of read: all of them. If the same message is delivered again, notifications that came since remain unread.";
        let any = ValueSchema::new(r#""type": ["boolean", "null"]"#).optional();
        let all = MemberSchema::new(ALL, all, any);
        let rule = concat!(
            r#""oneOf": [{ "required": ["read"], "properties": { "read": { "type": "array" }, "all": { "enum": [false, null] } } }, "#,
            r#"{ "required": ["all"], "properties": { "all": { "const": true }, "read": { "const": null } } }]"#
        );
        vec![MemberSchema { rule: Some(rule), ..read }, all]
    }
}
