//! Audits of likes and notifications: comparing what the views say of activities with a recount of the likes.

use std::collections::{BTreeMap, HashMap};

use serde::Serialize;
use shared::platform::dynamo::Query;
use shared::platform::dynamo::item::Key;
use shared::platform::projection::{BarrierProgress, View};
use shared::platform::values::{ActivityId, ActorId, ViewerId};
use shared::social::activities::owner::{self, Owner};
use shared::social::likes::{self, RecordedLike};
use shared::social::notifications::{ActivityLikes, Liker, Mark, Numbers, keys};

use super::views::{AuditError, Compared, ViewsAuditor};
use crate::Result;
use crate::audit::Found;
use crate::scan::scan;

/// A view that differs from a recount of its facts.
#[derive(Debug, Clone, Serialize)]
pub struct LikesDifference {
    pub activity_id: ActivityId,
    /// The actor of the activity, if it is known: the difference may be in their inbox, too.
    pub actor_id: Option<ActorId>,
    pub stored: Numbers,
    pub recounted: Numbers,
}

/// What the facts say of one activity.
#[derive(Default)]
struct LikesTally {
    count: u64,
    likers: Vec<Liker>,
    owner: Option<Owner>,
    marks: HashMap<ViewerId, Mark>,
}

impl LikesTally {
    fn recounted(self, stored: &ActivityLikes) -> ActivityLikes {
        let Self { count, likers, owner, mut marks } = self;
        let viewer = owner.as_ref().and_then(|owner| ViewerId::new(owner.actor_id.as_str()).ok());
        let mark = viewer.and_then(|viewer| marks.remove(&viewer));
        ActivityLikes::recounted(count, likers, owner, mark, stored)
    }
}

impl ViewsAuditor {
    /// Compares what the views say of activities with a recount of the facts, and repairs what differs if that is wanted.
    pub async fn activities(
        &self,
        activities: &[ActivityId],
        repair: bool,
    ) -> Result<Found<LikesDifference, ActivityId>, AuditError> {
        self.in_rounds(
            activities,
            likes::keys::count,
            async |round| Ok((self.likes(round).await?, self.folded(repair).await?)),
            async |activity, view, (tallies, mend_as_of)| {
                let tally = tallies.remove(activity).unwrap_or_default();
                self.compare_likes(activity, view, tally, mend_as_of.as_ref()).await
            },
        )
        .await
    }

    /// Compares a view with what the facts say. If it is to be repaired, it is written with the high-water marks of the barrier.
    async fn compare_likes(
        &self,
        activity: &ActivityId,
        view: View<ActivityLikes>,
        tally: LikesTally,
        mend_as_of: Option<&View<BarrierProgress>>,
    ) -> Result<Option<Compared<LikesDifference>>> {
        let recounted = tally.recounted(&view.state);
        let difference = LikesDifference {
            activity_id: activity.clone(),
            actor_id: recounted.actor().cloned(),
            stored: view.state.numbers(),
            recounted: recounted.numbers(),
        };
        if difference.stored == difference.recounted && !view.is_unreadable() {
            return Ok(None);
        }
        let Some(passed) = mend_as_of else { return Ok(Some(Compared::Differs(difference))) };
        let write = view.with(recounted).caught_up_with(passed).write(likes::keys::count(activity));
        let is_written = self.views.write(vec![write]).await?;
        Ok(Some(Compared::repaired(is_written, difference)))
    }

    /// What the facts say of these activities. Nothing lists who likes an activity, so all facts are scanned.
    async fn likes(&self, activities: &[ActivityId]) -> Result<BTreeMap<ActivityId, LikesTally>> {
        let mut tallies: BTreeMap<_, _> =
            activities.iter().map(|activity| (activity.clone(), LikesTally::default())).collect();
        scan(self.facts.table(), "facts read", Query::default(), |row| {
            let key = Key::of(row)?;
            if let Some((viewer_id, activity)) = likes::keys::of_like(&key.pk, &key.sk) {
                let Some(tally) = tallies.get_mut(&activity) else { return Ok(()) };
                let RecordedLike { state, first_liked_at, .. } = RecordedLike::read(row)?;
                tally.count += u64::from(state.on);
                tally.likers.extend(first_liked_at.map(|at| Liker { at, viewer_id }));
            } else if let Some((viewer, activity)) = keys::of_mark(&key.pk, &key.sk) {
                let Some(tally) = tallies.get_mut(&activity) else { return Ok(()) };
                tally.marks.insert(viewer, Mark::read(row)?);
            } else if let Some(tally) =
                owner::of_key(&key.pk, &key.sk).and_then(|id| tallies.get_mut(&id))
            {
                tally.owner = Some(Owner::read(row)?);
            }
            Ok(())
        })
        .await?;
        Ok(tallies)
    }
}
