//! The command of profiles.

use crate::message::{Body, CommandError, CommandPayload, Members, Subject};
use crate::values::{Payload, Timestamp, ViewerId};

/// Somebody changed their profile.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProfileUpdate {
    pub viewer_id: ViewerId,
    /// When it was changed. The latest wins, and on a tie the payload that is greater byte by byte, so that the order of arrival does not
    /// matter.
    pub at: Timestamp,
    pub payload: Payload,
}

impl CommandPayload for ProfileUpdate {
    const TYPES: &'static [&'static str] = &["profile.updated"];
    const MEMBERS: &'static [&'static str] = &["viewer_id", "at", "payload"];

    fn read(_: &str, members: &Members<'_>) -> Result<Self, CommandError> {
        Ok(Self {
            viewer_id: members.parsed("viewer_id", ViewerId::new)?,
            at: members.instant("at")?,
            payload: members.payload()?.unwrap_or_default(),
        })
    }

    fn write(&self, body: Body) -> Body {
        body.text("viewer_id", &self.viewer_id)
            .text("at", &self.at)
            .json("payload", self.payload.as_json())
    }

    fn subject(&self) -> Subject {
        Subject { viewer_id: Some(self.viewer_id.to_string()), ..Subject::default() }
    }

    fn group(&self) -> &str {
        self.viewer_id.as_str()
    }
}
