//! Processes the followers of one range, page after page, as long as one delivery has time.
//!
//! While one page is checked again, the next is written, so that the table never idles. A page keeps its turn until all of
//! its calls have begun, so that its last calls do not wait for those of the next page. Progress is noted every few seconds.
//! After half of the time the rest is handed on: however slow the table is, each delivery advances, and no receive is used up.
//!
//! A crashed delivery may have written without checking again. The next delivery first finishes the range and then
//! [rechecks](super::recheck) it; progress of the recheck is noted and handed on in the same way.

use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};

use futures::{Stream, TryStreamExt, stream};
use shared::platform::values::Timestamp;
use shared::social::fanout::{Pass, Progress};
use shared::social::follows::{EdgePage, FollowerRange};
use tokio::sync::Mutex;
use tokio::time::Instant;

use super::FanOut;
use super::page::SecondCheck;
use crate::delivery::SLICE;
use crate::disposition::Disposition;
use crate::failure::Failure;

/// The number of followers that are written to with normal priority: a few calls. More give way to others.
const NORMAL: usize = 250;
/// Pages in memory at once: one that is checked again, one that is written.
const PAGES: usize = 2;

/// A range of an activity's followers.
pub(crate) struct Segment<'a> {
    pub(super) fan_out: &'a FanOut<'a>,
    pub(super) range: FollowerRange,
    noting: Mutex<Noting>,
    /// Held by the page that is written.
    turn: Mutex<()>,
    /// True if time is up or the activity was deleted, so that no other page is begun.
    stopped: AtomicBool,
    deleted: AtomicBool,
}

/// The progress, and what of it is noted in the ledger.
struct Noting {
    progress: Progress,
    noted_at: Instant,
    /// When the fan-out began, if it is not planned yet; it is planned before progress is noted. `None` if it is planned.
    unplanned_since: Option<Timestamp>,
}

impl<'a> Segment<'a> {
    /// A segment of a planned fan-out.
    pub(crate) fn planned(
        fan_out: &'a FanOut<'a>,
        range: FollowerRange,
        progress: Progress,
    ) -> Self {
        Self::new(fan_out, range, progress, None)
    }

    /// All followers of an actor who has few. The fan-out is planned only if it takes long.
    pub(crate) fn unplanned(
        fan_out: &'a FanOut<'a>,
        progress: Progress,
        begun_at: Timestamp,
    ) -> Self {
        let unplanned_since = (progress == Progress::default()).then_some(begun_at);
        Self::new(fan_out, FollowerRange::ALL, progress, unplanned_since)
    }

    fn new(
        fan_out: &'a FanOut<'a>,
        range: FollowerRange,
        progress: Progress,
        unplanned_since: Option<Timestamp>,
    ) -> Self {
        let noting = Mutex::new(Noting { progress, noted_at: Instant::now(), unplanned_since });
        let (turn, stopped, deleted) = Default::default();
        Self { fan_out, range, noting, turn, stopped, deleted }
    }

    /// Continues the segment, with this page if it was read already, and ends the fan-out if it was the last segment.
    pub(crate) async fn run(&self, first: Option<EdgePage>) -> Result<Disposition, Failure> {
        if !self.is_done().await {
            self.go_through(first).await?;
        }
        if !self.is_done().await
            || (self.fan_out.cx.delivery.redelivered && !self.recheck().await?)
        {
            return self.hand_on().await;
        }
        self.end().await
    }

    async fn is_done(&self) -> bool {
        self.noting.lock().await.progress.done
    }

    async fn go_through(&self, first: Option<EdgePage>) -> Result<(), Failure> {
        let after = self.noting.lock().await.progress.position.clone();
        let pages = self.pages(first, after).map_ok(|page| self.page(page));
        let mut pages = pin!(pages.try_buffered(PAGES));
        while pages.try_next().await?.is_some() {}
        // The delete removes what was written before, and each page has removed its own.
        let done = self.deleted.load(Ordering::Relaxed) || !self.stopped.load(Ordering::Relaxed);
        let mut noting = self.noting.lock().await;
        noting.progress.done = done;
        match noting.unplanned_since {
            Some(_) if done => Ok(()),
            _ => self.note(&mut noting).await,
        }
    }

