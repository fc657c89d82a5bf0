//! Large fan-outs, cut into parts that many invocations work on at once.
//!
//! Followers are kept in the order of a hash, so the followers of an actor can be cut into ranges
//! of much the same size without counting them first: the first page says how dense they are.
//! Each range goes back to the command queue as a message of its own, in the actor's group, so
//! that fair queues let others through between them. A part notes after every page how far it has
//! come. So a part that is delivered again goes on where it was, a part that is done costs two
//! reads, and a part that has used half of its invocation's time sends itself on and ends: no
//! fan-out is too large, and none uses up its receives by being slow. The last part to be done ends
//! the fan-out, which is when its size and its latency are known.
//!
//! An actor with a million followers is not to stop everybody else. So there are never more than a
//! few parts, however large they are (others find free invocations beside them), and what they
//! write goes behind what other deliveries of the same process write ([`shared::pace`]).

use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};

use aws_sdk_sqs::Client;
use aws_sdk_sqs::types::SendMessageBatchRequestEntry;
use futures::{Stream, StreamExt, TryStreamExt, stream};
use shared::command::{Command, Part};
use shared::keys::FollowerRange;
use shared::store::{EdgePage, Progress, Work};
use shared::{Deadline, SortKey, Timestamp};

use crate::dead_letters::SendError;
use crate::fan_out::{FanOut, SecondLook};
use crate::{Failure, Outcome, Writer};

/// Messages one SendMessageBatch call takes.
const BATCH: usize = 10;
/// Calls to the queue under way at once.
const SENDS: usize = 4;
/// Pages of one part under way at once: while the last calls of one are waited for, those of the
/// next are sent.
const PAGES: usize = 3;

/// The queue that commands come from, which parts go back to.
#[derive(Debug, Clone)]
pub struct CommandQueue {
    /// The client.
    pub client: Client,
    /// The queue's URL.
    pub url: String,
}

/// How large the pieces of a fan-out are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sizes {
    /// Followers read, written and looked at again at once; what an invocation holds in memory. An
    /// actor with fewer is dealt with on the spot.
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
    pub(crate) async fn part(
        &self,
        part: Part,
        redelivered: bool,
        deadline: Deadline,
    ) -> Result<Outcome, Failure> {
        if !self.retention.holds(part.published_at, self.clock.now()) {
            return Ok(Outcome::Expired);
        }
        let redelivered = redelivered || part.redelivered;
        let (key, sort_key) = part.subject();
        let record = self.store.activity(&key, deadline).await?;
        let published = record.published.as_ref().is_some_and(|p| p.at == part.published_at);
        if !published {
            return Ok(Outcome::Applied(None));
        }
        let work = if record.deleted { Work::Erase } else { Work::Spread };
        let writer = Self { store: self.store.in_bulk(), ..self.clone() };
        let fan_out = FanOut::new(&writer, key, sort_key, work, redelivered, deadline);
        fan_out.go_on(part.followers).await
    }
}

