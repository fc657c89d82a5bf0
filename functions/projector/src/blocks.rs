//! Folds changes into a view with blocks: read, look at the blocks that it wants or fold, and write unless somebody
//! else has; again, until nothing is left.

use std::sync::Arc;

use shared::dynamo::item::{Key, text};
use shared::dynamo::{DynamoError, Query};
use shared::projection::{Beside, Blocks, Change, Folded, Owed, Shard, View, Wanted, weight};
use shared::runtime::deadline::Deadline;
use shared::runtime::retry::Backoff;
use tracing::error;

use crate::Projector;
use crate::failure::Failure;
use crate::outcome::Outcome;
use crate::subject::Subject;

/// How large the changes may be that are folded by one write, in bytes or so: what comes of them has to fit into one
/// transaction, and into an item each.
const TOGETHER: usize = 1024 * 1024;

/// How much is done by one write at most. A transaction takes all its units at once, so a table that is too slow for
/// it is asked for less.
#[derive(Debug, Clone, Copy)]
struct Room {
    changes: usize,
    blocks: i32,
}

impl Room {
    const MOST: Self = Self { changes: 1_000, blocks: 1_000 };

    fn less(self) -> Self {
        Self { changes: (self.changes / 4).max(1), blocks: (self.blocks / 4).max(1) }
    }
}

/// How one round ended.
enum Round {
    /// Something was written.
    Written(Written),
    /// Nothing had to be.
    Nothing(Folded),
    /// Somebody else has written meanwhile.
    Conflict,
}

struct Written {
    folded: Folded,
    /// What has to be written next.
    owed: Option<Owed>,
    /// All changes are folded, and the view wants no block.
    is_folded: bool,
    /// It wants some when nothing else is left.
    is_owing: bool,
}

/// Folds changes of one shard of one subject into its view.
pub(crate) async fn fold<S: Blocks + Clone + PartialEq>(
    projector: &Projector,
    shard: Shard,
    subject: Subject,
    changes: Vec<&Change>,
    deadline: Deadline,
) -> Outcome {
    let key = subject.view();
    let mut outcome = Outcome::of(subject, &changes);
    let (mut backoff, mut failed, mut settled) = (Backoff::default(), None, Vec::new());
    let attempt = Attempt { projector, shard, key: &key, deadline };
    let (mut room, mut begin) = (Room::MOST, 0);
    // Whoever folded some of these before may have died before all that it owed was written.
    let mut is_repeated = false;
    loop {
        // Always from the first change on: those that are folded are passed.
        let end = next(&changes, begin, room);
        let is_last = end == changes.len();
        match attempt.round::<S>(&changes[..end], is_last, room, &settled).await {
            Ok(Round::Written(Written { folded, owed, is_folded, is_owing })) => {
                backoff.reset();
                is_repeated |= is_folded && folded.new < end - begin;
                outcome = outcome.written(folded);
                if let Some(Owed { decisions, items }) = owed {
                    if let Err(failure) = projector.views.put_all(&items, deadline).await {
                        return outcome.failed(Arc::new(failure.into()));
                    }
                    settled.extend(decisions);
                } else if is_last && is_folded && !(is_repeated && is_owing) {
                    return outcome;
                }
                continue;
            }
            Ok(Round::Nothing(folded)) => {
                outcome = outcome.known(folded);
                if is_last {
                    return outcome;
                }
                begin = end;
                continue;
            }
            Ok(Round::Conflict) => outcome.conflicts += 1,
            // It may be written or not: the view will tell.
            Err(failure) if failure.is_retryable() => {
                outcome.conflicts += u64::from(matches!(failure, DynamoError::Contended));
                failed = Some(Arc::new(Failure::from(failure)));
                room = room.less();
            }
            Err(failure) => return outcome.refused(failure, &changes),
        }
        if let Err(late) = backoff.wait(deadline).await {
            let late = || Arc::new(DynamoError::from(late).into());
            return outcome.failed(failed.unwrap_or_else(late));
        }
    }
}

#[derive(Clone, Copy)]
struct Attempt<'a> {
    projector: &'a Projector,
    shard: Shard,
    key: &'a Key,
    deadline: Deadline,
}

