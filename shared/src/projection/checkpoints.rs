//! Checkpoints: how far a shard is worked off, whatever its changes were for. They take the place of marks in views that
//! have many.
//!
//! A checkpoint is an item for a shard, written when a batch is worked off: all its changes, and all before them in that shard, are
//! folded into every view, or their dead letters are sent. So a mark that is not above the checkpoint of its shard says nothing
//! that the checkpoint does not. A view that has more than [`Limits::marks`](crate::dynamo::Limits::marks) drops those, and notes that
//! it has. From then on a change is folded already if its number is not above the mark of its shard in that view, or not above
//! the checkpoint of its shard.
//!
//! * **The checkpoint is read after the view.** Whoever dropped a mark had read a checkpoint that was not below it, and
//!   checkpoints never go down: they are written only over lower ones. So who reads a view without a mark reads a
//!   checkpoint that was worked off when the mark was dropped, or a later one. That holds for an attempt too that was given up and
//!   goes on anyway.
//! * **Who dies** before the checkpoint is written leaves the marks, and the batch comes again. The checkpoint is no condition of
//!   anything: where it cannot be written, marks stay for two days as before.
//! * **It lasts longer than it is needed.** A view remembers for two days that it has dropped marks, a checkpoint is there for
//!   three after the last batch, and the stream keeps changes for one.
//! * **An earlier version** cannot read the marks of a view that has dropped some. What it would fold into it becomes dead letters.
//!
//! A batch writes a checkpoint only where one of its views has dropped marks, or has three quarters of those that it may have:
//! where many shards change it. Eight marks are 256 bytes, so a view is less than a kilobyte with them, and one write unit; one
//! more for a batch of up to a thousand changes costs less than each view that is a kilobyte larger.
//!
//! What is left in a view are marks of batches that are not worked off, one for each shard that is read at this moment, and
//! those whose checkpoint was never written. That makes a fold one write of one item, and one of the checkpoint for a batch.
//! Marks as items beside the view would be exact as well, and cost a transaction for each fold; they would have to be moved, and
//! erased with the view.

use std::collections::{BTreeMap, BTreeSet};

use super::{KEPT, Sequence, Shard, State, View, Views};
use crate::dynamo::item::{Item, Key, Row, number, text};
use crate::dynamo::{BATCH_GET, Condition, DynamoError};
use crate::ledger::FORGET_AT;
use crate::runtime::deadline::Deadline;
use crate::values::Timestamp;

const PREFIX: &str = "shard#";
const SHARD: &str = "shard";
/// The number of the last change, with as many digits as numbers can have: texts are compared.
const THROUGH: &str = "through";
/// How long a checkpoint is kept after the last batch.
const KEPT_SECONDS: u64 = KEPT.as_secs() + 86_400;

/// Where the checkpoint of a shard is among the views.
fn key(shard: Shard) -> Key {
    Key { pk: format!("{PREFIX}{shard}"), sk: SHARD.to_owned() }
}

/// The shard, if a key of the views is that of a checkpoint.
#[must_use]
pub fn of_key(key: &Key) -> Option<Shard> {
    key.pk.strip_prefix(PREFIX).filter(|_| key.sk == SHARD)?.parse().ok()
}

impl Views {
    /// The view at a key, to fold changes of a shard into it.
    ///
    /// # Errors
    /// [`DynamoError`]
    pub async fn read_to_fold<S: State>(
        &self,
        key: Key,
        shard: Shard,
        now: Timestamp,
        deadline: Deadline,
    ) -> Result<View<S>, DynamoError> {
        let mut view = self.read(key, View::read_to_fold, deadline).await?;
        self.check_marks([&mut view], shard, now, deadline).await?;
        Ok(view)
    }

    /// The views at these keys, as [`Self::read_all`] reads them, to fold changes of a shard into them.
    ///
    /// # Errors
    /// [`DynamoError`]: none was read.
    pub async fn read_all_to_fold<S: State>(
        &self,
        keys: &[Key],
        shard: Shard,
        now: Timestamp,
        deadline: Deadline,
    ) -> Result<Vec<Result<View<S>, DynamoError>>, DynamoError> {
        let mut views = self.read_all(keys, View::read_to_fold, deadline).await?;
        self.check_marks(views.iter_mut().flatten(), shard, now, deadline).await?;
        Ok(views)
    }

    /// Notes that a shard is worked off up to a change, unless it is noted that it is further.
    ///
    /// # Errors
    /// [`DynamoError`]; it may have been noted.
    pub async fn note_checkpoint(
        &self,
        shard: Shard,
        through: Sequence,
        now: Timestamp,
        deadline: Deadline,
    ) -> Result<(), DynamoError> {
        let through =
            text(format!("{:0>width$}", through.to_string(), width = 2 * Sequence::BYTES));
        let until = u64::try_from(now.unix_millis() / 1000).unwrap_or(0) + KEPT_SECONDS;
        let says = Item::from([
            (THROUGH.to_owned(), through.clone()),
            (FORGET_AT.to_owned(), number(until)),
        ]);
        let lower = Condition::new("attribute_not_exists(pk) OR #through < :through")
            .name("#through", THROUGH)
            .value(":through", through);
        let key = key(shard).into_item();
        self.table().replace(key, says, &[], Some(lower), deadline).await.map(|_| ())
    }

    /// Drops marks of views that have too many, and takes over the checkpoint of the shard in those that have dropped some.
    async fn check_marks<'v, S: State + 'v>(
        &self,
        views: impl IntoIterator<Item = &'v mut View<S>>,
        shard: Shard,
        now: Timestamp,
        deadline: Deadline,
    ) -> Result<(), DynamoError> {
        let most = self.table().limits().marks;
        let views = views.into_iter().filter(|view| view.needs_checkpoints(most));
        let views: Vec<_> = views.collect();
        if views.is_empty() {
            return Ok(());
        }
        let of_marks = views.iter().filter(|view| view.marks().shards().len() > most);
        let mut shards: BTreeSet<_> = of_marks.flat_map(|view| view.marks().shards()).collect();
        shards.insert(shard);
        let checkpoints = self.checkpoints(shards, deadline).await?;
        views.into_iter().for_each(|view| view.check_marks(shard, &checkpoints, most, now));
        Ok(())
    }

    async fn checkpoints(
        &self,
        shards: BTreeSet<Shard>,
        deadline: Deadline,
    ) -> Result<BTreeMap<Shard, Sequence>, DynamoError> {
        let keys: Vec<Item> = shards.into_iter().map(|shard| key(shard).into_item()).collect();
        let mut checkpoints = BTreeMap::new();
        for some in keys.chunks(BATCH_GET) {
            for row in self.table().batch_get(some.to_vec(), deadline).await? {
                let shard = of_key(&Key::of(&row)?);
                let shard = shard.ok_or_else(|| row.corrupt("pk", "the key of a checkpoint"))?;
                checkpoints.insert(shard, through(&row)?);
            }
        }
        Ok(checkpoints)
    }
}

fn through(row: &Row<'_>) -> Result<Sequence, DynamoError> {
    row.parsed(THROUGH, "a sequence number")
}
