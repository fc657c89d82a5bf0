//! Filling a page: entries from the timeline (the skeleton), what the ledger says about them (the
//! hydration), and the rule that an entry is shown only if its edge and its activity say so.
//!
//! Some entries are hidden for a moment or permanently: of an actor unfollowed a moment ago, of an
//! activity deleted, of something put there by hand. So a page is filled by going on reading until
//! it is full or the stretch ends. One entry beyond the page is looked at, to know whether there
//! is a next one.
//!
//! # What hidden entries cost
//!
//! While a purge of thousands of entries runs, a page passes many of them. The edge of an actor is asked
//! for once a page; the entries of an actor who is not followed cost no more than reading them from
//! the timeline (some forty entries a read unit). As long as an edge is not known, records of entries that
//! it hides may be read for nothing. That is bounded: records are asked for along with
//! the edges only at the beginning and only for [`AT_ONCE`] entries, and a full page looks at no more than
//! [`BEYOND`] hidden ones for a next page.

use shared::activities::Published;
use shared::dynamo::DynamoError;
use shared::runtime::deadline::Deadline;
use shared::timelines::{Hydration, Order, Span, Timelines};
use shared::values::{ActorId, SortKey, Timestamp, ViewerId};

use super::request::Request;

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

/// An activity as a viewer is shown it.
#[derive(Debug)]
pub(super) struct Shown {
    pub(super) sort_key: SortKey,
    pub(super) actor: ActorId,
    pub(super) content: Published,
}

/// One page.
#[derive(Debug)]
pub(super) struct Page {
    /// In the order asked for.
    pub(super) activities: Vec<Shown>,
    /// True if there is more beyond it.
    pub(super) more: bool,
}

/// Reads the page that a request asks for.
pub(super) async fn read(
    timelines: &Timelines,
    viewer: &ViewerId,
    request: &Request,
    retained_from: Timestamp,
    deadline: Deadline,
) -> Result<Page, DynamoError> {
    let mut filling = Filling::new(request.limit);
    let span = span(request, retained_from);
    let mut after = request.cursor.after.as_ref().map(ToString::to_string);
    loop {
        let wanted = filling.next_stretch();
        let (rows, next) =
            timelines.entries(viewer, span, after.as_deref(), wanted, deadline).await?;
        let entries: Vec<_> = rows.iter().filter_map(|row| row.target()).collect();
        filling.fill(timelines, viewer, &entries, deadline).await?;
        filling.passed += rows.len();
        match next {
            _ if filling.more => return Ok(filling.end(true)),
            None => return Ok(filling.end(false)),
            Some(_) if filling.is_full() && filling.passed >= BEYOND => {
                return Ok(filling.end(true));
            }
            next => after = next,
        }
    }
}

/// What was asked for, less what retention has passed by.
fn span(request: &Request, retained_from: Timestamp) -> Span {
    let range = request.cursor.range;
    let from = range.from.map_or(retained_from, |from| from.max(retained_from));
    Span { from, to: range.to, order: request.cursor.order }
}

/// A page that is being filled.
struct Filling {
    activities: Vec<Shown>,
    limit: usize,
    /// What was asked for this page, so that nothing is asked for twice.
    hydration: Hydration,
    /// Entries read so far, before the stretch that is being hydrated.
    passed: usize,
    /// True once there is known to be something beyond the page.
    more: bool,
}

impl Filling {
    fn new(limit: usize) -> Self {
        let activities = Vec::with_capacity(limit + 1);
        Self { activities, limit, hydration: Hydration::default(), passed: 0, more: false }
    }

    fn is_full(&self) -> bool {
        self.activities.len() >= self.limit
    }

    /// Activities yet to be found, the one beyond the page included.
    fn missing(&self) -> usize {
        (self.limit + 1).saturating_sub(self.activities.len())
    }

    /// How many entries to read next: at first as many as are wanted, then as many as hold that many
    /// if shown and hidden ones go on in the proportion seen so far.
    fn next_stretch(&self) -> usize {
        if self.passed == 0 {
            return self.missing();
        }
        let expected = self.passed * self.missing() / self.activities.len().max(1);
        expected.clamp(CHUNK, STRETCH)
    }

    /// Takes from a stretch what is shown, until it ends or there is one more than the page holds.
    async fn fill(
        &mut self,
        timelines: &Timelines,
        viewer: &ViewerId,
        entries: &[Target],
        deadline: Deadline,
    ) -> Result<(), DynamoError> {
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
                timelines.hydrate_edges(&mut self.hydration, viewer, &chunk, deadline).await?;
            }
            timelines.hydrate(&mut self.hydration, viewer, &chunk, deadline).await?;
            self.add(chunk);
        }
    }

    /// The next entries that are not known to be hidden.
    fn next_chunk<'a>(&self, rest: &mut impl Iterator<Item = &'a Target>) -> Vec<Target> {
        let wanted = self.missing().clamp(FEWEST, CHUNK);
        let open = rest.filter(|(_, actor)| !self.hydration.hides(actor));
        open.take(wanted).cloned().collect()
    }

    fn add(&mut self, entries: Vec<Target>) {
        for (sort_key, actor) in entries {
            if let Some(content) = self.hydration.shown(&sort_key, &actor) {
                self.activities.push(Shown { sort_key, actor, content });
            }
        }
    }

    fn end(mut self, more: bool) -> Page {
        self.activities.truncate(self.limit);
        Page { activities: self.activities, more }
    }
}

impl Page {
    /// The newest activity seen by somebody who has come to this page.
    pub(super) fn newest_seen(&self, request: &Request) -> Option<SortKey> {
        let cursor = &request.cursor;
        match cursor.order {
            Order::Newest => {
                let here = || self.activities.first().map(|shown| shown.sort_key.clone());
                cursor.newest.clone().or_else(here)
            }
            Order::Oldest => self.last().or_else(|| cursor.after.clone()),
        }
    }

    /// The last activity on the page.
    pub(super) fn last(&self) -> Option<SortKey> {
        self.activities.last().map(|shown| shown.sort_key.clone())
    }
}
