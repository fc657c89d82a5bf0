//! Hydration: what the ledger says about the entries of a timeline, which decides whether they are
//! shown.
//!
//! Each edge is asked for once in the life of a [`Hydration`]. A record is not asked for if the edge is
//! known already and hides it, so passing the entries of somebody who was unfollowed costs nothing here.

use std::collections::HashMap;

use futures::future::try_join_all;

use super::Timelines;
use crate::activities::{self, ActivityKey, ActivityRecord, Published, read_record};
use crate::dynamo::item::Row;
use crate::dynamo::{BATCH_GET, DynamoError};
use crate::follows::{self, read_state};
use crate::ledger::LedgerKey;
use crate::runtime::deadline::Deadline;
use crate::values::{ActorId, SortKey, ViewerId};

/// What the ledger says about some entries of one viewer.
#[derive(Debug, Clone, Default)]
pub struct Hydration {
    records: HashMap<ActivityKey, ActivityRecord>,
    /// Whether the viewer follows them, of all actors that were asked about.
    followed: HashMap<ActorId, bool>,
}

/// What stands at a key of the ledger.
enum Asked {
    Edge(ActorId),
    Record(ActivityKey),
}

impl Hydration {
    /// What the viewer is shown of an entry: nothing if they do not follow the actor, if the
    /// activity was deleted, or if the entry is not where the activity's publish put it.
    #[must_use]
    pub fn shown(&self, sort_key: &SortKey, actor: &ActorId) -> Option<Published> {
        self.followed.get(actor).filter(|followed| **followed)?;
        let record = self.records.get(&activity_key(sort_key, actor))?;
        record.visible().filter(|published| published.at == sort_key.published_at)
    }

    /// True if the viewer is known not to follow the actor; false too where nobody has asked.
    #[must_use]
    pub fn hides(&self, actor: &ActorId) -> bool {
        self.followed.get(actor) == Some(&false)
    }

    /// The edges of these entries that nobody has asked for.
    fn unknown_edges(
        &self,
        viewer: &ViewerId,
        entries: &[(SortKey, ActorId)],
    ) -> HashMap<LedgerKey, Asked> {
        let actors = entries.iter().map(|(_, actor)| actor);
        let unknown = actors.filter(|actor| !self.followed.contains_key(*actor));
        unknown
            .map(|actor| (follows::keys::edge(viewer, actor), Asked::Edge(actor.clone())))
            .collect()
    }

    fn add(&mut self, asked: Asked, row: &Row<'_>) -> Result<(), DynamoError> {
        match asked {
            Asked::Edge(actor) => {
                self.followed.insert(actor, read_state(row)?.following);
            }
            Asked::Record(activity) => {
                self.records.insert(activity, read_record(row)?);
            }
        }
        Ok(())
    }
}

fn activity_key(sort_key: &SortKey, actor: &ActorId) -> ActivityKey {
    ActivityKey { activity_id: sort_key.activity_id.clone(), actor_id: actor.clone() }
}

impl Timelines {
    /// Reads what the ledger says about entries: an edge for each actor, a record for each activity.
    ///
    /// # Errors
    /// [`DynamoError`]
    pub async fn hydrated(
        &self,
        viewer: &ViewerId,
        entries: &[(SortKey, ActorId)],
        deadline: Deadline,
    ) -> Result<Hydration, DynamoError> {
        let mut hydration = Hydration::default();
        self.hydrate(&mut hydration, viewer, entries, deadline).await?;
        Ok(hydration)
    }

    /// Adds what the ledger says about entries, all of it at once: the edges that are not known yet,
    /// and the records of all entries but those that are known to be hidden.
    ///
    /// # Errors
    /// [`DynamoError`]
    pub async fn hydrate(
        &self,
        hydration: &mut Hydration,
        viewer: &ViewerId,
        entries: &[(SortKey, ActorId)],
        deadline: Deadline,
    ) -> Result<(), DynamoError> {
        let mut wanted = hydration.unknown_edges(viewer, entries);
        let open = entries.iter().filter(|(_, actor)| !hydration.hides(actor));
        wanted.extend(open.map(|(sort_key, actor)| {
            let key = activity_key(sort_key, actor);
            (activities::keys::record(&key), Asked::Record(key))
        }));
        self.ask(hydration, wanted, deadline).await
    }

    /// Adds the edges alone: nothing is called if all of them are known.
    ///
    /// # Errors
    /// [`DynamoError`]
    pub async fn hydrate_edges(
        &self,
        hydration: &mut Hydration,
        viewer: &ViewerId,
        entries: &[(SortKey, ActorId)],
        deadline: Deadline,
    ) -> Result<(), DynamoError> {
        let wanted = hydration.unknown_edges(viewer, entries);
        self.ask(hydration, wanted, deadline).await
    }

    async fn ask(
        &self,
        hydration: &mut Hydration,
        mut wanted: HashMap<LedgerKey, Asked>,
        deadline: Deadline,
    ) -> Result<(), DynamoError> {
        let keys: Vec<_> = wanted.keys().cloned().collect();
        let pages = keys.chunks(BATCH_GET).map(|keys| {
            let keys = keys.iter().cloned().map(LedgerKey::into_item).collect();
            self.ledger.table().batch_get(keys, deadline)
        });
        for row in try_join_all(pages).await?.into_iter().flatten() {
            if let Some(asked) = wanted.remove(&LedgerKey::of(&row)?) {
                hydration.add(asked, &row)?;
            }
        }
        // An edge that is not there is one of somebody who never followed.
        for asked in wanted.into_values() {
            if let Asked::Edge(actor) = asked {
                hydration.followed.insert(actor, false);
            }
        }
        Ok(())
    }
}
