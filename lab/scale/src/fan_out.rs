//! Publishes and deletes: every follower's edge is read, every follower's timeline is written.

use std::cell::Cell;
use std::rc::Rc;

use shared::social::follows::FollowerRange;

use crate::collection::{Ask, Collection, TICK, TableId};
use crate::delays::Delays;
use crate::partition::Units;
use crate::product::{HOP, INVOCATION, Product};
use crate::space::Span;
use crate::world::Load;
use crate::writers::{Message, Writers};

/// The share of an invocation's writes that fan-outs without segments may take from segments.
const FRONT: f64 = 0.9;

/// Somebody who publishes, or deletes.
#[derive(Debug, Clone, Copy)]
pub struct Actor {
    pub at: f64,
    /// The number of followers.
    pub followers: f64,
    pub edges: Span,
    pub record: Span,
}

/// One message's work.
#[derive(Debug, Clone, Copy)]
struct Job {
    actor: usize,
    edges: Span,
    followers: f64,
    read: f64,
    written: f64,
    is_plan: bool,
}

/// Fan-outs of some actors.
#[derive(Debug)]
pub struct FanOuts {
    product: Product,
    writers: Writers,
    actors: Vec<Actor>,
    jobs: Vec<Job>,
    /// Edges are read once to erase, twice to insert.
    looks: f64,
    collections: [Collection; 4],
    /// Of actors who are served at once, and of those with segments.
    delays: [Delays; 2],
    /// Entries so far, for viewers that are woken by them.
    delivered: Rc<Cell<f64>>,
    left: f64,
    /// Entries of the last tick: each page of them is followed by a progress update and a read of the
    /// record.
    last: f64,
    /// The jobs that made requests, in order.
    asked: Vec<usize>,
}

impl FanOuts {
    /// Publishes, by at most N invocations at once.
    #[must_use]
    pub fn new(product: Product, writers: usize, actors: Vec<Actor>) -> Self {
        let collections = collections(&actors);
        let mut writers = Writers::new(writers, actors.len());
        let mut jobs = Vec::new();
        for (nth, actor) in actors.iter().enumerate() {
            let is_plan = product.segments(actor.followers) > 0;
            let (edges, followers) = (actor.edges, actor.followers);
            jobs.push(Job { actor: nth, edges, followers, read: 0.0, written: 0.0, is_plan });
            writers.send(Message { job: nth, group: nth, visible_at: actor.at + HOP });
        }
        let left = actors.iter().map(|actor| actor.followers).sum();
        Self {
            product,
            writers,
            actors,
            jobs,
            looks: 2.0,
            collections,
            delays: Default::default(),
            delivered: Rc::default(),
            left,
            last: 0.0,
            asked: Vec::new(),
        }
    }

    /// The same for deletes.
    #[must_use]
    pub fn erasing(mut self) -> Self {
        self.looks = 1.0;
        self
    }

    #[must_use]
    pub fn delivered(&self) -> Rc<Cell<f64>> {
        Rc::clone(&self.delivered)
    }

    /// From publish to entry: to followers of actors served at once, and of those with segments.
    #[must_use]
    pub fn delays(&self) -> &[Delays; 2] {
        &self.delays
    }

    /// Cuts what is large into segments, which go onto the queue.
    fn cut(&mut self, now: f64) {
        let in_hand = self.writers.in_hand().flatten().map(|message| message.job);
        let plans: Vec<_> = in_hand.filter(|job| self.jobs[*job].is_plan).collect();
        for plan in plans {
            let Job { actor, edges, followers, .. } = self.jobs[plan];
            for range in FollowerRange::split(self.product.segments(followers)) {
                let share = f64::from(range.width()) / f64::from(FollowerRange::ALL.width());
                let job = self.jobs.len();
                let (edges, followers) = (edges.of_followers(range), followers * share);
                self.jobs.push(Job {
                    actor,
                    edges,
                    followers,
                    read: 0.0,
                    written: 0.0,
                    is_plan: false,
                });
                self.writers.send(Message { job, group: actor, visible_at: now + HOP });
            }
            // Nothing is left of it to do by itself.
            self.jobs[plan] = Job { followers: 0.0, is_plan: false, ..self.jobs[plan] };
        }
    }

    /// What each invocation could do in a tick, distributed over its jobs.
    fn shares(&self) -> Vec<Vec<(usize, f64)>> {
        let shares = self.writers.in_hand().map(|messages| {
            let busy = || messages.iter().map(|m| m.job).filter(|job| !self.jobs[*job].is_done());
            let share = INVOCATION * TICK / busy().count().max(1) as f64;
            busy().map(|job| (job, share)).collect()
        });
        shares.collect()
    }

