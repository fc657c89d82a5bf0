//! Hydration: what the ledger says about the entries of a timeline, which decides whether they are
//! shown: who is [hidden](crate::social::follows::HiddenActors) from the viewer, and what the activities' records say.
//!
//! A page reads both, and takes records from the cache of its process where it can. If the viewer has left too many
//! actors to list them, and for operators who compare timelines with edges, each actor's edge is read as well, once
//! for each [`Hydration`]. The record of an actor who is known to be hidden is not read, so skipping the entries of an
//! unfollowed actor costs nothing here.

use std::collections::{HashMap, HashSet};

use futures::future::{try_join, try_join_all};

use super::Timelines;
use crate::platform::dynamo::item::Row;
use crate::platform::dynamo::{BATCH_GET, DynamoError};
use crate::platform::ledger::LedgerKey;
use crate::platform::values::{ActorId, SortKey, Timestamp, ViewerId};
use crate::social::activities::changes::{ActivityFingerprint, Changes};
use crate::social::activities::{self, ActivityKey, Published, RecordCache, read_record};
use crate::social::follows::{self, EdgeState, HiddenActors, HiddenChange, IdleState};

/// The result of one call for all entries of a viewer, or of any list: who is hidden, and which records have changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VisibilitySnapshot {
    /// The viewer whose follows hide actors; `None` for a list that everybody is shown.
    viewer: Option<ViewerId>,
    hidden: HiddenActors,
    changes: Changes,
}

/// What the ledger says about some entries of one viewer, or about rows of any list.
#[derive(Debug, Clone, Default)]
pub struct Hydration {
    viewer: Option<ViewerId>,
    hidden: HiddenActors,
    /// The reading of the change log that all records here were read after; `None` for operators.
    before: Option<Changes>,
    asks_edges: bool,
    /// The edges that were read; `None` for an actor without an edge.
    edges: HashMap<ActorId, Option<EdgeState>>,
    records: HashMap<ActivityKey, ReadRecord>,
    /// The activities that others change while the page is read. Each reading reads them, at one moment.
    moving: HashSet<ActivityKey>,
    /// How many times they were read together.
    snapshots: u32,
}

/// What is read at a key of the ledger.
enum LedgerRead {
    Edge(ActorId),
    Record(ActivityKey),
}

impl VisibilitySnapshot {
    /// The changes in who is hidden since an earlier snapshot; `None` if they are unknown.
    pub fn hidden_since(&self, earlier: &Self) -> Option<HiddenChange> {
        self.hidden.since(&earlier.hidden)
    }

    /// Until when the viewer counts as reading.
    pub fn idle_state(&self) -> &IdleState {
        self.hidden.idle_state()
    }

    /// The records that were changed since an earlier snapshot; `None` if they are unknown.
    pub fn changes_since(&self, earlier: &Self) -> Option<&[ActivityFingerprint]> {
        self.changes.since(&earlier.changes)
    }
}

/// What the record of an activity said.
#[derive(Debug, Clone)]
struct ReadRecord {
    /// The content that is shown; `None` if the activity is not shown.
    shown: Option<Published>,
    /// True if nobody has edited or deleted the activity, so it was never different.
    is_original: bool,
    source: RecordSource,
}

/// Where a record comes from, and when it was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RecordSource {
    /// Before the rows.
    Earlier,
    /// From the cache, after the rows.
    Cached,
    /// From the table, after the rows.
    Stored,
    /// From the table, after the rows, at one moment with the others of this snapshot.
    Snapshot(u32),
}

impl Hydration {
    /// Begins a reading of the rows of a page: what is read from now on is read after them. Returns the edges read before.
    pub fn begin_reading(&mut self) -> HashMap<ActorId, Option<EdgeState>> {
        self.records.retain(|key, _| !self.moving.contains(key));
        self.records.values_mut().for_each(|record| record.source = RecordSource::Earlier);
        std::mem::take(&mut self.edges)
    }

