//! Leases of running keepers, for erasures that have to wait for them.
//!
//! A keeper writes its lease before it reads what is due, and deletes it when it is done. An erasure first marks the rows of periods, and
//! then waits until all leases from before that are gone. So each keeper either sees the mark, or is waited for. For a crashed keeper
//! the wait ends with its deadline, because no invocation outlives that. Leases use the system's clock, whatever the time of the stack.

use std::time::Duration;

use super::keys;
use crate::dynamo::item::{number, text};
use crate::dynamo::{Dynamo, DynamoError, Query};
use crate::ledger::{FORGET_AT, Ledger, LedgerKey};
use crate::runtime::clock::Clock;

/// A call that is sent at the deadline may arrive a little later.
const SLACK: Duration = Duration::from_secs(20);
/// The lease of a dead keeper expires this long after its end.
const KEPT_MILLIS: i64 = 86_400_000;

/// The keepers. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Keepers {
    ledger: Ledger,
}

/// The lease of a running keeper.
#[derive(Debug)]
pub struct KeeperLease(LedgerKey);

impl Keepers {
    #[must_use]
    pub fn new(ledger: &Ledger) -> Self {
        Self { ledger: ledger.clone() }
    }

    /// The same, with the client of a piece of work.
    #[must_use]
    pub fn over(&self, dynamo: &Dynamo) -> Self {
        Self { ledger: self.ledger.over(dynamo) }
    }

    /// Writes the lease of a keeper that runs until its deadline at most.
    ///
    /// # Errors
    /// [`DynamoError`]; it may be noted.
    pub async fn begin(&self) -> Result<KeeperLease, DynamoError> {
        let key = keys::keeper(&fastrand::u64(..));
        let remaining = self.ledger.table().deadline().remaining();
        let millis = i64::try_from((remaining + SLACK).as_millis()).unwrap_or(i64::MAX);
        let until = Clock::system().now().plus_millis(millis);
        let forgotten = until.plus_millis(KEPT_MILLIS).unix_millis() / 1000;
        let attributes = [
            ("until".to_owned(), number(until.unix_millis())),
            (FORGET_AT.to_owned(), number(forgotten)),
        ];
        self.ledger.put(key.clone(), attributes).await?;
        Ok(KeeperLease(key))
    }

    /// Deletes the lease of a keeper that is done.
    ///
    /// # Errors
    /// [`DynamoError`]; erasures then wait until its deadline.
    pub async fn end(&self, lease: KeeperLease) -> Result<(), DynamoError> {
        self.ledger.delete(lease.0).await
    }

    /// How long running keepers may still run; `None` if there are none.
    pub async fn at_work(&self) -> Result<Option<Duration>, DynamoError> {
        let query = Query {
            keys: Some("pk = :pk"),
            values: vec![(":pk", text(keys::keepers()))],
            ..Query::default()
        };
        let now = Clock::system().now().unix_millis();
        let mut longest = 0;
        for row in self.ledger.table().all(query).await? {
            let until: i64 = row.number("until")?;
            longest = longest.max(until.saturating_sub(now));
        }
        let longest = u64::try_from(longest).unwrap_or(0);
        Ok((longest > 0).then(|| Duration::from_millis(longest)))
    }
}
