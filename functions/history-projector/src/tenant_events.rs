//! Folds events into the summaries of their customers, of their names, and of their periods.
//!
//! The views of a batch are read in one call for a hundred of them, and written one by one: each once, whatever the number of its
//! changes. A view that somebody else has written meanwhile is read again. The items beside a view are read after the view and
//! written with it, so a write that is based on an older view is refused as a whole.
//!
//! Tenants take turns, so that the views of one with few changes do not wait for all those of one with many.
//!
//! Customers are folded first, and names only once they are: what a name has counted is in the view
//! of its customer. So whoever makes a name forget an instant finds the instants of all its events
//! among the customers. Witnesses are folded last, and only once everything else is: what a witness
//! has counted is in all other views. So if the events of a table add up to its witness, nothing of
//! it is in flight.
//!
//! An event of a customer with too many names is refused. The transaction that writes the view counts it, and takes room for its letter
//! ([`shared::history::refusals`]). The view notes letters until they are sent, so no delivery that dies loses one. They are sent before the
//! view is written again.
//!
//! If a write is too much for a transaction, or the store refuses it, half of the changes are folded first, down to one, which is
//! set aside.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use function_stream::{Failure, LetterOf, Projection};
use futures::{StreamExt, stream};
use shared::history::events::{Event, Period};
use shared::history::refusals::{Counting, RefusalsOf, RefusedEvent, RefusedSubject};
use shared::history::summaries::{
    CustomerView, NO_ROOM_FOR_A_NAME, NameView, Summaries, SummaryState, SummaryView, WitnessView,
    views_of,
};
use shared::platform::dynamo::item::{Key, Row};
use shared::platform::dynamo::{DynamoError, IN_FLIGHT};
use shared::platform::projection::{Change, Refused, Sequence, Shard, UnfoldedChange, View, Write};
use shared::platform::queue::SendError;
use shared::platform::runtime::retry::Backoff;
use shared::platform::values::{RefusalReason, TenantId};

use crate::counted::{ByView, Counted, Outcome};
use crate::projector::Projector;
use crate::rules;

/// Changes of the table of a period, by view.
pub(crate) fn by_view<'a>(
    projector: &Projector,
    changes: &'a [Change],
    period: Period,
    shard: Shard,
) -> ByView<'a> {
    let mut by_view = ByView::new();
    let table = projector.tables.name(period);
    for change in changes {
        match views_of(change, period, shard, &table) {
            Ok(views) => {
                for view in views.into_iter().flatten() {
                    by_view.entry(view).or_default().push(change);
                }
            }
            // Only the writer writes such rows. An unreadable one stays where it is, and the archive finds it.
            Err(failure) => tracing::error!(sequence = %change.sequence, "no event: {failure}"),
        }
    }
    by_view
}

/// Folds changes of one shard into these views.
pub(crate) async fn fold(projector: &Projector, shard: Shard, by_view: ByView<'_>) -> Vec<Outcome> {
    let (mut customers, mut names, mut witnesses) = (Vec::new(), Vec::new(), Vec::new());
    let counted = rules::counted(&by_view);
    for (view, changes) in by_view {
        let tasks = match view {
            SummaryView::Customer(_) => &mut customers,
            SummaryView::Name(..) => &mut names,
            SummaryView::Witness(..) => &mut witnesses,
        };
        tasks.push(Task::new(view, changes));
    }
    let folding = Folding { projector, shard };
    let customers = folding.fold_all::<CustomerView>(in_turns(customers)).await;
    let failure = failure_of(&customers);
    let (names, customers) = futures::join!(
        folding.fold_unless::<NameView>(failure, in_turns(names)),
        rules::decide(projector, customers, &counted),
    );
    let mut outcomes: Vec<_> = names.into_iter().chain(customers).collect();
    let failure = failure_of(&outcomes);
    outcomes.extend(folding.fold_unless::<WitnessView>(failure, witnesses).await);
    outcomes
}

fn failure_of(outcomes: &[Outcome]) -> Option<Arc<Failure>> {
    outcomes.iter().find_map(|outcome| outcome.failure.clone())
}

/// The first view of each tenant, then the second of each, and so on.
fn in_turns<'a>(tasks: Vec<Task<'a>>) -> Vec<Task<'a>> {
    let mut turns = BTreeMap::<TenantId, usize>::new();
    let turn_of = |task: Task<'a>| {
        let turn = turns.entry(task.view.tenant_id().clone()).or_default();
        *turn += 1;
        (*turn, task)
    };
    let mut tasks: Vec<_> = tasks.into_iter().map(turn_of).collect();
    tasks.sort_by_key(|(turn, _)| *turn);
    tasks.into_iter().map(|(_, task)| task).collect()
}

