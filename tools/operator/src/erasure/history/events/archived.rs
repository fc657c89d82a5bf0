//! Events that are in archives: objects are put without them, and exchanged together with their rows.

use std::pin::pin;

use futures::{FutureExt, TryStreamExt};
use shared::history::events::archive::{self, Line, Packed, manifest_key};
use shared::history::events::manifest::files;
use shared::history::events::{ArchivedObject, Period, PeriodRow};
use shared::platform::crypto::hash::sha256;
use shared::platform::runtime::deadline::Deadline;

use super::{ErasedEvents, EventErasure, EventErasureError};
use crate::event_scope::objects_of;
use crate::{object_deadline, soon};

/// More bytes than the manifest of a period has.
const MANIFEST: u64 = 16 << 20;

impl EventErasure {
    /// Exchanges the objects that have such events. Returns the row of the period as it is then.
    pub(super) async fn archive(
        &self,
        mut row: PeriodRow,
        erased: &mut ErasedEvents,
    ) -> Result<PeriodRow, EventErasureError> {
        let (period, mut objects) = (row.period, 0);
        let mut all = pin!(objects_of(&self.archives, period));
        while let Some(object) = all.try_next().await? {
            objects += 1;
            if object.tenant_id == self.scope.tenant_id {
                row = self.object(row, &object, erased).await?;
            }
        }
        self.archives.forget_read_back(period).await?;
        let tally = row.tally.unwrap_or_default();
        let left = objects - self.drop_empty(period, erased).await?;
        let patient = object_deadline(MANIFEST);
        self.archives.put_manifest(&self.objects, (period, tally), left, patient).await?;
        for file in files(left)..files(objects) {
            self.objects.delete(&manifest_key(period, file), soon()).await?;
        }
        Ok(row)
    }

    async fn object(
        &self,
        row: PeriodRow,
        object: &ArchivedObject,
        erased: &mut ErasedEvents,
    ) -> Result<PeriodRow, EventErasureError> {
        // Where a run has died behind the exchange.
        if let Some(replaced) = object.replaced_key() {
            self.objects.delete(&replaced, soon()).await?;
        }
        let patient = object_deadline(object.size);
        let Some(left) = self.left_of(object, patient).await? else { return Ok(row) };
        let edition = object.rewritten(&left);
        self.objects.put(&edition.key(), left.bytes, patient).await?;
        let (summaries, period) = (&self.summaries, row.period);
        let mut gone = object.tally;
        gone.subtract(edition.tally);
        let lowered = || summaries.lower_witness(period, &object.tenant_id, gone).boxed();
        let next = self.archives.exchange(&row, object, &edition, lowered).await?;
        let next = next.ok_or(EventErasureError::Overtaken(row.period))?;
        self.objects.delete(&object.key(), soon()).await?;
        erased.in_archives += object.tally.events - edition.tally.events;
        erased.objects_rewritten += u64::from(edition.tally.events > 0);
        Ok(next)
    }

    /// The content of an object without the events; `None` if it has none of them.
    async fn left_of(
        &self,
        object: &ArchivedObject,
        deadline: Deadline,
    ) -> Result<Option<Packed>, EventErasureError> {
        if object.tally.events == 0 {
            return Ok(None);
        }
        if self.scope.customer_id.is_none() {
            return Ok(Some(archive::pack([])));
        }
        let damaged = || EventErasureError::Damaged(object.key());
        let bytes = self.objects.get(&object.key(), deadline).await?.ok_or_else(damaged)?;
        if sha256(&bytes) != object.sha256 {
            return Err(damaged());
        }
        let mut lines = Vec::new();
        let read = archive::read(&bytes, |line| {
            let is_theirs = Line::parse(line)
                .is_some_and(|line| self.scope.holds(line.tenant_id, line.customer_id));
            if !is_theirs {
                lines.push(line.to_owned());
            }
        });
        read.map_err(|_| damaged())?;
        let is_changed = (lines.len() as u64) < object.tally.events;
        Ok(is_changed.then(|| archive::pack(lines.iter().map(String::as_str))))
    }

    /// Deletes objects that are empty, and then their rows. Returns how many there were.
    async fn drop_empty(
        &self,
        period: Period,
        erased: &mut ErasedEvents,
    ) -> Result<u64, EventErasureError> {
        let mut dropped = 0;
        let mut all = pin!(objects_of(&self.archives, period));
        while let Some(object) = all.try_next().await? {
            if object.tally.events > 0 {
                continue;
            }
            if let Some(replaced) = object.replaced_key() {
                self.objects.delete(&replaced, soon()).await?;
            }
            self.objects.delete(&object.key(), soon()).await?;
            self.archives.forget(&object).await?;
            dropped += 1;
        }
        erased.objects_deleted += dropped;
        Ok(dropped)
    }
}
