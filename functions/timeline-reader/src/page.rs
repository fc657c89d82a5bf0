//! Filling a page: entries from the timeline (the skeleton), what the ledger says about them (the
//! facts), and the rule that an entry is shown only if its edge and its activity say so.
//!
//! Some entries are hidden for a moment or for good: of an actor unfollowed a moment ago, of an
//! activity deleted, of something put there by hand. So a page is filled by going on reading until
//! it is full or the stretch ends. One entry beyond the page is looked at, to know whether there
//! is a next one.
//!
//! # What hidden entries cost
//!
//! While a purge of thousands of entries runs, a page passes many of them. The edge of an actor is asked
//! for once a page; whoever is known not to be followed is passed over, at what reading the entry
//! from the timeline costs (about a fortieth of a unit). Entries whose edge is not known yet may turn out
//! hidden after their records were read for nothing. That is bounded: records are asked for along with the edges only at the beginning and only for
//! [`AT_ONCE`] entries, and a full page looks at no more than [`BEYOND`] hidden ones for a next page.

use shared::activity::Published;
use shared::cursor::Order;
use shared::store::{Facts, Span, Store, StoreError};
use shared::{ActorId, Deadline, SortKey, Timestamp, ViewerId};

use crate::Reader;
use crate::request::Request;

/// The most entries whose edges and records are asked for at once, which saves a round trip. With more
/// the edges are read first, so that no read unit is spent on the record of a hidden entry.
const AT_ONCE: usize = 40;
/// The fewest entries asked about at once later, so that a run of deleted activities does not take a
/// round trip each; the most are [`CHUNK`].
const FEWEST: usize = 10;
/// Entries whose facts fit into two BatchGetItem calls, even if each is of another actor. If the first read
/// found too many hidden entries, the next one reads at least this many.
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
pub(crate) struct Shown {
    pub(crate) sort_key: SortKey,
    pub(crate) actor: ActorId,
    pub(crate) content: Published,
}

/// One page.
#[derive(Debug)]
pub(crate) struct Page {
    /// In the order asked for.
    pub(crate) activities: Vec<Shown>,
    /// True if there is more beyond it.
    pub(crate) more: bool,
}

impl Reader {
    pub(crate) async fn page(
        &self,
        store: &Store,
        viewer: &ViewerId,
        request: &Request,
        now: Timestamp,
        deadline: Deadline,
    ) -> Result<Page, StoreError> {
        let mut filling = Filling::new(request.limit);
        let span = self.span(request, now);
        let mut place = request.cursor.after.as_ref().map(ToString::to_string);
        loop {
            let wanted = filling.next_stretch();
            let (rows, next) =
                store.entries(viewer, span, place.as_deref(), wanted, deadline).await?;
            let entries: Vec<_> = rows.iter().filter_map(|row| row.target()).collect();
            filling.fill(store, viewer, &entries, deadline).await?;
            filling.passed += rows.len();
            match next {
                _ if filling.more => return Ok(filling.end(true)),
                None => return Ok(filling.end(false)),
                Some(_) if filling.is_full() && filling.passed >= BEYOND => {
                    return Ok(filling.end(true));
                }
                next => place = next,
            }
        }
    }

    /// What was asked for, less what retention has passed by.
    fn span(&self, request: &Request, now: Timestamp) -> Span {
        let start = self.retention.start(now);
        let range = request.cursor.range;
        let from = range.from.map_or(start, |from| from.max(start));
        Span { from, to: range.to, order: request.cursor.order }
    }
}

/// A page that is being filled.
struct Filling {
    activities: Vec<Shown>,
    limit: usize,
    /// What was asked for this page, so that nothing is asked for twice.
    facts: Facts,
    /// Entries read so far, before the stretch that is being looked at.
    passed: usize,
    /// True once there is known to be something beyond the page.
    more: bool,
}

impl Filling {
    fn new(limit: usize) -> Self {
        let activities = Vec::with_capacity(limit + 1);
        Self { activities, limit, facts: Facts::default(), passed: 0, more: false }
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
        store: &Store,
        viewer: &ViewerId,
        entries: &[Target],
        deadline: Deadline,
    ) -> Result<(), StoreError> {
        let mut rest = entries.iter();
        loop {
            let chunk = self.next_chunk(&mut rest);
            // What is beyond a page of a hundred is not looked at closely: that would take another call.
            let is_a_hundred = self.activities.len() >= CHUNK;
            self.more = self.missing() == 0 || (is_a_hundred && !chunk.is_empty());
            if self.more || chunk.is_empty() {
                return Ok(());
            }
            if self.passed > 0 || chunk.len() > AT_ONCE {
                store.hydrate_edges(&mut self.facts, viewer, &chunk, deadline).await?;
            }
            store.hydrate(&mut self.facts, viewer, &chunk, deadline).await?;
            self.add(chunk);
        }
    }

    /// The next entries that are not known to be hidden.
    fn next_chunk<'a>(&self, rest: &mut impl Iterator<Item = &'a Target>) -> Vec<Target> {
        let wanted = self.missing().clamp(FEWEST, CHUNK);
        let open = rest.filter(|(_, actor)| !self.facts.hides(actor));
        open.take(wanted).cloned().collect()
    }

    fn add(&mut self, entries: Vec<Target>) {
        for (sort_key, actor) in entries {
            if let Some(content) = self.facts.shown(&sort_key, &actor) {
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
    pub(crate) fn newest_seen(&self, request: &Request) -> Option<SortKey> {
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
    pub(crate) fn last(&self) -> Option<SortKey> {
        self.activities.last().map(|shown| shown.sort_key.clone())
    }
}
