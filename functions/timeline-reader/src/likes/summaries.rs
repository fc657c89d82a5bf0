//! The likes of activities, as pages show them.

use std::collections::HashMap;

use futures::future::try_join;
use shared::platform::dynamo::DynamoError;
use shared::platform::values::{ActivityId, ViewerId};
use shared::social::likes::{LikeCount, LikeCounts, LikeSummary, Likes};

use crate::reader::Context;

/// The like counts of these activities, at most [`BATCH_GET`](shared::platform::dynamo::BATCH_GET), and which of them this viewer likes. The count
/// of a single activity is read consistently. The counts of a page may be a moment old: they come from a cache or an eventually
/// consistent read.
pub(crate) async fn of_activities(
    cx: &Context<'_>,
    viewer: Option<&ViewerId>,
    activities: &[ActivityId],
) -> Result<HashMap<ActivityId, LikeSummary>, DynamoError> {
    let counts = LikeCounts::new(&cx.reader.views);
    let likes = Likes::new(&cx.reader.facts);
    let rows = async {
        match viewer {
            None => Ok(HashMap::new()),
            Some(viewer) => likes.rows(viewer, activities).await,
        }
    };
    let counted = async {
        match activities {
            [_] => counts.read(activities).await,
            _ => counts.lately(activities, &cx.reader.counts, cx.now).await,
        }
    };
    let (mut counted, rows) = try_join(counted, rows).await?;
    for activity in activities {
        counted.entry(activity.clone()).or_default();
    }
    if let Some(viewer) = viewer {
        return counts.summaries(counted, viewer, &rows, cx.now).await;
    }
    let summary = |count: &LikeCount| LikeSummary { count: count.count(), liked: None };
    Ok(counted.iter().map(|(activity, count)| (activity.clone(), summary(count))).collect())
}
