//! Messages on their way to a writer.

use std::collections::{BTreeMap, HashMap};

use aws_lambda_events::event::sqs::{SqsMessage, SqsMessageAttribute};
use serde_json::Value;
use shared::platform::dead_letters::{MAX_RECEIVES, REASON};
use tests::{World, message};

use super::commands::{Sent, What};
use super::facts::Facts;
use super::taken::identity;
use crate::history::MINUTE;
use crate::periods::messages::command;
use crate::usage::count;

/// In milliseconds.
const LONGEST_DELAY: i64 = 15 * MINUTE;

/// Where a message comes from.
#[derive(Clone, Copy, PartialEq)]
enum Origin {
    Sender,
    /// It goes on with a command.
    Rest,
    /// It was a dead letter.
    Letter,
}

/// A message, and from when on it is on the queue.
#[derive(Clone)]
pub(super) struct Delivery {
    id: String,
    /// Of the command, where it is one of those that were sent.
    pub(super) number: Option<usize>,
    /// Where it is not known before it is due: what it says depends on what somebody has seen.
    body: Option<String>,
    due: i64,
    receives: u32,
    origin: Origin,
    attributes: HashMap<String, SqsMessageAttribute>,
}

impl Delivery {
    pub(super) fn message(&self) -> SqsMessage {
        let mut message = message(&self.id, self.body.as_deref().unwrap(), self.receives);
        message.message_attributes.clone_from(&self.attributes);
        message
    }

    pub(super) fn is(&self, id: &String) -> bool {
        self.id == *id
    }
}

/// What is on the queue.
pub(super) struct Queue<'a> {
    history: &'a [Sent],
    arriving: Vec<Delivery>,
    /// The bodies of commands that were due, and which command a body is.
    bodies: BTreeMap<usize, String>,
    numbers: HashMap<String, usize>,
    /// Messages that the functions have put there, or somebody for them.
    added: usize,
}

impl<'a> Queue<'a> {
    pub(super) fn new(history: &'a [Sent]) -> Self {
        let copies = history.iter().flat_map(|sent| {
            let copies = sent.copies.iter().enumerate();
            copies.map(|(copy, due)| Delivery {
                id: format!("{}-{copy}", sent.number),
                number: Some(sent.number),
                body: None,
                due: *due,
                receives: 1,
                origin: Origin::Sender,
                attributes: HashMap::new(),
            })
        });
        let arriving = copies.collect();
        Self { history, arriving, bodies: BTreeMap::new(), numbers: HashMap::new(), added: 0 }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.arriving.is_empty()
    }

    pub(super) fn has_due(&self, now: i64) -> bool {
        self.arriving.iter().any(|it| it.due <= now)
    }

    /// Takes some that are due.
    pub(super) fn take(
        &mut self,
        facts: &mut Facts,
        now: i64,
        at_most: usize,
        start: usize,
    ) -> Vec<Delivery> {
        let start = start % self.arriving.len().max(1);
        self.arriving.rotate_left(start);
        let mut left = at_most;
        let is_due = |it: &mut Delivery| {
            let taken = it.due <= now && left > 0;
            left -= usize::from(taken);
            taken
        };
        let mut batch: Vec<_> = self.arriving.extract_if(.., is_due).collect();
        for delivery in &mut batch {
            let Some(number) = delivery.number else { continue };
            facts.effects.begin(number, now);
            if delivery.body.is_none() {
                delivery.body = Some(self.body(number, facts));
            }
        }
        batch
    }

    /// The body of a command: the same for all of its copies.
    fn body(&mut self, number: usize, facts: &Facts) -> String {
        let sent = self.history.iter().find(|sent| sent.number == number).unwrap();
        let known = match sent.what {
            What::Read(tenant, _) => facts.shown.ids(tenant),
            _ => Vec::new(),
        };
        let body = self.bodies.entry(number).or_insert_with(|| sent.body(&known)).clone();
        self.numbers.entry(command(&body).to_string()).or_insert(number);
        body
    }

    /// A message comes again: its handler has died, or said so. Nothing here is given up.
    pub(super) fn again(&mut self, delivery: Delivery) {
        count("tenants: a message delivered again");
        let receives = (delivery.receives + 1).min(MAX_RECEIVES - 1);
        self.arriving.push(Delivery { receives, ..delivery });
    }

    /// A message is acknowledged. Others are in delivery.
    pub(super) fn acknowledged(
        &self,
        delivery: &Delivery,
        others: &[&Delivery],
        facts: &mut Facts,
        now: i64,
    ) {
        let Some(number) = delivery.number else { return };
        let same = || {
            self.arriving
                .iter()
                .chain(others.iter().copied())
                .filter(|it| it.number == Some(number))
        };
        if same().any(|it| it.origin == Origin::Letter) {
            return;
        }
        facts.effects.done(number, now);
        if !same().any(|it| it.origin == Origin::Rest) {
            facts.effects.finished(number, now);
        }
        if let What::Read(tenant, _) =
            self.history.iter().find(|it| it.number == number).unwrap().what
        {
            facts.shown.read(tenant, &self.read_ids(number), now);
        }
    }

    fn read_ids(&self, number: usize) -> Vec<String> {
        let said: Value = serde_json::from_str(&self.bodies[&number]).unwrap();
        let read = said["read"].as_array().unwrap().iter();
        read.map(|it| it["alert_id"].as_str().unwrap().to_owned()).collect()
    }

    /// The alerts that commands in delivery, or done, have said to be read.
    pub(super) fn note_reads(&self, batch: &[Delivery], facts: &mut Facts) {
        for number in batch.iter().filter_map(|delivery| delivery.number) {
            let sent = self.history.iter().find(|it| it.number == number).unwrap();
            if let What::Read(tenant, _) = sent.what {
                facts.shown.may_be_read(tenant, &self.read_ids(number));
            }
        }
    }

    /// Takes in what writers have sent: what goes on with a message, and dead letters. What was refused for something that passes is
    /// sent again.
    pub(super) async fn take_sent(
        &mut self,
        world: &World,
        facts: &std::cell::RefCell<Facts>,
    ) -> Result<(), String> {
        // What waits on the queue may come at any time here.
        let now = world.clock.now();
        world.clock.set(now.plus_millis(LONGEST_DELAY));
        let handed_on = world.take_commands().await;
        world.clock.set(now);
        for message in handed_on {
            count("tenants: a message handed on");
            self.add(message, Origin::Rest);
        }
        for letter in world.take_dead_letters().await {
            let reason = letter.message_attributes.get(REASON);
            let reason = reason.and_then(|it| it.string_value.clone()).unwrap_or_default();
            let body = letter.body.clone().unwrap_or_default();
            match reason.as_str() {
                "access-denied" | "table-missing" => self.add(letter, Origin::Letter),
                "event-conflict" | "event-too-late" => {
                    let said = command(&body);
                    let name = facts.borrow().taken.name(&identity(&said)).map(str::to_owned);
                    if reason == "event-conflict"
                        && (name.is_none() || name.as_deref() == said["name"].as_str())
                    {
                        return Err(format!("{body} is in conflict with {name:?}"));
                    }
                }
                _ => return Err(format!("a dead letter for {reason}: {body}")),
            }
        }
        Ok(())
    }

    fn add(&mut self, message: SqsMessage, origin: Origin) {
        self.added += 1;
        let (body, attributes) = (message.body, message.message_attributes);
        let said = command(body.as_deref().unwrap()).to_string();
        let number = self.numbers.get(&said).copied();
        let id = format!("added-{}", self.added);
        self.arriving.push(Delivery { id, number, body, due: 0, receives: 1, origin, attributes });
    }
}
