//! Appends to the [change log](super::changes). Simultaneous changes of a process are appended together.
//!
//! Every edit and delete has to be in the log before it is acknowledged, and each copy of the log is one item. So handlers that
//! come while an append is in flight wait for it, and then one of them appends the changes of all of them. An edit waits for at
//! most two appends, and the number of writes does not depend on the number of edits. A handler that has waited for [`PATIENCE`]
//! appends its own changes alone, so a hanging call blocks others no longer than that.
//!
//! # Bounds
//!
//! * The list has at most [`ROOM`] entries: with its keys less than 1 KB, one write unit. The condition of the append ensures that.
//! * A writer that fills it beyond [`FULL`] cuts [`CUT`] entries from its front. That is right whatever was appended since, because
//!   entries are added at the end. If that writer dies before it has cut, a later append is refused for the length of the list,
//!   cuts it and tries once more.
//! * If that is refused too, for a group of more than [`MOST`] changes, or if DynamoDB refuses a malformed item, the log begins
//!   again with a new epoch and one entry. That write has no condition and does not grow with the group, so it always succeeds;
//!   readers clear their caches.
//!
//! So an append is at most four calls for a copy, each below 2 KB, with an expression below 500 bytes.
//!
//! The count of a log that began again always exceeds its entries, so a reader that never saw the log does not take them for all
//! changes.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use aws_sdk_dynamodb::types::AttributeValue;
use futures::future::try_join_all;
use parking_lot::Mutex;
use tokio::sync::Mutex as Turn;

use super::changes::{ActivityFingerprint, Changes, Copies};
use super::keys::copy;
use crate::platform::dynamo::item::{Item, list, number, text};
use crate::platform::dynamo::{Changed, DynamoError, Update};
use crate::platform::ledger::Ledger;

/// Entries that a copy holds at most: 90 of 10 bytes, and its keys and numbers, are less than 1 KB.
const ROOM: usize = 90;
/// A writer that appends beyond this number of entries cuts the list.
const FULL: usize = 72;
/// Entries that a cut removes.
const CUT: usize = 40;
/// Changes of one append at most; more of them begin the log again.
const MOST: usize = 40;
/// How long a handler waits for its turn before it appends alone.
const PATIENCE: Duration = Duration::from_secs(1);

/// The change log of a process. Clones share what waits.
#[derive(Debug, Clone, Default)]
pub struct ChangeLog(Arc<ChangeLogInner>);

#[derive(Debug, Default)]
struct ChangeLogInner {
    /// The least number of copies that the log has to have.
    copies: Copies,
    waiting: Mutex<WaitingChanges>,
    turn: Turn<()>,
}

/// Changes of handlers that wait to be appended.
#[derive(Debug, Default)]
struct WaitingChanges {
    next: u64,
    brought: BTreeMap<u64, Vec<ActivityFingerprint>>,
}

/// The changes of one handler. Dropping it withdraws them.
struct ChangeTicket<'a> {
    waiting: &'a Mutex<WaitingChanges>,
    number: u64,
}

impl Drop for ChangeTicket<'_> {
    fn drop(&mut self) {
        self.waiting.lock().brought.remove(&self.number);
    }
}

impl ChangeLog {
    /// A change log that raises the number of copies, if there are fewer.
    pub fn new(copies: Copies) -> Self {
        Self(Arc::new(ChangeLogInner { copies, ..ChangeLogInner::default() }))
    }

    /// Appends changes, for all readers.
    ///
    /// # Errors
    /// [`DynamoError`]; some may be appended.
    pub(super) async fn append(
        &self,
        ledger: &Ledger,
        changes: Vec<ActivityFingerprint>,
    ) -> Result<(), DynamoError> {
        if changes.is_empty() {
            return Ok(());
        }
        let ChangeLogInner { copies, waiting, turn } = &*self.0;
        let ticket = Self::bring(waiting, changes.clone());
        let patience = ledger.table().deadline().within(PATIENCE);
        let turn = patience.bound(turn.lock()).await;
        if !waiting.lock().brought.contains_key(&ticket.number) {
            return Ok(());
        }
        let group = match &turn {
            Ok(_) => waiting.lock().brought.clone(),
            Err(_) => BTreeMap::from([(ticket.number, changes)]),
        };
        let mut changes: Vec<_> = group.values().flatten().copied().collect();
        changes.sort_unstable();
        changes.dedup();
        Append { ledger, changes: &changes, least: *copies }.to_all().await?;
        waiting.lock().brought.retain(|number, _| !group.contains_key(number));
        Ok(())
    }

    fn bring(
        waiting: &Mutex<WaitingChanges>,
        changes: Vec<ActivityFingerprint>,
    ) -> ChangeTicket<'_> {
        let inner = &mut *waiting.lock();
        let number = inner.next;
        inner.next += 1;
        inner.brought.insert(number, changes);
        ChangeTicket { waiting, number }
    }
}

