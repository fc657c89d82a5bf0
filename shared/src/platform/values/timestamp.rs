//! Instants, kept to the millisecond.
//!
//! A [`Timestamp`] prints as a fixed-width RFC 3339 text in UTC, so that the order of the bytes is
//! the order of time. That text is what the tables hold: it can be read, and used in a `BETWEEN`,
//! by hand in the console.

use std::fmt;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};
use time::format_description::well_known::Rfc3339;
use time::{Date, Month, OffsetDateTime, Time, UtcOffset};

/// Milliseconds of one day.
const DAY: i64 = 86_400_000;
/// 0000-01-01T00:00:00.000Z and 9999-12-31T23:59:59.999Z: what four digits of year can say.
const MIN: i64 = -62_167_219_200_000;
const MAX: i64 = 253_402_300_799_999;

/// Characters of a printed timestamp.
pub const TIMESTAMP_LENGTH: usize = 24;

/// An instant between the years 0000 and 9999, in milliseconds since 1970-01-01 UTC.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Timestamp(i64);

/// The text is not an instant as docs/PRODUCERS.md defines one.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("expected an RFC 3339 instant such as 2026-11-20T12:00:00.000Z")]
pub struct TimestampError;

impl Timestamp {
    /// The start of 1970: whatever is in a list is later.
    pub const FIRST: Self = Self(0);
    /// The last instant there is.
    pub const LAST: Self = Self(MAX);

    /// The instant `millis` milliseconds after 1970-01-01 UTC, or the nearest one that four digits
    /// of year can say.
    pub const fn from_unix_millis(millis: i64) -> Self {
        Self(if millis < MIN {
            MIN
        } else if millis > MAX {
            MAX
        } else {
            millis
        })
    }

    /// Milliseconds since 1970-01-01 UTC.
    pub fn unix_millis(self) -> i64 {
        self.0
    }

    /// Reads an RFC 3339 instant with any offset. Digits finer than a millisecond are cut off, not
    /// rounded. A leap second is accepted where RFC 3339 admits one (the last second of a month in
    /// UTC) and counts as the last millisecond before the next minute.
    ///
    /// # Errors
    /// [`TimestampError`] for anything else, an instant without an offset included.
    pub fn parse(text: &str) -> Result<Self, TimestampError> {
        // RFC 3339 asks for a `T` (in either case) where the parser would take any separator.
        if !matches!(text.as_bytes().get(10), Some(b'T' | b't')) {
            return Err(TimestampError);
        }
        let instant = OffsetDateTime::parse(text, &Rfc3339).map_err(|_| TimestampError)?;
        let millis = instant.unix_timestamp_nanos().div_euclid(1_000_000);
        match i64::try_from(millis) {
            Ok(millis) if (MIN..=MAX).contains(&millis) => Ok(Self(millis)),
            _ => Err(TimestampError),
        }
    }

    /// The start of a day in UTC, written `YYYY-MM-DD`.
    ///
    /// # Errors
    /// [`TimestampError`] if the text is not such a date.
    pub fn parse_date(text: &str) -> Result<Self, TimestampError> {
        let date = || -> Option<Date> {
            let bytes = text.as_bytes();
            let dashed = bytes.len() == 10 && bytes[4] == b'-' && bytes[7] == b'-';
            let digits = |i: usize| matches!(i, 4 | 7) || bytes[i].is_ascii_digit();
            if !dashed || !(0..10).all(digits) {
                return None;
            }
            let month = Month::try_from(text[5..7].parse::<u8>().ok()?).ok()?;
            Date::from_calendar_date(text[..4].parse().ok()?, month, text[8..].parse().ok()?).ok()
        };
        let start = date().ok_or(TimestampError)?.with_time(Time::MIDNIGHT).assume_utc();
        Ok(Self::from_unix_millis(start.unix_timestamp() * 1000))
    }

    /// The same time on the next day.
    #[must_use]
    pub fn next_day(self) -> Self {
        self.plus_millis(DAY)
    }

    /// The time since another instant; none if that is later.
    pub fn since(self, earlier: Self) -> Duration {
        Duration::from_millis(u64::try_from(self.0 - earlier.0).unwrap_or(0))
    }

    /// The instant `millis` milliseconds later (earlier, if negative).
    #[must_use]
    pub fn plus_millis(self, millis: i64) -> Self {
        Self::from_unix_millis(self.0.saturating_add(millis))
    }

    /// The instant that is so much later, in unix seconds, as DynamoDB's TTL reads them.
    pub fn unix_seconds_after(self, time: Duration) -> i64 {
        let seconds = i64::try_from(time.as_secs()).unwrap_or(i64::MAX);
        self.0.div_euclid(1000).saturating_add(seconds)
    }
}

