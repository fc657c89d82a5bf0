//! The one way to count: lines in CloudWatch's embedded metric format, which CloudWatch Logs turns
//! into metrics.
//!
//! Counting must cost next to nothing beside writing entries, so nothing is written where something
//! is counted. A handler's pieces of work answer with plain values: how they ended, and what the
//! [client's usage](crate::dynamo::Usage) says they cost. The function adds those up and hands the sums
//! over once, when its invocation ends: a line, however many entries were written. (The reader, whose invocations are
//! short and many, gathers those of some seconds.)
//!
//! Namespace and stage are the same for all and stand here. What is counted, and by what else it is
//! told apart, is a [`Record`] in the function that counts it. Alarms and dashboard name these too;
//! `tests/template` compares them. Values of dimensions come from short lists in the code: each is
//! paid for, and none may hold what somebody sent.

use std::borrow::Cow;
use std::io::Write;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use metrique::emf::{Emf, EntryDimensions};
use metrique::writer::format::Format;
use metrique::writer::{Entry, EntryWriter, MetricFlags, Observation, Unit, Value, ValueWriter};
use tracing::error;

use crate::values::Timestamp;

/// The namespace of all metrics.
pub const NAMESPACE: &str = "Nagare";
/// The dimension that every metric has: which deployment it is of.
pub const STAGE: &str = "Stage";

/// What a function has counted: its fields, named in PascalCase, are the metrics.
pub trait Record: Entry {
    /// The field that tells metrics apart, beside the stage. Each of them is there for the stage as a
    /// whole, too.
    const BY: Option<&'static str>;
}

/// A number of things. Where there were none nothing is written, for a metric that nobody sends
/// costs nothing.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Count(u64);

impl From<u64> for Count {
    fn from(number: u64) -> Self {
        Self(number)
    }
}

impl std::ops::AddAssign<u64> for Count {
    fn add_assign(&mut self, number: u64) {
        self.0 += number;
    }
}

impl Value for Count {
    fn write(&self, writer: impl ValueWriter) {
        if self.0 > 0 {
            let number = [Observation::Unsigned(self.0)];
            writer.metric(number, Unit::Count, [], MetricFlags::empty());
        }
    }
}

/// Where records go. Cheap to clone.
#[derive(Clone)]
pub struct Metrics {
    stage: Arc<str>,
    sink: Option<Arc<Mutex<Sink>>>,
}

struct Sink {
    format: Emf,
    output: Box<dyn Write + Send>,
}

impl Metrics {
    /// Counts for a stage on this output: standard output in a Lambda.
    #[must_use]
    pub fn to(output: impl Write + Send + 'static, stage: &str) -> Self {
        // The format checks what it is given in debug builds, and so in tests, only.
        let format = Emf::builder(NAMESPACE.to_owned(), vec![vec![STAGE.to_owned()]]).build();
        let sink = Sink { format, output: Box::new(output) };
        Self { stage: stage.into(), sink: Some(Arc::new(Mutex::new(sink))) }
    }

    /// Counts nowhere: for who has no CloudWatch.
    #[must_use]
    pub fn off() -> Self {
        Self { stage: "".into(), sink: None }
    }

    /// Writes a record. If it cannot be written that is logged, and the work it reports is done anyway.
    pub fn record<R: Record>(&self, record: &R, now: Timestamp) {
        let Some(sink) = &self.sink else { return };
        let dimensions = R::BY.map(dimensions);
        let line = Line { at: now.into(), stage: &self.stage, dimensions, record };
        let mut sink = sink.lock().unwrap_or_else(PoisonError::into_inner);
        let Sink { format, output } = &mut *sink;
        if let Err(failure) = format.format(&line, output) {
            error!("metrics were not written: {failure}");
        }
    }
}

impl std::fmt::Debug for Metrics {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Metrics")
    }
}

/// Beside the stage: by this, and by nothing.
fn dimensions(by: &'static str) -> EntryDimensions {
    let by = Cow::Owned(vec![Cow::Borrowed(by)]);
    EntryDimensions::new(Cow::Owned(vec![by, Cow::Owned(Vec::new())]))
}

/// A record with what all records have.
struct Line<'a, R> {
    at: SystemTime,
    stage: &'a str,
    dimensions: Option<EntryDimensions>,
    record: &'a R,
}

impl<R: Record> Entry for Line<'_, R> {
    fn write<'a>(&'a self, writer: &mut impl EntryWriter<'a>) {
        writer.timestamp(self.at);
        if let Some(dimensions) = &self.dimensions {
            writer.config(dimensions);
        }
        writer.value(STAGE, self.stage);
        self.record.write(writer);
    }
}
