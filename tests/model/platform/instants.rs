//! The first instant of a run, and spans of time.

/// The first instant of a run, in unix milliseconds: 2026-11-20T12:00:00Z.
pub(crate) const START: i64 = 1_795_176_000_000;
pub(crate) const MINUTE: i64 = 60_000;
pub(crate) const DAY: i64 = 24 * 60 * MINUTE;

/// An instant as RFC 3339.
pub(crate) fn instant(millis: i64) -> String {
    shared::platform::values::Timestamp::from_unix_millis(millis).to_string()
}
