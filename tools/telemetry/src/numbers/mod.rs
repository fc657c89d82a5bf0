//! What the local stack has counted: what its functions tell CloudWatch, and what their tables and queues charge for.
//!
//! ```text
//! sink     reads the metric lines that the functions write
//! series   one number over the last hour
//! spread   how values are distributed
//! ```
//!
//! An hour of each number is kept, in slots of ten seconds. The reader gathers its counts for that long, so finer slots would show
//! when it writes them, and not when callers come. The numbers are those that are named here, so their memory is bounded.

mod series;
mod sink;
mod spread;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::sync::Arc;

use parking_lot::Mutex;
use shared::platform::runtime::clock::Clock;
use shared::platform::runtime::metrics::Metrics;
use shared::platform::values::Timestamp;

use series::{HOUR, SLOT, Series};
pub use series::{POINTS, Point, Total};
use sink::Sink;

const STAGE: &str = "local";

/// How commands end: the metrics, and what to call them.
pub const COMMANDS: [(&str, &str); 8] = [
    ("CommandsApplied", "applied"),
    ("CommandsSplit", "cut into parts"),
    ("CommandsContinued", "parts continued"),
    ("CommandsExpired", "older than retention"),
    ("CommandsSuppressed", "deleted before published"),
    ("CommandsRefused", "refused"),
    ("CommandsFailed", "failed, come again"),
    ("CommandsGivenUp", "given up"),
];
/// The other metrics that count things.
const COUNTS: [&str; 17] = [
    "EntriesWritten",
    "EntriesRepeated",
    "ItemsUnprocessed",
    "CallsRetried",
    "ChangesFolded",
    "ChangesSetAside",
    "ViewConflicts",
    "ViewsFailed",
    "Problems",
    "ReadsRetried",
    "KeysUnprocessed",
    "DeadLetters",
    "EventsAccepted",
    "RequestsRejected",
    "RequestsLimited",
    "RequestsUnsent",
    "SendsRetried",
];
/// Those that measure a time, in milliseconds.
pub const TIMES: [&str; 4] = ["FanOutLatency", "FanOutDuration", "ProjectionLag", "PageLatency"];
/// Invocations, by function.
pub const INVOCATIONS: &str = "Invocations";
/// The functions whose invocations are the API's requests.
pub const READER: &str = "timeline reader";
/// See [`READER`].
pub const HISTORY_READER: &str = "history reader";
/// See [`READER`].
pub const INTAKE: &str = "event intake";
/// Requests to the queues: those of producers, of functions, and those of Lambda for them.
pub const QUEUE_REQUESTS: &str = "QueueRequests";
/// Write units of calls by functions, by table.
pub const WRITE_UNITS: &str = "WriteUnits";
/// Read units of calls by functions, by table.
pub const READ_UNITS: &str = "ReadUnits";

/// Names a number, and by what else it is told apart: a table, a function, a reason; or by nothing.
type Name = (&'static str, &'static str);

/// What was counted. Cheap to clone: clones count together.
#[derive(Debug, Clone)]
pub struct Numbers {
    counted: Arc<Mutex<BTreeMap<Name, Series>>>,
    clock: Clock,
    since: Timestamp,
}

impl Default for Numbers {
    fn default() -> Self {
        Self::new(Clock::system())
    }
}

impl Numbers {
    /// Counts from now on.
    pub fn new(clock: Clock) -> Self {
        let since = clock.now();
        Self { counted: Arc::default(), clock, since }
    }

    /// Where functions record what they count.
    pub fn metrics(&self) -> Metrics {
        Metrics::to(Sink::new(self.clone()), STAGE)
    }

    /// Counts an invocation of a function: of one that takes messages, with what Lambda asks of their queue for it.
    pub fn invocation(&self, function: &'static str, queue_requests: u32) {
        self.add(INVOCATIONS, function, 1.0);
        if queue_requests > 0 {
            self.add(QUEUE_REQUESTS, "Lambda", f64::from(queue_requests));
        }
    }

    /// Adds to a number, now.
    pub fn add(&self, name: &'static str, by: &'static str, amount: f64) {
        self.observe(self.clock.now(), (name, by), amount, 1);
    }

    /// Since when it counts.
    pub fn since(&self) -> Timestamp {
        self.since
    }

    /// The milliseconds of the last hour for which it has counted, at least those of a slot.
    pub fn observed_millis(&self) -> i64 {
        let passed = self.clock.now().unix_millis() - self.since.unix_millis();
        passed.clamp(SLOT, HOUR)
    }

    /// What a number came to in the last minutes: all of it, or one of what it is told apart by.
    pub fn recent(&self, name: &str, by: Option<&str>, minutes: i64) -> Total {
        let now = self.clock.now();
        self.sum(name, by, |series| series.recent(now, minutes))
    }

    /// The same since the start.
    pub fn ever(&self, name: &str, by: Option<&str>) -> Total {
        self.sum(name, by, |series| series.ever)
    }

    /// What a number is told apart by.
    pub fn kinds(&self, name: &str) -> Vec<&'static str> {
        let counted = self.counted.lock();
        counted.keys().filter(|(other, _)| *other == name).map(|(_, by)| *by).collect()
    }

    /// The last hour of a number: [`POINTS`] of half a minute, the last of them now.
    pub fn hour(&self, name: &str, by: Option<&str>) -> Vec<Point> {
        let now = self.clock.now();
        let mut points = vec![Point::default(); POINTS];
        self.each(name, by, |series| series.add_hour(now, &mut points));
        points
    }

    fn sum(&self, name: &str, by: Option<&str>, total: impl Fn(&Series) -> Total) -> Total {
        let mut sum = Total::default();
        self.each(name, by, |series| sum = sum + total(series));
        sum
    }

    fn each(&self, name: &str, by: Option<&str>, mut look: impl FnMut(&Series)) {
        let counted = self.counted.lock();
        let wanted = |(other, kind): &Name| *other == name && by.is_none_or(|by| by == *kind);
        counted.iter().filter(|(name, _)| wanted(name)).for_each(|(_, series)| look(series));
    }

    /// Adds a value that was seen N times.
    fn observe(&self, at: Timestamp, name: Name, value: f64, times: u64) {
        let mut counted = self.counted.lock();
        counted.entry(name).or_default().observe(at, value, times, TIMES.contains(&name.0));
    }
}
