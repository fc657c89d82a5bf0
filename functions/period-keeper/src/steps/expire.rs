//! Deletes an archive that is old enough, with its rows. The row of its period stays.

use futures::{StreamExt, TryStreamExt, stream};
use shared::history::events::PeriodRow;
use shared::history::events::archive::manifest_key;
use shared::history::events::manifest::files;

use super::outcome::Outcome;
use crate::error::KeeperError;
use crate::keeper::Keeper;

/// Objects that are deleted at once.
const DELETES_IN_FLIGHT: usize = 16;

impl Keeper {
    /// Deletes each object and then its rows, so that every object has a row until it is gone.
    pub(crate) async fn expire(&self, row: &PeriodRow) -> Result<Outcome, KeeperError> {
        let period = row.period;
        // The first file is deleted last, because it determines the number of files.
        let mut objects = 0;
        for segment in 0..row.segments {
            objects += self.archives.segment(period, segment).await?.objects;
        }
        loop {
            let (page, next) = self.archives.of_period(period, None, 100).await?;
            let deleted = page.into_iter().map(|object| async move {
                if let Some(replaced) = object.replaced_key() {
                    self.objects.delete(&replaced, self.deadline()).await?;
                }
                self.objects.delete(&object.key(), self.deadline()).await?;
                self.archives.forget(&object).await.map_err(KeeperError::from)
            });
            stream::iter(deleted).buffered(DELETES_IN_FLIGHT).try_collect::<Vec<_>>().await?;
            if next.is_none() {
                break;
            }
        }
        for file in (0..files(objects)).rev() {
            self.objects.delete(&manifest_key(period, file), self.deadline()).await?;
        }
        self.archives.forget_progress(period, row.segments).await?;
        self.moved(PeriodRow { expired: true, ..row.clone() }).await
    }
}