impl Attempt<'_> {
    async fn round<S: Blocks + Clone + PartialEq>(
        self,
        changes: &[&Change],
        is_last: bool,
        room: Room,
        settled: &[u64],
    ) -> Result<Round, DynamoError> {
        let Projector { views, facts, clock, .. } = self.projector;
        let mut view = views.read(self.key.clone(), View::<S>::read_to_fold, self.deadline).await?;
        let before = view.state.clone();
        settled.iter().for_each(|decision| view.state.settle(*decision));
        let mut wanted = view.state.wants(false);
        if let Some(blocks) = &wanted {
            match self.look_at(blocks, room, &mut view).await? {
                Looked::AtAll => {}
                Looked::Elsewhere => return Ok(Round::Conflict),
                Looked::AtNone(why) => {
                    view = view.stuck(&before, why);
                    wanted = None;
                }
            }
        }
        let folded = match wanted {
            Some(_) => Folded::default(),
            None => view.fold(self.shard, changes, facts.table().name(), clock.now()),
        };
        if view.state == before
            && is_last
            && let Some(blocks) = view.state.wants(true)
        {
            match self.look_at(&blocks, room, &mut view).await? {
                Looked::AtAll => {}
                Looked::Elsewhere => return Ok(Round::Conflict),
                Looked::AtNone(why) => {
                    error!(view = self.key.pk, "some viewers are not told of their hits: {why}");
                    view.state = before.clone();
                }
            }
        }
        // What changes nothing may be folded any number of times.
        if view.state == before && !folded.is_noted {
            return Ok(Round::Nothing(folded));
        }
        // What it writes beside it changes what it says.
        let Beside { writes: beside, owed } = view.state.beside(self.key);
        let mut writes = vec![view.write(self.key.clone())];
        writes.extend(beside);
        match views.write(writes, self.deadline).await? {
            true => {
                let is_folded = wanted.is_none() && view.state.wants(false).is_none();
                let is_owing = view.state.wants(true).is_some();
                Ok(Round::Written(Written { folded, owed, is_folded, is_owing }))
            }
            false => Ok(Round::Conflict),
        }
    }

    async fn look_at<S: Blocks + Clone + PartialEq>(
        self,
        Wanted { first, last, limit }: &Wanted,
        room: Room,
        view: &mut View<S>,
    ) -> Result<Looked, DynamoError> {
        let query = Query {
            keys: Some("pk = :pk AND sk BETWEEN :first AND :last"),
            values: vec![
                (":pk", text(self.key.pk.as_str())),
                (":first", text(first.as_str())),
                (":last", text(last.as_str())),
            ],
            limit: Some(limit.unwrap_or(room.blocks).min(room.blocks)),
            ..Query::default()
        };
        let page = self.projector.views.table().page(&query, self.deadline).await?;
        let before = view.state.clone();
        let why = match view.state.look_at(&page.rows, page.next.is_none()) {
            Ok(items) if view.state != before => {
                self.projector.views.put_all(&items, self.deadline).await?;
                return Ok(Looked::AtAll);
            }
            Ok(_) => format!("blocks from {first} on are not there"),
            Err(failure) => failure.to_string(),
        };
        // Whoever has written the view since may have deleted them.
        let key = self.key.clone();
        let now = self.projector.views.read(key, View::<S>::read_to_fold, self.deadline).await?;
        Ok(match now.version() == view.version() {
            true => Looked::AtNone(why),
            false => Looked::Elsewhere,
        })
    }
}

/// How looking at blocks ended.
enum Looked {
    /// They are taken in.
    AtAll,
    /// The view is another one by now.
    Elsewhere,
    /// They cannot be read, for this reason.
    AtNone(String),
}

/// Where the next run of changes ends.
fn next(changes: &[&Change], begin: usize, room: Room) -> usize {
    let mut size = 0;
    let fits = |change: &&&Change| {
        size += weight(change);
        size <= TOGETHER
    };
    let run = changes[begin..].iter().take(room.changes).take_while(fits).count();
    // One alone that is larger is folded alone.
    (begin + run.max(1)).min(changes.len())
}