/// Items of a transaction with refusals, without examples and writes beside the view: the view, the room for letters, two counts.
const OTHER_ITEMS: usize = 4;

/// Changes of one view, and how many are folded.
struct Task<'a> {
    view: SummaryView,
    changes: Vec<&'a Change>,
    outcome: Outcome,
    /// All before this one are folded or set aside.
    begin: usize,
    /// How many are folded by one write.
    most: usize,
    /// Those that the store refuses.
    refused: Refused,
    /// Those that its tenant is the reason of, and whose letters were sent.
    lettered: BTreeSet<Sequence>,
}

/// How an attempt ended.
enum End<'a> {
    Done(Outcome),
    Again(Task<'a>),
}

impl<'a> Task<'a> {
    fn new(view: SummaryView, changes: Vec<&'a Change>) -> Self {
        let outcome = Outcome::new(Counted { view: view.clone(), life: 0 }, &changes);
        Self {
            view,
            changes,
            outcome,
            begin: 0,
            most: usize::MAX,
            refused: Refused::new(),
            lettered: BTreeSet::new(),
        }
    }

    /// Continues from the nth change, if there is one.
    fn go_on(mut self, end: usize) -> End<'a> {
        if end == self.changes.len() {
            return End::Done(self.outcome);
        }
        self.begin = end;
        self.most = self.most.saturating_mul(2);
        End::Again(self)
    }

    /// Does half as much, if that is less.
    fn with_less(mut self, changes: usize) -> Result<End<'a>, Self> {
        if changes < 2 {
            return Err(self);
        }
        self.most = changes / 2;
        Ok(End::Again(self))
    }
}

#[derive(Clone, Copy)]
struct Folding<'p> {
    projector: &'p Projector,
    shard: Shard,
}

