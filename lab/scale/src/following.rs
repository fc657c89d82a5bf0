//! A storm of follows of one actor: the actor is hidden from the follower, the edge, its line in the index and its row in
//! the follower's list are written, the outbox is read twice, an entry is written for each activity, the edge is read once
//! more, and the actor is shown.

use std::collections::VecDeque;

use crate::collection::{Ask, Collection, TICK, TableId};
use crate::delays::Delays;
use crate::partition::Units;
use crate::product::{CALL, HOP, MESSAGES, Product};
use crate::space::Span;
use crate::world::Load;

/// Seconds that a follow takes where nothing is refused: who is hidden, the edge, hiding, a hold, the edge again, its row,
/// the outbox, the entries, the edge and the outbox again, a hold, showing.
const UNHURRIED: f64 = 9.0 * CALL + 0.06;
/// What a follow asks for, one after the other.
const NEEDS: usize = 10;

/// Follows that came in one tick and are not in effect.
#[derive(Debug, Clone, Copy)]
struct FollowCohort {
    came: f64,
    follows: f64,
}

/// What every follow needs of one collection.
#[derive(Debug, Clone, Copy)]
struct FollowNeed {
    collection: Collection,
    units: Units,
    each: f64,
}

/// Follows of one actor.
#[derive(Debug)]
pub struct Follows {
    /// Follows a second, and for how many seconds.
    rate: f64,
    seconds: f64,
    /// Follows in hand at once, at most.
    at_once: f64,
    /// What a follow asks for, one after the other.
    needs: [FollowNeed; NEEDS],
    waiting: VecDeque<FollowCohort>,
    /// Those in hand, by what they need next.
    stages: [f64; NEEDS],
    /// Those of them that the last tick did not serve.
    stuck: f64,
    over: bool,
    delays: Delays,
}

/// What a storm is made of.
#[derive(Debug, Clone, Copy)]
pub struct Storm {
    /// Follows a second.
    pub rate: f64,
    /// For how many seconds.
    pub seconds: f64,
    /// What the actor has published within retention: one activity at least.
    pub activities: f64,
    pub edges: Span,
    pub outbox: Span,
}

impl Storm {
    fn needs(&self, product: &Product) -> [FollowNeed; NEEDS] {
        let edges =
            Collection { name: "followers#ACTOR", table: TableId::Ledger, span: self.edges };
        let outbox = Collection { name: "outbox#ACTOR", table: TableId::Ledger, span: self.outbox };
        let index = Collection { name: "by_follower", table: TableId::Index, span: Span::ALL };
        let timelines =
            Collection { name: "timelines", table: TableId::Timelines, span: Span::ALL };
        let need = |collection, units, each| FollowNeed { collection, units, each };
        let hidden =
            Collection { name: "person#VIEWER#hidden", table: TableId::Ledger, span: Span::ALL };
        let following =
            Collection { name: "person#VIEWER#following", table: TableId::Ledger, span: Span::ALL };
        [
            need(hidden, Units::Read, 1.0),
            need(edges, Units::Read, 1.0),
            need(hidden, Units::Write, 1.0),
            need(edges, Units::Write, 1.0),
            need(index, Units::Write, 1.0),
            need(following, Units::Write, 1.0),
            need(outbox, Units::Read, 2.0 * product.outbox_reads(self.activities)),
            need(timelines, Units::Write, self.activities * product.entry_writes()),
            need(edges, Units::Read, 1.0),
            need(hidden, Units::Write, 1.0),
        ]
    }
}

impl Follows {
    /// A storm, worked off by at most N invocations at once.
    #[must_use]
    pub fn new(product: &Product, writers: usize, storm: Storm) -> Self {
        Self {
            rate: storm.rate,
            seconds: storm.seconds,
            at_once: (writers * MESSAGES) as f64,
            needs: storm.needs(product),
            waiting: VecDeque::new(),
            stages: [0.0; NEEDS],
            stuck: 0.0,
            over: false,
            delays: Delays::default(),
        }
    }

    #[must_use]
    pub fn delays(&self) -> &Delays {
        &self.delays
    }

    fn admit(&mut self, now: f64) {
        if !self.over {
            let follows = self.rate * TICK;
            self.waiting.push_back(FollowCohort { came: now - TICK, follows });
            self.over = now + TICK / 2.0 > self.seconds;
        }
        let waiting: f64 = self.waiting.iter().map(|cohort| cohort.follows).sum();
        let idle = (self.at_once - self.stuck).max(0.0) * TICK / UNHURRIED;
        let in_hand: f64 = self.stages.iter().sum();
        self.stages[0] += (waiting - in_hand).max(0.0).min(idle);
    }

    /// Counts N more as in effect: those who have waited longest.
    fn in_effect(&mut self, mut follows: f64, now: f64) {
        while let Some(first) = self.waiting.front_mut() {
            let done = first.follows.min(follows);
            first.follows -= done;
            follows -= done;
            // The ticks between the stages are the simulation's; a call takes less.
            self.delays
                .add((now - first.came - self.stages.len() as f64 * TICK).max(0.0) + HOP, done);
            if first.follows > 1e-9 {
                return;
            }
            self.waiting.pop_front();
        }
    }
}

impl Load for Follows {
    fn ask(&mut self, now: f64, asks: &mut Vec<Ask>) {
        self.admit(now);
        asks.extend(self.needs.iter().zip(self.stages).map(|(need, follows)| {
            let FollowNeed { collection, units, each } = *need;
            collection.want(units, collection.span, follows * each)
        }));
    }

    fn take(&mut self, now: f64, served: &[f64]) {
        let done = |(need, units): (&FollowNeed, &f64)| units / need.each;
        let mut moved = 0.0;
        self.stuck = 0.0;
        for (stage, done) in self.stages.iter_mut().zip(self.needs.iter().zip(served).map(done)) {
            let left = (*stage - done).max(0.0);
            self.stuck += left;
            (*stage, moved) = (left + moved, *stage - left);
        }
        self.in_effect(moved, now);
    }

    fn is_over(&self) -> bool {
        self.over && self.waiting.iter().map(|cohort| cohort.follows).sum::<f64>() < 0.5
    }
}
