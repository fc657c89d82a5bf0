//! The fan-out writer's invocations: who takes which messages off the queue, and when.

use crate::product::{HALF_TIME, MESSAGES};

/// Batches that Lambda works on at first, and how many more after each second (300 a minute).
const RAMP: (f64, f64) = (5.0, 5.0);

/// A message on the queue.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Message {
    pub job: usize,
    /// Its group: waiting messages whose group has the fewest in flight go first.
    pub group: usize,
    /// When it can be received.
    pub visible_at: f64,
}

/// Invocations, and the queue they take from.
#[derive(Debug, Default)]
pub struct Writers {
    most: usize,
    queue: Vec<Message>,
    /// What each has in hand, and since when.
    invocations: Vec<(Vec<Message>, f64)>,
    in_flight: Vec<usize>,
}

impl Writers {
    /// At most N invocations at once, for M groups.
    #[must_use]
    pub fn new(most: usize, groups: usize) -> Self {
        let invocations = vec![(Vec::new(), 0.0); most];
        Self { most, invocations, queue: Vec::new(), in_flight: vec![0; groups] }
    }

    /// Puts a message on the queue.
    pub fn send(&mut self, message: Message) {
        self.queue.push(message);
    }

    /// The jobs of each invocation that has some.
    pub fn in_hand(&self) -> impl Iterator<Item = &[Message]> {
        self.invocations.iter().map(|(messages, _)| messages.as_slice()).filter(|m| !m.is_empty())
    }

    /// Lets invocations that are done take messages: as many each as go into a batch, and where the queue
    /// is short no more than everybody's share.
    pub fn receive(&mut self, now: f64) {
        let polling = (RAMP.0 + RAMP.1 * now).min(self.most as f64) as usize;
        for nth in 0..polling.min(self.invocations.len()) {
            if !self.invocations[nth].0.is_empty() {
                continue;
            }
            let idle = self.invocations[nth..polling].iter().filter(|(m, _)| m.is_empty()).count();
            let visible = self.queue.iter().filter(|message| message.visible_at <= now).count();
            let share = visible.div_ceil(idle.max(1)).min(MESSAGES);
            let batch: Vec<_> = (0..share).filter_map(|_| self.next(now)).collect();
            self.invocations[nth] = (batch, now);
        }
    }

    fn next(&mut self, now: f64) -> Option<Message> {
        let visible = self.queue.iter().enumerate().filter(|(_, m)| m.visible_at <= now);
        let (nth, _) = visible.min_by_key(|(nth, m)| (self.in_flight[m.group], *nth))?;
        let message = self.queue.remove(nth);
        self.in_flight[message.group] += 1;
        Some(message)
    }

    /// Ends invocations whose jobs are done, and those that have used half of their time: what is left
    /// of them goes back to the queue.
    pub fn end(&mut self, now: f64, is_done: impl Fn(usize) -> bool) {
        for (messages, since) in &mut self.invocations {
            let over = now - *since >= HALF_TIME;
            if !over && !messages.iter().all(|message| is_done(message.job)) {
                continue;
            }
            for message in messages.drain(..) {
                self.in_flight[message.group] -= 1;
                if !is_done(message.job) {
                    self.queue.push(Message { visible_at: now, ..message });
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(job: usize, group: usize) -> Message {
        Message { job, group, visible_at: 0.0 }
    }

    fn in_hand(writers: &Writers) -> Vec<Vec<usize>> {
        let jobs = |messages: &[Message]| messages.iter().map(|m| m.job).collect();
        writers.in_hand().map(jobs).collect()
    }

    #[test]
    fn a_short_queue_is_shared_out() {
        let mut writers = Writers::new(10, 1);
        (0..4).for_each(|job| writers.send(message(job, 0)));
        writers.receive(0.0);
        assert_eq!(in_hand(&writers), [[0], [1], [2], [3]]);
    }

    #[test]
    fn quiet_groups_go_before_busy_ones() {
        let mut writers = Writers::new(1, 2);
        (0..20).for_each(|job| writers.send(message(job, 0)));
        writers.send(message(20, 1));
        writers.receive(0.0);
        assert!(in_hand(&writers)[0].contains(&20));
    }

    #[test]
    fn what_takes_long_is_handed_on_and_waits_its_turn() {
        let mut writers = Writers::new(2, 1);
        (0..30).for_each(|job| writers.send(message(job, 0)));
        writers.receive(0.0);
        writers.end(28.0, |job| job < 10);
        writers.receive(28.0);
        assert_eq!(in_hand(&writers)[0], (20..30).collect::<Vec<_>>(), "its ten were done");
        writers.end(29.0, |_| false);
        writers.receive(29.0);
        assert_eq!(in_hand(&writers)[1], (10..20).collect::<Vec<_>>());
    }
}
