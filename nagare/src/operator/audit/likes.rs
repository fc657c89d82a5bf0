//! Audits of likes and notifications: comparing views with the facts they are folded from.
//!
//! A view and its facts can be compared only when nothing is between them. So the views are read before all facts are
//! scanned, and once more when all that the scan may have seen is folded ([`projected`]). A view that is the same both
//! times has folded what the scan saw, and nothing else: then the numbers must be equal. One that changed is compared
//! in another round, while others go on; a repair is written only over the very view that was compared.

use std::collections::{BTreeMap, HashMap};

use serde::Serialize;
use shared::activities::owner::{self, Owner};
use shared::dynamo::item::Key;
use shared::dynamo::{DynamoError, Query};
use shared::facts::Facts;
use shared::likes::{self, Recorded};
use shared::notifications::{ActivityLikes, Liker, Mark, Numbers, keys};
use shared::projection::{Passed, State, View, Views};
use shared::runtime::clock::Clock;
use shared::values::{ActivityId, ActorId, ViewerId};

use super::projected::{AuditError, projected};
use super::rounds::{Compared, Found, Rounds};
use super::scan::scan;
use crate::operator::soon;

/// A view that says something else than its facts.
#[derive(Debug, Clone, Serialize)]
pub struct LikesDifference {
    /// Of which activity.
    pub activity_id: ActivityId,
    /// Whose it is, if that is known: the difference may be in their inbox, too.
    pub actor_id: Option<ActorId>,
    /// What the view says.
    pub stored: Numbers,
    /// What the facts come to.
    pub recounted: Numbers,
}

/// Compares views with facts.
#[derive(Debug, Clone)]
pub struct LikesAuditor {
    pub(super) facts: Facts,
    pub(super) views: Views,
    clock: Clock,
}

/// What the facts say of one activity.
#[derive(Default)]
struct Tally {
    count: u64,
    likers: Vec<Liker>,
    owner: Option<Owner>,
    marks: HashMap<ViewerId, Mark>,
}

impl Tally {
    fn recounted(self, stored: &ActivityLikes) -> ActivityLikes {
        let Self { count, likers, owner, mut marks } = self;
        let viewer = owner.as_ref().and_then(|owner| ViewerId::new(owner.actor_id.as_str()).ok());
        let mark = viewer.and_then(|viewer| marks.remove(&viewer));
        ActivityLikes::recounted(count, likers, owner, mark, stored)
    }
}

impl LikesAuditor {
    /// Over these tables.
    #[must_use]
    pub fn new(facts: &Facts, views: &Views, clock: Clock) -> Self {
        Self { facts: facts.clone(), views: views.clone(), clock }
    }

    /// Compares what the views say of activities with a recount of the facts, and mends what differs if wanted.
    ///
    /// # Errors
    /// [`AuditError`]; auditing again completes it.
    pub async fn activities(
        &self,
        activities: &[ActivityId],
        repair: bool,
    ) -> Result<Found<LikesDifference, ActivityId>, AuditError> {
        let mut rounds = Rounds::of(activities);
        while let Some(round) = rounds.next_round() {
            let keys: Vec<_> = round.iter().map(likes::keys::count).collect();
            let before = self.stored::<ActivityLikes>(&keys).await?;
            let mut tallies = self.tallies(&round).await?;
            let passed = projected(&self.facts, &self.views, &self.clock).await?;
            let after = self.stored::<ActivityLikes>(&keys).await?;
            for ((activity_id, before), after) in round.into_iter().zip(before).zip(after) {
                let tally = tallies.remove(&activity_id).unwrap_or_default();
                let compared = match before.version() == after.version() {
                    true => {
                        self.compare(&activity_id, after, tally, repair.then_some(&passed)).await?
                    }
                    false => Compared::Busy,
                };
                rounds.add(activity_id, compared);
            }
        }
        Ok(rounds.found())
    }

    /// Compares a view with what the facts say. Where it is to be mended, it is written as of what has been passed.
    async fn compare(
        &self,
        activity: &ActivityId,
        view: View<ActivityLikes>,
        tally: Tally,
        mend_as_of: Option<&View<Passed>>,
    ) -> Result<Compared<LikesDifference>, DynamoError> {
        let recounted = tally.recounted(&view.state);
        let difference = LikesDifference {
            activity_id: activity.clone(),
            actor_id: recounted.actor().cloned(),
            stored: view.state.numbers(),
            recounted: recounted.numbers(),
        };
        if difference.stored == difference.recounted && !view.is_unreadable() {
            return Ok(Compared::Equal);
        }
        let Some(passed) = mend_as_of else { return Ok(Compared::Differs(difference)) };
        let write = view.with(recounted).caught_up_with(passed).write(likes::keys::count(activity));
        Ok(match self.views.write(vec![write], soon()).await? {
            true => Compared::Mended(difference),
            false => Compared::Busy,
        })
    }

    /// The views at these keys. One that cannot be read says nothing, which differs.
    pub(super) async fn stored<S: State>(&self, keys: &[Key]) -> Result<Vec<View<S>>, DynamoError> {
        self.views.read_all(keys, View::read_to_fold, soon()).await?.into_iter().collect()
    }

    /// What the facts say of these activities. Who likes one is listed nowhere, so all facts are scanned.
    async fn tallies(
        &self,
        activities: &[ActivityId],
    ) -> Result<BTreeMap<ActivityId, Tally>, DynamoError> {
        let mut tallies: BTreeMap<_, _> =
            activities.iter().map(|activity| (activity.clone(), Tally::default())).collect();
        scan(self.facts.table(), "facts read", Query::default(), |row| {
            let key = Key::of(row)?;
            if let Some((viewer_id, activity)) = likes::keys::of_key(&key) {
                let Some(tally) = tallies.get_mut(&activity) else { return Ok(()) };
                let Recorded { state, first_liked_at } = Recorded::read(row)?;
                tally.count += u64::from(state.liked);
                tally.likers.extend(first_liked_at.map(|at| Liker { at, viewer_id }));
            } else if let Some((viewer, activity)) = keys::of_mark(&key) {
                let Some(tally) = tallies.get_mut(&activity) else { return Ok(()) };
                tally.marks.insert(viewer, Mark::read(row)?);
            } else if let Some(tally) = owner::of_key(&key).and_then(|id| tallies.get_mut(&id)) {
                tally.owner = Some(Owner::read(row)?);
            }
            Ok(())
        })
        .await?;
        Ok(tallies)
    }
}
