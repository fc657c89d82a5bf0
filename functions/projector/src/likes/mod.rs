//! Folds changes of activities into their views, and into the inboxes of their actors.
//!
//! All activities of a batch are read in one call, or a few. Views whose actors are notified are written by actor, together with
//! the inbox; the others are put one by one. A view that somebody else wrote meanwhile is read again.
//!
//! Everything is weighed before it is added to a transaction. If the store refuses a transaction anyway, its activities are written
//! one by one. If a single activity is refused, half of its changes are tried, down to one, which is set aside.

mod gathered;
mod task;

use std::collections::BTreeMap;
use std::iter::Peekable;
use std::sync::Arc;
use std::vec::IntoIter;

use futures::future::{BoxFuture, join};
use futures::{StreamExt, stream};
use shared::platform::dynamo::item::Key;
use shared::platform::dynamo::{BATCH_GET, DynamoError, IN_FLIGHT};
use shared::platform::projection::{Change, Refused, Shard, View};
use shared::platform::runtime::retry::Backoff;
use shared::platform::values::{ActivityId, ActorId, ViewerId};
use shared::social::activities::owner::{self, Owner};
use shared::social::likes::{self, RecordedLike};
use shared::social::notifications::keys;
use shared::social::notifications::{ActivityLikes, Inbox};

use self::gathered::Gathered;
use self::task::{End, Ready, Task};
use crate::fold_target::FoldTarget;
use crate::fold_target::Outcome;
use crate::projector::Projector;
use function_stream::{Failure, Projection};

/// Folds changes of one shard, by activity.
pub(crate) async fn fold(
    projector: &Projector,
    shard: Shard,
    changes: BTreeMap<ActivityId, Vec<&Change>>,
) -> Vec<Outcome> {
    let mut tasks: Vec<_> = changes
        .into_iter()
        .map(|(activity, changes)| {
            let outcome = Outcome::new(FoldTarget::Activity(activity.clone()), &changes);
            Task {
                activity,
                changes,
                outcome,
                asked_again: false,
                begin: 0,
                most: usize::MAX,
                alone: false,
                refused: Refused::new(),
            }
        })
        .collect();
    let (mut outcomes, mut backoff) = (Vec::with_capacity(tasks.len()), Backoff::default());
    loop {
        let left = tasks.len();
        let mut failed = None;
        let attempt = LikesAttempt { projector, shard };
        let ends = attempt.fold_all(std::mem::take(&mut tasks)).await;
        for end in ends {
            match end {
                End::Done(outcome) => outcomes.push(outcome),
                End::Again(task) => {
                    failed = failed.or_else(|| task.outcome.failure.clone());
                    tasks.push(task);
                }
            }
        }
        if tasks.is_empty() {
            return outcomes;
        }
        if tasks.len() < left {
            backoff.reset();
        }
        if let Err(late) = backoff.wait(projector.projection.deadline()).await {
            let late = || Arc::new(DynamoError::from(late).into());
            let failure = failed.unwrap_or_else(late);
            outcomes.extend(tasks.into_iter().map(|task| task.outcome.failed(failure.clone())));
            return outcomes;
        }
    }
}

#[derive(Clone, Copy)]
struct LikesAttempt<'p> {
    projector: &'p Projector,
    shard: Shard,
}

