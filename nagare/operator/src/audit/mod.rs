//! Audits: comparing timelines with the ledger, and views with the facts that they are folded from.
//!
//! For a viewer the audit computes, from the edges, the outboxes and the activity records, which entries
//! there should be, and compares them with the stored ones, attribute by attribute. It ignores what is
//! past retention: the table drops that in its own time. The list of whom a viewer follows is compared with the edges
//! that it repeats, and repaired by them.
//!
//! A repair never writes what it computed. It reconciles the pair of viewer and actor with the writer's
//! own code, with all the second checks that a follow command gets, and removes what no command accounts
//! for only while that is still so. So a repair may run beside any traffic, and readers, who check every
//! entry anyway, notice nothing but the entries that were missing.

mod battles;
mod events;
mod following;
mod inboxes;
mod liked;
mod likes;
mod pages;
mod polls;
mod projected;
mod reads;
mod recount;
mod rooms;
mod rounds;
mod sample;
mod summaries;
mod tags;
mod views;

use std::collections::{BTreeMap, HashSet};

use serde::Serialize;
use shared::activities::Activities;
use shared::dynamo::DynamoError;
use shared::follows::Follows;
use shared::ledger::Ledger;
use shared::runtime::clock::Clock;
use shared::runtime::hold::Hold;
use shared::timelines::{EntryRow, Reconciler, Timelines};
use shared::values::{ActorId, Retention, SortKey, Timestamp, ViewerId};

pub use battles::BattleDifference;
pub use events::{EventDifference, EventFault, EventsAuditError, EventsAuditor};
pub use following::FollowingDifference;
pub use inboxes::InboxDifference;
pub use liked::{LikedAuditor, LikedDifference};
pub use likes::LikesDifference;
pub use pages::{PageDifference, PagesAuditor};
pub use polls::PollDifference;
pub(crate) use projected::projected;
pub use projected::{AuditError, Folded};
pub(crate) use reads::{delete_unaccounted, followees, stored_entries};
pub use rooms::{RoomDifference, RoomsAuditor};
pub use rounds::Found;
pub use sample::Sample;
pub use summaries::{SummariesAuditor, SummaryDifference, SummaryFault};
pub use tags::{TagDifference, TagsAuditor};
pub use views::ViewsAuditor;

/// Entries that are hydrated at once.
const CHUNK: usize = 100;

/// How a stored timeline differs from what it should be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// The entry is missing.
    Missing,
    /// The entry should not be there.
    Extra,
    /// The entry has other attributes than it should.
    Stale,
}

/// One difference.
#[derive(Debug, Clone, Serialize)]
pub struct Difference {
    /// The viewer of the timeline.
    pub viewer_id: ViewerId,
    /// The kind of difference.
    pub difference: Kind,
    /// The sort key, as stored.
    pub sort_key: String,
    /// The actor, if the entry names one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub actor_id: Option<String>,
}

/// Compares timelines with the ledger.
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
    /// Over these tables.
    #[must_use]
    pub fn new(ledger: &Ledger, timelines: Timelines, retention: Retention, clock: Clock) -> Self {
        let (activities, follows) = (Activities::new(ledger), Follows::new(ledger));
        Self { ledger: ledger.clone(), activities, follows, timelines, retention, clock }
    }

    /// Picks viewers at random, each with the same chance however many they follow.
    ///
    /// # Errors
    /// [`DynamoError`]
    pub async fn sample(&self, size: usize) -> Result<Vec<ViewerId>, DynamoError> {
        Ok(sample::picked(reads::followers(&self.ledger).await?, size))
    }

    /// The differences between a viewer's timeline and what it should be.
    ///
    /// # Errors
    /// [`DynamoError`]
    pub async fn differences(&self, viewer: &ViewerId) -> Result<Vec<Difference>, DynamoError> {
        let start = self.retention.start(self.clock.now());
        let mut expected = self.expected(viewer, start).await?;
        let mut differences = Vec::new();
        let mut differs = |difference, sort_key: String, actor_id: Option<String>| {
            let viewer_id = viewer.clone();
            differences.push(Difference { viewer_id, difference, sort_key, actor_id });
        };
        for row in stored_entries(&self.timelines, viewer).await? {
            let sort_key = SortKey::parse(&row.sort_key).ok();
            if sort_key.as_ref().is_some_and(|sort_key| sort_key.published_at < start) {
                continue;
            }
            match sort_key.and_then(|sort_key| Some((expected.remove(&sort_key)?, sort_key))) {
                None => differs(Kind::Extra, row.sort_key, row.actor_id),
                Some((actor, sort_key)) if self.is_right(&row, &sort_key, &actor) => {}
                Some((actor, _)) => differs(Kind::Stale, row.sort_key, Some(actor.to_string())),
            }
        }
        for (sort_key, actor) in expected {
            differs(Kind::Missing, sort_key.to_string(), Some(actor.to_string()));
        }
        Ok(differences)
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
    ) -> Result<BTreeMap<SortKey, ActorId>, DynamoError> {
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

    /// Repairs differences that were found.
    ///
    /// # Errors
    /// [`DynamoError`]; repairing again completes it.
    pub async fn repair(
        &self,
        viewer: &ViewerId,
        differences: &[Difference],
    ) -> Result<(), DynamoError> {
        let named = differences.iter().filter_map(|difference| difference.actor_id.as_deref());
        let actors: HashSet<_> = named.filter_map(|id| ActorId::new(id).ok()).collect();
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
        for actor in actors {
            if let Some(state) = self.follows.state(viewer, &actor).await? {
                reconciler.reconcile(viewer, &actor, state).await?;
            } else {
                self.clear_strangers(viewer, &actor, differences).await?;
            }
        }
        Ok(())
    }

    /// Removes the entries of an actor whom the viewer never followed. There is no edge to reconcile with, and a follow that comes
    /// meanwhile inserts its own entries afterwards.
    async fn clear_strangers(
        &self,
        viewer: &ViewerId,
        actor: &ActorId,
        differences: &[Difference],
    ) -> Result<(), DynamoError> {
        let theirs = differences.iter().filter(|d| d.actor_id.as_deref() == Some(actor.as_str()));
        let sort_keys = theirs.filter_map(|d| SortKey::parse(&d.sort_key).ok());
        let sort_keys: Vec<_> = sort_keys.collect();
        self.timelines.purge_strangers(viewer, actor, &sort_keys).await?.whole()?;
        Ok(())
    }
}