impl Folding<'_> {
    /// Folds tasks, or none after a failure.
    async fn fold_unless<S: SummaryState>(
        self,
        failure: Option<Arc<Failure>>,
        tasks: Vec<Task<'_>>,
    ) -> Vec<Outcome> {
        match failure {
            None => self.fold_all::<S>(tasks).await,
            Some(failure) => {
                tasks.into_iter().map(|task| task.outcome.failed(failure.clone())).collect()
            }
        }
    }

    async fn fold_all<S: SummaryState>(self, mut tasks: Vec<Task<'_>>) -> Vec<Outcome> {
        let (mut outcomes, mut backoff) = (Vec::with_capacity(tasks.len()), Backoff::default());
        while !tasks.is_empty() {
            let (left, before) = (tasks.len(), tasks.iter().map(|task| task.begin).sum::<usize>());
            let mut failed = None;
            for end in self.attempt_all::<S>(std::mem::take(&mut tasks)).await {
                match end {
                    End::Done(outcome) => outcomes.push(outcome),
                    End::Again(task) => {
                        failed = failed.or_else(|| task.outcome.failure.clone());
                        tasks.push(task);
                    }
                }
            }
            let after = tasks.iter().map(|task| task.begin).sum::<usize>();
            if tasks.len() < left || after > before {
                backoff.reset();
            }
            if !tasks.is_empty()
                && let Err(late) = backoff.wait(self.projector.projection.deadline()).await
            {
                let failure = failed.unwrap_or_else(|| Arc::new(DynamoError::from(late).into()));
                let end = |task: Task<'_>| task.outcome.failed(failure.clone());
                outcomes.extend(tasks.drain(..).map(end));
            }
        }
        outcomes
    }

    async fn attempt_all<'a, S: SummaryState>(self, tasks: Vec<Task<'a>>) -> Vec<End<'a>> {
        let Projection { views, clock, .. } = &self.projector.projection;
        let keys: Vec<Key> = tasks.iter().map(|task| task.view.key()).collect();
        let read = views.read_all_to_fold::<S>(&keys, self.shard, clock.now());
        let read = match read.await {
            Ok(read) => read,
            Err(failure) => {
                let failure = Arc::new(Failure::from(failure));
                let end = |task: Task<'a>| End::Done(task.outcome.failed(failure.clone()));
                return tasks.into_iter().map(end).collect();
            }
        };
        let attempts = tasks.into_iter().zip(read).map(|(task, view)| self.attempt(task, view));
        let attempts: Vec<_> = attempts.collect();
        stream::iter(attempts).buffer_unordered(IN_FLIGHT).collect().await
    }

    /// Folds as many changes of a task as it may, and writes the result.
    async fn attempt<'a, S: SummaryState>(
        self,
        mut task: Task<'a>,
        view: Result<View<S>, DynamoError>,
    ) -> End<'a> {
        let mut view = match view {
            Ok(view) => view,
            Err(failure) => {
                return End::Done(task.outcome.refused(failure, &task.changes[task.begin..]));
            }
        };
        task.outcome.subject.life = view.state.life();
        if let Err(failure) = self.send_owed(&mut task, &view).await {
            return End::Done(task.outcome.failed(Arc::new(failure.into())));
        }
        let is_paid = view.pay(self.shard, &task.changes);
        let (key, table) = (task.view.key(), self.projector.projection.facts.table().name());
        let first = task.begin.max(view.passed(self.shard, &task.changes));
        let end = first.saturating_add(task.most).min(task.changes.len());
        let is_refused = |change: &&Change| task.refused.contains_key(&change.sequence);
        let folded = task.changes[first..end].iter().copied().filter(|it| !is_refused(it));
        let folded: Vec<_> = folded.collect();
        if let Err(failure) = self.prepare(&mut view, &key, &folded).await {
            return self.failed(task, failure, first, end);
        }
        let (before, now) = (view.state.clone(), self.projector.projection.clock.now());
        let folded = view.fold(self.shard, &task.changes[..end], &task.refused, table, now);
        if view.state == before && !folded.is_noted && !is_paid && folded.refused.is_empty() {
            task.outcome = task.outcome.known(folded);
            return task.go_on(end);
        }
        // A view of something erased expires, unless a change comes.
        if !view.state.is_nothing() {
            view.stay();
        }
        let beside = view.state.side_writes(&key, before.is_nothing());
        let counting = match self.count(&task, &folded.refused, beside.len()).await {
            Ok(counting) => counting,
            Err(failure) => return self.failed(task, failure, first, end),
        };
        let letters = letters(&task, &folded.refused, counting.kept);
        let has_room = view.owe(self.shard, &task.changes, &letters);
        let mut writes = vec![view.write(key)];
        writes.extend(beside);
        if !has_room || self.is_too_much(&writes, counting.items.len()) {
            match task.with_less(end - first) {
                Ok(end) => return end,
                Err(whole) => task = whole,
            }
        }
        match self.projector.projection.views.write_with(writes, counting.items).await {
            Ok(true) => {
                if !folded.refused.is_empty() {
                    let (view, refused) = (&task.view, folded.refused.len());
                    tracing::warn!(%view, refused, "refused: {NO_ROOM_FOR_A_NAME}");
                }
                task.outcome = task.outcome.written(folded);
                match letters.is_empty() {
                    true => task.go_on(end),
                    // The letters are sent next.
                    false => End::Again(Task { begin: end, ..task }),
                }
            }
            Ok(false) => {
                task.outcome.conflicts += 1;
                End::Again(task)
            }
            Err(failure) => self.failed(task, failure, first, end),
        }
    }

    /// Sends the letters of refused events that the view has noted, unless this task has.
    async fn send_owed<S: SummaryState>(
        self,
        task: &mut Task<'_>,
        view: &View<S>,
    ) -> Result<(), SendError> {
        let owed = view.owed(self.shard, &task.changes).into_iter();
        let owed: BTreeSet<_> = owed.filter(|it| !task.lettered.contains(it)).collect();
        if owed.is_empty() {
            return Ok(());
        }
        let letters = task.changes.iter().filter(|change| owed.contains(&change.sequence));
        let letters = letters.map(|change| LetterOf {
            change,
            reason: RefusalReason::TOO_MANY_NAMES.as_str(),
            why: NO_ROOM_FOR_A_NAME,
        });
        let Projection { dead_letters, .. } = &self.projector.projection;
        let deadline = self.projector.projection.deadline();
        dead_letters.send(&task.view.key(), self.shard, letters, deadline).await?;
        task.lettered.extend(owed);
        Ok(())
    }

    /// Counts refused events together with the write of their view. One that was redriven is counted already. `beside`: the writes
    /// beside the view.
    async fn count(
        self,
        task: &Task<'_>,
        refused: &[Sequence],
        beside: usize,
    ) -> Result<Counting, DynamoError> {
        let changes = of_sequences(task, refused).filter(|change| change.redriven.is_none());
        let changes: Vec<_> = changes.collect();
        let Some(first) = changes.first() else { return Ok(Counting::default()) };
        let tenant = task.view.tenant_id();
        let table = self.projector.projection.facts.table().name();
        let events: Vec<_> = changes.iter().map(|change| refused_event(change, table)).collect();
        let most = self.projector.projection.views.table().limits().max_transaction_items();
        let of = RefusalsOf {
            subject: &RefusedSubject::of_tenant(tenant),
            tenant: Some(tenant),
            reason: RefusalReason::TOO_MANY_NAMES,
            number: changes.len(),
            events: &events.iter().collect::<Vec<_>>(),
            most_examples: most.saturating_sub(beside + OTHER_ITEMS),
        };
        let id = UnfoldedChange::of(first, self.shard, task.view.key()).id();
        let now = self.projector.projection.clock.now();
        self.projector.refusals.counting(of, &id, now).await
    }

    /// Reads the items that are needed before changes are folded.
    async fn prepare<S: SummaryState>(
        self,
        view: &mut View<S>,
        key: &Key,
        changes: &[&Change],
    ) -> Result<(), DynamoError> {
        let Projection { views, facts, .. } = &self.projector.projection;
        view.state = std::mem::take(&mut view.state).within(views.table().limits());
        let needed = view.state.needed(key, changes, facts.table().name());
        if needed.is_empty() || view.is_unreadable() {
            return Ok(());
        }
        let summaries = Summaries::new(views);
        let found = summaries.needed(&needed).await?;
        view.state.absorb(&needed, &found)
    }

    /// What becomes of a task some of whose changes were not folded.
    fn failed<'a>(
        self,
        mut task: Task<'a>,
        failure: DynamoError,
        first: usize,
        end: usize,
    ) -> End<'a> {
        if failure.is_refusal() {
            task.begin = first;
            let task = match task.with_less(end - first) {
                Ok(end) => return end,
                Err(task) => task,
            };
            return set_aside(task, failure, first);
        }
        if !failure.is_retryable() {
            return End::Done(task.outcome.failed(Arc::new(failure.into())));
        }
        // It may have been written: the next reading of the view tells.
        task.outcome.conflicts += u64::from(matches!(failure, DynamoError::Contended));
        task.outcome.failure = Some(Arc::new(failure.into()));
        End::Again(task)
    }

    fn is_too_much(self, writes: &[Write], others: usize) -> bool {
        let limits = self.projector.projection.views.table().limits();
        writes.len() + others > limits.max_transaction_items()
            || writes.iter().map(Write::weight).sum::<usize>() > limits.max_transaction_bytes()
    }
}

