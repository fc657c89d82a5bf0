//! The order of a timeline.
//!
//! `2026-11-20T12:00:00.000Z#live-8391`: the instant in fixed width, a `#` that no id contains,
//! and the activity id. The order of the bytes is the order of time, ties are in byte order of
//! the id, and a `BETWEEN` on date prefixes works by hand.

use std::fmt;

use super::id::ActivityId;
use super::timestamp::{TIMESTAMP_LENGTH, Timestamp};

/// The sort key of an activity in every timeline and in its actor's outbox.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SortKey {
    /// When the activity was published.
    pub published_at: Timestamp,
    pub activity_id: ActivityId,
}

/// The text is not a sort key.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("expected an instant, `#` and an activity id")]
pub struct SortKeyError;

impl std::str::FromStr for SortKey {
    type Err = SortKeyError;

    /// Reads a key back from the table. Only the one canonical form is accepted.
    fn from_str(text: &str) -> Result<Self, SortKeyError> {
        let (instant, rest) = text.split_at_checked(TIMESTAMP_LENGTH).ok_or(SortKeyError)?;
        let published_at = Timestamp::parse(instant).map_err(|_| SortKeyError)?;
        let id = rest.strip_prefix('#').ok_or(SortKeyError)?;
        let activity_id = ActivityId::new(id).map_err(|_| SortKeyError)?;
        if published_at.to_string() != instant {
            return Err(SortKeyError);
        }
        Ok(Self { published_at, activity_id })
    }
}

impl fmt::Display for SortKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}#{}", self.published_at, self.activity_id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn keys() -> impl Strategy<Value = SortKey> {
        (0_i64..4_000_000_000_000, "[A-Za-z0-9._:@|+-]{0,127}[A-Za-z0-9_:@|+-]").prop_filter_map(
            "id",
            |(at, id)| {
                let activity_id = ActivityId::new(id).ok()?;
                Some(SortKey { published_at: Timestamp::from_unix_millis(at), activity_id })
            },
        )
    }

    proptest! {
        #[test]
        fn round_trips(key in keys()) {
            prop_assert_eq!(key.to_string().parse::<SortKey>(), Ok(key));
        }

        #[test]
        fn byte_order_is_order(a in keys(), b in keys(), same in any::<bool>()) {
            let b = if same { SortKey { published_at: a.published_at, ..b } } else { b };
            prop_assert_eq!(a.cmp(&b), a.to_string().cmp(&b.to_string()));
        }

        #[test]
        fn accepts_only_what_round_trips(text in "[0-9TZ:.#a-z-]{20,40}") {
            if let Ok(key) = text.parse::<SortKey>() {
                prop_assert_eq!(key.to_string(), text);
            }
        }
    }

    #[test]
    fn refuses_other_forms() {
        for text in [
            "",
            "2026-11-20T12:00:00.000Z",
            "2026-11-20T12:00:00.000Z#",
            "2026-11-20T12:00:00.000Z#a#b",
            "2026-11-20t12:00:00.000z#a",
            "2026-11-20T12:00:00.0000#a",
            "\u{e9}2026-11-20T12:00:00.000Z#a",
        ] {
            assert_eq!(text.parse::<SortKey>(), Err(SortKeyError), "{text:?}");
        }
    }
}
