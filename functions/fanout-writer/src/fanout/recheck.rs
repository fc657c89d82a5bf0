//! The recheck: removes what crashed deliveries may have left.
//!
//! They may have written an entry without checking the edges or the activity again. So the timelines that must not have the
//! entry are read, a hundred in one call, and it is deleted where it is found. These are the timelines of former followers, or
//! all of them if the activity was deleted. This comes after the range was processed, so nobody waits for it.

use shared::platform::values::ViewerId;
use shared::social::fanout::{FanOutKind, Pass, Progress};
use shared::social::follows::EdgePage;
use tokio::time::Instant;

use super::segment::Segment;
use crate::delivery::SLICE;
use crate::failure::Failure;

/// Timelines that are read at once.
const ASKED: usize = 100;
/// Timelines that are written to before the time is checked.
const WRITTEN: usize = 25;

impl Segment<'_> {
    /// Continues the recheck. Returns false if time is up before it is done.
    pub(crate) async fn recheck(&self) -> Result<bool, Failure> {
        let fan_out = self.fan_out;
        let pass = || Pass::Recheck { origin: &fan_out.cx.delivery.origin };
        let (fan_outs, key, kind) = (&fan_out.cx.fan_outs, &fan_out.key, fan_out.kind);
        let mut progress = fan_outs.progress(key, kind, self.range, pass()).await?;
        let (mut noted, mut noted_at) = (progress != Progress::default(), Instant::now());
        while !progress.done {
            let page = self.suspects(progress.position.as_deref()).await?;
            let stopped = !self.clear(&page, &mut progress).await?;
            if !stopped {
                progress.done = page.next.is_none();
                progress.position = page.next;
            }
            if stopped || noted_at.elapsed() >= SLICE || (noted && progress.done) {
                let now = fan_out.cx.clock.now();
                fan_outs.note_progress(key, kind, self.range, pass(), (&progress, now)).await?;
                (noted, noted_at) = (true, Instant::now());
            }
            if stopped {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// A page of followers who must not have the entry.
    async fn suspects(&self, after: Option<&str>) -> Result<EdgePage, Failure> {
        let fan_out = self.fan_out;
        match fan_out.kind {
            FanOutKind::Remove => fan_out.page(self.range, after).await,
            FanOutKind::Insert => {
                let (follows, actor) = (&fan_out.cx.follows, &fan_out.key.actor_id);
                Ok(follows.former_page(actor, self.range, after).await?)
            }
        }
    }

    /// Removes the entry from the timelines of a page. Returns false if time is up before its end.
    async fn clear(&self, page: &EdgePage, progress: &mut Progress) -> Result<bool, Failure> {
        for edges in page.edges.chunks(ASKED) {
            let viewers: Vec<_> = edges.iter().map(|edge| edge.follower.clone()).collect();
            for holders in self.fan_out.holders(&viewers).await?.chunks(WRITTEN) {
                if self.fan_out.cx.delivery.checkpoint_at.has_passed() {
                    return Ok(false);
                }
                self.take_out(holders).await?;
                progress.written += holders.len() as u64;
            }
            progress.position = edges.last().map(|edge| edge.sort_key.clone());
        }
        Ok(!self.fan_out.cx.delivery.checkpoint_at.has_passed() || page.next.is_none())
    }

    async fn take_out(&self, viewers: &[&ViewerId]) -> Result<(), Failure> {
        match self.fan_out.kind {
            FanOutKind::Remove => self.fan_out.remove(viewers.iter().copied()).await,
            FanOutKind::Insert => self.fan_out.purge_all(viewers).await,
        }
    }
}
