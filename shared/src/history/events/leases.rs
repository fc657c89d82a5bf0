//! Leases of running keepers, for erasures that have to wait for them.
//!
//! A keeper writes its [lease](crate::platform::runtime::lease) before it reads what is due, and deletes it when it is done. An
//! erasure first marks the rows of periods, and then waits until all leases from before that are
//! gone. So each keeper either sees the mark, or is waited for. The erasure of a customer waits
//! again once the views are emptied: daily decisions that follow from what the views counted are
//! made by then.

use std::collections::BTreeMap;
use std::time::Duration;

use super::keys;
use crate::platform::dynamo::item::{number, text};
use crate::platform::dynamo::{Dynamo, DynamoError, Query};
use crate::platform::ledger::{FORGET_AT, Ledger, LedgerKey};

/// The interval between two looks whether keepers have ended.
const PAUSE: Duration = Duration::from_millis(200);
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
        let table = self.ledger.table();
        let until = table.dynamo().leases().until(table.deadline());
        let forgotten = (until + KEPT_MILLIS) / 1000;
        let attributes =
            [("until".to_owned(), number(until)), (FORGET_AT.to_owned(), number(forgotten))];
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

    /// Waits until all keepers that are running now have ended, or cannot write any more.
    ///
    /// # Errors
    /// [`DynamoError`]: some may be running.
    pub async fn wait(&self) -> Result<(), DynamoError> {
        let mut running = self.running().await?;
        while let Some(longest) = running.values().max() {
            tokio::time::sleep(PAUSE.min(*longest)).await;
            let still = self.running().await?;
            running.retain(|key, left| {
                still.get(key).is_some_and(|now| {
                    *left = *now;
                    true
                })
            });
        }
        Ok(())
    }

    /// The leases of running keepers, and how long each may still run.
    async fn running(&self) -> Result<BTreeMap<LedgerKey, Duration>, DynamoError> {
        let query = Query {
            keys: Some("pk = :pk"),
            values: vec![(":pk", text(keys::keepers()))],
            ..Query::default()
        };
        let (mut running, leases) = (BTreeMap::new(), self.ledger.table().dynamo().leases());
        for row in self.ledger.table().all(query).await? {
            let left = leases.remaining(row.number("until")?);
            running.extend((!left.is_zero()).then_some((LedgerKey::of(&row)?, left)));
        }
        Ok(running)
    }
}