/// One append of the changes of several handlers.
struct Append<'a> {
    ledger: &'a Ledger,
    changes: &'a [ActivityFingerprint],
    least: Copies,
}

impl Append<'_> {
    async fn to_all(&self) -> Result<(), DynamoError> {
        let mut copies = self.to(0).await?;
        if copies < self.least {
            self.add_copies().await?;
            copies = self.least;
        }
        try_join_all((1..copies.get()).map(|copy| self.to(copy))).await.map(|_| ())
    }

    /// Stores a greater number of copies for readers.
    async fn add_copies(&self) -> Result<(), DynamoError> {
        let add = Update {
            expression: "SET copies = :copies",
            condition: Some("attribute_not_exists(copies) OR copies < :copies"),
            values: vec![(":copies", number(self.least.get()))],
            ..Update::default()
        };
        self.change(0, add).await.map(|_| ())
    }

    /// Appends to one copy. Returns the number of copies if it is the first.
    async fn to(&self, copy: usize) -> Result<Copies, DynamoError> {
        match self.extend(copy).await {
            Ok(Some(copies)) => Ok(copies),
            Ok(None) | Err(DynamoError::Rejected { .. } | DynamoError::Corrupt { .. }) => {
                self.begin_again(copy).await
            }
            Err(error) => Err(error),
        }
    }

    /// Appends to the list of one copy, and cuts it if it is long. Returns `None` if it has no room.
    async fn extend(&self, copy: usize) -> Result<Option<Copies>, DynamoError> {
        if self.changes.len() > MOST {
            return Ok(None);
        }
        // Once more after a cut.
        for _ in 0..2 {
            let (done, now) = self.put_at_the_end(copy).await?;
            let before = now.len().saturating_sub(self.changes.len() + 1);
            if !done || (before <= FULL && now.len() > FULL) {
                self.cut(copy, &now).await?;
            }
            if done {
                return Ok(Some(now.copies()));
            }
        }
        Ok(None)
    }

    /// Adds the changes and a mark to the end of the list. Returns false if it has no room for them.
    async fn put_at_the_end(&self, copy: usize) -> Result<(bool, Changes), DynamoError> {
        let entries = self.changes.iter().copied().chain([ActivityFingerprint::mark()]);
        let entries: Vec<_> = entries.map(|entry| number(entry.get())).collect();
        let (more, room) = (entries.len(), ROOM - entries.len());
        let append = Update {
            expression: "SET latest = list_append(if_not_exists(latest, :none), :changes), \
                         epoch = if_not_exists(epoch, :epoch) ADD #count :more",
            condition: Some("attribute_not_exists(latest) OR size(latest) <= :room"),
            names: vec![("#count", "count")],
            values: vec![
                (":none", list(Vec::new())),
                (":changes", list(entries)),
                (":epoch", new_epoch()),
                (":more", number(more)),
                (":room", number(room)),
            ],
        };
        let (done, item) = match self.change(copy, append).await? {
            Changed::Done(item) => (true, item),
            Changed::Refused(item) => (false, item),
        };
        Ok((done, Changes::read(&self.ledger.table().row(item))?))
    }

    /// Removes the oldest entries, unless somebody else has since it had this length.
    async fn cut(&self, copy: usize, now: &Changes) -> Result<(), DynamoError> {
        let gone = (0..CUT).map(|index| format!("latest[{index}]")).collect::<Vec<_>>();
        let cut = Update {
            expression: &format!("REMOVE {}", gone.join(", ")),
            condition: Some("size(latest) >= :seen"),
            values: vec![(":seen", number(now.len().max(CUT + 1)))],
            ..Update::default()
        };
        self.change(copy, cut).await.map(|_| ())
    }

    /// Resets the copy to a new epoch with only a mark, whatever it was.
    async fn begin_again(&self, copy: usize) -> Result<Copies, DynamoError> {
        let begin = Update {
            expression: "SET latest = :mark, epoch = :epoch, #count = :count",
            names: vec![("#count", "count")],
            values: vec![
                (":mark", list(vec![number(ActivityFingerprint::mark().get())])),
                (":epoch", new_epoch()),
                (":count", number(self.changes.len() + 1)),
            ],
            ..Update::default()
        };
        let now = match self.change(copy, begin).await? {
            Changed::Done(item) | Changed::Refused(item) => item,
        };
        Ok(Changes::read(&self.ledger.table().row(now))?.copies())
    }

    async fn change(&self, number: usize, update: Update<'_>) -> Result<Changed, DynamoError> {
        let key: Item = copy(&number).into_item();
        self.ledger.table().change(key, update).await
    }
}

fn new_epoch() -> AttributeValue {
    text(format!("{:016x}", fastrand::u64(..)))
}
