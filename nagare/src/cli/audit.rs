//! `nagare audit`: do the timelines say what the ledger says?
//!
//! For a viewer the audit computes, from the edges, the outboxes and the activity records, which
//! entries there should be, and compares them with the stored ones, attribute by attribute. What is
//! past retention is nobody's business any more: the table drops it in its own time.
//!
//! A repair never writes what it computed. It has the writer settle the pair of viewer and actor,
//! with all the second looks that a follow command gets, and takes out what no command accounts for
//! only while that is still so. So a repair may run beside any traffic, and readers, who check every
//! entry anyway, see nothing of it but what was missing.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use clap::Args;
use fanout_writer::{Failure as WriteFailure, Writer};
use serde::Serialize;
use shared::store::{EntryRow, Store};
use shared::{ActorId, Retention, SortKey, Timestamp, ViewerId};

use super::print::{print_json, say};
use super::remote::{Remote, soon};
use super::{Failure, progress};

/// Entries whose facts are asked for at once.
const CHUNK: usize = 100;

#[derive(Debug, Args)]
pub(super) struct Audit {
    /// Whose timelines.
    #[arg(long, num_args = 1.., required_unless_present = "sample")]
    viewer: Vec<ViewerId>,
    /// So many viewers, picked at random from all who follow somebody. Reads through all edges.
    #[arg(long, conflicts_with = "viewer")]
    sample: Option<usize>,
    /// Mend what differs.
    #[arg(long)]
    repair: bool,
    /// Print one JSON object for each difference.
    #[arg(long)]
    json: bool,
}

/// How a stored timeline differs from what it should be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
enum Kind {
    /// Not there.
    Missing,
    /// There, and should not be.
    Extra,
    /// There, and says something else than it should.
    Stale,
}

#[derive(Debug, Clone, Serialize)]
struct Difference {
    viewer_id: ViewerId,
    difference: Kind,
    sort_key: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    actor_id: Option<String>,
}

/// The tables, and how long things stay in them.
struct Auditor {
    store: Store,
    writer: Writer,
    retention: Retention,
}

impl Audit {
    pub(super) async fn run(self) -> Result<(), Failure> {
        let remote = Remote::from_environment().await?;
        let writer = remote.writer()?;
        let (store, retention) = (writer.store.clone(), writer.retention);
        let auditor = Auditor { store, writer, retention };
        let viewers = match self.sample {
            Some(size) => auditor.sample(size).await?,
            None => self.viewer.clone(),
        };
        let bar = progress::bar(viewers.len() as u64, "timelines audited");
        let (mut found, mut left) = (0, 0);
        for viewer in &viewers {
            let differences = auditor.differences(viewer).await?;
            bar.suspend(|| differences.iter().try_for_each(|difference| self.print(difference)))?;
            found += differences.len();
            left += differences.len();
            if self.repair && !differences.is_empty() {
                auditor.repair(viewer, &differences).await?;
                left -= differences.len();
                left += auditor.differences(viewer).await?.len();
            }
            bar.inc(1);
        }
        bar.finish_and_clear();
        self.conclude(viewers.len(), found, left)
    }

    fn print(&self, difference: &Difference) -> Result<(), Failure> {
        if self.json {
            return print_json(difference);
        }
        let Difference { viewer_id, difference, sort_key, actor_id } = difference;
        let kind = format!("{difference:?}").to_lowercase();
        let actor = actor_id.as_deref().unwrap_or("nobody");
        say!("{kind:<8} {viewer_id}  {sort_key}  of {actor}")?;
        Ok(())
    }

    fn conclude(&self, viewers: usize, found: usize, left: usize) -> Result<(), Failure> {
        let mended = if self.repair { format!(", {} mended", found - left) } else { String::new() };
        eprintln!("{viewers} timelines audited: {found} differences{mended}");
        if left == 0 {
            return Ok(());
        }
        Err(Failure::No(format!("{left} differences are left")))
    }
}

impl Auditor {
    /// Picks viewers at random, each with the same chance however many they follow.
    async fn sample(&self, size: usize) -> Result<Vec<ViewerId>, Failure> {
        let bar = progress::counter("edges read");
        let mut viewers = BTreeSet::new();
        let seen = |viewer| {
            bar.inc(1);
            viewers.insert(viewer);
        };
        self.store.each_follower(seen, soon).await?;
        bar.finish_and_clear();
        let viewers: Vec<_> = viewers.into_iter().collect();
        let mut picked = fastrand::choose_multiple(viewers, size);
        picked.sort();
        Ok(picked)
    }

