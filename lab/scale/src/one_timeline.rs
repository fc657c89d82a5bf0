//! Many entries of one viewer: what a follow copies, or an unfollow removes. They come in the order of
//! time, so they are written at one moving end of the viewer's timeline.

use crate::collection::{Ask, Collection, TICK, TableId};
use crate::delays::Delays;
use crate::partition::Units;
use crate::product::{HOP, INVOCATION};
use crate::space::Span;
use crate::world::Load;

/// Entries that one viewer's timeline gains or loses.
#[derive(Debug)]
pub struct OneTimeline {
    timeline: Collection,
    entries: f64,
    done: f64,
    /// Write units of each.
    each: f64,
    delays: Delays,
}

impl OneTimeline {
    /// N entries at this many write units each.
    #[must_use]
    pub fn new(span: Span, entries: f64, each: f64) -> Self {
        let timeline = Collection { name: "timeline of VIEWER", table: TableId::Timelines, span };
        Self { timeline, entries, done: 0.0, each, delays: Delays::default() }
    }

    #[must_use]
    pub fn delays(&self) -> &Delays {
        &self.delays
    }
}

impl Load for OneTimeline {
    fn ask(&mut self, _now: f64, asks: &mut Vec<Ask>) {
        let share = self.done / self.entries;
        let wanted = (self.entries - self.done).min(INVOCATION * TICK);
        let moving = self.timeline.span.slice(share, share);
        asks.push(self.timeline.want(Units::Write, moving, wanted * self.each));
    }

    fn take(&mut self, now: f64, served: &[f64]) {
        let entries = served[0] / self.each;
        self.done += entries;
        self.delays.add(now + HOP, entries);
    }

    fn is_over(&self) -> bool {
        self.entries - self.done < 1e-6
    }
}
