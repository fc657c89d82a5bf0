//! Large fan-outs, cut into parts that many invocations work on at once.
//!
//! Followers are kept in the order of a hash, so the followers of an actor can be cut into ranges
//! of much the same size without counting them first: the first page says how dense they are.
//! Each range goes back to the command queue as a message of its own, in the actor's group, so
//! that fair queues let others through between them. A part that is delivered again goes on where it
//! was, and one that is done costs two reads (see [`crate::segment`]). The last part to be done ends
//! the fan-out, which is when its size and its latency are known.
//!
//! An actor with a million followers is not to stop everybody else. So there are never more than a
//! few parts, however large they are (others find free invocations beside them), and what they
//! write goes behind what other deliveries of the same process write ([`shared::pace`]).

use shared::command::{Command, Part};
use shared::keys::FollowerRange;
use shared::store::{EdgePage, Pass, Progress, Work};
use shared::{SortKey, Timestamp};

use crate::fan_out::FanOut;
use crate::segment::Segment;
use crate::{Delivery, Failure, Outcome, Writer};

/// How large the pieces of a fan-out are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sizes {
    /// Followers read at once; what an invocation holds in memory is two of these. An actor with fewer
    /// is dealt with on the spot.
    pub page: u16,
    /// Followers in a part, about, as long as that makes no more than [`Sizes::parts`].
    pub part: u32,
    /// The most parts of one fan-out: invocations that work on it at once.
    pub parts: usize,
}

impl Default for Sizes {
    /// A page is a hundred batches; a part is half a second's work for one invocation where the table
    /// admits 40,000 writes a second, which is much less than a few invocations can write.
    fn default() -> Self {
        Self { page: 2_500, part: 20_000, parts: 4 }
    }
}

impl Writer {
    /// Deals with one part of a large fan-out, as far as half of the time goes.
    pub(crate) async fn part(&self, part: Part, delivery: &Delivery) -> Result<Outcome, Failure> {
        if !self.retention.holds(part.published_at, self.clock.now()) {
            return Ok(Outcome::Expired);
        }
        let (key, sort_key) = part.subject();
        let record = self.store.activity(&key, delivery.deadline).await?;
        let published = record.published.as_ref().is_some_and(|p| p.at == part.published_at);
        if !published {
            return Ok(Outcome::Applied(None));
        }
        let work = if record.deleted { Work::Erase } else { Work::Spread };
        let fan_out = FanOut::new(self, key, sort_key, work, delivery);
        fan_out.give_way();
        let progress = fan_out.progress(part.followers).await?;
        Segment::planned(&fan_out, part.followers, progress).run(None).await
    }
}

impl FanOut<'_> {
    /// Deals with all followers on the spot if they are few, and otherwise hands out parts.
    pub(crate) async fn run(&self) -> Result<Outcome, Failure> {
        let begun_at = self.writer.clock.now();
        let progress = match self.delivery.may_have_progress() {
            true => self.progress(FollowerRange::ALL).await?,
            false => Progress::default(),
        };
        let first = self.page(FollowerRange::ALL, progress.place.as_deref()).await?;
        match &first.next {
            Some(reached) if progress == Progress::default() => {
                self.split(&first, reached, begun_at).await
            }
            _ => Segment::unplanned(self, progress, begun_at).run(Some(first)).await,
        }
    }

    async fn split(
        &self,
        first: &EdgePage,
        reached: &str,
        now: Timestamp,
    ) -> Result<Outcome, Failure> {
        let followers = first.edges.len() as f64 / FollowerRange::ALL.share_up_to(reached);
        let parts = (followers / f64::from(self.writer.sizes.part)).ceil() as usize;
        let parts = parts.clamp(2, self.writer.sizes.parts.max(2));
        let (store, deadline) = (&self.writer.store, self.deadline());
        let parts = store.plan_fan_out(&self.key, self.work, parts, now, deadline).await?;
        let parts = FollowerRange::split(parts).into_iter().map(|range| self.part_of(range));
        // Of what may have died before, the parts have to know.
        let parts: Vec<_> = match self.delivery.redelivered {
            true => parts.map(|part| self.delivery.rest(part)).collect(),
            false => parts.collect(),
        };
        self.writer.commands.send(&parts, deadline).await?;
        Ok(Outcome::Split(parts.len()))
    }

    /// The command that goes through one range.
    pub(crate) fn part_of(&self, followers: FollowerRange) -> Command {
        let SortKey { published_at, activity_id } = self.sort_key.clone();
        let actor_id = self.key.actor_id.clone();
        Command::Part(Part { activity_id, actor_id, published_at, followers })
    }

    async fn progress(&self, range: FollowerRange) -> Result<Progress, Failure> {
        let store = &self.writer.store;
        Ok(store.progress(&self.key, self.work, range, Pass::Main, self.deadline()).await?)
    }
}
