//! What was asked of item collections, what they could give, and when that was not enough.

use crate::collection::{Ask, TICK};
use crate::partition::Units;

/// A share of what is wanted below which a limit was met.
const ENOUGH: f64 = 0.99;
/// Units of a tick that are rounding.
const NOTHING: f64 = 1e-6;

/// One collection and one kind of units.
#[derive(Debug, Clone, PartialEq)]
pub struct Usage {
    pub name: &'static str,
    pub units: Units,
    /// Units a second that were wanted at the peak.
    pub wanted: f64,
    /// Units a second that it could give, at first and in the end.
    pub capacity: [f64; 2],
    /// Units served in all.
    pub served: f64,
    /// When it first could not give what was wanted.
    pub saturated_from: Option<f64>,
    /// For how many seconds.
    pub saturated_for: f64,
    /// Of what was wanted in those seconds, the share that had to wait.
    pub unmet: f64,
    /// Of these seconds, those in which the table as a whole was at its limit.
    pub by_table_for: f64,
    wanted_saturated: f64,
    served_saturated: f64,
    tick: Tick,
}

/// What was wanted and served in one tick.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
struct Tick {
    wanted: f64,
    served: f64,
    /// The table as a whole was at its limit.
    by_table: bool,
}

/// All of them, in the order of their first use.
#[derive(Debug, Clone, Default)]
pub struct Usages(Vec<Usage>);

impl Usages {
    /// Counts what was asked, and served of it; `by_table` says whether the table as a whole was the
    /// limit.
    pub fn add(&mut self, ask: &Ask, served: f64, capacity: f64, by_table: bool) {
        let (name, units) = (ask.collection.name, ask.want.units);
        let nth = self.0.iter().position(|usage| usage.name == name && usage.units == units);
        let nth = nth.unwrap_or_else(|| {
            self.0.push(Usage::new(name, units, capacity));
            self.0.len() - 1
        });
        let usage = &mut self.0[nth];
        usage.tick.wanted += ask.want.amount;
        usage.tick.served += served;
        usage.tick.by_table = by_table;
        usage.capacity[1] = capacity;
    }

    pub fn end_tick(&mut self, now: f64) {
        self.0.iter_mut().for_each(|usage| usage.end_tick(now));
    }

    pub fn iter(&self) -> impl Iterator<Item = &Usage> {
        self.0.iter()
    }

    #[must_use]
    pub fn of(&self, name: &str, units: Units) -> Option<&Usage> {
        self.0.iter().find(|usage| usage.name == name && usage.units == units)
    }

    #[must_use]
    pub fn served(&self, units: Units) -> f64 {
        self.0
            .iter()
            .filter(|usage| usage.units == units)
            .fold(0.0, |sum, usage| sum + usage.served)
    }
}

impl Usage {
    fn new(name: &'static str, units: Units, capacity: f64) -> Self {
        Self {
            name,
            units,
            wanted: 0.0,
            capacity: [capacity; 2],
            served: 0.0,
            saturated_from: None,
            saturated_for: 0.0,
            unmet: 0.0,
            by_table_for: 0.0,
            wanted_saturated: 0.0,
            served_saturated: 0.0,
            tick: Tick::default(),
        }
    }

    fn end_tick(&mut self, now: f64) {
        let Tick { wanted, served, by_table } = std::mem::take(&mut self.tick);
        self.wanted = self.wanted.max(wanted / TICK);
        self.served += served;
        if wanted < NOTHING || served >= wanted * ENOUGH {
            return;
        }
        self.saturated_from = self.saturated_from.or(Some(now - TICK));
        self.saturated_for += TICK;
        self.by_table_for += if by_table { TICK } else { 0.0 };
        self.wanted_saturated += wanted;
        self.served_saturated += served;
        self.unmet = 1.0 - self.served_saturated / self.wanted_saturated;
    }
}
