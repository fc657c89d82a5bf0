//! Filling a page: entries from the timeline (the skeleton), what the ledger says about them (the
//! hydration), and the rule that an entry is shown only if its actor is not hidden and its activity is visible.
//!
//! Some entries are hidden for a moment or permanently: of an actor unfollowed a moment ago, of an
//! activity deleted, of something put there by hand. So a page is filled by going on reading until
//! it is full or the stretch ends. One entry beyond the page is looked at, to know whether there
//! is a next one.
//!
//! # What hidden entries cost
//!
//! While a purge of thousands of entries runs, a page passes many of them. The entries of an actor who is
//! hidden cost no more than reading them from the timeline (some forty entries a read unit). A full page looks
//! at no more than [`BEYOND`] hidden ones for a next page.

use futures::future::{try_join, try_join3};
use shared::dynamo::DynamoError;
use shared::timelines::{EntryRow, Hydration};
use shared::values::{ActorId, SortKey, Timestamp};

use super::page::{Page, Reading, Shown};

/// The most entries whose edges and records are asked for at once, which saves a round trip. With more
/// the edges are read first, so that no read unit is spent on the record of a hidden entry.
const AT_ONCE: usize = 40;
/// The fewest entries asked about at once later, so that a run of deleted activities does not take a
/// round trip each; the most are [`CHUNK`].
const FEWEST: usize = 10;
/// The most entries that two BatchGetItem calls hydrate if each is of another actor. After a read with too
/// many hidden entries, the next one reads at least this many.
const CHUNK: usize = 100;
/// The most entries that are read at once: 25 read units or so.
const STRETCH: usize = 1_000;
/// Entries read for a full page before it is said that there may be more without knowing. The page after
/// it is empty then, if there is nothing.
const BEYOND: usize = 500;

/// What an entry points at.
type Target = (SortKey, ActorId);

/// A page that was read, and by what.
pub(super) struct Filled {
    pub(super) page: Page,
    /// All entries that were read for it.
    pub(super) entries: Vec<Target>,
    /// How many calls read them.
    pub(super) queries: usize,
}

/// Reads a page, going on with what was asked for before; with a new view beside the first entries, or with
/// the one that is known.
pub(super) async fn fill(
    reading: &Reading<'_>,
    hydration: &mut Hydration,
    with_view: bool,
) -> Result<Filled, DynamoError> {
    let Reading { timelines, viewer, request, deadline, .. } = *reading;
    let mut filling = Filling::new(reading, hydration);
    let (span, mut after) = request.start(reading.retained_from);
    let (mut entries, mut queries) = (Vec::new(), 0);
    loop {
        let wanted = filling.next_stretch();
        let stretch = timelines.entries(viewer, span, after.as_deref(), wanted, deadline);
        let (rows, next) = if with_view && queries == 0 {
            let view = timelines.view(viewer, reading.kept, deadline);
            let (stretch, view, _) = try_join3(stretch, view, reading.seen()).await?;
            filling.hydration.see(&view, reading.now);
            stretch
        } else {
            stretch.await?
        };
        queries += 1;
        let targets: Vec<_> = rows.iter().filter_map(EntryRow::target).collect();
        filling.take(&reading.unseen(&targets).await?).await?;
        filling.passed += rows.len();
        entries.extend(targets);
        let more = match next {
            _ if filling.more => true,
            None => false,
            Some(_) if filling.is_full() && filling.passed >= BEYOND => true,
            next => {
                after = next;
                continue;
            }
        };
        let oldest_read = entries.iter().map(|(key, _)| key.published_at).min();
        return Ok(Filled { page: filling.end(more, oldest_read), entries, queries });
    }
}

/// A page that is being filled.
struct Filling<'a> {
    reading: &'a Reading<'a>,
    activities: Vec<Shown>,
    limit: usize,
    /// What was asked for this page, so that nothing is asked for twice.
    hydration: &'a mut Hydration,
    /// Entries read so far, before the stretch that is being hydrated.
    passed: usize,
    /// True once there is known to be something beyond the page.
    more: bool,
}

impl<'a> Filling<'a> {
    fn new(reading: &'a Reading<'_>, hydration: &'a mut Hydration) -> Self {
        let limit = reading.request.limit;
        let activities = Vec::with_capacity(limit + 1);
        Self { reading, activities, limit, hydration, passed: 0, more: false }
    }

    fn is_full(&self) -> bool {
        self.activities.len() >= self.limit
    }

    /// Activities yet to be found, the one beyond the page included.
    fn missing(&self) -> usize {
        (self.limit + 1).saturating_sub(self.activities.len())
    }

    /// How many entries to read next: at first as many as are wanted, and as many as will be skipped because they
    /// were seen; then as many as hold those that are wanted if shown and hidden ones go on in the proportion seen so far.
    fn next_stretch(&self) -> usize {
        if self.passed == 0 {
            return self.missing() + self.reading.request.skipped();
        }
        let expected = self.passed * self.missing() / self.activities.len().max(1);
        expected.clamp(CHUNK, STRETCH)
    }

    /// Takes from a stretch what is shown, until it ends or there is one more than the page holds.
    async fn take(&mut self, entries: &[Target]) -> Result<(), DynamoError> {
        let Reading { timelines, kept, viewer, deadline, .. } = *self.reading;
        let mut rest = entries.iter();
        loop {
            let chunk = self.next_chunk(&mut rest);
            // What is beyond a page of a hundred is not hydrated: that would take another call.
            let is_a_hundred = self.activities.len() >= CHUNK;
            self.more = self.missing() == 0 || (is_a_hundred && !chunk.is_empty());
            if self.more || chunk.is_empty() {
                return Ok(());
            }
            if self.passed > 0 || chunk.len() > AT_ONCE {
                timelines.hydrate_edges(self.hydration, viewer, &chunk, deadline).await?;
            }
            try_join(
                timelines.hydrate(self.hydration, viewer, &chunk, Some(kept), deadline),
                self.reading.likes.ask(chunk.iter().map(|(key, _)| &key.activity_id)),
            )
            .await?;
            self.add(chunk);
        }
    }

    /// The next entries that are not known to be hidden.
    fn next_chunk<'e>(&self, rest: &mut impl Iterator<Item = &'e Target>) -> Vec<Target> {
        let wanted = self.missing().clamp(FEWEST, CHUNK);
        let open = rest.filter(|(_, actor)| !self.hydration.hides(actor));
        open.take(wanted).cloned().collect()
    }

    fn add(&mut self, entries: Vec<Target>) {
        for (sort_key, actor) in entries {
            if let Some(content) = self.hydration.shown(&sort_key, &actor) {
                let content = content.clone();
                self.activities.push(Shown { sort_key, actor, content });
            }
        }
    }

    fn end(mut self, more: bool, oldest_read: Option<Timestamp>) -> Page {
        self.activities.truncate(self.limit);
        Page { activities: self.activities, more, oldest_read }
    }
}
