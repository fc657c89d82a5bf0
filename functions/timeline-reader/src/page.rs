//! Filling a page: entries from the timeline (the skeleton), what the ledger says about them (the
//! facts), and the rule that an entry is shown only if its edge and its activity say so.
//!
//! Some entries are hidden for a moment or for good: of an actor unfollowed a moment ago, of an
//! activity deleted, of something put there by hand. So a page is filled by going on reading until
//! it is full or the stretch ends. One entry beyond the page is looked at, to know whether there
//! is a next one.

use shared::activity::Published;
use shared::cursor::Order;
use shared::store::{Facts, Span, Store, StoreError};
use shared::{ActorId, Deadline, SortKey, Timestamp, ViewerId};

use crate::Reader;
use crate::request::Request;

/// Entries whose facts fit two BatchGetItem calls, even if every one is of another actor. Also how
/// many are read at once where an ordinary read found too many hidden ones.
const CHUNK: usize = 100;

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
        let mut wanted = request.limit + 1;
        loop {
            let (rows, next) =
                store.entries(viewer, span, place.as_deref(), wanted, deadline).await?;
            let entries: Vec<_> = rows.iter().filter_map(|row| row.target()).collect();
            for chunk in entries.chunks(CHUNK) {
                if filling.is_full() {
                    return Ok(filling.end(true));
                }
                filling.add(chunk, &store.facts(viewer, chunk, deadline).await?);
            }
            match next {
                _ if filling.is_over_full() => return Ok(filling.end(true)),
                None => return Ok(filling.end(false)),
                next => place = next,
            }
            wanted = CHUNK;
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
}

impl Filling {
    fn new(limit: usize) -> Self {
        Self { activities: Vec::with_capacity(limit + 1), limit }
    }

    fn is_full(&self) -> bool {
        self.activities.len() >= self.limit
    }

    fn is_over_full(&self) -> bool {
        self.activities.len() > self.limit
    }

    fn add(&mut self, entries: &[(SortKey, ActorId)], facts: &Facts) {
        for (sort_key, actor) in entries {
            if let Some(content) = facts.shown(sort_key, actor) {
                let (sort_key, actor) = (sort_key.clone(), actor.clone());
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
