//! Cuts events into `events.recorded` commands, with the most events that one takes and at most [`MESSAGE_BYTES`].
//!
//! SQS takes a message four times as large. A writer handles the events of a message together, so small ones are spread
//! over more writers. An event is at most a few kilobytes, so any fits.

use shared::command::Command;
use shared::history::events::{Event, EventsRecorded, MOST_EVENTS, SentEvent};
use shared::platform::queue::Message;
use shared::platform::values::TenantId;

/// The most bytes of the events of one message.
pub const MESSAGE_BYTES: usize = 256 * 1024;

/// The messages that record these events, in order. The group is the tenant, for fair queues.
pub(crate) fn messages(tenant_id: &TenantId, events: Vec<Event>) -> Vec<Message> {
    let (mut messages, mut batch, mut bytes) = (Vec::new(), Vec::new(), 0);
    for event in events.into_iter().map(SentEvent::from) {
        // Including the comma after it.
        let more = event.json.len() + 1;
        if batch.len() == MOST_EVENTS || (bytes + more > MESSAGE_BYTES && !batch.is_empty()) {
            messages.push(message(tenant_id, std::mem::take(&mut batch)));
            bytes = 0;
        }
        bytes += more;
        batch.push(event);
    }
    if !batch.is_empty() {
        messages.push(message(tenant_id, batch));
    }
    messages
}

fn message(tenant_id: &TenantId, events: Vec<SentEvent>) -> Message {
    Message::from(&Command::RecordEvents(EventsRecorded::new(tenant_id.clone(), events)))
}
