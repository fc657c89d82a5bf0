//! The one log line about a message. It has the ids that operators search for, and nothing else that the producer wrote.

use std::time::Duration;

use shared::command::Command;
use shared::log_subject;
use shared::platform::dynamo::Usage;
use shared::platform::message::LogIds;

use crate::disposition::Disposition;
use crate::failure::Failure;

/// The type that is logged for a message that is not a command.
const NO_COMMAND: &str = "unknown";

/// What a message is about. The command itself is consumed before the line is written.
pub(crate) struct About<'a> {
    command: &'static str,
    message_id: &'a str,
    receives: u32,
    subject: LogIds,
}

impl<'a> About<'a> {
    pub(crate) fn new(message_id: &'a str, receives: u32, command: Option<&Command>) -> Self {
        let subject = command.map(Command::subject).unwrap_or_default();
        let command = command.map_or(NO_COMMAND, Command::type_name);
        Self { command, message_id, receives, subject }
    }

    pub(crate) fn log(&self, disposition: &Disposition, usage: Usage, took: Duration) {
        let millis = |duration: Duration| duration.as_secs_f64() * 1e3;
        let (fan_out, failure) = (disposition.fan_out(), disposition.failure());
        // The level of an event has to be a constant.
        macro_rules! line {
            ($level:ident) => {
                log_subject!(
                    $level,
                    self.subject,
                    message_id = self.message_id,
                    command = self.command,
                    receives = self.receives,
                    reason = failure.map(Failure::reason),
                    parts = disposition.segments(),
                    fan_out_size = fan_out.map(|end| end.entries),
                    fan_out_ms = fan_out.map(|end| millis(end.took)),
                    latency_ms = fan_out.and_then(|end| end.latency).map(millis),
                    entries = usage.written,
                    sends = usage.sends,
                    unprocessed = usage.unprocessed,
                    retries = usage.retries,
                    duration_ms = millis(took),
                    "{}",
                    disposition.text()
                )
            };
        }
        match failure {
            None => line!(info),
            Some(_) => line!(warn),
        }
    }
}
