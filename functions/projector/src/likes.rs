//! Folds what is about activities into their views, and what follows for their actors into those actors' inboxes.
//!
//! All activities of a batch are read in one call, or a few. Those whose actors are told of something are
//! written by actor, together with the inbox; the others are put one by one. What somebody else wrote
//! meanwhile is read again.

use std::collections::BTreeMap;
use std::sync::Arc;

use futures::future::BoxFuture;
use futures::{StreamExt, stream};
use shared::activities::owner::{self, Owner};
use shared::dynamo::item::{Item, Key};
use shared::dynamo::{BATCH_GET, DynamoError, IN_FLIGHT};
use shared::likes::{self, Recorded};
use shared::notifications::keys::{self, Place};
use shared::notifications::{ActivityLikes, Inbox};
use shared::projection::{Change, Folded, Shard, Unfolded, View, Write};
use shared::runtime::deadline::Deadline;
use shared::runtime::retry::Backoff;
use shared::values::{ActivityId, ActorId, ViewerId};

use crate::Projector;
use crate::failure::Failure;
use crate::outcome::Outcome;
use crate::subject::Subject;

/// Items written with one inbox at most: a transaction takes a hundred.
const TOGETHER: usize = 60;

/// Changes of one activity that are not folded yet.
struct Task<'a> {
    activity: ActivityId,
    changes: Vec<&'a Change>,
    outcome: Outcome,
    /// Its view was written without knowing who the actor is, so that has to be asked once more.
    asked_again: bool,
}

/// A task whose changes are folded, and the view before and after.
struct Ready<'a> {
    task: Task<'a>,
    before: ActivityLikes,
    view: View<ActivityLikes>,
    folded: Folded,
}

/// What became of a task.
enum End<'a> {
    Done(Outcome),
    Again(Task<'a>),
}

/// Folds changes of one shard, by activity.
pub(crate) async fn fold(
    projector: &Projector,
    shard: Shard,
    changes: BTreeMap<ActivityId, Vec<&Change>>,
    deadline: Deadline,
) -> Vec<Outcome> {
    let mut tasks: Vec<_> = changes
        .into_iter()
        .map(|(activity, changes)| {
            let outcome = Outcome::of(Subject::Activity(activity.clone()), &changes);
            Task { activity, changes, outcome, asked_again: false }
        })
        .collect();
    let (mut outcomes, mut backoff) = (Vec::with_capacity(tasks.len()), Backoff::default());
    loop {
        let left = tasks.len();
        let mut failed = None;
        let attempt = Attempt { projector, shard, deadline };
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
        if let Err(late) = backoff.wait(deadline).await {
            let late = || Arc::new(DynamoError::from(late).into());
            let failure = failed.unwrap_or_else(late);
            outcomes.extend(tasks.into_iter().map(|task| task.outcome.failed(failure.clone())));
            return outcomes;
        }
    }
}

#[derive(Clone, Copy)]
struct Attempt<'p> {
    projector: &'p Projector,
    shard: Shard,
    deadline: Deadline,
}

