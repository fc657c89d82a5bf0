//! Audits of timelines: comparing them with the ledger.
//!
//! For a viewer the audit computes, from the edges, the outboxes and the activity records, which entries
//! there should be, and compares them with the stored ones, attribute by attribute. It ignores what is
//! past retention: the table drops that in its own time, and of an [idle viewer](shared::social::follows::idle_viewers) what is missing: it
//! comes when they do. The list of whom a viewer follows is compared with the edges
//! that it repeats, and repaired by them.
//!
//! A repair never writes what it computed. It reconciles the pair of viewer and actor with the writer's
//! own code, with all the second checks that a follow command gets, and removes what no command accounts
//! for only while that is still so. So a repair may run beside any traffic, and readers, who check every
//! entry anyway, notice nothing but the entries that were missing. An audit or a repair that fails is completed by another one.

use std::collections::{BTreeMap, BTreeSet};

use futures::future::BoxFuture;
use futures::{StreamExt, TryStreamExt, stream};
use serde::Serialize;
use shared::platform::ledger::Ledger;
use shared::platform::register::Register;
use shared::platform::runtime::clock::Clock;
use shared::platform::runtime::hold::Hold;
use shared::platform::values::{ActorId, Retention, SortKey, Timestamp, ViewerId};
use shared::social::activities::Activities;
use shared::social::follows::{Follows, IdleViewers};
use shared::social::timelines::{EntryRow, Reconciler, Timelines};

use super::reads::{delete_unaccounted, followees, stored_entries};
use super::sample;
use crate::Result;

/// Entries that are hydrated at once.
const CHUNK: usize = 100;
/// Actors whose entries are repaired at once: most of the time they wait for readers.
const ACTORS_AT_ONCE: usize = 16;

/// How a stored timeline differs from what it should be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    Missing,
    Extra,
    /// The entry has other attributes than it should.
    Stale,
}

#[derive(Debug, Clone, Serialize)]
pub struct Difference {
    pub viewer_id: ViewerId,
    pub difference: Kind,
    /// The sort key, as stored.
    pub sort_key: String,
    /// The actor, if the entry names one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub actor_id: Option<String>,
}

/// A row that differs from its edge.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FollowingDifference {
    pub viewer_id: ViewerId,
    pub actor_id: ActorId,
    /// Since when the list says that the viewer follows them, if it does.
    pub listed_since: Option<Timestamp>,
    /// Since when the viewer follows them, if they do.
    pub follows_since: Option<Timestamp>,
}

#[derive(Debug, Clone)]
pub struct Auditor {
    ledger: Ledger,
    activities: Activities,
    follows: Follows,
    timelines: Timelines,
    retention: Retention,
    clock: Clock,
}

impl Auditor {
    pub fn new(ledger: &Ledger, timelines: Timelines, retention: Retention, clock: Clock) -> Self {
        let (activities, follows) = (Activities::new(ledger), Follows::new(ledger));
        Self { ledger: ledger.clone(), activities, follows, timelines, retention, clock }
    }

    /// Picks viewers at random, each with the same chance however many they follow.
    pub async fn sample(&self, size: usize) -> Result<Vec<ViewerId>> {
        Ok(sample::picked(sample::followers(&self.ledger).await?, size))
    }