    /// True if the content of these rows is that of one moment of the latest reading of records. `changed` are the records changed
    /// from before the rows until after that reading. Edges are of no such moment.
    pub fn is_of_one_reading(
        &self,
        rows: &[(SortKey, ActorId)],
        changed: Option<&[ActivityFingerprint]>,
    ) -> bool {
        let changed = self.changed(rows, changed);
        let records = changed.iter().filter_map(|key| self.records.get(key));
        let sources: Vec<_> = records.map(|record| record.source).collect();
        !self.asks_edges
            && match sources.as_slice() {
                [] | [RecordSource::Stored] => true,
                [first @ RecordSource::Snapshot(_), others @ ..] => {
                    others.iter().all(|it| it == first)
                }
                _ => false,
            }
    }

    /// Reads the records of these rows that have changed at one moment from now on; or those of all, if this was said of some before.
    pub fn follow(&mut self, rows: &[(SortKey, ActorId)], changed: Option<&[ActivityFingerprint]>) {
        let changed = changed.filter(|_| self.moving.is_empty());
        self.moving = self.changed(rows, changed);
    }

    /// The activities of rows that are not hidden, as far as they have changed.
    fn changed(
        &self,
        rows: &[(SortKey, ActorId)],
        changed: Option<&[ActivityFingerprint]>,
    ) -> HashSet<ActivityKey> {
        let open = rows.iter().filter(|(_, actor)| !self.hides(actor));
        let keys = open.map(|(sort_key, actor)| activity_key(sort_key, actor));
        let is_changed = |key: &ActivityKey| {
            changed.is_none_or(|changed| changed.contains(&ActivityFingerprint::of(key)))
        };
        keys.filter(is_changed).collect()
    }

    /// True if an activity may have been different when the rows of a page were read. `changed` are the records changed
    /// between the snapshots before and after the rows.
    pub fn is_doubtful(
        &self,
        sort_key: &SortKey,
        actor: &ActorId,
        changed: Option<&[ActivityFingerprint]>,
    ) -> bool {
        let key = activity_key(sort_key, actor);
        self.records.get(&key).is_some_and(|record| match record.source {
            RecordSource::Earlier => {
                changed.is_none_or(|changed| changed.contains(&ActivityFingerprint::of(&key)))
            }
            _ => !record.is_original,
        })
    }

    /// Takes over a later snapshot: records that have changed, and edges, are read again.
    pub fn see(&mut self, view: &VisibilitySnapshot, now: Timestamp) {
        let changed = self.before.as_ref().map(|before| view.changes.since(before));
        match changed {
            Some(Some(changed)) => {
                self.records.retain(|key, _| !changed.contains(&ActivityFingerprint::of(key)));
            }
            _ => self.records.clear(),
        }
        self.asks_edges = view.hidden.asks_edges(now);
        self.viewer.clone_from(&view.viewer);
        (self.hidden, self.before) = (view.hidden.clone(), Some(view.changes.clone()));
    }

    /// The edges that were read.
    pub fn edges(&self) -> &HashMap<ActorId, Option<EdgeState>> {
        &self.edges
    }

    /// The content that the viewer is shown for an entry; `None` if the actor is hidden, if the activity was deleted, or
    /// if the entry is not where the activity's publish put it.
    pub fn shown(&self, sort_key: &SortKey, actor: &ActorId) -> Option<&Published> {
        if self.hides(actor) || (self.asks_edges && !self.edges.contains_key(actor)) {
            return None;
        }
        let published = self.records.get(&activity_key(sort_key, actor))?.shown.as_ref()?;
        (published.at == sort_key.published_at).then_some(published)
    }

    /// True if the actor is known to be hidden from the viewer.
    pub fn hides(&self, actor: &ActorId) -> bool {
        // Operators ask what belongs into the timeline, which includes what a follow is backfilling.
        let shows = |edge: EdgeState| match self.before {
            Some(_) => edge.shows(),
            None => edge.state.on,
        };
        let left = |edge: &Option<EdgeState>| !edge.is_some_and(shows);
        self.hidden.hides(actor) || self.edges.get(actor).is_some_and(left)
    }

