//! A cache of the rows of periods.
//!
//! **For writers**: the row of a single period, once its table is made. The number of keys of a customer never changes from then on, so
//! the row is cached as long as there is room. A planned row is read each time.
//!
//! **For readers**: all rows, for [`KEPT`], and only if the tables of all periods that accept events are among them. Events are put
//! nowhere else, so no table with events is overlooked. If a table is dropped meanwhile, reading it fails, and the rows are read again.

use std::collections::BTreeSet;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;

use lru::LruCache;
use parking_lot::Mutex;
use tokio::time::Instant;

use super::{Customer, Event, Events, Period, PeriodRow, PeriodState};
use crate::platform::dynamo::DynamoError;
use crate::platform::message::MAX_FUTURE_MILLIS;
use crate::platform::values::Timestamp;

/// How long rows are used without being read again.
const KEPT: Duration = Duration::from_secs(3);
/// Rows of single periods in the cache, of 48 KB at most.
const PERIODS: NonZeroUsize = NonZeroUsize::new(64).unwrap();
/// Customers in the cache of raised numbers of keys.
const RAISED: NonZeroUsize = NonZeroUsize::new(1_024).unwrap();

/// The cache. Shared by all handlers of a process.
#[derive(Debug)]
pub(super) struct PeriodCache {
    made: Mutex<LruCache<Period, Arc<PeriodRow>>>,
    listed: Mutex<Option<(Instant, Arc<[PeriodRow]>)>>,
    /// The number of keys that a customer was raised to in a period.
    pub(super) raised: Mutex<LruCache<(Period, Customer), u32>>,
}

impl Default for PeriodCache {
    fn default() -> Self {
        let (made, raised) = (LruCache::new(PERIODS), LruCache::new(RAISED));
        Self { made: Mutex::new(made), listed: Mutex::default(), raised: Mutex::new(raised) }
    }
}

impl Events {
    /// The row of a period whose table is made.
    ///
    /// # Errors
    /// [`DynamoError::TableMissing`] if the table is not made yet.
    pub(super) async fn made(&self, period: Period) -> Result<Arc<PeriodRow>, DynamoError> {
        if let Some(row) = self.known.made.lock().get(&period) {
            return Ok(Arc::clone(row));
        }
        match self.periods.row(period).await? {
            Some(row) if row.state != PeriodState::Planned => {
                let row = Arc::new(row);
                self.known.made.lock().put(period, Arc::clone(&row));
                Ok(row)
            }
            _ => Err(DynamoError::TableMissing(self.tables.name(period))),
        }
    }

    /// Reads the rows that these events need, once for all of them. Errors are ignored: they occur again when the events are recorded.
    pub async fn look_up(&self, events: impl Iterator<Item = &Event>, now: Timestamp) {
        let periods: BTreeSet<_> =
            events.map(|event| self.settings.period_of(event.key.at)).collect();
        for period in periods {
            if self.settings.closes_at(period) > now {
                let _ = self.made(period).await;
            }
        }
    }

    /// The rows of periods, newest first, down to the newest dropped one.
    pub(super) async fn listed(&self, now: Timestamp) -> Result<Arc<[PeriodRow]>, DynamoError> {
        let kept = self.known.listed.lock().clone();
        match kept {
            Some((read, rows)) if read.elapsed() < KEPT && self.has_all_open(&rows, now) => {
                Ok(rows)
            }
            _ => self.list().await,
        }
    }

    /// Reads these rows.
    pub(super) async fn list(&self) -> Result<Arc<[PeriodRow]>, DynamoError> {
        let begun = Instant::now();
        let is_dropped = |row: &PeriodRow| row.state == PeriodState::Dropped;
        let rows: Arc<[_]> = self.periods.newest_until(is_dropped).await?.into();
        *self.known.listed.lock() = Some((begun, Arc::clone(&rows)));
        Ok(rows)
    }

    /// True if each period that accepts events is among these rows, with a table.
    fn has_all_open(&self, rows: &[PeriodRow], now: Timestamp) -> bool {
        let mut period = self.settings.period_of(now.plus_millis(MAX_FUTURE_MILLIS));
        while self.settings.closes_at(period) > now {
            let is_made = |row: &PeriodRow| row.period == period && row.state.has_table();
            if !rows.iter().any(is_made) {
                return false;
            }
            period = period.previous();
        }
        true
    }
}
