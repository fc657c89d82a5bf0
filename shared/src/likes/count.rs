//! How many like an activity, and whether a viewer is among them: read from the view that [`crate::notifications`] folds.
//!
//! Both are as of the view ([`crate::projection::own`]), so they agree however far rows are ahead of it, also where a
//! projector died between two calls. It takes one call. Of viewers who may like what many do, their rows are read next, and
//! what was stated of those who have one, side by side: three calls, one after the other, however many activities there are.

use std::collections::HashMap;

use futures::{StreamExt, TryStreamExt, stream};

use super::{LikeState, Likes, Standing, keys};
use crate::dynamo::item::{Key, Row};
use crate::dynamo::{DynamoError, IN_FLIGHT};
use crate::projection::{Own, OwnStates, Said, Views, Who};
use crate::runtime::deadline::Deadline;
use crate::values::{ActivityId, ViewerId};

/// The counts. Cheap to clone.
#[derive(Debug, Clone)]
pub struct LikeCounts {
    views: Views,
}

/// What a view says.
struct Counted {
    count: u64,
    own: OwnStates,
}

impl LikeCounts {
    /// Those among these views.
    #[must_use]
    pub fn new(views: &Views) -> Self {
        Self { views: views.clone() }
    }

    /// How many like each of these activities: none of them twice, and at most
    /// [`BATCH_GET`](crate::dynamo::BATCH_GET). Those that nobody ever liked are left out.
    ///
    /// # Errors
    /// [`DynamoError`]
    pub async fn of(
        &self,
        activities: &[ActivityId],
        deadline: Deadline,
    ) -> Result<HashMap<ActivityId, u64>, DynamoError> {
        let views = self.read(activities, deadline).await?;
        Ok(views.into_iter().map(|(activity, counted)| (activity, counted.count)).collect())
    }

    /// How many like each of these activities, and whether this viewer is counted among them: none of them twice, and at
    /// most [`BATCH_GET`](crate::dynamo::BATCH_GET). Those that nobody ever liked are left out.
    ///
    /// # Errors
    /// [`DynamoError`]
    pub async fn with_own(
        &self,
        likes: &Likes,
        viewer: &ViewerId,
        activities: &[ActivityId],
        deadline: Deadline,
    ) -> Result<HashMap<ActivityId, Standing>, DynamoError> {
        let views = self.read(activities, deadline).await?;
        let (mut standings, mut unsaid) = (HashMap::with_capacity(views.len()), HashMap::new());
        for (activity, Counted { count, own }) in views {
            let who = Who::of(&keys::count(&activity), viewer.as_str());
            match own.of(who) {
                Said::Known(Own::Counted(state)) => {
                    standings.insert(activity, Standing::of(count, !state.is_empty()));
                }
                // Nobody whom a view does not count is shown as one of none.
                _ if count == 0 => drop(standings.insert(activity, Standing::of(count, false))),
                said => drop(unsaid.insert(activity, (count, own, who, said))),
            }
        }
        if unsaid.is_empty() {
            return Ok(standings);
        }
        // After the views: who has no row by now is counted in none of them.
        let asked: Vec<_> = unsaid.keys().cloned().collect();
        let rows = likes.states(viewer, &asked, deadline).await?;
        let own = unsaid.into_iter().map(|(activity, (count, own, who, said))| {
            let row = rows.get(&activity).copied();
            async move {
                let liked = match row {
                    None => false,
                    Some(row) => self.liked(&own, who, said, row, deadline).await?,
                };
                Ok::<_, DynamoError>((activity, Standing::of(count, liked)))
            }
        });
        let own = stream::iter(own.collect::<Vec<_>>()).buffer_unordered(IN_FLIGHT);
        standings.extend(own.try_collect::<Vec<_>>().await?);
        Ok(standings)
    }

    async fn liked(
        &self,
        states: &OwnStates,
        who: Who,
        said: Said,
        row: LikeState,
        deadline: Deadline,
    ) -> Result<bool, DynamoError> {
        let own = match said {
            Said::Known(own) => own,
            Said::Elsewhere => self.views.stated(states, who, deadline).await?,
        };
        Ok(match own {
            Own::Counted(state) => !state.is_empty(),
            Own::Row => row.liked,
        })
    }

    async fn read(
        &self,
        activities: &[ActivityId],
        deadline: Deadline,
    ) -> Result<HashMap<ActivityId, Counted>, DynamoError> {
        let keys = activities.iter().map(|activity| keys::count(activity).into_item());
        let rows = self.views.table().batch_get(keys.collect(), deadline).await?;
        rows.iter().map(|row| Ok((activity_of(row)?, Counted::read(row)?))).collect()
    }
}

impl Counted {
    fn read(row: &Row<'_>) -> Result<Self, DynamoError> {
        let count = u64::try_from(row.number("count")?).unwrap_or(0);
        Ok(Self { count, own: OwnStates::read(row)? })
    }
}

fn activity_of(row: &Row<'_>) -> Result<ActivityId, DynamoError> {
    keys::counted(&Key::of(row)?).ok_or_else(|| row.corrupt("pk", "the key of a count"))
}
