//! Messages on their way to a writer.

use std::collections::{BTreeMap, HashMap};

use aws_lambda_events::event::sqs::{SqsMessage, SqsMessageAttribute};
use dlq_alerter::Alerter;
use serde_json::Value;
use shared::platform::dead_letters::{MAX_RECEIVES, REASON};
use tests::{COMMAND_QUEUE_ARN, World, event, message, soon, unfinished_ids};

use super::commands::{Sent, What};
use super::erasing::{Victim, is_later};
use super::facts::Facts;
use super::taken::identity;
use crate::history::periods::messages::command;
use crate::platform::instants::MINUTE;
use crate::platform::usage::count;

/// In milliseconds.
const LONGEST_DELAY: i64 = 15 * MINUTE;

/// The attribute with which SQS says where it has moved a message from.
const SOURCE: &str = "DeadLetterQueueSourceArn";

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
    /// Keeps letters in runs with an erasure. In other runs letters are dropped or redriven at once.
    pub(super) alerter: Option<Alerter>,
    /// Messages that SQS has moved to where letters are.
    moved: Vec<SqsMessage>,
    /// A victim whose erasure is not done.
    pub(super) leaving: Option<Victim>,
}

impl<'a> Queue<'a> {
    pub(super) fn new(history: &'a [Sent]) -> Self {
        let arriving = Self::copies(history.iter().filter(|sent| !is_later(sent)), 0);
        let (bodies, numbers) = (BTreeMap::new(), HashMap::new());
        Self {
            history,
            arriving,
            bodies,
            numbers,
            added: 0,
            alerter: None,
            moved: Vec::new(),
            leaving: None,
        }
    }

    /// Messages of commands, none of which is sent before an instant.
    fn copies<'s>(sent: impl Iterator<Item = &'s Sent>, from: i64) -> Vec<Delivery> {
        let copies = sent.flat_map(|sent| {
            let copies = sent.copies.iter().enumerate();
            copies.map(move |(copy, due)| Delivery {
                id: format!("{}-{copy}", sent.number),
                number: Some(sent.number),
                body: None,
                due: from.max(*due),
                receives: 1,
                origin: Origin::Sender,
                attributes: HashMap::new(),
            })
        });
        copies.collect()
    }

    /// Sends the commands that come after the erasure. From now on, handed-on commands of the victim are among these.
    pub(super) fn send_later_ones(&mut self, victim: &Victim, now: i64) {
        self.leaving = None;
        let later = self.history.iter().filter(|sent| is_later(sent));
        self.arriving.extend(Self::copies(later, now));
        let history = self.history;
        let of = |number: &usize| history.iter().find(|sent| sent.number == *number).unwrap();
        self.numbers.retain(|_, number| !victim.names(&of(number).what));
    }

    /// True if one of these, or of what is on the queue, says something of a victim.
    pub(super) fn is_on_its_way<'d>(
        &'d self,
        victim: &Victim,
        others: impl Iterator<Item = &'d Delivery>,
    ) -> bool {
        let is_theirs = |it: &Delivery| match (&it.body, it.number) {
            (Some(body), _) => victim.is_in(&command(body)),
            (None, Some(number)) => victim.names(&self.sent(number).what),
            (None, None) => false,
        };
        self.arriving.iter().chain(others).any(is_theirs)
    }

    fn sent(&self, number: usize) -> &'a Sent {
        self.history.iter().find(|sent| sent.number == number).unwrap()
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
        let sent = self.sent(number);
        let known = match sent.what {
            What::Read(tenant, _) => facts.shown.ids(tenant),
            _ => Vec::new(),
        };
        let body = self.bodies.entry(number).or_insert_with(|| sent.body(&known)).clone();
        self.numbers.entry(command(&body).to_string()).or_insert(number);
        body
    }

    /// A message comes again: its handler has died, or said so. Only what names a victim is given up: SQS moves it.
    pub(super) fn again(&mut self, delivery: Delivery) {
        count("tenants: a message delivered again");
        if delivery.body.as_deref().is_some_and(|body| self.may_give_up(body)) {
            let mut message = delivery.message();
            message.attributes.insert(SOURCE.to_owned(), COMMAND_QUEUE_ARN.to_owned());
            self.moved.push(message);
            return;
        }
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
        if let What::Read(tenant, _) = self.sent(number).what {
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
            if let What::Read(tenant, _) = self.sent(number).what {
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
        for moved in std::mem::take(&mut self.moved) {
            self.keep(moved).await;
        }
        let at = now.unix_millis();
        for letter in world.take_dead_letters().await {
            let reason = letter.message_attributes.get(REASON);
            let reason = reason.and_then(|it| it.string_value.clone()).unwrap_or_default();
            let body = letter.body.clone().unwrap_or_default();
            match reason.as_str() {
                "access-denied" | "table-missing" if !self.is_kept(&body, facts) => {
                    self.add(letter, Origin::Letter);
                }
                "event-conflict" | "event-too-late" => {
                    let said = command(&body);
                    let id = identity(&said);
                    let name = facts.borrow().taken.name(&id).map(str::to_owned);
                    let is_hidden = facts.borrow().erasing.hides(&id[0], &id[1], at);
                    if !is_hidden
                        && reason == "event-conflict"
                        && (name.is_none() || name.as_deref() == said["name"].as_str())
                    {
                        return Err(format!("{body} is in conflict with {name:?}"));
                    }
                    self.keep(letter).await;
                }
                _ if self.is_kept(&body, facts) => self.keep(letter).await,
                _ => return Err(format!("a dead letter for {reason}: {body}")),
            }
        }
        Ok(())
    }

    /// True if a letter of a victim is kept until it is erased. One of a definition or a mark is only kept once readers are not judged by it.
    fn is_kept(&self, body: &str, facts: &std::cell::RefCell<Facts>) -> bool {
        let is_theirs = self.leaving.is_some_and(|victim| victim.is_in(&command(body)));
        is_theirs && (self.may_give_up(body) || facts.borrow().erasing.from.is_some())
    }

    /// True if a message may become a letter, because the victim's letters are kept, and answers at rest alone depend on it.
    fn may_give_up(&self, body: &str) -> bool {
        let said = command(body);
        let is_of_customers = said["events"].is_array() || said["customer_id"].is_string();
        is_of_customers && self.leaving.is_some_and(|victim| victim.is_in(&said))
    }

    /// Has a letter kept, where letters are.
    async fn keep(&self, letter: SqsMessage) {
        let Some(alerter) = &self.alerter else { return };
        count("tenants: a letter was kept");
        let answer = alerter.handle(event([letter]), soon()).await.unwrap();
        assert_eq!(unfinished_ids(&answer), [""; 0]);
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