    async fn differences(&self, viewer: &ViewerId) -> Result<Vec<Difference>, Failure> {
        let start = self.retention.start(self.writer.clock.now());
        let mut expected = self.expected(viewer, start).await?;
        let mut differences = Vec::new();
        let mut differs = |difference, sort_key: String, actor_id: Option<String>| {
            let viewer_id = viewer.clone();
            differences.push(Difference { viewer_id, difference, sort_key, actor_id });
        };
        for row in self.store.stored_entries(viewer, soon()).await? {
            let place = SortKey::parse(&row.sort_key).ok();
            if place.as_ref().is_some_and(|place| place.published_at < start) {
                continue;
            }
            match place.and_then(|place| Some((expected.remove(&place)?, place))) {
                None => differs(Kind::Extra, row.sort_key, row.actor_id),
                Some((actor, place)) if self.is_right(&row, &place, &actor) => {}
                Some((actor, _)) => differs(Kind::Stale, row.sort_key, Some(actor.to_string())),
            }
        }
        for (place, actor) in expected {
            differs(Kind::Missing, place.to_string(), Some(actor.to_string()));
        }
        Ok(differences)
    }

    fn is_right(&self, row: &EntryRow, place: &SortKey, actor: &ActorId) -> bool {
        row.actor_id.as_deref() == Some(actor.as_str())
            && row.expires_at == Some(self.retention.expires_at(place.published_at))
    }

    /// The entries that the ledger asks for.
    async fn expected(
        &self,
        viewer: &ViewerId,
        start: Timestamp,
    ) -> Result<BTreeMap<SortKey, ActorId>, Failure> {
        let mut candidates = Vec::new();
        for actor in self.store.followees(viewer, soon()).await? {
            let mut after = None;
            loop {
                let page = self.store.outbox(&actor, start, after.as_ref(), soon()).await?;
                after = page.rows.last().map(|row| row.sort_key.clone());
                candidates.extend(page.rows.into_iter().map(|row| (row.sort_key, actor.clone())));
                if !page.more {
                    break;
                }
            }
        }
        let mut expected = BTreeMap::new();
        for chunk in candidates.chunks(CHUNK) {
            let facts = self.store.facts(viewer, chunk, soon()).await?;
            let shown = chunk.iter().filter(|(place, actor)| facts.shown(place, actor).is_some());
            expected.extend(shown.cloned());
        }
        Ok(expected)
    }

    async fn repair(&self, viewer: &ViewerId, differences: &[Difference]) -> Result<(), Failure> {
        let named = differences.iter().filter_map(|difference| difference.actor_id.as_deref());
        let actors: HashSet<_> = named.filter_map(|id| ActorId::new(id).ok()).collect();
        for difference in differences.iter().filter(|d| d.difference == Kind::Extra) {
            let row = EntryRow {
                sort_key: difference.sort_key.clone(),
                actor_id: difference.actor_id.clone(),
                expires_at: None,
            };
            self.store.erase_unaccounted(viewer, &row, soon()).await?;
        }
        for actor in actors {
            if let Some(state) = self.store.follow_state(viewer, &actor, soon()).await? {
                self.writer.settle(viewer, &actor, state, soon).await?;
            } else {
                self.clear_strangers(viewer, &actor, differences).await?;
            }
        }
        Ok(())
    }

    /// Takes out entries of an actor whom the viewer never followed: there is no edge to settle by,
    /// and a follow that comes meanwhile brings its own entries in afterwards.
    async fn clear_strangers(
        &self,
        viewer: &ViewerId,
        actor: &ActorId,
        differences: &[Difference],
    ) -> Result<(), Failure> {
        let theirs = differences.iter().filter(|d| d.actor_id.as_deref() == Some(actor.as_str()));
        let places = theirs.filter_map(|d| SortKey::parse(&d.sort_key).ok());
        let places: Vec<_> = places.collect();
        self.store.purge_strangers(viewer, actor, &places, soon()).await?.whole()?;
        Ok(())
    }
}

impl From<WriteFailure> for Failure {
    fn from(failure: WriteFailure) -> Self {
        Self::Unreachable(failure.to_string())
    }
}
