//! Folds changes into a view with blocks. Each round reads the view, absorbs the blocks that it needs or folds changes, and
//! writes unless somebody else has written; rounds repeat until nothing is left.
//!
//! What a round would write is weighed first, and the round does less if it is too much for one transaction. If the store
//! refuses a write, the next round does half as much: down to one change, which is set aside, or one block, with which the
//! view is stuck.

use std::sync::Arc;

use shared::platform::dynamo::item::{Key, text};
use shared::platform::dynamo::{DynamoError, Limits, Query};
use shared::platform::projection::{
    BlockRange, Blocks, Change, Folded, PendingItems, Refused, Shard, SideWrites, View, Write,
    weight,
};
use shared::platform::runtime::retry::Backoff;
use tracing::error;

use crate::fold_target::FoldTarget;
use crate::fold_target::Outcome;
use crate::projector::Projector;
use function_stream::{Failure, Projection, Subject};

/// The most changes and blocks of one write. A transaction takes all its units at once, so a slow table gets smaller ones.
#[derive(Debug, Clone, Copy)]
struct WriteBudget {
    changes: usize,
    blocks: i32,
}

impl WriteBudget {
    const MOST: Self = Self { changes: 1_000, blocks: 1_000 };

    fn less(self) -> Self {
        Self { changes: (self.changes / 4).max(1), blocks: (self.blocks / 4).max(1) }
    }

    fn more(self) -> Self {
        let Self { changes, blocks } = Self::MOST;
        Self { changes: changes.min(self.changes * 2), blocks: blocks.min(self.blocks * 2) }
    }
}

/// What a round has done; the next one may do less.
#[derive(Debug, Clone, Copy)]
enum Work {
    Blocks,
    /// How many were folded before, and how many are new.
    Changes {
        passed: usize,
        new: usize,
    },
}

impl Work {
    /// The budget for half of it; `None` if it is the minimum.
    fn half(self, budget: WriteBudget) -> Option<WriteBudget> {
        match self {
            Self::Blocks => {
                (budget.blocks > 1).then_some(WriteBudget { blocks: budget.blocks / 2, ..budget })
            }
            Self::Changes { new, .. } => {
                (new > 1).then_some(WriteBudget { changes: new / 2, ..budget })
            }
        }
    }
}

/// How one round ended.
enum Round {
    Written(Written),
    Nothing(Folded),
    /// Somebody else has written the view meanwhile.
    Conflict,
    /// It does not fit into one transaction.
    TooMuch(Work),
    /// The store refuses what it writes.
    Refused(Work, DynamoError),
}

struct Written {
    folded: Folded,
    pending: Option<PendingItems>,
    /// All changes are folded, and the view needs no block and no shorter list.
    is_folded: bool,
    /// The view needs blocks once nothing else is left.
    has_pending: bool,
}

/// What this fold knows of a view besides what is stored.
#[derive(Default)]
struct ViewNotes {
    written: Vec<u64>,
    /// Changes that the store refuses.
    refused: Refused,
    /// Why the view cannot absorb the blocks that it needs.
    stuck: Option<String>,
}