    /// The edges of these entries that have to be read and were not yet.
    fn unknown_edges(&self, entries: &[(SortKey, ActorId)]) -> HashMap<LedgerKey, LedgerRead> {
        let Some(viewer) = &self.viewer else { return HashMap::new() };
        let actors = entries.iter().map(|(_, actor)| actor).filter(|_| self.asks_edges);
        let unknown = actors.filter(|actor| !self.hides(actor) && !self.edges.contains_key(*actor));
        unknown
            .map(|actor| (follows::keys::edge(viewer, actor), LedgerRead::Edge(actor.clone())))
            .collect()
    }

    fn is_moving(&self, asked: &LedgerRead) -> bool {
        matches!(asked, LedgerRead::Record(key) if self.moving.contains(key))
    }

    fn add(
        &mut self,
        asked: LedgerRead,
        row: &Row<'_>,
        source: RecordSource,
    ) -> Result<(), DynamoError> {
        match asked {
            LedgerRead::Edge(actor) => {
                self.edges.insert(actor, Some(EdgeState::read(row)?));
            }
            LedgerRead::Record(activity) => {
                let record = read_record(row)?;
                let is_edited = record.payload.is_some() || record.kind.is_some();
                let shown = record.visible();
                let is_original = shown.is_some() && !is_edited;
                self.records.insert(activity, ReadRecord { shown, is_original, source });
            }
        }
        Ok(())
    }

    /// Notes what does not exist: the edge of somebody who never followed, an activity that was never published.
    fn add_missing(&mut self, asked: LedgerRead, source: RecordSource) {
        match asked {
            LedgerRead::Edge(actor) => drop(self.edges.insert(actor, None)),
            LedgerRead::Record(activity) => {
                let record = ReadRecord { shown: None, is_original: false, source };
                self.records.insert(activity, record);
            }
        }
    }
}

fn activity_key(sort_key: &SortKey, actor: &ActorId) -> ActivityKey {
    ActivityKey { activity_id: sort_key.activity_id.clone(), actor_id: actor.clone() }
}

impl Timelines {
    /// Reads in one call who is hidden from a viewer, if one is given, and which records have changed.
    pub async fn visibility(
        &self,
        viewer: Option<&ViewerId>,
        cache: &RecordCache,
    ) -> Result<VisibilitySnapshot, DynamoError> {
        let reading = cache.begin();
        let log = activities::keys::copy(&reading.copy());
        let keys = viewer.map(follows::keys::hidden).into_iter().chain([log.clone()]);
        let items = keys.map(LedgerKey::into_item).collect();
        let (mut hidden, mut changes) = (HiddenActors::default(), Changes::default());
        for row in self.ledger.table().batch_get(items).await? {
            match LedgerKey::of(&row)? {
                key if key == log => changes = Changes::read(&row)?,
                _ => hidden = HiddenActors::read(&row)?,
            }
        }
        cache.observe(&reading, &changes);
        Ok(VisibilitySnapshot { viewer: viewer.cloned(), hidden, changes })
    }

    /// Reads an edge for each actor and a record for each activity: for operators, who check what pages rely on.
    pub async fn hydrated(
        &self,
        viewer: &ViewerId,
        entries: &[(SortKey, ActorId)],
    ) -> Result<Hydration, DynamoError> {
        let viewer = Some(viewer.clone());
        let mut hydration = Hydration { viewer, asks_edges: true, ..Hydration::default() };
        self.hydrate(&mut hydration, entries, &RecordCache::new(0), false).await?;
        Ok(hydration)
    }