impl<'p> LikesAttempt<'p> {
    async fn fold_all<'a>(self, tasks: Vec<Task<'a>>) -> Vec<End<'a>> {
        let mut ends = Vec::with_capacity(tasks.len());
        let (views, mut known) = match self.views(&tasks).await {
            Ok(read) => read,
            Err(failure) => return self.not_read(tasks, failure).await,
        };
        let mut by_actor: BTreeMap<ActorId, Vec<Ready<'a>>> = BTreeMap::new();
        let mut alone = Vec::new();
        for (task, view) in tasks.into_iter().zip(views) {
            let corrupt = known.corrupt.remove(&task.activity);
            let mut view = match corrupt.map_or(view, Err) {
                Ok(view) => view,
                Err(failure) => {
                    let outcome = task.outcome.refused(failure, &task.changes[task.begin..]);
                    ends.push(End::Done(outcome));
                    continue;
                }
            };
            let (before, key) = (view.state.clone(), likes::keys::count(&task.activity));
            if let Err(failure) =
                self.projector.projection.views.note_leaving(&key, &mut view).await
            {
                ends.push(End::Done(task.outcome.failed(Arc::new(failure.into()))));
                continue;
            }
            match self.fold(task, (before, view), &known) {
                Err(end) => ends.push(end),
                Ok(ready) => match ready.notified() {
                    Some(actor) => by_actor.entry(actor).or_default().push(ready),
                    None => alone.push(ready),
                },
            }
        }
        let alone = alone.into_iter().map(|ready| self.put(ready));
        let together = by_actor.into_iter().map(|(actor, ready)| self.notify(actor, ready));
        let writes: Vec<BoxFuture<'_, _>> = alone.chain(together).collect();
        let mut writes = stream::iter(writes).buffer_unordered(IN_FLIGHT);
        while let Some(written) = writes.next().await {
            ends.extend(written);
        }
        ends
    }

    /// Handles tasks whose views could not be read. If the store has refused the read, the two halves are read one by one.
    fn not_read<'a>(
        self,
        mut tasks: Vec<Task<'a>>,
        failure: DynamoError,
    ) -> BoxFuture<'p, Vec<End<'a>>>
    where
        'a: 'p,
    {
        Box::pin(async move {
            if failure.is_refusal() && tasks.len() > 1 {
                let rest = tasks.split_off(tasks.len() / 2);
                let (some, rest) = join(self.fold_all(tasks), self.fold_all(rest)).await;
                return some.into_iter().chain(rest).collect();
            }
            let (is_refusal, why) = (failure.is_refusal(), failure.to_string());
            let failure = Arc::new(Failure::from(failure));
            let end = |task: Task<'a>| match is_refusal {
                true => task.outcome.set_aside(&task.changes[task.begin..], &why),
                false => task.outcome.failed(failure.clone()),
            };
            tasks.into_iter().map(|task| End::Done(end(task))).collect()
        })
    }

    /// The views, and the actors of those that lack one.
    async fn views(
        self,
        tasks: &[Task<'_>],
    ) -> Result<(Vec<Result<View<ActivityLikes>, DynamoError>>, OwnerFacts), DynamoError> {
        let keys: Vec<_> = tasks.iter().map(|task| likes::keys::count(&task.activity)).collect();
        let Projection { views, clock, .. } = &self.projector.projection;
        let views = views.read_all_to_fold::<ActivityLikes>(&keys, self.shard, clock.now());
        let views = views.await?;
        // Nothing is known of an activity that nobody has liked.
        let lack = |(task, view): &(&Task<'_>, &Result<View<ActivityLikes>, _>)| {
            let view = view.as_ref().ok().filter(|view| view.state.actor().is_none())?;
            let is_liked =
                |change: &&Change| owner::of_key(&change.key.pk, &change.key.sk).is_none();
            let is_needed = view.is_there() || task.changes.iter().any(is_liked);
            is_needed.then(|| task.activity.clone())
        };
        let lacking: Vec<_> = tasks.iter().zip(&views).filter_map(|pair| lack(&pair)).collect();
        Ok((views, self.known(&lacking).await?))
    }

    /// The actors of these activities, and their own likes on record.
    async fn known(self, activities: &[ActivityId]) -> Result<OwnerFacts, DynamoError> {
        let table = self.projector.projection.facts.table();
        let mut known = OwnerFacts::default();
        for some in activities.chunks(BATCH_GET) {
            let keys = some.iter().map(|activity| owner::key(activity).into_item()).collect();
            for row in table.batch_get(keys).await? {
                let activity = owner::of_key(row.text("pk")?, row.text("sk")?);
                let activity = activity.ok_or_else(|| row.corrupt("pk", "the key of an owner"))?;
                match Owner::read(&row) {
                    Ok(owner) => drop(known.owners.insert(activity, owner)),
                    Err(corrupt) => drop(known.corrupt.insert(activity, corrupt)),
                }
            }
        }
        let own: Vec<_> = known.owners.iter().filter_map(|(a, owner)| own_like(a, owner)).collect();
        for some in own.chunks(BATCH_GET) {
            let keys = some.iter().cloned().map(Key::into_item).collect();
            for row in table.batch_get(keys).await? {
                let like = likes::keys::of_like(row.text("pk")?, row.text("sk")?);
                let (_, activity) = like.ok_or_else(|| row.corrupt("pk", "the key of a like"))?;
                match RecordedLike::read(&row) {
                    Ok(own) => drop(known.own_likes.insert(activity, own)),
                    Err(corrupt) => drop(known.corrupt.insert(activity, corrupt)),
                }
            }
        }
        Ok(known)
    }

    /// Folds as many changes of a task as it may. Returns how it ended if nothing has to be written.
    fn fold<'a>(
        self,
        mut task: Task<'a>,
        (before, mut view): (ActivityLikes, View<ActivityLikes>),
        known: &OwnerFacts,
    ) -> Result<Ready<'a>, End<'a>> {
        if let Some(owner) = known.owners.get(&task.activity) {
            view.state.set_owner(owner.clone(), known.own_likes.get(&task.activity));
        }
        let (facts, now) =
            (self.projector.projection.facts.table().name(), self.projector.projection.clock.now());
        let first = task.begin.max(view.passed(self.shard, &task.changes));
        let end = first.saturating_add(task.most).min(task.changes.len());
        let folded = view.fold(self.shard, &task.changes[..end], &task.refused, facts, now);
        // A change without effect may be folded any number of times, so it need not be remembered.
        let says_nothing = !view.is_there() && view.state.is_empty();
        let is_other = view.state != before && !says_nothing;
        if is_other || folded.is_noted {
            return Ok(Ready { task, before, view, folded, first, end });
        }
        task.outcome = task.outcome.known(folded);
        task.begin = end;
        Err(task.go_on(end))
    }

    /// Writes a view alone, because nothing changes in the inbox of its actor.
    fn put<'a>(self, ready: Ready<'a>) -> BoxFuture<'p, Vec<End<'a>>>
    where
        'a: 'p,
    {
        Box::pin(async move {
            let write = ready.view.write(likes::keys::count(&ready.task.activity));
            let end = match self.projector.projection.views.write(vec![write]).await {
                Ok(true) if ready.is_unowned() => End::Again(ready.asking_again()),
                Ok(true) => ready.written(),
                Ok(false) => End::Again(ready.task.conflicted()),
                Err(failure) if failure.is_refusal() => ready.refused(failure),
                Err(failure) => End::Done(ready.task.outcome.failed(Arc::new(failure.into()))),
            };
            vec![end]
        })
    }

    /// Writes views together with the inbox of their actor, some at a time.
    fn notify<'a>(self, actor: ActorId, ready: Vec<Ready<'a>>) -> BoxFuture<'p, Vec<End<'a>>>
    where
        'a: 'p,
    {
        Box::pin(async move {
            let (mut ends, mut ready) =
                (Vec::with_capacity(ready.len()), ready.into_iter().peekable());
            // An actor is a viewer, too: their ids have the same form.
            let Ok(viewer) = ViewerId::new(actor.as_str()) else { return ends };
            while ready.peek().is_some() {
                let some = self.notify_some(&viewer, &mut ready);
                ends.extend(some.await);
            }
            ends
        })
    }

    /// Writes the inbox and as many of these as one transaction takes.
    async fn notify_some<'a>(
        self,
        viewer: &ViewerId,
        ready: &mut Peekable<IntoIter<Ready<'a>>>,
    ) -> Vec<End<'a>> {
        let Projector { projection: Projection { views, .. }, read_notifications } = self.projector;
        let inbox = views.read(keys::inbox(viewer), View::<Inbox>::read_from).await;
        let inbox = match inbox {
            Ok(inbox) => inbox,
            Err(failure) => return not_notified(ready.by_ref(), failure),
        };
        let mut gathered = Gathered {
            viewer,
            kept: *read_notifications,
            limits: views.table().limits(),
            inbox,
            views: Vec::new(),
            items: BTreeMap::new(),
        };
        let mut some: Vec<Ready<'a>> = Vec::new();
        while let Some(next) = ready.peek() {
            let is_first = some.is_empty();
            let more = gathered.with(next);
            if !is_first && (next.task.alone || more.is_too_much()) {
                break;
            }
            let (is_too_much, is_alone) = (more.is_too_much(), next.task.alone);
            let Some(next) = ready.next() else { break };
            if is_too_much && next.changes() > 1 {
                return vec![next.with_less()];
            }
            some.push(next);
            gathered = more;
            if is_alone {
                break;
            }
        }
        match views.write(gathered.writes()).await {
            Ok(true) => some.into_iter().map(Ready::written).collect(),
            Ok(false) => some.into_iter().map(|r| End::Again(r.task.conflicted())).collect(),
            Err(failure) if failure.is_refusal() && some.len() == 1 => {
                some.into_iter().map(|ready| ready.refused_with_inbox(&failure)).collect()
            }
            Err(failure) if failure.is_refusal() => some.into_iter().map(Ready::parted).collect(),
            Err(failure) => not_notified(some.into_iter(), failure),
        }
    }
}

