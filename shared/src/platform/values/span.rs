//! Stretches of a list that is in the order of time.

use super::timestamp::Timestamp;

/// Which end of a list comes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Order {
    /// The latest first.
    #[default]
    Newest,
    /// The earliest first.
    Oldest,
}

/// A stretch of time, and the end to begin at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    /// The first instant in it.
    pub from: Timestamp,
    /// The first instant beyond it, if it ends.
    pub to: Option<Timestamp>,
    pub order: Order,
}

/// The stored sort keys of a span: what a `BETWEEN` asks for, and where it begins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SpanKeys {
    /// The first text that may be in it.
    pub first: String,
    pub last: String,
    /// The key beyond which to begin, if that lies within.
    pub start: Option<String>,
}

impl Span {
    /// All of a list.
    pub fn all(order: Order) -> Self {
        Self { from: Timestamp::FIRST, to: None, order }
    }

    /// The sort keys in it, beyond a stored one if one is given. None if there can be no such key.
    ///
    /// DynamoDB refuses a start key outside the condition. One that lies outside (retention has passed by it, say) has
    /// either all of the span beyond it or nothing.
    pub fn keys(&self, after: Option<&str>) -> Option<SpanKeys> {
        let first = self.from.to_string();
        // `~` sorts after every character of a key, so nothing in the last millisecond is missed.
        let last = self.to.map_or_else(|| format!("{}~", Timestamp::LAST), |to| to.to_string());
        let nothing_beyond = match self.order {
            Order::Newest => after.is_some_and(|key| key < first.as_str()),
            Order::Oldest => after.is_some_and(|key| key > last.as_str()),
        };
        if nothing_beyond || first > last {
            return None;
        }
        let within = |key: &&str| (first.as_str()..=last.as_str()).contains(key);
        let start = after.filter(within).map(str::to_owned);
        Some(SpanKeys { first, last, start })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Whatever key one goes on from, what the keys admit is what lies in the span and beyond it.
        #[test]
        fn keys_admit_what_is_in_the_span_and_beyond(
            [from, to, at, after] in [0_i64..20, 0_i64..20, 0_i64..20, 0_i64..20],
            (ends, begins, newest) in any::<(bool, bool, bool)>(),
        ) {
            let instant = Timestamp::from_unix_millis;
            let order = if newest { Order::Newest } else { Order::Oldest };
            let span = Span { from: instant(from), to: ends.then(|| instant(to)), order };
            let (key, after) = (format!("{}#a", instant(at)), format!("{}#a", instant(after)));
            let after = begins.then_some(after.as_str());
            let is_beyond = after.is_none_or(|after| if newest { key.as_str() < after } else { key.as_str() > after });
            let expected = from <= at && (!ends || at < to) && is_beyond;
            let admitted = span.keys(after).is_some_and(|SpanKeys { first, last, start }| {
                let beyond_start = start.as_ref().is_none_or(|start| if newest { key < *start } else { key > *start });
                (first..=last).contains(&key) && beyond_start
            });
            prop_assert_eq!(admitted, expected);
        }
    }
}
