//! A command that can never be applied: whether it becomes a dead letter, or is only counted.

use shared::command::Command;
use shared::history::events::Event;
use shared::history::refusals::{Refusal, Refusals, RefusedEvent, RefusedMessage, RefusedSubject};
use shared::platform::dynamo::DynamoError;
use shared::platform::message::CommandError;
use shared::platform::values::RefusalReason;

use crate::delivery::Delivery;
use crate::failure::Failure;

/// A refused message.
pub(crate) struct RefusedCommand {
    /// The command, if the message is one.
    command: Option<Command>,
    delivery: Delivery,
    subject: RefusedSubject,
}

impl RefusedCommand {
    /// The refused message with this body.
    pub(crate) fn new(
        body: &str,
        parsed: Result<Command, CommandError>,
        delivery: Delivery,
    ) -> Self {
        let Ok(command) = parsed else {
            return Self { command: None, delivery, subject: RefusedSubject::of_body(body) };
        };
        let (command, delivery) = delivery.open(command);
        let subject = RefusedSubject::of_command(&command.subject());
        Self { command: Some(command), delivery, subject }
    }

    /// True if no viewer, actor or tenant can be the reason, only a producer.
    pub(crate) fn is_unreadable(&self, failure: &Failure) -> bool {
        RefusalReason::parse(failure.reason()).is_some() && !self.subject.is_named()
    }

    /// Counts it, once for all deliveries. Returns true if it is kept as a dead letter, as every failure is that is not a refusal.
    ///
    /// # Errors
    /// [`DynamoError`]; it may be counted.
    pub(crate) async fn is_kept(
        &self,
        refusals: &Refusals,
        failure: &Failure,
        now: shared::platform::values::Timestamp,
    ) -> Result<bool, DynamoError> {
        let Some(reason) = RefusalReason::parse(failure.reason()) else { return Ok(true) };
        if self.delivery.redriven {
            return Ok(true);
        }
        let event = match &self.command {
            Some(Command::RecordEvent(recorded)) => Some(&recorded.event),
            _ => None,
        };
        let message = RefusedMessage {
            origin: &self.delivery.origin,
            subject: &self.subject,
            tenant: event.map(|event| &event.key.customer.tenant_id),
        };
        let refusal =
            Refusal { index: 0, reason, event: event.map(|it| refused_event(it, failure)) };
        Ok(!refusals.count(message, &[refusal], now).await?.is_empty())
    }
}

/// A refused event, as its tenant reads it.
pub(crate) fn refused_event(event: &Event, failure: &Failure) -> RefusedEvent {
    RefusedEvent {
        customer_id: Some(event.key.customer.customer_id.clone()),
        event_id: Some(event.key.event_id.clone()),
        at: Some(event.key.at),
        detail: failure.unredacted(),
    }
}