    /// Reads pages of followers until it is stopped.
    fn pages(
        &self,
        first: Option<EdgePage>,
        after: Option<String>,
    ) -> impl Stream<Item = Result<EdgePage, Failure>> + '_ {
        stream::try_unfold((first, Some(after)), move |(read, after)| async move {
            let page = match (read, after) {
                (Some(page), _) => page,
                (None, Some(after)) if !self.stopped.load(Ordering::Relaxed) => {
                    self.fan_out.page(self.range, after.as_deref()).await?
                }
                _ => return Ok(None),
            };
            let next = page.next.clone().map(Some);
            Ok(Some((page, (None, next))))
        })
    }

    /// Writes a page, a few seconds at a time, and checks what it wrote again.
    async fn page(&self, page: EdgePage) -> Result<(), Failure> {
        let page = self.fan_out.without_idle_viewers(page).await?;
        let mut turn = Some(self.turn.lock().await);
        if page.edges.len() > NORMAL {
            self.fan_out.give_way();
        }
        let mut left = page.edges.as_slice();
        while !self.stopped.load(Ordering::Relaxed) {
            let passed = self.fan_out.write(left, self.fan_out.slice()).await?;
            let (done, rest) = left.split_at(passed.edges);
            left = rest;
            if left.is_empty() {
                turn.take();
            } else {
                self.fan_out.give_way();
                self.stopped.fetch_or(self.time_is_up(), Ordering::Relaxed);
            }
            if self.fan_out.check_again(done).await? == SecondCheck::Deleted {
                self.deleted.store(true, Ordering::Relaxed);
                self.stopped.store(true, Ordering::Relaxed);
            }
            let whole = page.next.as_ref().filter(|_| left.is_empty());
            let position = whole.or(done.last().map(|edge| &edge.sort_key));
            self.passed(position.cloned(), passed.written).await?;
            if left.is_empty() {
                // After the last page nothing is left to hand on, so the time does not matter.
                let more = page.next.is_some() && self.time_is_up();
                self.stopped.fetch_or(more, Ordering::Relaxed);
                return Ok(());
            }
        }
        Ok(())
    }

    fn time_is_up(&self) -> bool {
        self.fan_out.cx.delivery.checkpoint_at.has_passed()
    }

    /// Records that all edges up to a position are done, with the number of timelines written. Notes it in the ledger every
    /// few seconds.
    async fn passed(&self, position: Option<String>, written: u64) -> Result<(), Failure> {
        let mut noting = self.noting.lock().await;
        noting.progress.written += written;
        // The page before this one may come to its end later.
        if position <= noting.progress.position {
            return Ok(());
        }
        noting.progress.position = position;
        if noting.noted_at.elapsed() < SLICE { Ok(()) } else { self.note(&mut noting).await }
    }

    async fn note(&self, noting: &mut Noting) -> Result<(), Failure> {
        let FanOut { cx, key, kind, .. } = self.fan_out;
        let fan_outs = &cx.fan_outs;
        if let Some(begun_at) = noting.unplanned_since {
            fan_outs.plan(key, *kind, 1, begun_at).await?;
            noting.unplanned_since = None;
        }
        let (range, progress) = (self.range, (&noting.progress, cx.clock.now()));
        fan_outs.note_progress(key, *kind, range, Pass::Main, progress).await?;
        noting.noted_at = Instant::now();
        Ok(())
    }

    async fn hand_on(&self) -> Result<Disposition, Failure> {
        let mut noting = self.noting.lock().await;
        if noting.unplanned_since.is_some() {
            self.note(&mut noting).await?;
        }
        self.fan_out.cx.hand_on(self.fan_out.segment_of(self.range)).await
    }

    async fn end(&self) -> Result<Disposition, Failure> {
        let (fan_out, noting) = (self.fan_out, self.noting.lock().await);
        let FanOut { cx, key, kind, .. } = fan_out;
        let (fan_outs, now) = (&cx.fan_outs, cx.clock.now());
        if let Some(begun_at) = noting.unplanned_since {
            if self.deleted.load(Ordering::Relaxed) {
                return Ok(Disposition::Applied(None));
            }
            let written = noting.progress.written;
            if written > fan_out.noted_beyond as u64 {
                fan_outs.note_ended(key, *kind, [begun_at, now], written).await?;
            }
            return Ok(Disposition::Applied(Some(fan_out.end(written, begun_at))));
        }
        // Also if this segment was done before: that delivery may have died before this.
        let ended = fan_outs.end(key, *kind, now).await?;
        Ok(Disposition::Applied(ended.map(|all| fan_out.end(all.written(), all.begun_at))))
    }
}
