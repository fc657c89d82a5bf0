//! A span of time as it is typed: a whole number and a unit.

use std::str::FromStr;

/// A year, in seconds.
const LONGEST: i64 = 365 * 86_400;
/// Units of time and their seconds.
const UNITS: [(char, i64); 4] = [('s', 1), ('m', 60), ('h', 3_600), ('d', 86_400)];

/// From one second to 365 days.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Span(i64);

/// The text is no such span.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("expected 1s to 365d: a whole number and one of s, m, h, d, such as 15m")]
pub(super) struct SpanError;

impl Span {
    pub(super) fn as_seconds(self) -> i64 {
        self.0
    }

    pub(super) fn as_millis(self) -> i64 {
        self.0 * 1_000
    }
}

impl FromStr for Span {
    type Err = SpanError;

    fn from_str(text: &str) -> Result<Self, SpanError> {
        let parsed = UNITS.iter().find_map(|(unit, seconds)| {
            let digits = text.strip_suffix(*unit)?;
            let digits = digits.bytes().all(|b| b.is_ascii_digit()).then_some(digits)?;
            digits.parse::<i64>().ok()?.checked_mul(*seconds)
        });
        parsed.filter(|seconds| (1..=LONGEST).contains(seconds)).map(Self).ok_or(SpanError)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_span_has_a_unit_and_an_end() {
        for (text, seconds) in [("1s", 1), ("15m", 900), ("1h", 3_600), ("365d", LONGEST)] {
            assert_eq!(text.parse(), Ok(Span(seconds)), "{text}");
        }
        for text in [
            "",
            "s",
            "60",
            "0s",
            "-1h",
            "+1h",
            "1.5h",
            "366d",
            "1 h",
            "1w",
            "９s",
            "9223372036854775807d",
        ] {
            assert_eq!(text.parse::<Span>(), Err(SpanError), "{text}");
        }
    }
}
