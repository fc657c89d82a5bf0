//! Counting dead letters in CloudWatch's embedded metric format: a JSON line on standard output that
//! CloudWatch Logs turns into a metric. The alarm stands on this metric and not on the depth of the
//! queue, which this function keeps at zero.

use std::io::Write;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use metrique::emf::Emf;
use metrique::writer::Entry;
use metrique::writer::format::Format;
use shared::Timestamp;
use tracing::error;

/// The namespace of all of the project's metrics.
const NAMESPACE: &str = "Nagare";

/// One dead letter, counted by reason and in all.
#[derive(Entry)]
#[entry(rename_all = "PascalCase")]
struct Arrival {
    #[entry(timestamp)]
    at: SystemTime,
    reason: String,
    dead_letters: u64,
}

/// Where dead letters are counted. Cheap to clone.
#[derive(Clone)]
pub struct Metrics {
    sink: Arc<Mutex<Sink>>,
}

struct Sink {
    format: Emf,
    output: Box<dyn Write + Send>,
}

impl Metrics {
    /// Counts on this output: standard output in the Lambda.
    #[must_use]
    pub fn to(output: impl Write + Send + 'static) -> Self {
        let dimensions = vec![vec!["Reason".to_owned()], vec![]];
        let format = Emf::all_validations(NAMESPACE.to_owned(), dimensions);
        Self { sink: Arc::new(Mutex::new(Sink { format, output: Box::new(output) })) }
    }

    /// Counts one dead letter. A line that cannot be written is logged; the letter is kept anyway.
    pub(crate) fn count(&self, reason: &str, now: Timestamp) {
        let since = Duration::from_millis(u64::try_from(now.unix_millis()).unwrap_or(0));
        let arrival =
            Arrival { at: UNIX_EPOCH + since, reason: reason.to_owned(), dead_letters: 1 };
        let mut sink = self.sink.lock().unwrap_or_else(PoisonError::into_inner);
        let Sink { format, output } = &mut *sink;
        if let Err(failure) = format.format(&arrival, output) {
            error!("a dead letter was not counted: {failure}");
        }
    }
}

impl std::fmt::Debug for Metrics {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Metrics")
    }
}
