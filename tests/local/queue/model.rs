//! Random calls on a queue and on a plain model of it, which must agree on every answer.

use std::collections::BTreeMap;
use std::time::Duration;

use nagare_local::sqs::{Counts, MessageId, Queue, ReceiptHandle};

use super::support::*;

const SEEDS: u64 = 200;
const STEPS: usize = 120;

/// What the model knows of a message: its key is the order of sending.
#[derive(Clone)]
struct Known {
    id: MessageId,
    body: String,
    sent_at: i64,
    visible_at: i64,
    receives: u32,
    receipt: Option<ReceiptHandle>,
}

type Content = BTreeMap<usize, Known>;

struct Model {
    work: Content,
    dead: Content,
    sent: usize,
    receipts: Vec<ReceiptHandle>,
}

#[test]
fn the_queue_answers_as_the_model_does() {
    for seed in 0..SEEDS {
        let stack = Stack::new();
        let mut random = fastrand::Rng::with_seed(seed);
        let mut model = Model::new();
        for step in 0..STEPS {
            model.step(&stack, &mut random);
            model.check(&stack, &format!("seed {seed}, step {step}"));
        }
    }
}

impl Model {
    fn new() -> Self {
        let (work, dead) = (Content::new(), Content::new());
        Self { work, dead, sent: 0, receipts: Vec::new() }
    }

    fn step(&mut self, stack: &Stack, random: &mut fastrand::Rng) {
        self.expire(stack.clock.now());
        match random.u32(0..100) {
            0..30 => self.send(stack, random),
            30..60 => self.receive(stack, random),
            60..65 => self.receive_dead(stack, random),
            65..80 => self.delete(stack, random),
            80..88 => self.change_visibility(stack, random),
            88..99 => stack.clock.pass(random.choice([1, 5, 30, 31, 900]).unwrap() * SECOND),
            _ => self.purge(stack),
        }
        self.expire(stack.clock.now());
    }

    fn send(&mut self, stack: &Stack, random: &mut fastrand::Rng) {
        let now = stack.clock.now();
        let mut batch = Vec::new();
        let mut known = Vec::new();
        for _ in 0..random.usize(1..=10) {
            self.sent += 1;
            let delay = random.choice([0, 0, 0, 3, 40]).unwrap();
            let body = format!("message {}", self.sent);
            batch.push(message(&body).delayed(delay * SECOND).unwrap());
            known.push((self.sent, body, now + i64::from(delay) * 1_000));
        }
        let ids = stack.work.send_batch(&batch).unwrap();
        for (id, (order, body, visible_at)) in ids.into_iter().zip(known) {
            let known = Known { id, body, sent_at: now, visible_at, receives: 0, receipt: None };
            self.work.insert(order, known);
        }
    }

    fn receive(&mut self, stack: &Stack, random: &mut fastrand::Rng) {
        let (max, now) = (random.usize(1..=10), stack.clock.now());
        let visibility = visibility(random);
        loop {
            let exhausted = |order: &usize| self.work[order].receives >= 2;
            let front = front(&self.work, now, max);
            let moved: Vec<_> = front.into_iter().filter(exhausted).collect();
            if moved.is_empty() {
                break;
            }
            for order in moved {
                let known = self.work.remove(&order).unwrap();
                let moved = Known { visible_at: now, receives: 0, receipt: None, ..known };
                self.dead.insert(order, moved);
            }
        }
        let receipts = hand_out(&mut self.work, &stack.work, max, visibility, now);
        self.receipts.extend(receipts);
    }

    fn receive_dead(&mut self, stack: &Stack, random: &mut fastrand::Rng) {
        let (max, now) = (random.usize(1..=10), stack.clock.now());
        hand_out(&mut self.dead, &stack.dead, max, visibility(random), now);
    }

    /// Deletes by any receipt that was ever given, most of them worthless by now.
    fn delete(&mut self, stack: &Stack, random: &mut fastrand::Rng) {
        let some = random.choose_multiple(&self.receipts, 10);
        let handles: Vec<_> = some.into_iter().copied().collect();
        stack.work.delete_batch(&handles).unwrap();
        self.work.retain(|_, known| !known.receipt.is_some_and(|own| handles.contains(&own)));
    }

    fn change_visibility(&mut self, stack: &Stack, random: &mut fastrand::Rng) {
        let Some(handle) = random.choice(&self.receipts).copied() else {
            return;
        };
        let now = stack.clock.now();
        let timeout = visibility(random).unwrap_or_default();
        let known = self.work.values_mut().find(|known| known.receipt == Some(handle));
        stack.work.change_visibility(&handle, timeout).unwrap();
        if let Some(known) = known.filter(|known| known.visible_at > now) {
            known.visible_at = now + timeout.as_millis() as i64;
        }
    }

    fn purge(&mut self, stack: &Stack) {
        stack.work.purge().unwrap();
        self.work.clear();
    }

    fn expire(&mut self, now: i64) {
        self.work.retain(|_, known| known.sent_at > now - 3_600_000);
        self.dead.retain(|_, known| known.sent_at > now - 7_200_000);
    }

    fn check(&self, stack: &Stack, context: &str) {
        let now = stack.clock.now();
        assert_eq!(stack.work.counts().unwrap(), count(&self.work, now), "work, {context}");
        assert_eq!(stack.dead.counts().unwrap(), count(&self.dead, now), "dead, {context}");
    }
}

/// Receives from the queue, compares with what the model would hand out, and keeps the receipts.
fn hand_out(
    content: &mut Content,
    queue: &Queue,
    max: usize,
    visibility: Option<Duration>,
    now: i64,
) -> Vec<ReceiptHandle> {
    let expected = front(content, now, max);
    let received = try_receive(queue, max, visibility).unwrap();
    assert_eq!(received.len(), expected.len());
    let hidden = visibility.unwrap_or(30 * SECOND).as_millis() as i64;
    for (order, message) in expected.iter().zip(&received) {
        let known = content.get_mut(order).unwrap();
        known.receives += 1;
        known.visible_at = now + hidden;
        known.receipt = Some(message.receipt_handle);
        assert_eq!((message.message_id, &message.body), (known.id, &known.body));
        assert_eq!((message.receive_count, message.sent_at), (known.receives, known.sent_at));
    }
    received.iter().map(|message| message.receipt_handle).collect()
}

/// The next messages: the longest visible, then the least received, then the first sent.
fn front(content: &Content, now: i64, max: usize) -> Vec<usize> {
    let visible = content.iter().filter(|(_, known)| known.visible_at <= now);
    let mut ranked: Vec<_> =
        visible.map(|(order, known)| (known.visible_at, known.receives, *order)).collect();
    ranked.sort_unstable();
    ranked.into_iter().take(max).map(|(_, _, order)| order).collect()
}

fn count(content: &Content, now: i64) -> Counts {
    let mut counts = Counts::default();
    for known in content.values() {
        match (known.visible_at > now, known.receives) {
            (false, _) => counts.visible += 1,
            (true, 0) => counts.delayed += 1,
            (true, _) => counts.in_flight += 1,
        }
    }
    counts
}

fn visibility(random: &mut fastrand::Rng) -> Option<Duration> {
    random.choice([None, None, Some(0), Some(2), Some(100)]).unwrap().map(|s| s * SECOND)
}