impl<'p> Attempt<'p> {
    async fn fold_all<'a>(self, tasks: Vec<Task<'a>>) -> Vec<End<'a>> {
        let mut ends = Vec::with_capacity(tasks.len());
        let views = self.views(&tasks).await;
        let (views, known) = match views {
            Ok(read) => read,
            Err(failure) => {
                let failure: Arc<Failure> = Arc::new(failure.into());
                let failed = |task: Task<'a>| End::Done(task.outcome.failed(failure.clone()));
                return tasks.into_iter().map(failed).collect();
            }
        };
        let mut by_actor: BTreeMap<ActorId, Vec<Ready<'a>>> = BTreeMap::new();
        let mut alone = Vec::new();
        for (task, view) in tasks.into_iter().zip(views) {
            match view.map(|view| self.fold(&task, view, &known)) {
                Err(failure) => {
                    ends.push(End::Done(task.outcome.refused(failure, &task.changes)));
                }
                Ok((None, folded)) => ends.push(End::Done(task.outcome.known(folded))),
                Ok((Some((before, view)), folded)) => {
                    let is_news =
                        before.listing() != view.state.listing() || !view.state.moves().is_empty();
                    let actor = view.state.actor().filter(|_| is_news).cloned();
                    let ready = Ready { task, before, view, folded };
                    match actor {
                        Some(actor) => by_actor.entry(actor).or_default().push(ready),
                        None => alone.push(ready),
                    }
                }
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

    /// The views, and of those that lack it, who the actors are.
    async fn views(
        self,
        tasks: &[Task<'_>],
    ) -> Result<(Vec<Result<View<ActivityLikes>, DynamoError>>, Known), DynamoError> {
        let keys: Vec<_> = tasks.iter().map(|task| likes::keys::count(&task.activity)).collect();
        let read = View::<ActivityLikes>::read_to_fold;
        let views = self.projector.views.read_all(&keys, read, self.deadline).await?;
        // Of what nobody has liked there is nothing to know.
        let lack = |(task, view): &(&Task<'_>, &Result<View<ActivityLikes>, _>)| {
            let view = view.as_ref().ok().filter(|view| view.state.actor().is_none())?;
            let is_liked = |change: &&Change| owner::of_key(&change.key).is_none();
            let is_needed = view.is_there() || task.changes.iter().any(is_liked);
            is_needed.then(|| task.activity.clone())
        };
        let lacking: Vec<_> = tasks.iter().zip(&views).filter_map(|pair| lack(&pair)).collect();
        Ok((views, self.known(&lacking).await?))
    }

    /// Who published these activities, and what is on record of their own likes.
    async fn known(self, activities: &[ActivityId]) -> Result<Known, DynamoError> {
        let table = self.projector.facts.table();
        let mut known = Known::default();
        for some in activities.chunks(BATCH_GET) {
            let keys = some.iter().map(|activity| owner::key(activity).into_item()).collect();
            for row in table.batch_get(keys, self.deadline).await? {
                let activity = owner::of_key(&Key::of(&row)?);
                let activity = activity.ok_or_else(|| row.corrupt("pk", "the key of an owner"))?;
                known.owners.insert(activity, Owner::read(&row)?);
            }
        }
        let own: Vec<_> = known.owners.iter().filter_map(|(a, owner)| own_like(a, owner)).collect();
        for some in own.chunks(BATCH_GET) {
            let keys = some.iter().cloned().map(Key::into_item).collect();
            for row in table.batch_get(keys, self.deadline).await? {
                let like = likes::keys::of_key(&Key::of(&row)?);
                let (_, activity) = like.ok_or_else(|| row.corrupt("pk", "the key of a like"))?;
                known.own_likes.insert(activity, Recorded::read(&row)?);
            }
        }
        Ok(known)
    }

    /// The view before and after, if there is something to write.
    fn fold(
        self,
        task: &Task<'_>,
        mut view: View<ActivityLikes>,
        known: &Known,
    ) -> (Option<(ActivityLikes, View<ActivityLikes>)>, Folded) {
        let before = view.state.clone();
        if let Some(owner) = known.owners.get(&task.activity) {
            view.state.learn(owner.clone(), known.own_likes.get(&task.activity));
        }
        let (facts, now) = (self.projector.facts.table().name(), self.projector.clock.now());
        let folded = view.fold(self.shard, &task.changes, facts, now);
        // What changes nothing may be folded any number of times, so it need not be remembered.
        let says_nothing = !view.is_there() && view.state.is_empty();
        let is_other = view.state != before && !says_nothing;
        ((is_other || folded.is_noted).then_some((before, view)), folded)
    }

    /// Writes a view alone: nothing changes in the inbox of its actor.
    fn put<'a>(self, Ready { task, view, folded, .. }: Ready<'a>) -> BoxFuture<'p, Vec<End<'a>>>
    where
        'a: 'p,
    {
        Box::pin(async move {
            let write = view.write(likes::keys::count(&task.activity));
            let written = self.projector.views.write(vec![write], self.deadline).await;
            let end = match written {
                Ok(true) if view.state.actor().is_none() && !task.asked_again => {
                    let outcome = task.outcome.written(folded);
                    End::Again(Task { asked_again: true, outcome, ..task })
                }
                Ok(true) => End::Done(task.outcome.written(folded)),
                Ok(false) => End::Again(task.conflicted()),
                Err(failure) => End::Done(task.outcome.failed(Arc::new(failure.into()))),
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
            // Whoever publishes is a viewer, too: ids of both are alike.
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
        ready: &mut impl Iterator<Item = Ready<'a>>,
    ) -> Vec<End<'a>> {
        let Projector { views, read_notifications, .. } = self.projector;
        let inbox = views.read(keys::inbox(viewer), View::<Inbox>::read_from, self.deadline).await;
        let mut inbox = match inbox {
            Ok(inbox) => inbox,
            Err(failure) => return not_notified(ready.map(|ready| ready.task), failure),
        };
        let (mut some, mut writes, mut items) = (Vec::new(), Vec::new(), BTreeMap::new());
        for Ready { task, before, view, folded } in ready.by_ref() {
            writes.push(view.write(likes::keys::count(&task.activity)));
            inbox.state.update(&task.activity, before.listing(), view.state.listing());
            for (place, read) in view.state.moves() {
                let item = read.as_ref().map(|it| it.write(place, viewer, *read_notifications));
                items.insert(place.clone(), put_or_delete(place, viewer, item));
            }
            some.push((task, folded));
            if writes.len() + items.len() + inbox.state.spills().len() >= TOGETHER {
                break;
            }
        }
        for (place, listed) in inbox.state.spills() {
            let item = listed.as_ref().map(|it| it.write(viewer));
            items.insert(place.clone(), put_or_delete(place, viewer, item));
        }
        writes.push(inbox.write(keys::inbox(viewer)));
        writes.extend(items.into_values());
        let some = some.into_iter();
        match views.write(writes, self.deadline).await {
            Ok(true) => {
                some.map(|(task, folded)| End::Done(task.outcome.written(folded))).collect()
            }
            Ok(false) => some.map(|(task, _)| End::Again(task.conflicted())).collect(),
            Err(failure) => not_notified(some.map(|(task, _)| task), failure),
        }
    }
}

/// What becomes of tasks whose actor's inbox could not be read, or not be written with their views.
fn not_notified<'a>(tasks: impl Iterator<Item = Task<'a>>, failure: DynamoError) -> Vec<End<'a>> {
    if let DynamoError::Corrupt { .. } = failure {
        // An inbox that cannot be read: it cannot be noted there what is set aside.
        let refused = tasks.map(|task| {
            let unfolded = Unfolded::all(&task.changes, &failure);
            End::Done(Outcome { unfolded, ..task.outcome })
        });
        return refused.collect();
    }
    let is_retryable = failure.is_retryable();
    let is_conflict = matches!(failure, DynamoError::Contended);
    let failure: Arc<Failure> = Arc::new(failure.into());
    let ends = tasks.map(|task| match is_retryable {
        true => End::Again(task.held_up(is_conflict, Arc::clone(&failure))),
        false => End::Done(task.outcome.failed(Arc::clone(&failure))),
    });
    ends.collect()
}

/// Puts the item of a notification, or deletes it if there is none any more.
fn put_or_delete(place: &Place, viewer: &ViewerId, item: Option<Item>) -> Write {
    item.map_or_else(|| Write::Delete(place.key(viewer)), Write::Put)
}

impl Task<'_> {
    /// Somebody else has written the view.
    fn conflicted(mut self) -> Self {
        self.outcome.conflicts += 1;
        self
    }

    /// It may be written, or not: the view will tell.
    fn held_up(mut self, is_conflict: bool, failure: Arc<Failure>) -> Self {
        self.outcome.conflicts += u64::from(is_conflict);
        self.outcome.failure = Some(failure);
        self
    }
}

/// What is known of activities beside their views.
#[derive(Default)]
struct Known {
    owners: BTreeMap<ActivityId, Owner>,
    own_likes: BTreeMap<ActivityId, Recorded>,
}

/// Where it is whether an actor likes their own activity.
fn own_like(activity: &ActivityId, owner: &Owner) -> Option<Key> {
    let viewer = ViewerId::new(owner.actor_id.as_str()).ok()?;
    Some(likes::keys::like(&viewer, activity))
}
