//! The messages of a run: delivered, acknowledged or delivered again, followed by others, and kept once they are dead
//! letters.

use std::collections::HashMap;

use aws_lambda_events::event::sqs::SqsMessage;
use shared::platform::dead_letters::MAX_RECEIVES;
use tests::{event, said, soon};

use super::Run;
use crate::platform::scheduler::{Handler, Task};
use crate::platform::usage::count;
use crate::social::commands::What;
use crate::social::delivery::{Delivery, goes_on_with};

/// Messages that come before one that an erasure waits for, at most.
const AWAITED: usize = 8;

impl Run<'_> {
    pub(super) fn deliver(&mut self) {
        let size = self.random.usize(1..5).min(self.arriving.len());
        count("message: delivered, up to four");
        let batch = self.arriving.split_off(self.arriving.len() - size);
        let mut observed = self.observed.borrow_mut();
        for what in batch.iter().filter_map(|delivery| delivery.what.as_ref()) {
            observed.begin(what);
            self.leaver.iter_mut().for_each(|leaver| leaver.begin(what, &mut observed));
        }
        drop(observed);
        let event = event(batch.iter().map(Delivery::message));
        let world = self.world;
        let task = Task::new(async move { world.writer.handle(event, soon()).await.unwrap() });
        self.handlers.push(Handler { batch, task });
    }

    /// What a handler left undone comes again at some time, or becomes a dead letter. The rest is in
    /// effect, unless it gave up, as soon as nothing goes on with it any more.
    pub(super) fn finish(
        &mut self,
        batch: Vec<Delivery>,
        unfinished: &[String],
    ) -> Result<(), String> {
        let origins: Vec<_> =
            batch.iter().map(|it| (it.body.clone(), it.origin().to_owned())).collect();
        for mut delivery in batch {
            let copies = origins.iter().filter(|(body, _)| *body == delivery.body);
            delivery.copies = copies.map(|(_, origin)| origin.clone()).collect();
            if unfinished.contains(&delivery.id) {
                if self.fault_plan.slow.is_some() {
                    return Err(format!("slowness used up a receive of {}", delivery.body));
                }
                self.redeliver(delivery);
            } else if delivery.receives < MAX_RECEIVES {
                for what in &delivery.goes_on_with {
                    *self.going_on.get_mut(what).unwrap() -= 1;
                    if let Some(segments) =
                        self.segments.get_mut(what).filter(|_| delivery.is_segment)
                    {
                        *segments -= 1;
                    }
                }
                self.acknowledged.push(delivery);
            }
        }
        self.take_effect();
        Ok(())
    }

    /// What was acknowledged is in effect where nothing goes on with it any more.
    fn take_effect(&mut self) {
        let goes_on = |what: &str| self.going_on.get(what).is_some_and(|messages| *messages > 0);
        let is_whole =
            |acknowledged: &mut Delivery| !acknowledged.may_be_gone_on_with().any(goes_on);
        if let Some(leaver) = &mut self.leaver {
            let number = |of: &HashMap<_, _>, what: &str| of.get(what).copied().unwrap_or(0);
            let is_behind =
                |what: &str| number(&self.going_on, what) > number(&self.segments, what);
            let in_effect =
                self.acknowledged.iter().filter(|it| !it.may_be_gone_on_with().any(is_behind));
            in_effect.filter_map(|it| it.what.as_ref()).for_each(|what| leaver.finished(what));
        }
        let mut observed = self.observed.borrow_mut();
        for acknowledged in self.acknowledged.extract_if(.., is_whole) {
            acknowledged.what.iter().for_each(|what| observed.take_effect(what));
        }
    }

    pub(super) fn redeliver(&mut self, mut delivery: Delivery) {
        if delivery.receives >= MAX_RECEIVES {
            count("message: given up by the queue");
            return self.letters.push(delivery.message());
        }
        count("message: delivered again");
        delivery.receives += 1;
        self.arrive(delivery);
    }

    /// A message arrives at any time; soon, if an erasure waits for it.
    fn arrive(&mut self, delivery: Delivery) {
        let is_awaited = delivery
            .what
            .as_ref()
            .is_some_and(|what| self.leaver.as_ref().is_some_and(|leaver| leaver.waits_for(what)));
        let earliest = if is_awaited { self.arriving.len().saturating_sub(AWAITED) } else { 0 };
        let index = self.random.usize(earliest..=self.arriving.len());
        self.arriving.insert(index, delivery);
    }

    /// What is on the queue, and what waits there: here any message may come at any time.
    async fn taken_at_once(&self) -> Vec<SqsMessage> {
        const LONGEST_DELAY: i64 = 15 * 60 * 1000;
        let (clock, now) = (&self.world.clock, self.world.clock.now());
        clock.set(now.plus_millis(LONGEST_DELAY));
        let taken = self.world.take_commands().await;
        clock.set(now);
        taken
    }

    /// Adds what operators have redriven, and the segments of fan-outs, to what arrives.
    pub(super) async fn take_sent(&mut self) {
        for message in self.taken_at_once().await {
            let body = message.body.unwrap();
            let said = said(&body);
            let (goes_on_with, is_segment) = (goes_on_with(&said), said["type"] == "fanout.part");
            for what in &goes_on_with {
                *self.going_on.entry(what.clone()).or_default() += 1;
                *self.segments.entry(what.clone()).or_default() += usize::from(is_segment);
            }
            let sent = self.history.iter().find(|sent| sent.what.body() == said);
            let what = sent.map(|sent| sent.what.clone());
            // The queue's own ids are random, and no seed decides them.
            self.taken += 1;
            let (id, attributes) = (format!("taken-{}", self.taken), message.message_attributes);
            let copies = Vec::new();
            self.arrive(Delivery {
                id,
                body,
                what,
                goes_on_with,
                is_segment,
                copies,
                attributes,
                receives: 1,
            });
        }
    }

    /// Adds the commands that clients make of answers to what arrives.
    pub(super) fn take_answers(&mut self) {
        let mut observed = self.observed.borrow_mut();
        for body in std::mem::take(&mut observed.to_send) {
            count("message: made of an answer");
            self.leaver.iter_mut().for_each(|leaver| leaver.sends(&body));
            for copy in 0..self.random.usize(1..3) {
                let id = format!("answer-{}-{copy}", observed.sent.len());
                let delivery = Delivery::new(id, What::Feature(body.clone()));
                let index = self.random.usize(0..=self.arriving.len());
                self.arriving.insert(index, delivery);
            }
            observed.sent.push(body);
        }
    }

    pub(super) async fn alert(&mut self) {
        self.letters.extend(self.world.take_dead_letters().await);
        let size = self.random.usize(1..5).min(self.letters.len());
        if size == 0 {
            return;
        }
        count("dead letters: kept by the alerter, up to four");
        let batch = self.letters.split_off(self.letters.len() - size);
        let event = event(batch.clone());
        let world = self.world;
        let task = Task::new(async move { world.alerter.handle(event, soon()).await.unwrap() });
        self.alerters.push(Handler { batch, task });
    }
}
