//! Three tables and what is done to them, tick by tick.

use crate::collection::{Ask, TICK, TableId};
use crate::space::Span;
use crate::table::{Rules, Table, Warmth};
use crate::usage::Usages;

/// Something that uses the tables.
pub trait Load {
    /// Says what it wants of the tick that ends at `now`.
    fn ask(&mut self, now: f64, asks: &mut Vec<Ask>);

    /// Receives how much of each of that was served.
    fn take(&mut self, now: f64, served: &[f64]);

    /// True once nothing is left to do.
    fn is_over(&self) -> bool;
}

/// The tables.
#[derive(Debug)]
pub struct World {
    tables: [Table; 3],
    usages: Usages,
}

/// The result of a run.
#[derive(Debug, Clone)]
pub struct Run {
    pub usages: Usages,
    /// Seconds until all was over, or the longest that it may take.
    pub seconds: f64,
    /// Partitions at the end: timelines, ledger, index.
    pub partitions: [usize; 3],
}

impl World {
    /// Tables that were prepared for something.
    #[must_use]
    pub fn new(timelines: Warmth, ledger: Warmth, rules: Rules) -> Self {
        // The template gives the index what it gives the ledger.
        let tables = [timelines, ledger, ledger].map(|warmth| Table::new(warmth, rules, TICK));
        Self { tables, usages: Usages::default() }
    }

    /// Puts a collection into N partitions from the beginning.
    #[must_use]
    pub fn cut(mut self, table: TableId, span: Span, pieces: usize) -> Self {
        self.tables[table as usize].cut(span, pieces);
        self
    }

    /// Runs loads until all are over, for at most `longest` seconds.
    #[must_use]
    pub fn run(mut self, loads: &mut [&mut dyn Load], longest: f64) -> Run {
        let mut tick = 0_u64;
        let mut now = 0.0;
        while now < longest && !loads.iter().all(|load| load.is_over()) {
            tick += 1;
            now = tick as f64 * TICK;
            self.tick(loads, now);
        }
        let partitions = self.tables.each_ref().map(Table::partitions);
        Run { usages: self.usages, seconds: now, partitions }
    }

    fn tick(&mut self, loads: &mut [&mut dyn Load], now: f64) {
        let (mut asks, mut ends) = (Vec::new(), Vec::new());
        for load in loads.iter_mut() {
            load.ask(now, &mut asks);
            ends.push(asks.len());
        }
        let capacities: Vec<_> = asks.iter().map(|ask| self.capacity(ask)).collect();
        let served = self.serve(&asks, now);
        for ((ask, served), capacity) in asks.iter().zip(&served).zip(capacities) {
            let table = &self.tables[ask.collection.table as usize];
            let whole = ask.collection.span == Span::ALL;
            let by_table = whole || table.is_at_limit(ask.want.units);
            self.usages.add(ask, *served, capacity, by_table);
        }
        self.usages.end_tick(now);
        let mut begin = 0;
        for (load, end) in loads.iter_mut().zip(ends) {
            load.take(now, &served[begin..end]);
            begin = end;
        }
    }

    fn capacity(&self, ask: &Ask) -> f64 {
        let Ask { collection, want } = ask;
        self.tables[collection.table as usize].capacity(want.units, collection.span)
    }

    fn serve(&mut self, asks: &[Ask], now: f64) -> Vec<f64> {
        let mut served = vec![0.0; asks.len()];
        for (nth, table) in self.tables.iter_mut().enumerate() {
            let mine = || (0..asks.len()).filter(|n| asks[*n].collection.table as usize == nth);
            let wants: Vec<_> = mine().map(|n| asks[n].want).collect();
            for (n, amount) in mine().zip(table.tick(&wants, now)) {
                served[n] = amount;
            }
        }
        served
    }
}
