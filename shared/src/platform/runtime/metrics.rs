//! The one way to count: lines in CloudWatch's embedded metric format, which CloudWatch Logs turns
//! into metrics.
//!
//! Counting must be much cheaper than writing entries, so there is no output at the place that counts. The steps of a handler return plain
//! values: their outcome, and their cost by the [client's usage](crate::platform::dynamo::Usage). The function adds those up and writes the sums
//! as one line at the end of its invocation, however many entries were written. (The reader, whose invocations are short and many,
//! adds up those of some seconds.)
//!
//! Namespace and stage are the same for all functions and defined here. The metrics and further dimensions are a [`Record`] in the function
//! that counts. Alarms and dashboard use the same names; `tests/template` compares them. Values of dimensions come from short lists in the
//! code: each costs money, and none may contain input.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde::{Serialize, Serializer};
use serde_json::{Value, json};
use tracing::error;

use crate::platform::values::Timestamp;

/// The namespace of all metrics.
pub const NAMESPACE: &str = "Nagare";
/// The dimension of every metric: the deployment.
pub const STAGE: &str = "Stage";

/// What a function has counted: an object whose members, named in PascalCase, are metrics ([`Count`],
/// [`Durations`]) or a text, by which metrics are told apart.
pub trait Record: Serialize {
    /// The member that tells metrics apart, beside the stage. Each of them is there for the stage as a
    /// whole, too.
    const BY: Option<&'static str>;
}

/// The metrics of a record, for what has to name them too.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct MetricNames {
    pub metrics: Vec<String>,
    /// The texts by which they are told apart.
    pub texts: Vec<String>,
    /// [`Record::BY`].
    pub by: Option<&'static str>,
}

impl MetricNames {
    /// Those of records of this kind, of which nothing is left out for being nothing.
    pub fn of<R: Record + Default>() -> Self {
        let members = serde_json::to_value(R::default()).ok();
        let members = members.as_ref().and_then(Value::as_object).into_iter().flatten();
        let (texts, metrics): (Vec<_>, Vec<_>) = members.partition(|(_, value)| value.is_string());
        let names = |members: Vec<(&String, &Value)>| {
            members.into_iter().map(|(name, _)| name.clone()).collect()
        };
        Self { metrics: names(metrics), texts: names(texts), by: R::BY }
    }
}

/// A count. Zero is not written, because a metric that is not sent costs nothing.
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

impl Serialize for Count {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            0 => serializer.serialize_none(),
            number => serializer.serialize_u64(number),
        }
    }
}

/// Times that were taken, to the microsecond. CloudWatch takes a hundred different ones in a line.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Durations(BTreeMap<u128, u64>);

impl Durations {
    pub fn add(&mut self, took: Duration) {
        *self.0.entry(took.as_micros()).or_default() += 1;
    }
}

impl Serialize for Durations {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let values: Vec<f64> = self.0.keys().map(|micros| *micros as f64 / 1_000.0).collect();
        let counts: Vec<u64> = self.0.values().copied().collect();
        match (values.as_slice(), counts.as_slice()) {
            ([], _) => serializer.serialize_none(),
            ([only], [1]) => serializer.serialize_f64(*only),
            _ => json!({"Values": values, "Counts": counts}).serialize(serializer),
        }
    }
}

/// Where records go. Cheap to clone.
#[derive(Clone)]
pub struct Metrics {
    stage: Arc<str>,
    output: Option<Arc<Mutex<dyn Write + Send>>>,
}

impl Metrics {
    /// Counts for a stage on this output: standard output in a Lambda.
    pub fn to(output: impl Write + Send + 'static, stage: &str) -> Self {
        Self { stage: stage.into(), output: Some(Arc::new(Mutex::new(output))) }
    }

    /// Discards all records, for stacks without CloudWatch.
    pub fn off() -> Self {
        Self { stage: "".into(), output: None }
    }

    /// Writes a record. A failure is only logged, because the work is done.
    pub fn record<R: Record>(&self, record: &R, now: Timestamp) {
        let Some(output) = &self.output else { return };
        let written = line(record, &self.stage, now).and_then(|line| {
            let mut output = output.lock().unwrap_or_else(PoisonError::into_inner);
            output.write_all(line.as_bytes())
        });
        if let Err(failure) = written {
            error!("metrics were not written: {failure}");
        }
    }
}

impl std::fmt::Debug for Metrics {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Metrics")
    }
}

/// A record with what all records have, as one line of the embedded metric format.
fn line<R: Record>(record: &R, stage: &str, now: Timestamp) -> io::Result<String> {
    let Value::Object(mut members) = serde_json::to_value(record)? else {
        return Err(io::Error::other("a record is no object"));
    };
    members.retain(|_, value| !value.is_null());
    let metrics: Vec<_> =
        members.iter().filter_map(|(name, value)| declared(name, value)).collect();
    let dimensions = match R::BY {
        Some(by) => json!([[STAGE, by], [STAGE]]),
        None => json!([[STAGE]]),
    };
    let directive = json!({"Namespace": NAMESPACE, "Dimensions": dimensions, "Metrics": metrics});
    members.insert(STAGE.to_owned(), stage.into());
    members.insert(
        "_aws".to_owned(),
        json!({"CloudWatchMetrics": [directive], "Timestamp": now.unix_millis()}),
    );
    Ok(Value::from(members).to_string() + "\n")
}

/// The definition of a metric for CloudWatch; `None` for a text, which is a dimension. Counts are integers, durations are not.
fn declared(name: &str, value: &Value) -> Option<Value> {
    let unit = match value {
        Value::Number(number) if number.is_u64() => "Count",
        Value::Number(_) | Value::Object(_) => "Milliseconds",
        _ => return None,
    };
    Some(json!({"Name": name, "Unit": unit}))
}
