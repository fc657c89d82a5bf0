//! A burst of edits: the record of each is read and written, and then each is told in all copies of the change log, with the
//! others of its batch that wait while an append is in flight.

use crate::delays::Delays;
use crate::partition::Units;
use crate::product::{CALL, HOP, MESSAGES};
use crate::space::Span;
use crate::world::{Ask, Collection, Load, TICK, TableId};

/// Edits in one append: of a batch the first is appended alone, and all others wait for it.
const TOGETHER: f64 = MESSAGES as f64 / 2.0;
/// Seconds that a batch takes where nothing is refused: the records, read and written; two appends, each to the first copy
/// and then to the others; a hold.
const BATCH: f64 = 6.0 * CALL + 0.03;

/// What every edit needs of one collection.
#[derive(Debug, Clone, Copy)]
struct Need {
    collection: Collection,
    units: Units,
    each: f64,
}

/// Edits of different activities that are sent at once.
#[derive(Debug)]
pub struct Edits {
    needs: Vec<Need>,
    /// Edits a second that the writers work off, where no table holds them back.
    pace: f64,
    edits: f64,
    done: f64,
    delays: Delays,
}

impl Edits {
    /// N edits, by at most so many invocations at once, that are told in these copies of the change log.
    #[must_use]
    pub fn new(edits: f64, writers: usize, copies: &[Span]) -> Self {
        let collection = |name, span| Collection { name, table: TableId::Ledger, span };
        let records = collection("activity#ACTIVITY", Span::ALL);
        let need = |collection, units, each| Need { collection, units, each };
        let of_log =
            |span: &Span| need(collection("changes#COPY", *span), Units::Write, 1.0 / TOGETHER);
        let of_records = [need(records, Units::Read, 1.0), need(records, Units::Write, 1.0)];
        Self {
            needs: copies.iter().map(of_log).chain(of_records).collect(),
            pace: (writers * MESSAGES) as f64 / BATCH,
            edits,
            done: 0.0,
            delays: Delays::default(),
        }
    }

    /// From command to effect.
    #[must_use]
    pub fn delays(&self) -> &Delays {
        &self.delays
    }
}

impl Load for Edits {
    fn ask(&mut self, _now: f64, asks: &mut Vec<Ask>) {
        let edits = (self.edits - self.done).min(self.pace * TICK);
        let wants = self.needs.iter().map(|Need { collection, units, each }| {
            collection.want(*units, collection.span, edits * each)
        });
        asks.extend(wants);
    }

    /// An edit is in effect when all copies have it.
    fn take(&mut self, now: f64, served: &[f64]) {
        let done = self.needs.iter().zip(served).map(|(need, units)| units / need.each);
        let done = done.fold(f64::INFINITY, f64::min);
        self.done += done;
        self.delays.add(now + HOP, done);
    }

    fn is_over(&self) -> bool {
        self.edits - self.done < 0.5
    }
}
