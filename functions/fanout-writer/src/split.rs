//! Large fan-outs, cut into parts that many invocations work on at once.
//!
//! Followers are kept in the order of a hash, so the followers of an actor can be cut into ranges
//! of much the same size without counting them first: the first page says how dense they are.
//! Each range goes back to the command queue as a message of its own, in the actor's group, so
//! that fair queues let others through between them. A part notes after every page how far it has
//! come. So a part that is delivered again goes on where it was, a part that is done costs one
//! read, and a part that has used half of its invocation's time sends itself on and ends: no
//! fan-out is too large, and none uses up its receives by being slow.

use aws_sdk_sqs::Client;
use aws_sdk_sqs::types::SendMessageBatchRequestEntry;
use futures::{StreamExt, TryStreamExt, stream};
use shared::command::{Command, Part};
use shared::keys::FollowerRange;
use shared::store::{EdgePage, Progress, Tally, Work};
use shared::{Deadline, SortKey};

use crate::dead_letters::SendError;
use crate::fan_out::{FanOut, SecondLook};
use crate::{Failure, Outcome, Writer};

/// Messages one SendMessageBatch call takes.
const BATCH: usize = 10;
/// Calls to the queue under way at once.
const SENDS: usize = 4;

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
    /// Followers in a part, about.
    pub part: u32,
}

impl Default for Sizes {
    /// A page is a hundred batches; a part is half a second's work for one invocation where the table
    /// admits 40,000 writes a second.
    fn default() -> Self {
        Self { page: 2_500, part: 20_000 }
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
            return Ok(Outcome::Applied(Tally::default()));
        }
        let work = if record.deleted { Work::Erase } else { Work::Spread };
        let fan_out = FanOut::new(self, key, sort_key, work, redelivered, deadline);
        fan_out.go_on(part.followers).await
    }
}

impl FanOut<'_> {
    /// Deals with all followers on the spot if they are few, and otherwise hands out parts.
    pub(crate) async fn run(&self) -> Result<Outcome, Failure> {
        let first = self.page(FollowerRange::ALL, None).await?;
        match &first.next {
            None => self.work(&first.edges).await.map(|(tally, _)| Outcome::Applied(tally)),
            Some(reached) => self.split(&first, reached).await,
        }
    }

    async fn split(&self, first: &EdgePage, reached: &str) -> Result<Outcome, Failure> {
        let followers = first.edges.len() as f64 / FollowerRange::ALL.share_up_to(reached);
        let parts = (followers / f64::from(self.writer.sizes.part)).ceil() as usize;
        let store = &self.writer.store;
        let parts = store.plan_fan_out(&self.key, self.work, parts.max(2), self.deadline).await?;
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
        let mut tally = Tally::default();
        while !progress.done {
            let page = self.page(range, progress.place.as_deref()).await?;
            let (written, look) = self.work(&page.edges).await?;
            tally += written;
            progress = Progress {
                written: progress.written + written.entries,
                done: page.next.is_none() || look == SecondLook::Deleted,
                place: page.next,
            };
            store.note_progress(&self.key, self.work, range, &progress, self.deadline).await?;
            if !progress.done && enough.remaining().is_zero() {
                // What an earlier delivery may have left is seen to by now.
                let rest = self.part_of(range, false);
                self.writer.commands.send(&[rest], self.deadline).await?;
                break;
            }
        }
        Ok(Outcome::Applied(tally))
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