    /// The differences between a viewer's timeline and what it should be.
    pub fn differences<'a>(
        &'a self,
        viewer: &'a ViewerId,
    ) -> BoxFuture<'a, Result<Vec<Difference>>> {
        Box::pin(async move {
            let now = self.clock.now();
            let start = self.retention.start(now);
            let idle_state = self.follows.idle_state(viewer).await?;
            let returns = IdleViewers::off().returns(&idle_state, now);
            let mut expected = self.expected(viewer, start).await?;
            let mut differences = Vec::new();
            let mut differs = |difference, sort_key: String, actor_id: Option<String>| {
                let viewer_id = viewer.clone();
                differences.push(Difference { viewer_id, difference, sort_key, actor_id });
            };
            for row in stored_entries(&self.timelines, viewer).await? {
                let sort_key = row.sort_key.parse::<SortKey>().ok();
                if sort_key.as_ref().is_some_and(|sort_key| sort_key.published_at < start) {
                    continue;
                }
                match sort_key.and_then(|sort_key| Some((expected.remove(&sort_key)?, sort_key))) {
                    None => differs(Kind::Extra, row.sort_key, row.actor_id),
                    Some((actor, sort_key)) if self.is_right(&row, &sort_key, &actor) => {}
                    Some((actor, _)) => differs(Kind::Stale, row.sort_key, Some(actor.to_string())),
                }
            }
            for (sort_key, actor) in expected.into_iter().filter(|_| !returns) {
                differs(Kind::Missing, sort_key.to_string(), Some(actor.to_string()));
            }
            Ok(differences)
        })
    }

    fn is_right(&self, row: &EntryRow, sort_key: &SortKey, actor: &ActorId) -> bool {
        row.actor_id.as_deref() == Some(actor.as_str())
            && row.expires_at == Some(self.retention.expires_at(sort_key.published_at))
    }

    /// The entries that should exist according to the ledger.
    async fn expected(
        &self,
        viewer: &ViewerId,
        start: Timestamp,
    ) -> Result<BTreeMap<SortKey, ActorId>> {
        let mut candidates = Vec::new();
        for actor in followees(&self.ledger, viewer).await? {
            let mut after = None;
            loop {
                let page = self.activities.outbox(&actor, start, after.as_ref()).await?;
                after = page.rows.last().map(|row| row.sort_key.clone());
                candidates.extend(page.rows.into_iter().map(|row| (row.sort_key, actor.clone())));
                if !page.more {
                    break;
                }
            }
        }
        let mut expected = BTreeMap::new();
        for chunk in candidates.chunks(CHUNK) {
            let hydration = self.timelines.hydrated(viewer, chunk).await?;
            let shown =
                chunk.iter().filter(|(sort_key, actor)| hydration.shown(sort_key, actor).is_some());
            expected.extend(shown.cloned());
        }
        Ok(expected)
    }

    pub fn repair<'a>(
        &'a self,
        viewer: &'a ViewerId,
        differences: &'a [Difference],
    ) -> BoxFuture<'a, Result<()>> {
        Box::pin(async move {
            let named = differences.iter().filter_map(|difference| difference.actor_id.as_deref());
            let actors: BTreeSet<_> = named.filter_map(|id| ActorId::new(id).ok()).collect();
            for difference in differences.iter().filter(|d| d.difference == Kind::Extra) {
                let row = EntryRow {
                    sort_key: difference.sort_key.clone(),
                    actor_id: difference.actor_id.clone(),
                    expires_at: None,
                };
                delete_unaccounted(&self.timelines, &self.ledger, viewer, &row).await?;
            }
            let (timelines, clock) = (self.timelines.clone(), self.clock.clone());
            let (retention, hold) = (self.retention, Hold::default());
            let reconciler = Reconciler::new(&self.ledger, timelines, retention, clock, hold);
            let (follows, timelines) = (&self.follows, &self.timelines);
            let repairs = actors.into_iter().map(async |actor| {
                if let Some(state) = follows.state(viewer, &actor).await? {
                    return reconciler.reconcile(viewer, &actor, state).await;
                }
                // They never followed that actor. There is no edge to reconcile with, and a follow that comes meanwhile inserts its own
                // entries afterwards.
                let of_actor = |d: &&Difference| d.actor_id.as_deref() == Some(actor.as_str());
                let theirs = differences.iter().filter(of_actor);
                let sort_keys: Vec<_> =
                    theirs.filter_map(|d| d.sort_key.parse::<SortKey>().ok()).collect();
                timelines.purge_strangers(viewer, &actor, &sort_keys).await?.whole()
            });
            stream::iter(repairs).buffer_unordered(ACTORS_AT_ONCE).try_collect().await
        })
    }

    /// The differences between the list of whom a viewer follows and their edges.
    pub async fn following_differences(
        &self,
        viewer: &ViewerId,
    ) -> Result<Vec<FollowingDifference>> {
        let rows = self.follows.followee_rows(viewer).await?;
        let rows: BTreeMap<_, _> = rows.into_iter().map(|row| (row.followee, row.state)).collect();
        let mut actors: BTreeSet<_> = followees(&self.ledger, viewer).await?.into_iter().collect();
        actors.extend(rows.keys().cloned());
        let mut differences = Vec::new();
        for actor in actors {
            let edge = self.follows.state(viewer, &actor).await?;
            let (listed_since, follows_since) = (since(rows.get(&actor)), since(edge.as_ref()));
            if listed_since != follows_since {
                let (viewer_id, actor_id) = (viewer.clone(), actor);
                let row = FollowingDifference { viewer_id, actor_id, listed_since, follows_since };
                differences.push(row);
            }
        }
        Ok(differences)
    }

    pub async fn repair_following(&self, differences: &[FollowingDifference]) -> Result<()> {
        for FollowingDifference { viewer_id, actor_id, .. } in differences {
            let now = self.clock.now();
            self.follows.repair_followee(viewer_id, actor_id, now).await?;
        }
        Ok(())
    }
}

/// Since when somebody follows.
fn since(state: Option<&Register>) -> Option<Timestamp> {
    state.filter(|state| state.on).map(|state| state.changed_at)
}