impl From<Timestamp> for SystemTime {
    fn from(instant: Timestamp) -> Self {
        UNIX_EPOCH + instant.since(Timestamp(0))
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The range of the type is within what `time` can say, so the fallback is never reached.
        let instant = OffsetDateTime::from_unix_timestamp_nanos(i128::from(self.0) * 1_000_000)
            .unwrap_or(OffsetDateTime::UNIX_EPOCH)
            .to_offset(UtcOffset::UTC);
        let (date, time) = (instant.date(), instant.time());
        write!(
            f,
            "{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}Z",
            date.year(),
            u8::from(date.month()),
            date.day(),
            time.hour(),
            time.minute(),
            time.second(),
            time.millisecond()
        )
    }
}

impl TryFrom<String> for Timestamp {
    type Error = TimestampError;
    fn try_from(text: String) -> Result<Self, TimestampError> {
        Self::parse(&text)
    }
}

impl From<Timestamp> for String {
    fn from(at: Timestamp) -> Self {
        at.to_string()
    }
}

impl std::str::FromStr for Timestamp {
    type Err = TimestampError;
    fn from_str(text: &str) -> Result<Self, TimestampError> {
        Self::parse(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn check(text: &str, expected: Option<&str>) {
        let found = Timestamp::parse(text).ok().map(|t| t.to_string());
        assert_eq!(found.as_deref(), expected, "{text:?}");
    }

    #[test]
    fn reads_rfc_3339() {
        check("2026-11-20T12:00:00.000Z", Some("2026-11-20T12:00:00.000Z"));
        check("2026-11-20t12:00:00z", Some("2026-11-20T12:00:00.000Z"));
        check("2026-11-20T21:00:00.5+09:00", Some("2026-11-20T12:00:00.500Z"));
        check("2026-11-20T12:00:00.123999999Z", Some("2026-11-20T12:00:00.123Z"));
        check("2026-11-20T12:00:00.1239999999999Z", Some("2026-11-20T12:00:00.123Z"));
        check("2016-12-31T23:59:60Z", Some("2016-12-31T23:59:59.999Z"));
        check("2017-01-01T08:59:60+09:00", Some("2016-12-31T23:59:59.999Z"));
        check("9999-12-31T23:59:59.999Z", Some("9999-12-31T23:59:59.999Z"));
        check("0000-01-01T00:00:00Z", Some("0000-01-01T00:00:00.000Z"));
        check("1969-12-31T23:59:59.999Z", Some("1969-12-31T23:59:59.999Z"));
    }

    #[test]
    fn refuses_what_is_not() {
        let bad = [
            "",
            "now",
            "2026-11-20",
            "2026-11-20T12:00:00",
            "2026-11-20 12:00:00Z",
            "2026-11-20T12:00:61Z",
            "2026-11-20T12:30:60Z",
            "2026-13-01T00:00:00Z",
            "2026-02-30T00:00:00Z",
            "2026-11-20T24:00:00Z",
            "-2026-11-20T12:00:00Z",
            "12026-11-20T12:00:00Z",
            "2026-11-20T12:00:00.Z",
            "2026-11-20T12:00Z",
            "9999-12-31T23:59:59-01:00",
            "0000-01-01T00:00:00+01:00",
            " 2026-11-20T12:00:00Z",
            "2026-11-20T12:00:00+0900",
            "2026-11-20T12:00:00Z ",
        ];
        for text in bad {
            check(text, None);
        }
    }

    #[test]
    fn reads_dates() {
        let start = |text| Timestamp::parse_date(text).ok().map(|t| t.to_string());
        assert_eq!(start("2026-11-20").as_deref(), Some("2026-11-20T00:00:00.000Z"));
        let end = Timestamp::parse_date("2026-12-31").map(|t| t.next_day().to_string());
        assert_eq!(end.as_deref(), Ok("2027-01-01T00:00:00.000Z"));
        for bad in ["2026-1-1", "2026-02-30", "20261120", "2026-11-2x", "2026-11-20T", "+026-11-20"]
        {
            assert_eq!(start(bad), None, "{bad:?}");
        }
    }

    proptest! {
        #[test]
        fn prints_what_it_reads(millis in MIN..=MAX) {
            let at = Timestamp::from_unix_millis(millis);
            let text = at.to_string();
            prop_assert_eq!(text.len(), TIMESTAMP_LENGTH);
            prop_assert_eq!(Timestamp::parse(&text), Ok(at));
        }

        #[test]
        fn byte_order_is_time_order(a in MIN..=MAX, b in MIN..=MAX) {
            let (a, b) = (Timestamp::from_unix_millis(a), Timestamp::from_unix_millis(b));
            prop_assert_eq!(a.cmp(&b), a.to_string().cmp(&b.to_string()));
        }

        #[test]
        fn never_panics(text in "\\PC*") {
            let _ = (Timestamp::parse(&text), Timestamp::parse_date(&text));
        }
    }
}
