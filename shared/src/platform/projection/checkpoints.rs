//! Checkpoints: how far a shard is processed, whatever views its changes belong to. They replace marks in views that
//! have many.
//!
//! A checkpoint is one item for a shard, written when a batch is done: all its changes, and all before them in that shard, are
//! folded into every view, or their dead letters are sent. So a mark that is not above the checkpoint of its shard is redundant. A view with more than [`Limits::marks`](crate::platform::dynamo::Limits::marks) marks drops those, and notes that
//! it did. From then on a change is folded already if its number is not above the mark of its shard in that view, or not above
//! the checkpoint of its shard.
//!
//! * **The checkpoint is read after the view.** Whoever dropped a mark had read a checkpoint that was not below it, and
//!   checkpoints never go down: they only replace lower ones. So whoever reads a view without a mark then reads the
//!   checkpoint for which the mark was dropped, or a later one. That also holds for an attempt that was given up and goes
//!   on anyway.
//! * **A crash** before the checkpoint is written leaves the marks, and the batch comes again. Nothing depends on the
//!   checkpoint: if it cannot be written, marks stay for two days as before.
//! * **A checkpoint outlives its use.** A view remembers for two days that it has dropped marks, a checkpoint stays for
//!   three after the last batch, and the stream keeps changes for one.
//!
//! A batch writes a checkpoint only if one of its views has dropped marks, or has three quarters of the marks that it may have,
//! because many shards change it. Eight marks are 256 bytes, so a view is less than a kilobyte with them, and one write unit; one
//! more for a batch of up to a thousand changes costs less than each view that is a kilobyte larger.
//!
//! A view keeps the marks of batches that are not done, one for each shard that is being read, and those whose checkpoint was
//! never written. So a fold costs one write of one item, and a batch one write of the checkpoint. Marks as items beside the view
//! would be exact too, but cost a transaction for each fold, and would have to be moved and erased with the view.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use super::{KEPT, Sequence, Shard, State, View, Views};
use crate::platform::dynamo::item::{Item, Key, Row, number, text};
use crate::platform::dynamo::{BATCH_GET, Condition, DynamoError, keys};
use crate::platform::ledger::FORGET_AT;
use crate::platform::values::Timestamp;

/// The number of the last change, with as many digits as numbers can have: texts are compared.
const THROUGH: &str = "through";
/// How long a checkpoint is kept after the last batch.
const CHECKPOINT_KEPT: Duration = Duration::from_secs(KEPT.as_secs() + 86_400);

keys! {
    /// The shard whose checkpoint has this key.
    pub fn of_key -> Shard;
    partitions {
        of_shard(shard: Shard) = "shard#{shard}";
    }
    items {
        key(shard: Shard) = of_shard(shard), "shard" in Views as "checkpoint" {
            says: "how far the shard {shard} is worked off",
            most: 512, grows: "nothing: one for a shard, whatever comes; expires three days after the last batch",
            at_bound: "cannot be exceeded",
            test: "the model test",
            later: Kept, erased: Gone,
        } => shard;
    }
}

impl Views {
    /// The view at a key, to fold changes of a shard into it.
    pub async fn read_to_fold<S: State>(
        &self,
        key: Key,
        shard: Shard,
        now: Timestamp,
    ) -> Result<View<S>, DynamoError> {
        let mut view = self.read(key, View::read_to_fold).await?;
        self.check_marks([&mut view], shard, now).await?;
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
    ) -> Result<Vec<Result<View<S>, DynamoError>>, DynamoError> {
        let mut views = self.read_all(keys, View::read_to_fold).await?;
        self.check_marks(views.iter_mut().flatten(), shard, now).await?;
        Ok(views)
    }

    /// Notes that a shard is processed up to a change, unless a later change is noted.
    ///
    /// # Errors
    /// [`DynamoError`]; it may have been noted.
    pub async fn note_checkpoint(
        &self,
        shard: Shard,
        through: Sequence,
        now: Timestamp,
    ) -> Result<(), DynamoError> {
        let through =
            text(format!("{:0>width$}", through.to_string(), width = 2 * Sequence::BYTES));
        let says = Item::from([
            (THROUGH.to_owned(), through.clone()),
            (FORGET_AT.to_owned(), number(now.unix_seconds_after(CHECKPOINT_KEPT))),
        ]);
        let lower = Condition::new("attribute_not_exists(pk) OR #through < :through")
            .name("#through", THROUGH)
            .value(":through", through);
        let key = key(&shard).into_item();
        self.table().replace(key, says, &[], Some(lower)).await.map(|_| ())
    }

    /// Drops marks of views that have too many, and takes over the checkpoint of the shard in those that have dropped some.
    async fn check_marks<'v, S: State + 'v>(
        &self,
        views: impl IntoIterator<Item = &'v mut View<S>>,
        shard: Shard,
        now: Timestamp,
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
        let checkpoints = self.checkpoints(shards).await?;
        views.into_iter().for_each(|view| view.check_marks(shard, &checkpoints, most, now));
        Ok(())
    }

    async fn checkpoints(
        &self,
        shards: BTreeSet<Shard>,
    ) -> Result<BTreeMap<Shard, Sequence>, DynamoError> {
        let keys: Vec<Item> = shards.into_iter().map(|shard| key(&shard).into_item()).collect();
        let mut checkpoints = BTreeMap::new();
        for some in keys.chunks(BATCH_GET) {
            for row in self.table().batch_get(some.to_vec()).await? {
                let shard = of_key(row.text("pk")?, row.text("sk")?);
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
