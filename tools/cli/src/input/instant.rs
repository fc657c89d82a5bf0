//! An instant as databases and spreadsheets write it.

use shared::platform::values::Timestamp;

/// From here on a whole number is unix milliseconds: seconds of the year 5138.
const MILLISECONDS: i64 = 100_000_000_000;

/// The text is not an instant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "expected an instant: RFC 3339, unix seconds or milliseconds, a date, or YYYY-MM-DD HH:MM:SS with an offset such as +00 \
     (without one it is UTC)"
)]
pub(crate) struct InstantError;

/// Reads an instant: RFC 3339, unix seconds or milliseconds, a date in UTC, or
/// `YYYY-MM-DD HH:MM:SS[.ffffff][+00]`, which is UTC without an offset.
///
/// # Errors
/// [`InstantError`] if it is none of these.
pub(crate) fn instant(text: &str) -> Result<Timestamp, InstantError> {
    if let Ok(number) = text.parse::<i64>() {
        let millis = if number.abs() < MILLISECONDS { number * 1000 } else { number };
        return Ok(Timestamp::from_unix_millis(millis));
    }
    let read = Timestamp::parse(text).or_else(|_| Timestamp::parse_date(text));
    read.or_else(|error| rfc_3339(text).map_or(Err(error), |text| Timestamp::parse(&text)))
        .map_err(|_| InstantError)
}

/// An instant of a database as RFC 3339 writes it.
fn rfc_3339(text: &str) -> Option<String> {
    let (date, rest) = text.split_at_checked(10)?;
    let rest = rest.strip_prefix([' ', 'T', 't'])?;
    let (time, offset) = rest.split_at(rest.find(['+', '-', 'Z', 'z', ' ']).unwrap_or(rest.len()));
    let offset = offset.trim_start();
    let offset = match (offset, offset.len()) {
        ("" | "Z" | "z" | "UTC", _) => "Z".to_owned(),
        (_, 3) => format!("{offset}:00"),
        (_, 5) => format!("{}:{}", offset.get(..3)?, offset.get(3..)?),
        _ => offset.to_owned(),
    };
    Some(format!("{date}T{time}{offset}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instants_are_read_as_they_are_written_elsewhere() {
        for (text, expected) in [
            ("2026-11-20T12:00:00+09:00", "2026-11-20T03:00:00.000Z"),
            ("2026-11-01 12:00:00.123+00", "2026-11-01T12:00:00.123Z"),
            ("2026-11-01 12:00:00.123456-0130", "2026-11-01T13:30:00.123Z"),
            ("2026-11-01 12:00:00", "2026-11-01T12:00:00.000Z"),
            ("2026-11-01 12:00:00 UTC", "2026-11-01T12:00:00.000Z"),
            ("2026-11-01 12:00:00 +02:00", "2026-11-01T10:00:00.000Z"),
            ("2026-11-01T12:00:00", "2026-11-01T12:00:00.000Z"),
            ("2026-11-01", "2026-11-01T00:00:00.000Z"),
            ("1793534400", "2026-11-01T12:00:00.000Z"),
            ("1793534400123", "2026-11-01T12:00:00.123Z"),
        ] {
            assert_eq!(instant(text).map(|at| at.to_string()), Ok(expected.to_owned()), "{text}");
        }
        for text in
            ["", "now", "12:00", "2026-11-01 12", "1.5", "2026-11-01 12:00:00+0", "2026-13-01"]
        {
            assert_eq!(instant(text), Err(InstantError), "{text}");
        }
    }
}