impl FanOut<'_> {
    /// Deals with all followers on the spot if they are few, and otherwise hands out parts.
    pub(crate) async fn run(&self) -> Result<Outcome, Failure> {
        let begun_at = self.writer.clock.now();
        let first = self.page(FollowerRange::ALL, None).await?;
        if let Some(reached) = &first.next {
            return self.split(&first, reached, begun_at).await;
        }
        let (tally, look) = self.work(&first.edges).await?;
        let over = look == SecondLook::AsBefore;
        Ok(Outcome::Applied(over.then(|| self.end(tally.entries, Some(begun_at)))))
    }

    async fn split(
        &self,
        first: &EdgePage,
        reached: &str,
        now: Timestamp,
    ) -> Result<Outcome, Failure> {
        let followers = first.edges.len() as f64 / FollowerRange::ALL.share_up_to(reached);
        let parts = (followers / f64::from(self.writer.sizes.part)).ceil() as usize;
        let store = &self.writer.store;
        let parts = parts.clamp(2, self.writer.sizes.parts.max(2));
        let parts = store.plan_fan_out(&self.key, self.work, parts, now, self.deadline).await?;
        let ranges = FollowerRange::split(parts).into_iter();
        let redelivered = self.redelivered;
        let parts: Vec<_> = ranges.map(|range| self.part_of(range, redelivered)).collect();
        self.writer.commands.send(&parts, self.deadline).await?;
        Ok(Outcome::Split(parts.len()))
    }

    fn part_of(&self, followers: FollowerRange, redelivered: bool) -> Part {
        let SortKey { published_at, activity_id } = self.sort_key.clone();
        let actor_id = self.key.actor_id.clone();
        Part { activity_id, actor_id, published_at, followers, redelivered }
    }

    async fn go_on(&self, range: FollowerRange) -> Result<Outcome, Failure> {
        let store = &self.writer.store;
        let enough = self.deadline.within(self.deadline.remaining() / 2);
        let mut progress = store.progress(&self.key, self.work, range, self.deadline).await?;
        if self.redelivered {
            progress = self.after_a_crash(range, progress).await?;
        }
        if !progress.done {
            progress = self.go_through(range, progress, enough).await?;
        }
        if !progress.done {
            return Ok(Outcome::Continued);
        }
        // Asked for even if this part was done before: whoever did it may have died before asking.
        let now = self.writer.clock.now();
        let ended = store.end_fan_out(&self.key, self.work, now, self.deadline).await?;
        let end = ended.map(|fan_out| self.end(fan_out.written(), fan_out.begun_at));
        Ok(Outcome::Applied(end))
    }

    /// Deals with page after page, some of them at once, until all is done or there was enough time
    /// for it; then the rest is sent on.
    async fn go_through(
        &self,
        range: FollowerRange,
        mut progress: Progress,
        enough: Deadline,
    ) -> Result<Progress, Failure> {
        let store = &self.writer.store;
        let (mut pages_done, deleted) = (0, &AtomicBool::new(false));
        // The first page is always dealt with, so every delivery comes some way.
        let begin =
            |page| page == 0 || !(enough.remaining().is_zero() || deleted.load(Ordering::Relaxed));
        let done = self.pages(range, progress.place.clone(), begin).map_ok(async |page| {
            let (written, look) = self.work(&page.edges).await?;
            deleted.fetch_or(look == SecondLook::Deleted, Ordering::Relaxed);
            Ok((page.next, written))
        });
        let mut done = pin!(done.try_buffered(PAGES));
        while let Some((next, written)) = done.try_next().await? {
            pages_done += 1;
            let (written, done) = (progress.written + written.entries, next.is_none());
            progress = Progress { written, done, place: next };
            store.note_progress(&self.key, self.work, range, &progress, self.deadline).await?;
        }
        if !progress.done && deleted.load(Ordering::Relaxed) {
            // Whoever deleted it clears what was written before, and each page under way has cleared
            // itself: only now nothing is left to do.
            progress.done = true;
            store.note_progress(&self.key, self.work, range, &progress, self.deadline).await?;
        } else if !progress.done {
            // An earlier delivery that died may have left something on as many pages as it had begun.
            let rest = self.part_of(range, self.redelivered && pages_done < PAGES);
            self.writer.commands.send(&[rest], self.deadline).await?;
        }
        Ok(progress)
    }

    /// Reads pages of followers from a place on, as long as the next is to be begun.
    fn pages<'s>(
        &'s self,
        range: FollowerRange,
        after: Option<String>,
        begin: impl Fn(usize) -> bool + 's,
    ) -> impl Stream<Item = Result<EdgePage, Failure>> + 's {
        stream::try_unfold((0, Some(after)), move |(page, after)| {
            let after = after.filter(|_| begin(page));
            async move {
                let Some(after) = after else { return Ok(None) };
                let edges = self.page(range, after.as_deref()).await?;
                let next = edges.next.clone().map(Some);
                Ok(Some((edges, (page + 1, next))))
            }
        })
    }

    /// An earlier delivery may have written behind the place that is noted, after somebody else had
    /// passed there, and died before its second look.
    async fn after_a_crash(
        &self,
        range: FollowerRange,
        progress: Progress,
    ) -> Result<Progress, Failure> {
        if self.work == Work::Erase {
            let (store, key) = (&self.writer.store, &self.key);
            return Ok(store.begin_again(key, self.work, range, self.deadline).await?);
        }
        let [first, last] = range.bounds();
        let reached = if progress.done { Some(last.as_str()) } else { progress.place.as_deref() };
        if let Some(reached) = reached {
            self.purge_former(&first, reached).await?;
        }
        Ok(progress)
    }
}

impl CommandQueue {
    /// Sends parts. An error says nothing about which of them were accepted; sending all of them again
    /// is right.
    async fn send(&self, parts: &[Part], deadline: Deadline) -> Result<(), SendError> {
        let batches = parts.chunks(BATCH).map(|batch| self.send_batch(batch, deadline));
        let batches: Vec<_> = batches.collect();
        stream::iter(batches).buffer_unordered(SENDS).try_collect().await
    }

    async fn send_batch(&self, parts: &[Part], deadline: Deadline) -> Result<(), SendError> {
        let entries = parts.iter().enumerate().map(|(index, part)| {
            let command = Command::Part(part.clone());
            SendMessageBatchRequestEntry::builder()
                .id(index.to_string())
                .message_body(command.to_body())
                .message_group_id(command.group().as_str())
                .build()
        });
        let entries = entries.collect::<Result<Vec<_>, _>>()?;
        let call = self.client.send_message_batch().queue_url(&self.url).set_entries(Some(entries));
        let answer = deadline.bound(call.send()).await??;
        match answer.failed.first() {
            None => Ok(()),
            Some(failed) => Err(SendError::refused(&failed.code)),
        }
    }
}
