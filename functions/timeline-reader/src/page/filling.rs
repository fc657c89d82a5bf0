//! Filling a page: rows, what is known of them, and the rule that a row is shown only if it is not hidden.
//!
//! Some rows are hidden for a moment or permanently: of an actor unfollowed a moment ago, of what was deleted,
//! of something put there by hand. So a page is filled by going on reading until it is full or the span ends.
//! One row beyond the page is looked at, to know whether there is a next one.
//!
//! # What hidden rows cost
//!
//! While a purge of thousands of entries runs, a page passes many of them. Rows that are known to be hidden cost no
//! more than reading them from the list (some forty entries a read unit). A full page looks at no more than
//! [`BEYOND`] hidden ones for a next page.

use futures::future::try_join;
use shared::dynamo::DynamoError;
use shared::paging::Stretch;
use shared::values::SortKey;

use super::{Page, Paging, Source};

/// The fewest rows looked up at once later, so that a run of deleted activities does not take a
/// round trip each; the most are [`CHUNK`].
const FEWEST: usize = 10;
/// The most rows that are looked up at once: what two BatchGetItem calls find if each is of another actor. After a
/// read with too many hidden rows, the next one reads at least this many.
const CHUNK: usize = 100;
/// The most rows that are read at once: 25 read units or so.
const STRETCH: usize = 1_000;
/// Rows read for a full page before it is said that there may be more without knowing. The page after
/// it is empty then, if there is nothing.
const BEYOND: usize = 500;

/// A page that was read, and by what.
pub(crate) struct Filled<S: Source> {
    pub(crate) page: Page<S::Shown>,
    /// All rows that were read for it.
    pub(crate) rows: Vec<S::Row>,
    /// How many stretches they were.
    pub(crate) stretches: usize,
}

/// Reads a page, going on with what its source knows.
pub(crate) async fn fill<S: Source>(
    paging: &Paging<'_>,
    source: &mut S,
) -> Result<Filled<S>, DynamoError> {
    let (span, mut after) = paging.request.start(paging.retained_from);
    let mut filling = Filling::new(paging, source);
    let (mut rows, mut stretches) = (Vec::new(), 0);
    loop {
        let wanted = filling.next_stretch();
        let (stretch, _) =
            try_join(filling.source.read(span, after.as_deref(), wanted), paging.seen()).await?;
        let Stretch { rows: some, read, next } = stretch;
        stretches += 1;
        filling.take(&paging.unseen::<S>(&some).await?).await?;
        filling.passed += read;
        rows.extend(some);
        let more = match next {
            _ if filling.more => true,
            None => false,
            Some(_) if filling.is_full() && filling.passed >= BEYOND => true,
            next => {
                after = next;
                continue;
            }
        };
        let oldest_read = rows.iter().map(|row| S::key(row).published_at).min();
        let mut items = filling.items;
        items.truncate(paging.request.limit);
        return Ok(Filled { page: Page { items, more, oldest_read }, rows, stretches });
    }
}

/// A page that is being filled.
struct Filling<'a, S: Source> {
    paging: &'a Paging<'a>,
    source: &'a mut S,
    items: Vec<(SortKey, S::Shown)>,
    /// Rows read so far, before the stretch that is being looked up.
    passed: usize,
    /// True once there is known to be something beyond the page.
    more: bool,
}

impl<'a, S: Source> Filling<'a, S> {
    fn new(paging: &'a Paging<'_>, source: &'a mut S) -> Self {
        let items = Vec::with_capacity(paging.request.limit + 1);
        Self { paging, source, items, passed: 0, more: false }
    }

    fn is_full(&self) -> bool {
        self.items.len() >= self.paging.request.limit
    }

    /// Items yet to be found, the one beyond the page included.
    fn missing(&self) -> usize {
        (self.paging.request.limit + 1).saturating_sub(self.items.len())
    }

    /// How many rows to read next: at first as many as are wanted, and all that will be skipped because they were seen,
    /// of which one call may not find all; then as many as hold those that are wanted if shown and hidden ones go on in the proportion seen so far.
    fn next_stretch(&self) -> usize {
        let skipped = self.paging.request.skipped();
        if self.passed == 0 || self.passed < skipped {
            return self.missing() + skipped - self.passed;
        }
        let expected = self.passed * self.missing() / self.items.len().max(1);
        expected.clamp(CHUNK, STRETCH)
    }

    /// Takes from a stretch what is shown, until it ends or there is one more than the page holds.
    async fn take(&mut self, rows: &[S::Row]) -> Result<(), DynamoError> {
        let mut rest = rows.iter();
        loop {
            let chunk = self.next_chunk(&mut rest);
            // What is beyond a page of a hundred is not looked up: that would take another call.
            let is_a_hundred = self.items.len() >= CHUNK;
            self.more = self.missing() == 0 || (is_a_hundred && !chunk.is_empty());
            if self.more || chunk.is_empty() {
                return Ok(());
            }
            self.source.look_up(&chunk, self.passed == 0).await?;
            let shown =
                chunk.iter().filter_map(|row| Some((S::key(row).clone(), self.source.shown(row)?)));
            self.items.extend(shown);
        }
    }

    /// The next rows that are not known to be hidden.
    fn next_chunk<'r>(&self, rest: &mut impl Iterator<Item = &'r S::Row>) -> Vec<S::Row>
    where
        S::Row: 'r,
    {
        let wanted = self.missing().clamp(FEWEST, CHUNK);
        let open = rest.filter(|row| !self.source.is_hidden(row));
        open.take(wanted).cloned().collect()
    }
}
