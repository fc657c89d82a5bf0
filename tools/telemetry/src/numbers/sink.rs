//! Reads the metric lines that the functions write for CloudWatch.

use std::io::{self, Write};

use serde_json::Value;
use shared::platform::dead_letters::known_reason;
use shared::platform::values::Timestamp;

use super::{COMMANDS, COUNTS, Numbers, TIMES};

/// How long it takes from `published_at` to the last entry. What was dated back says nothing about that.
const LATENCY: &str = "FanOutLatency";
/// From here on a publish counts as dated back, in milliseconds: ten minutes.
pub(super) const LATE: f64 = 600_000.0;
/// The longest line that is read.
const LONGEST: usize = 64 * 1024;

/// Where functions write their metrics.
#[derive(Debug)]
pub(super) struct Sink {
    numbers: Numbers,
    /// What was written of a line that has not ended.
    line: Vec<u8>,
}

impl Sink {
    pub(super) fn new(numbers: Numbers) -> Self {
        Self { numbers, line: Vec::new() }
    }

    /// Counts what a line says. One that says nothing is none of ours.
    fn read(&self, line: &[u8]) -> Option<()> {
        let line: Value = serde_json::from_slice(line).ok()?;
        let at = Timestamp::from_unix_millis(line["_aws"]["Timestamp"].as_i64()?);
        let reason = line["Reason"].as_str().map_or("", known_reason);
        for (name, value) in line.as_object()? {
            let Some(name) = known(name) else { continue };
            for (value, times) in observations(value) {
                if name == LATENCY && value > LATE {
                    continue;
                }
                self.numbers.observe(at, (name, reason), value, times);
            }
        }
        Some(())
    }
}

impl Write for Sink {
    fn write(&mut self, text: &[u8]) -> io::Result<usize> {
        self.line.extend_from_slice(text);
        while let Some(end) = self.line.iter().position(|byte| *byte == b'\n') {
            let _ = self.read(&self.line[..end]);
            self.line.drain(..=end);
        }
        if self.line.len() > LONGEST {
            self.line.clear();
        }
        Ok(text.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The name of a metric, if it is one.
fn known(name: &str) -> Option<&'static str> {
    let names = COMMANDS.iter().map(|(name, _)| *name).chain(COUNTS).chain(TIMES);
    names.into_iter().find(|known| *known == name)
}

/// The values of a metric, and how often each was seen.
fn observations(value: &Value) -> Vec<(f64, u64)> {
    if let Some(number) = value.as_f64() {
        return vec![(number, 1)];
    }
    let numbers = |name: &str| value[name].as_array().into_iter().flatten();
    let times = numbers("Counts").map(|times| times.as_u64().unwrap_or(1));
    let values = numbers("Values").filter_map(Value::as_f64);
    values.zip(times.chain(std::iter::repeat(1))).collect()
}
