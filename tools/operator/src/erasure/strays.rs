//! Erases the items that name a person and are listed nowhere, so that only a scan of the ledger finds them.

use std::collections::BTreeSet;

use shared::social::activities::ActivityChange;
use shared::social::rooms::{MessageDeleted, MessageKey};

use super::marks::Tombstone;
use super::traces::Trace;
use super::{Erased, Erasure, for_each};
use crate::{Result, progress};

impl Erasure {
    /// Erases what nothing lists: activities that were updated or deleted but never published, or half
    /// published, the progress of fan-outs, tags of the person, messages, and what is about them alone.
    pub(super) async fn strays(&self, erased: &mut Erased) -> Result<()> {
        let bar = progress::counter("items of the ledger read");
        let traces = self.marks.traces(&self.actor, |read| bar.inc(read)).await?;
        bar.finish_and_clear();
        let bar = progress::bar(traces.len() as u64, "other items erased");
        let (mut activities, mut messages) = (BTreeSet::new(), BTreeSet::new());
        let mut tags = Vec::new();
        erased.progress = self.marks.remove_seen(&self.viewer).await?;
        for trace in traces {
            match trace {
                Trace::Activity(activity) => drop(activities.insert(activity)),
                Trace::Message(key) => drop(messages.insert(key)),
                Trace::Tag(activity) => tags.push(activity),
                Trace::Listing { ref activity, .. } => {
                    activities.insert(activity.clone());
                    self.marks.remove(&trace, self.until).await?;
                }
                Trace::Position { .. }
                | Trace::Reconciliation(_)
                | Trace::Hidden { .. }
                | Trace::Person { .. } => {
                    self.marks.remove(&trace, self.until).await?;
                    erased.progress += 1;
                    bar.inc(1);
                }
            }
        }
        for activity in &activities {
            self.activities.merge(&self.key(activity), ActivityChange::Delete).await?;
            self.mark_record(activity).await?;
            bar.inc(1);
        }
        bar.finish_and_clear();
        for_each(&tags, "tags erased", |activity| self.untag(activity, &self.viewer)).await?;
        let messages: Vec<_> = messages.into_iter().collect();
        for_each(&messages, "messages erased", |key| self.message(key)).await?;
        erased.activities += activities.len();
        erased.tags += tags.len();
        erased.messages += messages.len();
        Ok(())
    }

    /// Deletes a message, and marks what is left of it. The claim comes last: once it is marked, a delete that comes
    /// again leaves nothing.
    async fn message(&self, key: &MessageKey) -> Result<()> {
        let delete = MessageDeleted { key: key.clone() };
        self.rooms.delete(&delete, self.clock.now()).await?;
        self.mark(Tombstone::MessageMarker(key.clone())).await?;
        self.mark(Tombstone::MessageClaim(key.clone())).await
    }
}
