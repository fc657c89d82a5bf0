//! A deployment that a scenario runs on.

use fastrand::Rng;

use crate::collection::TableId;
use crate::delays::Delays;
use crate::fan_out::{Actor, FanOuts};
use crate::following::{Follows, Storm};
use crate::one_timeline::OneTimeline;
use crate::reading::{Arrivals, Readers};
use crate::report::{Delivery, Report};
use crate::setup::Setup;
use crate::space::Span;
use crate::world::{Run, World};

/// No scenario is run for longer than a day.
const LONGEST: f64 = 86_400.0;
/// The most bytes that a partition holds.
const PARTITION_BYTES: f64 = 10e9;
/// What DynamoDB adds to each item when it counts what is stored.
const ITEM_BYTES: f64 = 100.0;

/// A deployment, and where keys lie in it.
pub(crate) struct Stage {
    pub(crate) setup: Setup,
    pub(crate) seed: u64,
    pub(crate) copies: usize,
}

impl Stage {
    fn world(&self) -> World {
        World::new(self.setup.timelines, self.setup.ledger, self.setup.rules)
    }

    fn collection(&self, pk: &str) -> Span {
        Span::collection(pk, self.seed)
    }

    fn actor(&self, nth: usize, at: f64, followers: f64) -> Actor {
        let edges = self.collection(&format!("followers#actor-{nth}"));
        let record = self.collection(&format!("activity#live-{nth}")).end();
        Actor { at, followers, edges, record }
    }

    /// A world in which the edges of an actor lie in as many partitions as they fill, or more.
    fn world_of(&self, actor: &Actor, pieces: usize) -> World {
        let bytes = actor.followers * (self.setup.product.edge + ITEM_BYTES);
        let filled = (bytes / PARTITION_BYTES).ceil() as usize;
        self.world().cut(TableId::Ledger, actor.edges, pieces.max(filled))
    }

    fn fan_outs(&self, actors: Vec<Actor>) -> FanOuts {
        FanOuts::new(self.setup.product, self.setup.writers, actors)
    }

    pub(crate) fn publish(&self, report: Report, followers: f64, pieces: usize) -> Report {
        let actor = self.actor(0, 0.0, followers);
        let mut fan_out = self.fan_outs(vec![actor]);
        let run = self.world_of(&actor, pieces).run(&mut [&mut fan_out], LONGEST);
        delivered(report, &run, fan_out.delays())
    }

    pub(crate) fn delete(&self, report: Report, followers: f64) -> Report {
        let actor = self.actor(0, 0.0, followers);
        let mut fan_out = self.fan_outs(vec![actor]).erasing();
        let run = self.world_of(&actor, 1).run(&mut [&mut fan_out], LONGEST);
        delivered(report, &run, fan_out.delays())
    }

    pub(crate) fn watched(&self, report: Report, followers: f64) -> Report {
        let actor = self.actor(0, 0.0, followers);
        let mut fan_out = self.fan_outs(vec![actor]);
        let (delivered_so_far, entries) = (fan_out.delivered(), followers);
        let arrivals =
            Arrivals::Woken { delivered: delivered_so_far, share: 0.1, after: 60.0, entries };
        let mut readers = self.readers(arrivals);
        let run = self.world_of(&actor, 1).run(&mut [&mut fan_out, &mut readers], LONGEST);
        pages(delivered(report, &run, fan_out.delays()), &run, &readers)
    }

    pub(crate) fn read(&self, report: Report, count: f64, seconds: f64) -> Report {
        let mut readers = self.readers(Arrivals::Even { rate: count / seconds, seconds });
        let run = self.world().run(&mut [&mut readers], LONGEST);
        pages(report, &run, &readers)
    }

    fn readers(&self, arrivals: Arrivals) -> Readers {
        let copy = |nth| self.collection(&format!("changes#{nth}")).end();
        let copies: Vec<_> = (0..self.copies.max(1)).map(copy).collect();
        Readers::new(&self.setup.product, arrivals, self.setup.api, &copies)
    }

    pub(crate) fn follow(
        &self,
        report: Report,
        follows: f64,
        seconds: f64,
        activities: f64,
    ) -> Report {
        let edges = self.collection("followers#actor-0");
        let outbox = self.collection("outbox#actor-0");
        let storm = Storm { rate: follows / seconds, seconds, activities, edges, outbox };
        let mut follows = Follows::new(&self.setup.product, self.setup.writers, storm);
        let run = self.world().run(&mut [&mut follows], LONGEST);
        let delivery = Delivery::new("follows in effect", follows.delays());
        Report { deliveries: vec![delivery], ..report }.with(&run)
    }

    pub(crate) fn crowd(&self, report: Report, actors: usize, seconds: f64) -> Report {
        let mut rng = Rng::with_seed(self.seed);
        let actors = (0..actors).map(|nth| {
            let (at, audience) = (rng.f64() * seconds, audience(&mut rng));
            self.actor(nth, at, audience)
        });
        let mut fan_outs = self.fan_outs(actors.collect());
        let run = self.world().run(&mut [&mut fan_outs], LONGEST);
        delivered(report, &run, fan_outs.delays())
    }

    pub(crate) fn one_timeline(&self, report: Report, entries: f64, each: f64) -> Report {
        let mut timeline = OneTimeline::new(self.collection("viewer-0"), entries, each);
        let run = self.world().run(&mut [&mut timeline], LONGEST);
        let delivery = Delivery::new("entries changed", timeline.delays());
        Report { deliveries: vec![delivery], ..report }.with(&run)
    }
}

/// Followers of somebody: a fifth of the actors have four fifths of them, a thousand at least.
fn audience(rng: &mut Rng) -> f64 {
    (1_000.0 * (1.0 - rng.f64()).powf(-1.0 / 1.16)).min(2e6).round()
}

fn delivered(mut report: Report, run: &Run, delays: &[Delays; 2]) -> Report {
    let names = ["entries of actors below a page", "entries of actors with segments"];
    let some = names.into_iter().zip(delays).filter(|(_, delays)| delays.count() > 0.0);
    report.deliveries.extend(some.map(|(what, delays)| Delivery::new(what, delays)));
    report.with(run)
}

fn pages(mut report: Report, run: &Run, readers: &Readers) -> Report {
    report.deliveries.push(Delivery::new("pages served", readers.delays()));
    report.turned_away = Some(readers.turned_away().map(|pages| pages.round() as u64));
    report.with(run)
}
