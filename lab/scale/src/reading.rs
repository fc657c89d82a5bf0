//! Pages: one query for the entries, and by key who is hidden from the viewer, a copy of the change log, and the
//! records that the reader has not kept.
//!
//! All viewers here are shown the same activity on top. Each reader reads its record once and keeps it, as others
//! that are popular. So what is left are records that few are shown, and those are spread over the ledger, as are
//! the viewers. The change log is what every page reads.

use std::cell::Cell;
use std::collections::VecDeque;
use std::rc::Rc;

use crate::collection::{Ask, Collection, TICK, TableId};
use crate::delays::Delays;
use crate::partition::Units;
use crate::product::{CALL, PATIENCE, Product};
use crate::space::Span;
use crate::world::Load;

/// Less than this share of a tick's pages is nobody.
const NOBODY: f64 = 1e-6;
/// Seconds that a page takes where nothing is refused: a round trip for all, another for records that are not
/// kept, and the rest.
const UNHURRIED: f64 = 3.0 * CALL;
/// The records of a page that its reader has not kept: more than `nagare bench keep` prints for a hundred pages a
/// second.
const NOT_KEPT: f64 = 3.0;

/// When viewers come.
#[derive(Debug, Clone)]
pub enum Arrivals {
    /// At a constant rate for some time.
    Even {
        /// Viewers a second.
        rate: f64,
        seconds: f64,
    },
    /// A share of those who got an entry, within some seconds of it on average.
    Woken {
        delivered: Rc<Cell<f64>>,
        share: f64,
        /// The seconds that they take on average.
        after: f64,
        entries: f64,
    },
}

/// What the API lets through.
#[derive(Debug, Clone, Copy)]
pub struct Api {
    /// Pages a second.
    pub rate: f64,
    /// Pages at once: the account's concurrency.
    pub concurrency: f64,
}

/// What every page reads of one collection.
#[derive(Debug, Clone)]
struct PageNeed {
    collection: Collection,
    /// The keys that serve it, each a page like any other.
    spans: Vec<Span>,
    each: f64,
}

/// Pages that came in one tick.
#[derive(Debug, Clone)]
struct PageCohort {
    came: f64,
    pages: f64,
    /// Of each need, the share that is not served.
    unserved: Vec<f64>,
    done: f64,
}

/// Viewers who read.
#[derive(Debug)]
pub struct Readers {
    arrivals: Arrivals,
    api: Api,
    needs: Vec<PageNeed>,
    cohorts: VecDeque<PageCohort>,
    /// Woken, and not yet there.
    waking: f64,
    seen: f64,
    over: bool,
    delays: Delays,
    /// Answered 429.
    refused: f64,
    /// Answered 503.
    failed: f64,
}

impl PageCohort {
    fn left(&self) -> f64 {
        self.pages - self.done
    }
}

impl Readers {
    /// Viewers of one popular activity, and where the copies of the change log are, of which each page reads one.
    #[must_use]
    pub fn new(product: &Product, arrivals: Arrivals, api: Api, copies: &[Span]) -> Self {
        let ledger = |name, span| Collection { name, table: TableId::Ledger, span };
        let timelines =
            Collection { name: "timelines", table: TableId::Timelines, span: Span::ALL };
        let need = |collection: Collection, each| PageNeed {
            collection,
            spans: vec![collection.span],
            each,
        };
        let changes = ledger("changes#COPY", copies.first().copied().unwrap_or(Span::ALL));
        let needs = vec![
            PageNeed { spans: copies.to_vec(), ..need(changes, 1.0) },
            need(ledger("person#VIEWER#hidden", Span::ALL), 1.0),
            need(ledger("activity#…", Span::ALL), NOT_KEPT * product.record_reads()),
            need(timelines, product.entries_reads()),
        ];
        Self {
            arrivals,
            api,
            needs,
            cohorts: VecDeque::new(),
            waking: 0.0,
            seen: 0.0,
            over: false,
            delays: Delays::default(),
            refused: 0.0,
            failed: 0.0,
        }
    }

    /// How long pages took that were served.
    #[must_use]
    pub fn delays(&self) -> &Delays {
        &self.delays
    }

    /// Pages answered 429, and 503.
    #[must_use]
    pub fn turned_away(&self) -> [f64; 2] {
        [self.refused, self.failed]
    }

    /// How many come in the tick that ends at `now`.
    fn arriving(&mut self, now: f64) -> f64 {
        match &self.arrivals {
            Arrivals::Even { rate, seconds } => {
                self.over = now + TICK / 2.0 > *seconds;
                rate * TICK
            }
            Arrivals::Woken { delivered, share, after, entries } => {
                let delivered = delivered.get();
                self.waking += (delivered - self.seen) * share;
                self.seen = delivered;
                let come = self.waking * TICK / after;
                self.waking -= come;
                self.over = delivered > entries - 1.0 && self.waking < 1.0;
                come
            }
        }
    }

    /// Pages of which one need is not served.
    fn unserved(&self, nth: usize) -> f64 {
        self.cohorts.iter().map(|cohort| cohort.pages * cohort.unserved[nth]).sum()
    }

    /// Admits as many arrivals as the API and the account allow.
    fn admit(&mut self, arriving: f64) -> f64 {
        let waiting: f64 = self.cohorts.iter().map(PageCohort::left).sum();
        let idle = (self.api.concurrency - waiting).max(0.0) * TICK / UNHURRIED;
        let admitted = arriving.min(self.api.rate * TICK).min(idle);
        self.refused += arriving - admitted;
        admitted
    }

    /// Drops those who have waited for longer than the reader is patient.
    fn give_up(&mut self, now: f64) {
        while self.cohorts.front().is_some_and(|first| now - first.came >= PATIENCE) {
            self.failed += self.cohorts.pop_front().map_or(0.0, |cohort| cohort.left());
        }
        self.cohorts.retain(|cohort| cohort.left() > NOBODY * cohort.pages);
    }
}

impl Load for Readers {
    fn ask(&mut self, now: f64, asks: &mut Vec<Ask>) {
        if !self.over {
            let arriving = self.arriving(now);
            let pages = self.admit(arriving);
            let unserved = vec![1.0; self.needs.len()];
            self.cohorts.push_back(PageCohort { came: now - TICK, pages, unserved, done: 0.0 });
        }
        for (nth, need) in self.needs.iter().enumerate() {
            let units = self.unserved(nth) * need.each / need.spans.len() as f64;
            let wants =
                need.spans.iter().map(|span| need.collection.want(Units::Read, *span, units));
            asks.extend(wants);
        }
    }

    fn take(&mut self, now: f64, mut served: &[f64]) {
        for nth in 0..self.needs.len() {
            let PageNeed { spans, each, .. } = &self.needs[nth];
            let (mine, others) = served.split_at(spans.len());
            let (pages, wanted) = (mine.iter().sum::<f64>() / each, self.unserved(nth));
            let share = if wanted > 0.0 { (pages / wanted).min(1.0) } else { 1.0 };
            self.cohorts.iter_mut().for_each(|cohort| cohort.unserved[nth] *= 1.0 - share);
            served = others;
        }
        for cohort in &mut self.cohorts {
            // Which keys are served is chance, so meeting one need does not bring the others forward.
            let done =
                cohort.pages * cohort.unserved.iter().map(|left| 1.0 - left).product::<f64>();
            self.delays.add(now - cohort.came - TICK, done - cohort.done);
            cohort.done = done;
        }
        self.give_up(now);
    }

    fn is_over(&self) -> bool {
        self.over && self.cohorts.is_empty()
    }
}
