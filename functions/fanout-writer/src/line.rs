//! The one line that is logged of a message. It carries the ids that one searches by, and nothing else
//! that its sender wrote.

use std::time::Duration;

use shared::command::{Command, Subject};
use shared::store::Tally;
use tracing::{info, warn};

use crate::ended::Ended;

/// The type of what is not a command.
const NO_COMMAND: &str = "unknown";

/// What a message is about. The command itself is used up when the line is written.
pub(crate) struct About<'a> {
    pub(crate) command: &'static str,
    message_id: &'a str,
    receives: u32,
    /// Activity, actor, follower, followee.
    ids: [Option<String>; 4],
}

impl<'a> About<'a> {
    pub(crate) fn new(message_id: &'a str, receives: u32, command: Option<&Command>) -> Self {
        let Subject { activity_id, actor_id, follower_id, followee_id } =
            command.map(Command::subject).unwrap_or_default();
        let ids = [activity_id, actor_id, follower_id, followee_id];
        let ids = ids.map(|id| id.map(ToOwned::to_owned));
        let command = command.map_or(NO_COMMAND, Command::type_name);
        Self { command, message_id, receives, ids }
    }

    pub(crate) fn log(&self, ended: &Ended, cost: Tally, took: Duration) {
        let [activity_id, actor_id, follower_id, followee_id] = &self.ids;
        let millis = |duration: Duration| duration.as_secs_f64() * 1e3;
        let fan_out = ended.fan_out;
        // The level of an event has to be a constant.
        macro_rules! line {
            ($level:ident) => {
                $level!(
                    message_id = self.message_id,
                    command = self.command,
                    activity_id = activity_id.as_deref(),
                    actor_id = actor_id.as_deref(),
                    follower_id = follower_id.as_deref(),
                    followee_id = followee_id.as_deref(),
                    receives = self.receives,
                    reason = ended.reason,
                    parts = ended.parts,
                    fan_out_size = fan_out.map(|end| end.entries),
                    fan_out_ms = fan_out.and_then(|end| end.took).map(millis),
                    latency_ms = fan_out.and_then(|end| end.latency).map(millis),
                    entries = cost.entries,
                    sends = cost.sends,
                    unprocessed = cost.unprocessed,
                    retries = cost.retries,
                    duration_ms = millis(took),
                    "{}",
                    ended.text
                )
            };
        }
        match ended.reason {
            None => line!(info),
            Some(_) => line!(warn),
        }
    }
}
