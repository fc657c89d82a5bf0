//! Hydration: what the ledger says about the entries of a timeline, which decides whether they are
//! shown.
//!
//! Each edge is asked for once in the life of a [`Facts`]. A record is not asked for if the edge is known
//! already and hides it, so passing the entries of somebody who was unfollowed costs nothing here.

use std::collections::HashMap;

use futures::future::try_join_all;

use super::activities::read_record;
use super::batch_get::BATCH_GET;
use super::follows::read_state;
use super::item::{Row, ledger_key};
use super::{Deadline, Store, StoreError};
use crate::activity::{ActivityKey, ActivityRecord, Published};
use crate::id::{ActorId, ViewerId};
use crate::keys::{self, LedgerKey};
use crate::sort_key::SortKey;

/// What the ledger says about some entries of one viewer.
#[derive(Debug, Clone, Default)]
pub struct Facts {
    records: HashMap<ActivityKey, ActivityRecord>,
    /// Whether the viewer follows them, of all actors that were asked about.
    followed: HashMap<ActorId, bool>,
}

/// What stands at a key of the ledger.
enum Asked {
    Edge(ActorId),
    Record(ActivityKey),
}

impl Facts {
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
        unknown.map(|actor| (keys::edge(viewer, actor), Asked::Edge(actor.clone()))).collect()
    }

    fn learn(&mut self, asked: Asked, row: &Row<'_>) -> Result<(), StoreError> {
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

impl Store {
    /// Reads what the ledger says about entries: an edge for each actor, a record for each activity.
    ///
    /// # Errors
    /// [`StoreError`]
    pub async fn facts(
        &self,
        viewer: &ViewerId,
        entries: &[(SortKey, ActorId)],
        deadline: Deadline,
    ) -> Result<Facts, StoreError> {
        let mut facts = Facts::default();
        self.hydrate(&mut facts, viewer, entries, deadline).await?;
        Ok(facts)
    }

    /// Adds what the ledger says about entries, all of it at once: the edges that are not known yet,
    /// and the records of all entries but those that are known to be hidden.
    ///
    /// # Errors
    /// [`StoreError`]
    pub async fn hydrate(
        &self,
        facts: &mut Facts,
        viewer: &ViewerId,
        entries: &[(SortKey, ActorId)],
        deadline: Deadline,
    ) -> Result<(), StoreError> {
        let mut wanted = facts.unknown_edges(viewer, entries);
        let open = entries.iter().filter(|(_, actor)| !facts.hides(actor));
        wanted.extend(open.map(|(sort_key, actor)| {
            let key = activity_key(sort_key, actor);
            (keys::activity(&key), Asked::Record(key))
        }));
        self.ask(facts, wanted, deadline).await
    }

    /// Adds the edges alone: nothing is called if all of them are known.
    ///
    /// # Errors
    /// [`StoreError`]
    pub async fn hydrate_edges(
        &self,
        facts: &mut Facts,
        viewer: &ViewerId,
        entries: &[(SortKey, ActorId)],
        deadline: Deadline,
    ) -> Result<(), StoreError> {
        let wanted = facts.unknown_edges(viewer, entries);
        self.ask(facts, wanted, deadline).await
    }

    async fn ask(
        &self,
        facts: &mut Facts,
        mut wanted: HashMap<LedgerKey, Asked>,
        deadline: Deadline,
    ) -> Result<(), StoreError> {
        let keys: Vec<_> = wanted.keys().cloned().collect();
        let pages = keys.chunks(BATCH_GET).map(|keys| {
            let keys = keys.iter().cloned().map(ledger_key).collect();
            self.batch_get(&self.tables.ledger, keys, deadline)
        });
        for item in try_join_all(pages).await?.into_iter().flatten() {
            let row = Row { table: &self.tables.ledger, item };
            let key = LedgerKey { pk: row.text("pk")?.to_owned(), sk: row.text("sk")?.to_owned() };
            if let Some(asked) = wanted.remove(&key) {
                facts.learn(asked, &row)?;
            }
        }
        // An edge that is not there is one of somebody who never followed.
        for asked in wanted.into_values() {
            if let Asked::Edge(actor) = asked {
                facts.followed.insert(actor, false);
            }
        }
        Ok(())
    }
}
