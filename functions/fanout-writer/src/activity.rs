//! Publish, update and delete.

use shared::activity::{ActivityKey, Change};
use shared::command::{Delete, Publish, Update};
use shared::store::{Claim, Work};

use crate::fan_out::FanOut;
use crate::{Delivery, Failure, Outcome, Writer};

impl Writer {
    /// Claims the id, records the activity, lists it in its actor's outbox, and only then looks for
    /// followers: a follow that comes meanwhile finds it in the outbox.
    pub(crate) async fn publish(
        &self,
        publish: Publish,
        delivery: &Delivery,
    ) -> Result<Outcome, Failure> {
        let deadline = delivery.deadline;
        if !self.retention.holds(publish.published_at, self.clock.now()) {
            return Ok(Outcome::Expired);
        }
        if self.store.claim(&publish, deadline).await? == Claim::Taken {
            return Err(Failure::Conflict(publish.activity_id));
        }
        let (key, sort_key) = (publish.key(), publish.sort_key());
        let merged = self.store.merge(&key, Change::from(publish), deadline).await?;
        let deleted = merged.now.deleted;
        self.store.list_in_outbox(&key.actor_id, &sort_key, deleted, deadline).await?;
        // Whoever deleted it clears what was written before. Only a delivery that wrote and died may
        // have left something, and none has written before the record says that it is published.
        match (deleted, merged.before.published.is_some()) {
            (true, false) => return Ok(Outcome::Suppressed),
            (true, true) if !delivery.redelivered => return Ok(Outcome::Applied(None)),
            _ => {}
        }
        let work = if deleted { Work::Erase } else { Work::Spread };
        FanOut::new(self, key, sort_key, work, delivery).run().await
    }

    /// Records the edit. Readers look the content up, so there is nothing to fan out. The edit of an
    /// activity that is not published yet is kept for it.
    pub(crate) async fn update(
        &self,
        update: Update,
        delivery: &Delivery,
    ) -> Result<Outcome, Failure> {
        let (key, change) = update.into();
        self.store.merge(&key, change, delivery.deadline).await?;
        Ok(Outcome::Applied(None))
    }

    /// Records the tombstone, which hides the activity from every reader at once; then clears its
    /// entries away.
    pub(crate) async fn delete(
        &self,
        delete: Delete,
        delivery: &Delivery,
    ) -> Result<Outcome, Failure> {
        let deadline = delivery.deadline;
        let (key, change): (ActivityKey, Change) = delete.into();
        let merged = self.store.merge(&key, change, deadline).await?;
        let Some(published) = merged.now.published else {
            return Ok(Outcome::Applied(None));
        };
        let sort_key = published.sort_key(&key);
        self.store.list_in_outbox(&key.actor_id, &sort_key, true, deadline).await?;
        if !self.retention.holds(sort_key.published_at, self.clock.now()) {
            return Ok(Outcome::Applied(None));
        }
        FanOut::new(self, key, sort_key, Work::Erase, delivery).run().await
    }
}
