//! One segment of a large fan-out.

use shared::social::fanout::{FanOutKind, FanOutSegment};

use crate::context::Context;
use crate::disposition::Disposition;
use crate::failure::Failure;
use crate::fanout::FanOut;

/// Processes one segment for up to half of the delivery's time, and hands on the rest. The activity's current record decides whether
/// entries are inserted or removed.
pub(crate) async fn segment(cx: &Context, segment: FanOutSegment) -> Result<Disposition, Failure> {
    if !cx.retains(segment.published_at) {
        return Ok(Disposition::Expired);
    }
    let (key, sort_key) = segment.target();
    let record = cx.activities.activity(&key).await?;
    let published = record.published.as_ref().is_some_and(|p| p.at == segment.published_at);
    if !published {
        return Ok(Disposition::Applied(None));
    }
    let kind = if record.deleted { FanOutKind::Remove } else { FanOutKind::Insert };
    FanOut::new(cx, key, sort_key, kind, cx.limits.repeated).run_segment(segment.followers).await
}