    /// Distributes what was served: every invocation gets as much as any other, as paces that are held
    /// to capacity do, and within it a fan-out without segments goes before segments.
    fn write(&mut self, served: f64, now: f64) {
        let mut invocations: Vec<[Vec<(usize, f64)>; 2]> = Vec::new();
        for shares in self.shares() {
            let wants = shares.into_iter().map(|(job, share)| (job, self.writable(job, share)));
            let (bulk, front) = wants.partition(|(job, _)| self.is_segment(*job));
            invocations.push([front, bulk]);
        }
        let total = |jobs: &[(usize, f64)]| jobs.iter().map(|(_, want)| want).sum::<f64>();
        let wants: Vec<_> = invocations
            .iter()
            .map(|priorities| priorities.iter().map(|jobs| total(jobs)).sum())
            .collect();
        self.last = served / self.product.entry_writes();
        for ([front, bulk], got) in invocations.iter().zip(deal(&wants, self.last)) {
            let ahead = total(front).min((got - total(bulk)).max(got * FRONT));
            for (jobs, got) in [(front, ahead), (bulk, got - ahead)] {
                let wants: Vec<_> = jobs.iter().map(|(_, want)| *want).collect();
                for ((job, _), entries) in jobs.iter().zip(deal(&wants, got)) {
                    self.wrote(*job, entries, now);
                }
            }
        }
    }

    fn is_segment(&self, job: usize) -> bool {
        self.product.segments(self.actors[self.jobs[job].actor].followers) > 0
    }

    fn writable(&self, job: usize, share: f64) -> f64 {
        let Job { read, written, .. } = self.jobs[job];
        (read - written).min(share)
    }

    fn wrote(&mut self, job: usize, entries: f64, now: f64) {
        self.jobs[job].written += entries;
        let (actor, priority) =
            (self.actors[self.jobs[job].actor], usize::from(self.is_segment(job)));
        self.delays[priority].add(now - actor.at, entries);
        self.delivered.set(self.delivered.get() + entries);
        self.left -= entries;
    }
}

impl Load for FanOuts {
    fn ask(&mut self, now: f64, asks: &mut Vec<Ask>) {
        self.writers.receive(now);
        self.cut(now);
        let shares = self.shares();
        let [edges, timelines, progress, record] = self.collections;
        let (ahead, each) = (self.product.ahead(), self.product.edge_reads() * self.looks);
        let mut writes = 0.0;
        self.asked.clear();
        for (nth, share) in shares.into_iter().flatten() {
            let job = self.jobs[nth];
            writes += self.writable(nth, share);
            let more = (job.followers - job.read).min(share).min(ahead - (job.read - job.written));
            if more > 0.0 {
                asks.push(edges.want(Units::Read, job.ahead(more), more * each));
                self.asked.push(nth);
            }
        }
        asks.push(timelines.want(Units::Write, Span::ALL, writes * self.product.entry_writes()));
        let pages = self.last / f64::from(self.product.limits.page);
        let looks = pages * self.product.record_reads();
        asks.push(progress.want(Units::Write, progress.span, pages));
        asks.push(record.want(Units::Read, record.span, looks));
    }

    fn take(&mut self, now: f64, served: &[f64]) {
        let each = self.product.edge_reads() * self.looks;
        let (reads, writes) = served.split_at(self.asked.len());
        self.write(writes[0], now);
        for (nth, units) in self.asked.iter().zip(reads) {
            self.jobs[*nth].read += units / each;
        }
        let jobs = &self.jobs;
        self.writers.end(now, |job| jobs[job].is_done());
    }

    fn is_over(&self) -> bool {
        self.left < 0.5
    }
}

/// Edges, timelines, progress, records: those of one actor, or all that go by these names.
fn collections(actors: &[Actor]) -> [Collection; 4] {
    let [edges, record] = match actors {
        [actor] => [actor.edges, actor.record],
        _ => [Span::ALL; 2],
    };
    let ledger = |name, span| Collection { name, table: TableId::Ledger, span };
    [
        ledger("followers#ACTOR", edges),
        Collection { name: "timelines", table: TableId::Timelines, span: Span::ALL },
        ledger("fanout#ACTIVITY", record),
        ledger("activity#ACTIVITY", record),
    ]
}

/// Distributes an amount: everybody gets the same, but nobody more than they want.
fn deal(wants: &[f64], amount: f64) -> Vec<f64> {
    let mut order: Vec<_> = (0..wants.len()).collect();
    order.sort_by(|a, b| wants[*a].total_cmp(&wants[*b]));
    let (mut got, mut left) = (vec![0.0; wants.len()], amount);
    for (before, nth) in order.into_iter().enumerate() {
        got[nth] = wants[nth].min(left / (wants.len() - before) as f64);
        left -= got[nth];
    }
    got
}

impl Job {
    fn is_done(&self) -> bool {
        !self.is_plan && self.followers - self.written < 1e-5
    }

    /// The edges it reads next.
    fn ahead(&self, followers: f64) -> Span {
        let share = |read: f64| read / self.followers;
        self.edges.slice(share(self.read), share(self.read + followers))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everybody_gets_the_same_but_nobody_more_than_they_want() {
        assert_eq!(deal(&[100.0, 10.0, 500.0], 210.0), [100.0, 10.0, 100.0]);
        assert_eq!(deal(&[3.0, 4.0], 100.0), [3.0, 4.0]);
    }
}
