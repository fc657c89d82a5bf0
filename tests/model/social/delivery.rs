//! Messages on their way to a handler.

use std::collections::HashMap;

use aws_lambda_events::event::sqs::{SqsMessage, SqsMessageAttribute};
use serde_json::Value;
use shared::platform::dead_letters::ORIGIN;
use tests::message;

use crate::platform::usage::count;
use crate::social::commands::{Sent, What};

/// A message on its way.
#[derive(Clone)]
pub(crate) struct Delivery {
    pub(crate) id: String,
    pub(crate) body: String,
    /// What it says, unless it is the writer's own.
    pub(crate) what: Option<What>,
    /// What it goes on with, if it is the writer's own: see `going_on` in `run.rs`.
    pub(crate) goes_on_with: Vec<String>,
    /// Whether it is a segment of a fan-out.
    pub(crate) is_segment: bool,
    /// The first messages of its copies in the batch that it was acknowledged in: they share what becomes of one of them.
    pub(crate) copies: Vec<String>,
    pub(crate) attributes: HashMap<String, SqsMessageAttribute>,
    pub(crate) receives: u32,
}

impl Delivery {
    /// A producer's command in a message of its own.
    pub(crate) fn new(id: String, what: What) -> Self {
        let (goes_on_with, copies, attributes) = (Vec::new(), Vec::new(), HashMap::new());
        let body = what.body().to_string();
        let what = Some(what);
        Self { id, body, what, goes_on_with, is_segment: false, copies, attributes, receives: 1 }
    }

    /// The message that first carried its command: those that go on with the command name it.
    pub(crate) fn origin(&self) -> &str {
        let origin = self.attributes.get(ORIGIN).and_then(|value| value.string_value.as_deref());
        origin.unwrap_or(&self.id)
    }

    /// What others may go on with, if it carries a command.
    pub(crate) fn may_be_gone_on_with(&self) -> impl Iterator<Item = &str> {
        let activity = match &self.what {
            Some(What::Publish { id, .. }) => id.as_str(),
            _ => "",
        };
        let copies = self.copies.iter().map(String::as_str);
        copies.chain([self.origin(), activity])
    }

    pub(crate) fn message(&self) -> SqsMessage {
        let mut message = message(&self.id, &self.body, self.receives);
        message.message_attributes.clone_from(&self.attributes);
        message
    }
}

/// The copies, the last to arrive first.
pub(crate) fn arrivals<'s>(history: impl IntoIterator<Item = &'s Sent>) -> Vec<Delivery> {
    let history: Vec<_> = history.into_iter().collect();
    let copies = history.iter().enumerate().flat_map(|(index, sent)| {
        let copies = sent.delays.iter().enumerate();
        copies.map(move |(copy, delay)| (sent.number + delay, index, copy))
    });
    let mut copies: Vec<_> = copies.collect();
    copies.sort_unstable_by_key(|copy| std::cmp::Reverse(*copy));
    let copies = copies.into_iter().map(|(_, index, copy)| {
        let Sent { number, what, .. } = history[index];
        Delivery::new(format!("{number}-{copy}"), what.clone())
    });
    copies.collect()
}

/// What a message goes on with, if it is the writer's own.
pub(crate) fn goes_on_with(said: &Value) -> Vec<String> {
    if said["type"] != "command.continued" && said["type"] != "fanout.part" {
        return Vec::new();
    }
    count("message: handed on");
    let all = [&said["origin"], &said["activity_id"], &said["command"]["activity_id"]];
    all.into_iter().filter_map(Value::as_str).map(ToOwned::to_owned).collect()
}
