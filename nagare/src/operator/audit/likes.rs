//! Audits of likes and notifications: comparing views with the facts they are folded from.
//!
//! A view and its facts can be compared only when nothing is between them. So the views are read before all facts are
//! scanned, and once more when all that the scan may have seen is folded ([`Barrier`]). A view that is the same both
//! times has folded what the scan saw, and nothing else: then the numbers must be equal. One that changed is compared
//! in another round, while others go on; a repair is written only over the very view that was compared.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::pin::pin;
use std::time::Duration;

use futures::TryStreamExt;
use serde::Serialize;
use shared::activities::owner::{self, Owner};
use shared::dynamo::item::{Key, Row};
use shared::dynamo::{DynamoError, Query};
use shared::facts::Facts;
use shared::likes::{self, Recorded};
use shared::notifications::{ActivityLikes, Liker, Mark, Numbers, keys};
use shared::projection::{Barrier, Passed, View, Views};
use shared::runtime::clock::Clock;
use shared::values::{ActivityId, ActorId, ViewerId};

use crate::operator::soon;
use crate::progress;

/// How often views that change are compared.
const ROUNDS: usize = 8;
/// How long to wait until what is a fact is folded.
const PATIENCE: Duration = Duration::from_secs(60);
/// Between two looks whether it is.
const PAUSE: Duration = Duration::from_millis(50);

/// Likes or notifications were not audited.
#[derive(Debug, thiserror::Error)]
pub enum AuditError {
    /// A call of the tables failed.
    #[error(transparent)]
    Dynamo(#[from] DynamoError),
    /// Facts are not folded.
    #[error(
        "what was stated a minute ago is not projected yet: see whether the projector runs, and try again"
    )]
    NotProjected,
}

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

/// What an audit has found.
#[derive(Debug)]
pub struct Found<D, I> {
    /// What was compared.
    pub audited: usize,
    /// What differed.
    pub differences: Vec<D>,
    /// How many of these are mended.
    pub mended: usize,
    /// What changed all the time, so that it could not be compared.
    pub busy: Vec<I>,
}

impl<D, I> Default for Found<D, I> {
    fn default() -> Self {
        Self { audited: 0, differences: Vec::new(), mended: 0, busy: Vec::new() }
    }
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

    /// Picks activities at random of those that somebody likes or has liked.
    ///
    /// # Errors
    /// [`DynamoError`]
    pub async fn sample(&self, size: usize) -> Result<Vec<ActivityId>, DynamoError> {
        let mut activities = BTreeSet::new();
        let query = Query { projection: Some("pk, sk"), ..Query::default() };
        self.scan(query, |row| {
            activities.extend(likes::keys::of_key(&Key::of(row)?).map(|(_, activity)| activity));
            Ok(())
        })
        .await?;
        let activities: Vec<_> = activities.into_iter().collect();
        let mut picked = fastrand::choose_multiple(activities, size);
        picked.sort();
        Ok(picked)
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
        let mut found = Found { audited: activities.len(), ..Found::default() };
        found.busy = activities.to_vec();
        for _ in 0..ROUNDS {
            if found.busy.is_empty() {
                break;
            }
            let round = std::mem::take(&mut found.busy);
            let before = self.read(&round).await?;
            let mut tallies = self.tallies(&round).await?;
            let passed = self.projected().await?;
            let after = self.read(&round).await?;
            for ((activity_id, before), after) in round.into_iter().zip(before).zip(after) {
                if before.version() != after.version() {
                    found.busy.push(activity_id);
                    continue;
                }
                let tally = tallies.remove(&activity_id).unwrap_or_default();
                let recounted = tally.recounted(&after.state);
                let (stored, numbers) = (after.state.numbers(), recounted.numbers());
                if stored == numbers && !after.is_unreadable() {
                    continue;
                }
                let actor_id = recounted.actor().cloned();
                let key = likes::keys::count(&activity_id);
                let mended = repair && {
                    let write = after.with(recounted).caught_up_with(&passed).write(key);
                    self.views.write(vec![write], soon()).await?
                };
                if repair && !mended {
                    found.busy.push(activity_id);
                    continue;
                }
                found.mended += usize::from(mended);
                let difference =
                    LikesDifference { activity_id, actor_id, stored, recounted: numbers };
                found.differences.push(difference);
            }
        }
        Ok(found)
    }

    async fn read(
        &self,
        activities: &[ActivityId],
    ) -> Result<Vec<View<ActivityLikes>>, DynamoError> {
        let keys: Vec<_> = activities.iter().map(likes::keys::count).collect();
        // One that cannot be read says nothing, which differs.
        self.views.read_all_to_fold(&keys, soon()).await?.into_iter().collect()
    }

    /// What the facts say of these activities. Who likes one is listed nowhere, so all facts are scanned.
    async fn tallies(
        &self,
        activities: &[ActivityId],
    ) -> Result<BTreeMap<ActivityId, Tally>, DynamoError> {
        let mut tallies: BTreeMap<_, _> =
            activities.iter().map(|activity| (activity.clone(), Tally::default())).collect();
        self.scan(Query::default(), |row| {
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

    async fn scan(
        &self,
        query: Query<'_>,
        mut each: impl FnMut(&Row<'_>) -> Result<(), DynamoError>,
    ) -> Result<(), DynamoError> {
        let bar = progress::counter("facts read");
        let mut pages = pin!(self.facts.table().pages(query, soon));
        while let Some(page) = pages.try_next().await? {
            bar.inc(page.scanned);
            page.rows.iter().try_for_each(&mut each)?;
        }
        bar.finish_and_clear();
        Ok(())
    }

    /// Waits until all that is a fact by now is folded.
    async fn projected(&self) -> Result<View<Passed>, AuditError> {
        let barrier = Barrier::raise(&self.facts, self.clock.now(), soon).await?;
        let passed = async {
            loop {
                match barrier.passed(&self.views, soon()).await? {
                    Some(passed) => return Ok(passed),
                    None => tokio::time::sleep(PAUSE).await,
                }
            }
        };
        tokio::time::timeout(PATIENCE, passed).await.map_err(|_| AuditError::NotProjected)?
    }
}