/// How tasks end whose actor's inbox could not be read, or not be written with their views.
fn not_notified<'a>(ready: impl Iterator<Item = Ready<'a>>, failure: DynamoError) -> Vec<End<'a>> {
    if failure.is_refusal() {
        // The inbox cannot be read: the views note what is set aside.
        return ready.map(|ready| ready.refused_with_inbox(&failure)).collect();
    }
    let is_retryable = failure.is_retryable();
    let is_conflict = matches!(failure, DynamoError::Contended);
    let failure: Arc<Failure> = Arc::new(failure.into());
    let ends = ready.map(|Ready { task, .. }| match is_retryable {
        true => End::Again(task.held_up(is_conflict, Arc::clone(&failure))),
        false => End::Done(task.outcome.failed(Arc::clone(&failure))),
    });
    ends.collect()
}

/// What is known of the actors of activities.
#[derive(Default)]
struct OwnerFacts {
    owners: BTreeMap<ActivityId, Owner>,
    own_likes: BTreeMap<ActivityId, RecordedLike>,
    corrupt: BTreeMap<ActivityId, DynamoError>,
}

/// The key of an actor's like of their own activity.
fn own_like(activity: &ActivityId, owner: &Owner) -> Option<Key> {
    let viewer = ViewerId::new(owner.actor_id.as_str()).ok()?;
    Some(likes::keys::like(&viewer, activity))
}
