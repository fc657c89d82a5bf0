//! Makes the event that Lambda would pass to a handler from messages of the local queue.

use aws_lambda_events::encodings::Base64Data;
use aws_lambda_events::event::sqs::{SqsEvent, SqsMessage, SqsMessageAttribute};

use crate::sqs::{AttributeValue, MessageAttribute, Queue, REGION, ReceivedMessage};

/// The event for a batch received from a queue.
pub fn event(queue: &Queue, messages: &[ReceivedMessage]) -> SqsEvent {
    let mut event = SqsEvent::default();
    event.records = messages.iter().map(|message| record(queue, message)).collect();
    event
}

fn record(queue: &Queue, message: &ReceivedMessage) -> SqsMessage {
    let mut record = SqsMessage::default();
    record.message_id = Some(message.message_id.to_string());
    record.receipt_handle = Some(message.receipt_handle.to_string());
    record.md5_of_body = Some(message.md5_of_body());
    record.body = Some(message.body.clone());
    let system = message.system_attributes().map(|(name, value)| (name.to_owned(), value));
    record.attributes = system.collect();
    let own = message.attributes.iter().map(|(name, value)| (name.to_owned(), attribute(value)));
    record.message_attributes = own.collect();
    record.event_source_arn = Some(queue.config().arn());
    record.event_source = Some("aws:sqs".to_owned());
    record.aws_region = Some(REGION.to_owned());
    record
}

fn attribute(from: &MessageAttribute) -> SqsMessageAttribute {
    let mut attribute = SqsMessageAttribute::default();
    attribute.data_type = Some(from.data_type().to_owned());
    match from.value() {
        AttributeValue::Text(text) => attribute.string_value = Some(text.clone()),
        AttributeValue::Binary(bytes) => {
            let mut data = Base64Data::default();
            data.extend_from_slice(bytes);
            attribute.binary_value = Some(data);
        }
    }
    attribute
}
