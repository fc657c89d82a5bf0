//! Messages on their way to a writer.

use std::cell::RefCell;
use std::collections::HashMap;

use aws_lambda_events::event::sqs::{SqsMessage, SqsMessageAttribute};
use serde_json::Value;
use shared::platform::dead_letters::MAX_RECEIVES;
use tests::{World, message};

use super::plan::Sent;
use super::truth::{Id, Truth, said};
use crate::platform::instants::MINUTE;
use crate::platform::usage::count;

/// In milliseconds.
const LONGEST_DELAY: i64 = 15 * MINUTE;

/// A message, and from when on it is on the queue.
#[derive(Clone)]
pub(super) struct Delivery {
    id: String,
    body: String,
    pub(super) due: i64,
    receives: u32,
    attributes: HashMap<String, SqsMessageAttribute>,
}

impl Delivery {
    fn now(id: String, message: SqsMessage) -> Self {
        let (body, attributes) = (message.body.unwrap(), message.message_attributes);
        Self { id, body, due: 0, receives: 1, attributes }
    }

    pub(super) fn message(&self) -> SqsMessage {
        let mut message = message(&self.id, &self.body, self.receives);
        message.message_attributes.clone_from(&self.attributes);
        message
    }

    pub(super) fn is(&self, id: &String) -> bool {
        self.id == *id
    }

    /// The events that it carries.
    pub(super) fn events(&self) -> Vec<(Id, String)> {
        let command = command(&self.body);
        match command["events"].as_array() {
            Some(events) => events.iter().map(said).collect(),
            None => vec![said(&command)],
        }
    }
}

/// The copies of a history.
pub(super) fn arrivals(history: &[Sent]) -> Vec<Delivery> {
    let copies = history.iter().flat_map(|sent| {
        let copies = sent.copies.iter().enumerate();
        copies.map(|(copy, due)| Delivery {
            id: format!("{}-{copy}", sent.number),
            body: sent.body(),
            due: *due,
            receives: 1,
            attributes: HashMap::new(),
        })
    });
    copies.collect()
}

/// What a body says, without what others have put around it.
pub(crate) fn command(body: &str) -> Value {
    let mut said: Value = serde_json::from_str(body).unwrap();
    while let Some(command) = said.get_mut("command") {
        said = command.take();
    }
    said
}

pub(super) struct Queue {
    arriving: Vec<Delivery>,
    /// Messages that the functions have put there, or somebody for them.
    added: usize,
}

impl Queue {
    pub(super) fn new(history: &[Sent]) -> Self {
        Self { arriving: arrivals(history), added: 0 }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.arriving.is_empty()
    }

    /// Takes some that are due.
    pub(super) fn take(&mut self, now: i64, at_most: usize, start: usize) -> Vec<Delivery> {
        let start = start % self.arriving.len().max(1);
        self.arriving.rotate_left(start);
        let mut left = at_most;
        let is_due = |it: &mut Delivery| {
            let taken = it.due <= now && left > 0;
            left -= usize::from(taken);
            taken
        };
        self.arriving.extract_if(.., is_due).collect()
    }

    /// A message comes again: its handler has died, or said so. Nothing here is given up.
    pub(super) fn again(&mut self, delivery: Delivery) {
        count("periods: a message delivered again");
        let receives = (delivery.receives + 1).min(MAX_RECEIVES - 1);
        self.arriving.push(Delivery { receives, ..delivery });
    }

    /// Takes in what writers have sent: what goes on with a message, and dead letters. What was refused for something that passes is
    /// sent again.
    pub(super) async fn take_sent(
        &mut self,
        world: &World,
        truth: &RefCell<Truth>,
    ) -> Result<(), String> {
        // What waits on the queue may come at any time here.
        let now = world.clock.now();
        world.clock.set(now.plus_millis(LONGEST_DELAY));
        let handed_on = world.take_commands().await;
        world.clock.set(now);
        for message in handed_on {
            count("periods: a message handed on");
            self.add(message);
        }
        for letter in world.take_dead_letters().await {
            if truth.borrow_mut().refuse(world, &letter)? {
                count("periods: a dead letter sent again");
                self.add(letter);
            }
        }
        Ok(())
    }

    fn add(&mut self, message: SqsMessage) {
        self.added += 1;
        self.arriving.push(Delivery::now(format!("added-{}", self.added), message));
    }

    /// Whether an acknowledged message has done what it has to, or left it to one of those that are on the queue or in delivery.
    pub(super) fn judge(
        &self,
        (delivery, was_late): &(Delivery, Vec<Id>),
        in_delivery: &[&Delivery],
        truth: &Truth,
    ) -> Result<(), String> {
        for (id, content) in delivery.events() {
            let event = (id.clone(), content.clone());
            let has_event = |it: &Delivery| it.events().contains(&event);
            let is_sent_again = || {
                self.arriving.iter().any(has_event) || in_delivery.iter().any(|it| has_event(it))
            };
            let is_refused = truth.refused.contains(&event);
            if was_late.contains(&id) && !is_refused && !is_sent_again() {
                return Err(format!("{id:?} came too late and was not refused"));
            }
            if !truth.is_decided(&id, &content) && !is_sent_again() {
                return Err(format!(
                    "{id:?} with {content} is acknowledged; taken is {:?}",
                    truth.taken.get(&id)
                ));
            }
        }
        Ok(())
    }
}

/// What a history sends, in the end.
pub(super) fn all_of(history: &[Sent]) -> impl Iterator<Item = (Id, String)> {
    history.iter().flat_map(|sent| sent.events.iter().map(|event: &Value| said(event)))
}