    /// Reads at once the edges that are needed, and the records of all entries that are not known to be hidden. Records
    /// are taken from the cache if `uses_cache`, and records that are read are cached.
    pub async fn hydrate(
        &self,
        hydration: &mut Hydration,
        entries: &[(SortKey, ActorId)],
        cache: &RecordCache,
        uses_cache: bool,
    ) -> Result<(), DynamoError> {
        let mut wanted = hydration.unknown_edges(entries);
        for (sort_key, actor) in entries {
            let key = activity_key(sort_key, actor);
            if hydration.hides(actor) || hydration.records.contains_key(&key) {
                continue;
            }
            match Some(cache).filter(|_| uses_cache).and_then(|cache| cache.get(&key)) {
                Some(published) => {
                    let (shown, source) = (Some(published), RecordSource::Cached);
                    hydration.records.insert(key, ReadRecord { shown, is_original: false, source });
                }
                None => {
                    drop(wanted.insert(activities::keys::record(&key), LedgerRead::Record(key)))
                }
            }
        }
        self.ask(hydration, wanted, Some(cache)).await
    }

    /// Reads the edges alone; makes no call if none is needed.
    pub async fn hydrate_edges(
        &self,
        hydration: &mut Hydration,
        entries: &[(SortKey, ActorId)],
    ) -> Result<(), DynamoError> {
        let wanted = hydration.unknown_edges(entries);
        self.ask(hydration, wanted, None).await
    }

    async fn ask(
        &self,
        hydration: &mut Hydration,
        mut wanted: HashMap<LedgerKey, LedgerRead>,
        cache: Option<&RecordCache>,
    ) -> Result<(), DynamoError> {
        let (snapshot, others) = self.read_wanted(hydration, &wanted).await?;
        let source_of_moving = match snapshot {
            Some(_) => {
                hydration.snapshots += 1;
                RecordSource::Snapshot(hydration.snapshots)
            }
            None => RecordSource::Stored,
        };
        let source_of = |asked: &LedgerRead, hydration: &Hydration| {
            if hydration.is_moving(asked) { source_of_moving } else { RecordSource::Stored }
        };
        for row in snapshot.into_iter().flatten().chain(others) {
            let Some(asked) = wanted.remove(&LedgerKey::of(&row)?) else { continue };
            let record = match &asked {
                LedgerRead::Record(key) => Some(key.clone()),
                LedgerRead::Edge(_) => None,
            };
            let source = source_of(&asked, hydration);
            hydration.add(asked, &row, source)?;
            if let (Some(key), Some(cache), Some(before)) = (record, cache, &hydration.before)
                && let Some(ReadRecord { shown: Some(published), .. }) = hydration.records.get(&key)
            {
                cache.keep(&key, published, before);
            }
        }
        for asked in wanted.into_values() {
            let source = source_of(&asked, hydration);
            hydration.add_missing(asked, source);
        }
        Ok(())
    }

    /// Reads what is wanted: the moving records at one moment, if there are several, and everything else. Without a moment, all
    /// are among the others.
    async fn read_wanted(
        &self,
        hydration: &Hydration,
        wanted: &HashMap<LedgerKey, LedgerRead>,
    ) -> Result<(Option<Vec<Row<'_>>>, Vec<Row<'_>>), DynamoError> {
        let table = self.ledger.table();
        let items = |keys: &[LedgerKey]| keys.iter().cloned().map(LedgerKey::into_item).collect();
        let (moving, others): (Vec<_>, Vec<_>) =
            wanted.iter().partition(|(_, asked)| hydration.is_moving(asked));
        let [moving, others] = [moving, others]
            .map(|of| of.into_iter().map(|(key, _)| key.clone()).collect::<Vec<_>>());
        let batches = async |keys: &[LedgerKey]| {
            let pages = keys.chunks(BATCH_GET).map(|keys| table.batch_get(items(keys)));
            let rows = try_join_all(pages).await?.into_iter().flatten().collect::<Vec<_>>();
            Ok::<_, DynamoError>(rows)
        };
        let snapshot = async {
            match (2..=table.limits().transaction_items).contains(&moving.len()) {
                true => table.snapshot(items(&moving)).await,
                false => Ok(None),
            }
        };
        let (snapshot, mut rows) = try_join(snapshot, batches(&others)).await?;
        if snapshot.is_none() {
            rows.extend(batches(&moving).await?);
        }
        Ok((snapshot, rows))
    }
}
