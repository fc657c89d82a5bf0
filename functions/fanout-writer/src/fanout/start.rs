//! The beginning of a fan-out: few followers are served at once, large audiences are cut into segments that many
//! invocations process in parallel.
//!
//! Followers are kept in the order of a hash, so the followers of an actor can be cut into ranges
//! of much the same size without counting them first: the first page tells their density.
//! Each range goes back to the command queue as a message of its own, in the actor's group, so that fair queues let others
//! through between them. A segment that is delivered again continues where it was, and one that is done costs two reads (see
//! [`super::segment`]). The last segment ends the fan-out; then its size and its latency are known.
//!
//! An actor with a million followers must not block everybody else. So there are only a few segments, however large, which
//! leaves invocations to others, and their writes have lower priority than those of other deliveries of the same process
//! ([`shared::platform::dynamo::pacing`]).

use shared::command::Command;
use shared::platform::values::{SortKey, Timestamp};
use shared::social::fanout::{FanOut as Noted, FanOutKind, FanOutSegment, Pass, Progress};
use shared::social::follows::{EdgePage, FollowerRange};

use super::FanOut;
use super::segment::Segment;
use super::turn::{Turn, turn};
use crate::disposition::Disposition;
use crate::failure::Failure;

impl FanOut<'_> {
    /// Serves all followers if they are few, and otherwise hands out segments. `noted` is what an earlier command has noted.
    pub(crate) async fn run(
        &self,
        noted: Option<Noted>,
        turn: Option<&mut Turn>,
    ) -> Result<Disposition, Failure> {
        if let Some(noted) = noted {
            return self.hand_out(noted.segments, turn).await;
        }
        let begun_at = self.cx.clock.now();
        let progress = match self.cx.delivery.may_have_progress() {
            true => self.progress(FollowerRange::ALL).await?,
            false => Progress::default(),
        };
        let first = self.page(FollowerRange::ALL, progress.position.as_deref()).await?;
        match &first.next {
            Some(reached) if progress == Progress::default() => {
                self.split(&first, reached, begun_at, turn).await
            }
            _ => Segment::unplanned(self, progress, begun_at).run(Some(first)).await,
        }
    }

    pub(crate) async fn run_segment(
        &self,
        followers: FollowerRange,
    ) -> Result<Disposition, Failure> {
        self.give_way();
        let _turn = turn(self.cx, &self.key, self.kind, followers).await;
        let progress = self.progress(followers).await?;
        // A segment of the publish may come before the delete has marked the outbox row.
        if self.kind == FanOutKind::Remove && progress == Progress::default() {
            let actor = &self.key.actor_id;
            self.cx.activities.list_in_outbox(actor, &self.sort_key, true).await?;
        }
        Segment::planned(self, followers, progress).run(None).await
    }

    async fn split(
        &self,
        first: &EdgePage,
        reached: &str,
        now: Timestamp,
        turn: Option<&mut Turn>,
    ) -> Result<Disposition, Failure> {
        let limits = self.cx.limits;
        let followers = first.edges.len() as f64 / FollowerRange::ALL.share_up_to(reached);
        let segments = (followers / f64::from(limits.segment)).ceil() as usize;
        let segments = segments.clamp(2, limits.segments.max(2));
        let fan_outs = &self.cx.fan_outs;
        let segments = fan_outs.plan(&self.key, self.kind, segments, now).await?;
        self.hand_out(segments, turn).await
    }

    /// Sends the segments, unless the delivery whose turn was before has: the queue keeps what it has taken.
    async fn hand_out(
        &self,
        segments: usize,
        turn: Option<&mut Turn>,
    ) -> Result<Disposition, Failure> {
        let redelivered = self.cx.delivery.redelivered;
        if !redelivered && turn.as_ref().is_some_and(|turn| turn.left.are_sent) {
            return Ok(Disposition::Applied(None));
        }
        let ranges = FollowerRange::split(segments).into_iter();
        // The segments have to know that an earlier delivery may have died.
        let segments: Vec<_> = match redelivered {
            true => ranges.map(|range| self.cx.delivery.rest(self.segment_of(range))).collect(),
            false => ranges.map(|range| self.segment_of(range)).collect(),
        };
        self.cx.commands.send(&segments, self.deadline()).await?;
        if let Some(turn) = turn {
            turn.left.are_sent = true;
        }
        Ok(Disposition::Split(segments.len()))
    }

    /// The command that works on one range.
    pub(super) fn segment_of(&self, followers: FollowerRange) -> Command {
        let SortKey { published_at, activity_id } = self.sort_key.clone();
        let actor_id = self.key.actor_id.clone();
        Command::Segment(FanOutSegment { activity_id, actor_id, published_at, followers })
    }

    async fn progress(&self, range: FollowerRange) -> Result<Progress, Failure> {
        let fan_outs = &self.cx.fan_outs;
        Ok(fan_outs.progress(&self.key, self.kind, range, Pass::Main).await?)
    }
}
