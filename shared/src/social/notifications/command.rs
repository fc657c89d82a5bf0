//! The command of notifications.

use serde::Serialize;
use serde_json::json;

use crate::platform::message::{
    Body, CommandError, CommandPayload, LogIds, MemberError, Members, Object,
};
use crate::platform::values::ViewerId;

/// A viewer has read notifications.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MarkRead {
    pub viewer_id: ViewerId,
    pub what: Marked,
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

impl CommandPayload for MarkRead {
    const TYPES: &'static [&'static str] = &["notifications.read"];
    const MEMBERS: &'static [&'static str] = &["viewer_id", READ, ALL];

    fn read(_: &str, members: &Members<'_>) -> Result<Self, CommandError> {
        let viewer_id = members.parsed("viewer_id", ViewerId::new)?;
        let expected = |member, problem| CommandError::Malformed {
            member,
            problem: MemberError::Expected(problem),
        };
        let all = match members.raw(ALL)? {
            None | Some("false" | "null") => false,
            Some("true") => true,
            Some(_) => return Err(expected(ALL, "true or false")),
        };
        let what = match (all, members.raw(READ)?) {
            (true, None | Some("null")) => Marked::All,
            (true, Some(_)) => return Err(expected(READ, "nothing beside `all`")),
            (false, None) => return Err(CommandError::Missing(READ)),
            (false, Some(list)) => Marked::These(read_list(list).ok_or_else(|| {
                expected(
                    READ,
                    "a list of objects with a string `notification_id` and a number `through` from 0 on",
                )
            })?),
        };
        Ok(Self { viewer_id, what })
    }

    fn write(&self, body: Body) -> Body {
        let body = body.text("viewer_id", &self.viewer_id);
        match &self.what {
            Marked::All => body.json(ALL, "true"),
            Marked::These(list) => {
                // Strings and numbers can always be serialised.
                let list: Vec<_> = list.iter().map(|one| json!(one).to_string()).collect();
                body.json(READ, &format!("[{}]", list.join(",")))
            }
        }
    }

    fn subject(&self) -> LogIds {
        LogIds { viewer_id: Some(self.viewer_id.to_string()), ..LogIds::default() }
    }

    fn group(&self) -> &str {
        self.viewer_id.as_str()
    }
}