/// Folds changes of one shard of one subject into its view.
pub(crate) async fn fold<S: Blocks + Clone + PartialEq>(
    projector: &Projector,
    shard: Shard,
    subject: FoldTarget,
    changes: Vec<&Change>,
) -> Outcome {
    let key = subject.view();
    let mut outcome = Outcome::new(subject, &changes);
    let (mut backoff, mut failed, mut notes) = (Backoff::default(), None, ViewNotes::default());
    let attempt = BlockAttempt { projector, shard, key: &key };
    let (mut budget, mut begin) = (WriteBudget::MOST, 0);
    // An earlier delivery that folded some of these may have died before all derived items were written.
    let mut is_repeated = false;
    loop {
        // Always from the first change on: folded ones are skipped.
        let end = attempt.next(&changes, begin, budget);
        let is_last = end == changes.len();
        match attempt.round::<S>(&changes[..end], is_last, budget, &notes).await {
            Ok(Round::Written(Written { folded, pending, is_folded, has_pending })) => {
                backoff.reset();
                budget = budget.more();
                is_repeated |= is_folded && folded.new < end - begin;
                outcome = outcome.written(folded);
                if let Some(PendingItems { decisions, items }) = pending {
                    match projector.projection.views.put_all(&items).await {
                        Ok(()) => notes.written.extend(decisions),
                        // It stays pending.
                        Err(failure) if failure.is_refusal() => error!(view = key.pk, "{failure}"),
                        Err(failure) => return outcome.failed(Arc::new(failure.into())),
                    }
                } else if is_last && is_folded && !(is_repeated && has_pending) {
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
            Ok(Round::TooMuch(work)) => {
                (begin, budget) = (work.begin(begin), work.half(budget).unwrap_or(budget));
                continue;
            }
            Ok(Round::Refused(work, failure)) => {
                begin = work.begin(begin);
                match work.half(budget) {
                    Some(half) => budget = half,
                    None if notes.note_refusal(work, &failure, &changes) => {}
                    // Not even the note that it is set aside can be written.
                    None => return outcome.refused(failure, &changes[begin..]),
                }
                continue;
            }
            Ok(Round::Conflict) => outcome.conflicts += 1,
            // It may have been written: the next reading of the view tells.
            Err(failure) if failure.is_retryable() => {
                outcome.conflicts += u64::from(matches!(failure, DynamoError::Contended));
                failed = Some(Arc::new(Failure::from(failure)));
                budget = budget.less();
            }
            Err(failure) => return outcome.refused(failure, &changes[begin..]),
        }
        if let Err(late) = backoff.wait(projector.projection.deadline()).await {
            let late = || Arc::new(DynamoError::from(late).into());
            return outcome.failed(failed.unwrap_or_else(late));
        }
    }
}

impl Work {
    /// The change to continue from.
    fn begin(self, before: usize) -> usize {
        match self {
            Self::Blocks => before,
            Self::Changes { passed, .. } => before.max(passed),
        }
    }
}

impl ViewNotes {
    /// Notes why the smallest possible work was refused. Returns false if that was known.
    fn note_refusal(&mut self, work: Work, failure: &DynamoError, changes: &[&Change]) -> bool {
        match work {
            Work::Blocks => self.stuck.replace(failure.to_string()).is_none(),
            Work::Changes { passed, new } => {
                let change = changes.get(passed).filter(|_| new > 0);
                let refuse = |change: &&Change| {
                    self.refused.insert(change.sequence, failure.to_string()).is_none()
                };
                change.is_some_and(refuse)
            }
        }
    }
}

#[derive(Clone, Copy)]
struct BlockAttempt<'a> {
    projector: &'a Projector,
    shard: Shard,
    key: &'a Key,
}

impl BlockAttempt<'_> {
    async fn round<S: Blocks + Clone + PartialEq>(
        self,
        changes: &[&Change],
        is_last: bool,
        budget: WriteBudget,
        ViewNotes { written, refused, stuck }: &ViewNotes,
    ) -> Result<Round, DynamoError> {
        let Projection { views, facts, clock, .. } = &self.projector.projection;
        let (key, now) = (self.key.clone(), clock.now());
        let mut view = views.read_to_fold::<S>(key, self.shard, now).await?;
        let (before, passed) = (view.state.clone(), view.passed(self.shard, changes));
        views.note_leaving(self.key, &mut view).await?;
        written.iter().for_each(|decision| view.state.mark_written(*decision));
        let mut wanted = view.state.needed_blocks(false);
        if let Some(blocks) = &wanted {
            let absorbed = match stuck {
                Some(why) => Absorbed::Unreadable(why.clone()),
                None => self.absorb_blocks(blocks, budget, &mut view).await?,
            };
            match absorbed {
                Absorbed::All => {}
                Absorbed::ViewChanged => return Ok(Round::Conflict),
                Absorbed::Unreadable(why) => {
                    view = view.stuck(&before, why);
                    wanted = None;
                }
            }
        }
        let folded = match wanted {
            Some(_) => Folded::default(),
            None => view.fold(self.shard, changes, refused, facts.table().name(), clock.now()),
        };
        if view.state == before
            && is_last
            && let Some(blocks) = view.state.needed_blocks(true)
        {
            match self.absorb_blocks(&blocks, budget, &mut view).await? {
                Absorbed::All => {}
                Absorbed::ViewChanged => return Ok(Round::Conflict),
                Absorbed::Unreadable(why) => {
                    error!(view = self.key.pk, "some viewers are not told of their hits: {why}");
                    view.state = before.clone();
                }
            }
        }
        // A change without effect may be folded any number of times.
        if view.state == before && !folded.is_noted {
            return Ok(Round::Nothing(folded));
        }
        // Making the side writes changes the state.
        let SideWrites { writes: beside, pending } =
            view.state.side_writes(self.key, self.limits());
        let mut writes = vec![view.write(self.key.clone())];
        writes.extend(beside);
        let work = match wanted {
            Some(_) => Work::Blocks,
            None => Work::Changes { passed, new: changes.len() - passed },
        };
        if self.is_too_much(&writes) && work.half(budget).is_some() {
            return Ok(Round::TooMuch(work));
        }
        match views.write(writes).await {
            Ok(true) => {
                let is_folded = wanted.is_none()
                    && view.state.needed_blocks(false).is_none()
                    && !view.state.is_long();
                let has_pending = view.state.needed_blocks(true).is_some();
                Ok(Round::Written(Written { folded, pending, is_folded, has_pending }))
            }
            Ok(false) => Ok(Round::Conflict),
            Err(failure) if failure.is_refusal() => Ok(Round::Refused(work, failure)),
            Err(failure) => Err(failure),
        }
    }

    fn limits(&self) -> &Limits {
        self.projector.projection.views.table().limits()
    }

    fn is_too_much(self, writes: &[Write]) -> bool {
        let limits = self.limits();
        writes.len() > limits.max_transaction_items()
            || writes.iter().map(Write::weight).sum::<usize>() > limits.max_transaction_bytes()
    }

    /// The end of the next run of changes: what is written for them has to fit into one transaction.
    fn next(self, changes: &[&Change], begin: usize, budget: WriteBudget) -> usize {
        let (mut size, most) = (0, self.limits().max_transaction_bytes() / 2);
        let fits = |change: &&&Change| {
            size += weight(change);
            size <= most
        };
        let run = changes[begin..].iter().take(budget.changes).take_while(fits).count();
        // A single larger change is folded alone.
        (begin + run.max(1)).min(changes.len())
    }

    async fn absorb_blocks<S: Blocks + Clone + PartialEq>(
        self,
        BlockRange { first, last, limit }: &BlockRange,
        budget: WriteBudget,
        view: &mut View<S>,
    ) -> Result<Absorbed, DynamoError> {
        // Each may have to be deleted in the transaction that writes what comes of it.
        let fits = i32::try_from(self.limits().max_transaction_items() / 2).unwrap_or(i32::MAX);
        let limit = limit.map_or(budget.blocks, |limit| limit.min(fits).max(1));
        let query = Query {
            keys: Some("pk = :pk AND sk BETWEEN :first AND :last"),
            values: vec![
                (":pk", text(self.key.pk.as_str())),
                (":first", text(first.as_str())),
                (":last", text(last.as_str())),
            ],
            limit: Some(limit.min(budget.blocks)),
            ..Query::default()
        };
        let page = self.projector.projection.views.table().page(&query).await?;
        let before = view.state.clone();
        let why = match view.state.absorb(&page.rows, page.next.is_none()) {
            Ok(items) if view.state != before => {
                match self.projector.projection.views.put_all(&items).await {
                    Ok(()) => return Ok(Absorbed::All),
                    Err(failure) if failure.is_refusal() => failure.to_string(),
                    Err(failure) => return Err(failure),
                }
            }
            Ok(_) => format!("blocks from {first} on are not there"),
            Err(failure) => failure.to_string(),
        };
        // A later write of the view may have deleted them.
        let key = self.key.clone();
        let now = self.projector.projection.views.read(key, View::<S>::read_to_fold).await?;
        Ok(match now.version() == view.version() {
            true => Absorbed::Unreadable(why),
            false => Absorbed::ViewChanged,
        })
    }
}

/// The result of absorbing blocks.
enum Absorbed {
    All,
    /// The view was written meanwhile.
    ViewChanged,
    /// The blocks cannot be read, for this reason.
    Unreadable(String),
}
