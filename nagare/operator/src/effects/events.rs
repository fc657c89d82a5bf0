//! Events: in effect once they are in the tables of their periods.

use super::{CommandStatus, Effects};
use shared::dynamo::DynamoError;
use shared::events::{Event, EventsRecorded, Recorded};

impl Effects {
    /// An event.
    pub(super) async fn event(&self, event: &Event) -> Result<CommandStatus, DynamoError> {
        let Some(events) = &self.events else { return Ok(CommandStatus::Pending) };
        Ok(match events.recorded(event).await? {
            Some(Recorded::There) => CommandStatus::applied(),
            // Its dead letter follows.
            _ => CommandStatus::Pending,
        })
    }

    /// Several events: each of them, or another event with its identity, is in its table.
    pub(super) async fn events(&self, sent: &EventsRecorded) -> Result<CommandStatus, DynamoError> {
        let Some(events) = &self.events else { return Ok(CommandStatus::Pending) };
        let mut remark = None;
        for event in sent.events.iter().filter_map(|sent| sent.event.as_ref().ok()) {
            match events.recorded(event).await? {
                Some(Recorded::There) => {}
                Some(_) => remark = Some("some of them are refused: see the dead letters"),
                None => return Ok(CommandStatus::Pending),
            }
        }
        Ok(CommandStatus::Applied { entries: None, remark })
    }
}
