//! Which keepers are at work: what waits for them to be done.
//!
//! A keeper says so before it reads what is due, and takes it back when it is done. Who wants periods for themselves marks their rows
//! first and then waits until nobody is at work any more that was before. So a keeper has either seen the mark, or is waited for.
//! One that died is waited for until it cannot live any longer: no invocation outlives its deadline. That is told by
//! the system's clock, whatever time it is in the stack.

use std::time::Duration;

use super::keys;
use crate::dynamo::item::{number, text};
use crate::dynamo::{DynamoError, Query};
use crate::ledger::{FORGET_AT, Ledger, LedgerKey};
use crate::runtime::clock::Clock;
use crate::runtime::deadline::Deadline;

/// What is sent at the deadline may arrive a little later.
const SLACK: Duration = Duration::from_secs(20);
/// What a dead keeper leaves expires so long after it.
const KEPT_MILLIS: i64 = 86_400_000;

/// The keepers. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Keepers {
    ledger: Ledger,
}

/// A keeper that is at work.
#[derive(Debug)]
pub struct KeeperLease(LedgerKey);

impl Keepers {
    #[must_use]
    pub fn new(ledger: &Ledger) -> Self {
        Self { ledger: ledger.clone() }
    }

    /// One begins, and works until its deadline at most.
    ///
    /// # Errors
    /// [`DynamoError`]; it may be noted.
    pub async fn begin(&self, deadline: Deadline) -> Result<KeeperLease, DynamoError> {
        let key = keys::keeper(fastrand::u64(..));
        let millis = i64::try_from((deadline.remaining() + SLACK).as_millis()).unwrap_or(i64::MAX);
        let until = Clock::system().now().plus_millis(millis);
        let forgotten = until.plus_millis(KEPT_MILLIS).unix_millis() / 1000;
        let attributes = [
            ("until".to_owned(), number(until.unix_millis())),
            (FORGET_AT.to_owned(), number(forgotten)),
        ];
        self.ledger.put(key.clone(), attributes, deadline).await?;
        Ok(KeeperLease(key))
    }

    /// It is done.
    ///
    /// # Errors
    /// [`DynamoError`]; then it is waited for until its deadline.
    pub async fn end(&self, lease: KeeperLease, deadline: Deadline) -> Result<(), DynamoError> {
        self.ledger.delete(lease.0, deadline).await
    }

    /// For how long those that are at work may still be; nothing if there are none.
    pub async fn at_work(&self, deadline: Deadline) -> Result<Option<Duration>, DynamoError> {
        let query = Query {
            keys: Some("pk = :pk"),
            values: vec![(":pk", text(keys::KEEPERS))],
            ..Query::default()
        };
        let now = Clock::system().now().unix_millis();
        let mut longest = 0;
        for row in self.ledger.table().all(query, || deadline).await? {
            let until: i64 = row.number("until")?;
            longest = longest.max(until.saturating_sub(now));
        }
        let longest = u64::try_from(longest).unwrap_or(0);
        Ok((longest > 0).then(|| Duration::from_millis(longest)))
    }
}