/// The refused events that have letters: the first of those that are counted now, and all that were redriven.
fn letters(task: &Task<'_>, refused: &[Sequence], kept: usize) -> BTreeSet<Sequence> {
    let is_counted = |change: &&&Change| change.redriven.is_none();
    let counted = of_sequences(task, refused).filter(is_counted).take(kept);
    let redriven = of_sequences(task, refused).filter(|change| !is_counted(change));
    counted.chain(redriven).map(|change| change.sequence).collect()
}

/// The changes of a task with these sequence numbers.
fn of_sequences<'t, 'a>(
    task: &'t Task<'a>,
    sequences: &'t [Sequence],
) -> impl Iterator<Item = &'t &'a Change> {
    task.changes.iter().filter(|change| sequences.binary_search(&change.sequence).is_ok())
}

/// A refused event, as its tenant reads it.
fn refused_event(change: &Change, table: &str) -> RefusedEvent {
    let item = change.after.clone().unwrap_or_default();
    let detail = NO_ROOM_FOR_A_NAME.to_owned();
    let Ok(event) = Event::read(&Row { table, item }) else {
        return RefusedEvent::unreadable(detail);
    };
    let (customer_id, at) = (Some(event.key.customer.customer_id), Some(event.key.at));
    RefusedEvent { customer_id, event_id: Some(event.key.event_id), at, detail }
}

/// Sets aside a change that was refused alone. If not even that can be written, the rest become dead letters that the view does not
/// know of.
fn set_aside(mut task: Task<'_>, failure: DynamoError, first: usize) -> End<'_> {
    let one = task.changes.get(first).map(|change| change.sequence);
    match one.filter(|one| !task.refused.contains_key(one)) {
        Some(one) => {
            task.refused.insert(one, failure.to_string());
            End::Again(task)
        }
        None => End::Done(task.outcome.refused(failure, &task.changes[first..])),
    }
}
