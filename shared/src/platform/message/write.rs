//! Writing bodies. Nothing in their values needs an escape, so a body can always be written, and there is
//! no error that somebody could take for an empty one.

use std::fmt::{self, Write};

use super::read::TYPE;
use crate::platform::values::{
    ActivityId, ActorId, AlertId, BattleId, Choice, CustomerId, EventId, EventName, HitId, Kind,
    MessageId, Origin, PollId, RoomId, RuleId, ScoreId, TenantId, Timestamp, ViewerId,
};

/// What is written as JSON by putting quotes around it.
pub trait Plain: fmt::Display {}

impl Plain for ActivityId {}
impl Plain for ActorId {}
impl Plain for ViewerId {}
impl Plain for PollId {}
impl Plain for Choice {}
impl Plain for BattleId {}
impl Plain for HitId {}
impl Plain for RoomId {}
impl Plain for MessageId {}
impl Plain for TenantId {}
impl Plain for CustomerId {}
impl Plain for EventId {}
impl Plain for RuleId {}
impl Plain for ScoreId {}
impl Plain for AlertId {}
impl Plain for EventName {}
impl Plain for Timestamp {}
impl Plain for Kind {}
impl Plain for Origin {}

/// The body of a command while it is written. Writing to a string cannot fail.
#[derive(Debug)]
pub struct Body(String);

impl Body {
    /// The body of a command of this type, without any other member.
    pub fn new(type_name: &str) -> Self {
        Self(format!("{{\"{TYPE}\":\"{type_name}\""))
    }

    #[must_use]
    pub fn text(mut self, member: &'static str, value: &impl Plain) -> Self {
        let _ = write!(self.0, ",\"{member}\":\"{value}\"");
        self
    }

    /// Writes a member whose value is JSON already.
    #[must_use]
    pub fn json(mut self, member: &'static str, value: &str) -> Self {
        let _ = write!(self.0, ",\"{member}\":{value}");
        self
    }

    #[must_use]
    pub fn end(mut self) -> String {
        self.0.push('}');
        self.0
    }
}
