//! The task of folding changes of one activity into its view, and how it ends.

use std::sync::Arc;

use shared::platform::dynamo::DynamoError;
use shared::platform::projection::{Change, Folded, Refused, State, View};
use shared::platform::values::{ActivityId, ActorId};
use shared::social::notifications::ActivityLikes;

use crate::fold_target::Outcome;
use function_stream::Failure;

/// Changes of one activity that are not folded yet.
pub(super) struct Task<'a> {
    pub(super) activity: ActivityId,
    pub(super) changes: Vec<&'a Change>,
    pub(super) outcome: Outcome,
    /// True if its view was written without knowing the actor, who then has to be read once more.
    pub(super) asked_again: bool,
    /// The number of leading changes that are done.
    pub(super) begin: usize,
    /// At most how many are folded at once.
    pub(super) most: usize,
    /// True if it shares no transaction with others.
    pub(super) alone: bool,
    /// Changes that the store refuses.
    pub(super) refused: Refused,
}

/// A task with some changes folded, and the view before and after.
pub(super) struct Ready<'a> {
    pub(super) task: Task<'a>,
    pub(super) before: ActivityLikes,
    pub(super) view: View<ActivityLikes>,
    pub(super) folded: Folded,
    /// The first change that is folded.
    pub(super) first: usize,
    /// The end of the folded changes, excluded.
    pub(super) end: usize,
}

/// The outcome of a task.
pub(super) enum End<'a> {
    Done(Outcome),
    Again(Task<'a>),
}

impl<'a> Ready<'a> {
    /// The actor who is notified, if any.
    pub(super) fn notified(&self) -> Option<ActorId> {
        let Self { before, view, .. } = self;
        let is_news = before.listing() != view.state.listing() || !view.state.moves().is_empty();
        view.state.actor().filter(|_| is_news).cloned()
    }

    /// How many changes are folded.
    pub(super) fn changes(&self) -> usize {
        self.end - self.first
    }

    /// True if the actor is unknown. They may have published meanwhile.
    pub(super) fn is_unowned(&self) -> bool {
        self.view.state.actor().is_none() && !self.task.asked_again
    }

    pub(super) fn asking_again(self) -> Task<'a> {
        let Self { task, folded, .. } = self;
        Task { asked_again: true, outcome: task.outcome.written(folded), ..task }
    }

    pub(super) fn written(self) -> End<'a> {
        let Self { task, folded, end, view, .. } = self;
        let task = Task { outcome: task.outcome.written(folded), ..task };
        match view.state.is_long() {
            true => End::Again(Task { begin: end, ..task }),
            false => task.go_on(end),
        }
    }

    /// Not together with others.
    pub(super) fn parted(self) -> End<'a> {
        End::Again(Task { alone: true, ..self.task })
    }

    /// Half of its changes at once.
    pub(super) fn with_less(self) -> End<'a> {
        let most = (self.changes() / 2).max(1);
        End::Again(Task { most, ..self.task })
    }

    /// The store refuses to write it with its inbox, or the inbox cannot be read.
    pub(super) fn refused_with_inbox(self, failure: &DynamoError) -> End<'a> {
        let why = failure.to_string();
        self.less_or(why.clone(), |task, first| {
            End::Done(task.outcome.set_aside(&task.changes[first..], &why))
        })
    }

    /// The store refuses to write it.
    pub(super) fn refused(self, failure: DynamoError) -> End<'a> {
        self.less_or(failure.to_string(), |task, first| {
            End::Done(task.outcome.refused(failure, &task.changes[first..]))
        })
    }

    /// Does less at once, down to one change, which is set aside; or, where it was, something else.
    pub(super) fn less_or(
        mut self,
        why: String,
        otherwise: impl FnOnce(Task<'a>, usize) -> End<'a>,
    ) -> End<'a> {
        if self.changes() > 1 {
            return self.with_less();
        }
        let one = self.task.changes.get(self.first).map(|change| change.sequence);
        match one.filter(|one| !self.task.refused.contains_key(one)) {
            Some(one) => {
                self.task.refused.insert(one, why);
                End::Again(self.task)
            }
            // Not even the note that it is set aside can be written.
            None => otherwise(self.task, self.first),
        }
    }
}

impl<'a> Task<'a> {
    /// Continues from the nth change, if there is one.
    pub(super) fn go_on(mut self, end: usize) -> End<'a> {
        if end == self.changes.len() {
            return End::Done(self.outcome);
        }
        self.most = self.most.saturating_mul(2);
        End::Again(self)
    }

    /// Somebody else has written the view.
    pub(super) fn conflicted(mut self) -> Self {
        self.outcome.conflicts += 1;
        self
    }

    /// It may have been written: the next reading of the view tells.
    pub(super) fn held_up(mut self, is_conflict: bool, failure: Arc<Failure>) -> Self {
        self.outcome.conflicts += u64::from(is_conflict);
        self.outcome.failure = Some(failure);
        self
    }
}
