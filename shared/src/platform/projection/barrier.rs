//! A barrier: once it is passed, all facts from before it was raised are folded.
//!
//! Changes of one shard are folded in their order. So once a row of a shard is folded, all that was written into that
//! shard before it is folded too. Which shard a row goes to cannot be chosen. A barrier therefore writes many rows under
//! different keys: with 150 shards, the probability that one of them gets no row is below one in a billion.
//!
//! Operators use it to compare views with facts. It costs a write unit for each row; the rows expire.

use std::time::Duration;

use futures::{StreamExt, TryStreamExt, stream};

use super::{Change, Fold, State, View, Views};
use crate::platform::dynamo::item::{Item, Key, Row, number};
use crate::platform::dynamo::{DynamoError, IN_FLIGHT, keys};
use crate::platform::facts::Facts;
use crate::platform::ledger::FORGET_AT;
use crate::platform::stored::ROW;
use crate::platform::values::Timestamp;

/// Rows and view expire after a day, as their changes do.
const KEPT: Duration = Duration::from_secs(86_400);

keys! {
    /// The barrier and the number of the row with this key.
    fn of_row -> (String, u64);
    partitions {
        row_of(barrier: String, n: u64) = "barrier#{barrier}#{n}";
        view_of(barrier: String) = "barrier#{barrier}";
    }
    items {
        row(barrier: String, n: u64) = row_of(barrier, n), "barrier" in Facts as "barrier" {
            says: "a row of a barrier",
            most: 512, grows: "nothing; expires after a day",
            at_bound: "cannot be exceeded",
            test: "the model test",
            later: Never, erased: Gone,
        } => (barrier, n);
        view(barrier: String) = view_of(barrier), "barrier" in Views as "barrier" {
            says: "how many rows of a barrier are folded",
            most: ROW, grows: "marks of shards",
            at_bound: "as in all views",
            test: "`checkpoints::a_view_that_is_made_again_knows_of_checkpoints`",
            later: AsOthers, erased: Gone,
        };
    }
}

/// The name of a barrier.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Barrier(String);

/// A barrier that was raised.
#[derive(Debug)]
pub struct Raised {
    barrier: Barrier,
    rows: u64,
}

impl Raised {
    /// Puts a barrier after all facts so far.
    ///
    /// # Errors
    /// [`DynamoError`]; it will never be passed then.
    pub async fn new(facts: &Facts, now: Timestamp) -> Result<Self, DynamoError> {
        let (barrier, rows) = (Barrier(format!("{:032x}", fastrand::u128(..))), facts.barrier_rows);
        let forget_at = number(now.unix_seconds_after(KEPT));
        let puts = (0..rows).map(|n| {
            let mut item = barrier.row(n).into_item();
            item.insert(FORGET_AT.to_owned(), forget_at.clone());
            facts.table().put(item)
        });
        stream::iter(puts).buffer_unordered(IN_FLIGHT).try_collect::<()>().await?;
        Ok(Self { barrier, rows })
    }

    /// The view of the barrier, once everything before it is folded. It has the mark of each shard, so a view that is
    /// made again can [catch up with it](View::caught_up_with).
    pub async fn passed(
        &self,
        views: &Views,
    ) -> Result<Option<View<BarrierProgress>>, DynamoError> {
        let passed = views.read(self.barrier.view(), View::<BarrierProgress>::read_from).await?;
        Ok(Some(passed).filter(|passed| passed.state.rows >= self.rows))
    }
}

impl Barrier {
    fn row(&self, n: u64) -> Key {
        row(&self.0, &n)
    }

    /// The key of its view, which counts its folded rows.
    pub fn view(&self) -> Key {
        view(&self.0)
    }

    /// The barrier that a key of the facts is a row of.
    pub fn of_key(key: &Key) -> Option<Self> {
        of_row(&key.pk, &key.sk).map(|(barrier, _)| Self(barrier))
    }
}

/// The number of rows of a barrier that are folded.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct BarrierProgress {
    rows: u64,
    forget_at: i64,
}

impl State for BarrierProgress {
    const ATTRIBUTES: &'static [&'static str] = &["rows"];

    fn read(row: &Row<'_>) -> Result<Self, DynamoError> {
        Ok(Self { rows: row.count("rows")?, forget_at: row.number(FORGET_AT)? })
    }

    fn write(&self) -> Item {
        Item::from([
            ("rows".to_owned(), number(self.rows)),
            (FORGET_AT.to_owned(), number(self.forget_at)),
        ])
    }
}

impl Fold for BarrierProgress {
    fn fold(&mut self, change: &Change, facts: &str) -> Result<(), DynamoError> {
        if let (None, Some(item)) = (&change.before, &change.after) {
            self.forget_at = Row { table: facts, item: item.clone() }.number(FORGET_AT)?;
            self.rows += 1;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_says_which_barrier_it_is_of() {
        let barrier = Barrier("0a".to_owned());
        assert_eq!(Barrier::of_key(&barrier.row(7)), Some(barrier.clone()));
        assert_eq!(Barrier::of_key(&barrier.view()), None);
    }
}
