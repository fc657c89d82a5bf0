//! One segment of a large fan-out.

use shared::fanout::{FanOutKind, FanOutSegment};

use crate::fanout::FanOut;
use crate::{Context, Disposition, Failure};

/// Works on one segment, as far as half of the time goes. What it does to timelines is what the record
/// says now.
pub(crate) async fn segment(cx: &Context, segment: FanOutSegment) -> Result<Disposition, Failure> {
    if !cx.retains(segment.published_at) {
        return Ok(Disposition::Expired);
    }
    let (key, sort_key) = segment.target();
    let record = cx.activities.activity(&key, cx.delivery.deadline).await?;
    let published = record.published.as_ref().is_some_and(|p| p.at == segment.published_at);
    if !published {
        return Ok(Disposition::Applied(None));
    }
    let kind = if record.deleted { FanOutKind::Remove } else { FanOutKind::Insert };
    FanOut::new(cx, key, sort_key, kind).run_segment(segment.followers).await
}
