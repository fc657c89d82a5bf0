//! What a change is about: facts on one subject are folded together. One line for each kind of subject.

use std::fmt;

use function_stream::Subject;
use shared::platform::dynamo::item::Key;
use shared::platform::projection::{Barrier, Change};
use shared::platform::values::{ActivityId, BattleId, PollId};
use shared::social::activities::owner;
use shared::social::battles::BattleRow;
use shared::social::polls::keys::PollRow;
use shared::social::{battles, likes, notifications, polls};

/// What facts are about.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum FoldTarget {
    /// An activity: its likes, its actor, and how far the actor has read.
    Activity(ActivityId),
    Poll(PollId),
    Battle(BattleId),
    Barrier(Barrier),
}

impl fmt::Display for FoldTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Activity(activity) => write!(f, "likes of {activity}"),
            Self::Poll(poll) => write!(f, "poll {poll}"),
            Self::Battle(battle) => write!(f, "battle {battle}"),
            Self::Barrier(barrier) => {
                let Key { pk, sk } = barrier.view();
                write!(f, "{pk} {sk}")
            }
        }
    }
}

impl Subject for FoldTarget {
    fn view(&self) -> Key {
        match self {
            Self::Activity(activity) => likes::keys::count(activity),
            Self::Poll(poll) => polls::keys::view(poll),
            Self::Battle(battle) => battles::keys::view(battle),
            Self::Barrier(barrier) => barrier.view(),
        }
    }
}

impl FoldTarget {
    /// The subject of a change of the facts, if any view depends on it. An event that comes back may have a tenant that is named like
    /// a kind of fact; it [concerns](Change::concerns) no view of these.
    pub(crate) fn of(change: &Change) -> Option<Self> {
        let key = &change.key;
        let liked = likes::keys::of_like(&key.pk, &key.sk).map(|(_, activity)| activity);
        let read = || notifications::keys::of_mark(&key.pk, &key.sk).map(|(_, activity)| activity);
        let activity =
            liked.or_else(read).or_else(|| owner::of_key(&key.pk, &key.sk)).map(Self::Activity);
        let poll = || PollRow::of(key).map(|row| Self::Poll(row.poll().clone()));
        let battle = || BattleRow::of(key).map(|row| Self::Battle(row.battle().clone()));
        let barrier = || Barrier::of_key(key).map(Self::Barrier);
        activity.or_else(poll).or_else(battle).or_else(barrier)
    }
}

/// The outcome of the changes of one subject in a batch.
pub(crate) type Outcome = function_stream::Outcome<FoldTarget>;
