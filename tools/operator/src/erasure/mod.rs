//! Erasure of a person: everything about them, as viewer and as actor.
//!
//! The order is the writer's: state the fact, act on it, check again. What they published is deleted and
//! what they follow is unfollowed before anything is cleared, so that every fan-out and backfill in
//! flight sees it in its second check. At the end all of it is queried once more, until nothing new is
//! found. What is done is marked (see [`marks`]), outbox rows last, so a run can be interrupted anywhere
//! and repeated.

mod activities;
mod edges;
mod facts;
pub mod history;
pub mod letters;
pub mod marks;
mod strays;
mod tags;
pub mod traces;
mod views;

use futures::{StreamExt, TryStreamExt, stream};
use nagare_client::failure::Failure;
use shared::platform::dynamo::DynamoError;
use shared::platform::facts::Facts;
use shared::platform::ledger::Ledger;
use shared::platform::projection::Views;
use shared::platform::queue::LONGEST_IN_FLIGHT;
use shared::platform::runtime::clock::Clock;
use shared::platform::runtime::hold::Hold;
use shared::platform::values::{ActivityId, ActorId, IdError, Retention, Timestamp, ViewerId};
use shared::social::activities::{Activities, ActivityKey};
use shared::social::follows::Follows;
use shared::social::rooms::Rooms;
use shared::social::timelines::Reconciler;
use shared::social::timelines::Timelines;

use crate::audit::AuditError;
use crate::audit::social::projected;
use crate::{Result, progress};
use marks::{Marks, Tombstone};

/// Clocks differ, and DynamoDB's TTL takes up to a day anyway.
const SLACK: i64 = 86_400;
/// Edges and activities erased at once.
const AT_ONCE: usize = 32;
/// How often to look again for what came meanwhile.
const ROUNDS: usize = 10;

/// A person was not erased, or not completely. Running it again completes it.
#[derive(Debug, thiserror::Error)]
pub enum ErasureError {
    #[error(transparent)]
    Dynamo(#[from] DynamoError),
    /// What the person stated is not folded yet, so views may still be about to name them.
    #[error(
        "what was stated about {0} is not projected yet: see whether the projector runs, and run this again"
    )]
    NotProjected(ActorId),
    /// Somebody keeps sending commands about them.
    #[error("commands about {0} keep arriving: have whoever sends them stop, and run this again")]
    KeepsArriving(ActorId),
}

impl From<ErasureError> for Failure {
    fn from(error: ErasureError) -> Self {
        match error {
            ErasureError::Dynamo(error) => error.into(),
            ErasureError::KeepsArriving(_) | ErasureError::NotProjected(_) => {
                Self::No(error.to_string())
            }
        }
    }
}

/// What was found and erased, in numbers.
#[derive(Debug, Default)]
pub struct Erased {
    pub activities: usize,
    pub followers: usize,
    pub followees: usize,
    /// Entries of their own timeline that belong to nobody whom they followed.
    pub entries: usize,
    /// Progress records that named them, and items about them alone.
    pub progress: usize,
    pub tags: usize,
    /// Likes, theirs and of what they published.
    pub likes: usize,
    /// Rows of votes, theirs and in polls that they opened.
    pub votes: usize,
    /// Hits, theirs and in battles that they opened.
    pub hits: usize,
    pub polls: usize,
    pub battles: usize,
    /// Messages that they posted, or had deleted before.
    pub messages: usize,
}

/// The person to erase, and where.
#[derive(Debug)]
pub struct Erasure {
    ledger: Ledger,
    facts: Facts,
    views: Views,
    activities: Activities,
    follows: Follows,
    rooms: Rooms,
    timelines: Timelines,
    marks: Marks,
    reconciler: Reconciler,
    retention: Retention,
    clock: Clock,
    viewer: ViewerId,
    actor: ActorId,
    /// The second at which tombstones expire.
    until: i64,
}

impl Erasure {
    /// The erasure of a person from these tables.
    ///
    /// # Errors
    /// [`IdError`]: no viewer can have that id.
    pub fn new(
        person: ActorId,
        ledger: &Ledger,
        (facts, views): (&Facts, &Views),
        timelines: Timelines,
        retention: Retention,
        clock: Clock,
    ) -> Result<Self, IdError> {
        let viewer = ViewerId::new(person.as_str())?;
        let now = clock.now();
        let in_flight = now.unix_seconds_after(LONGEST_IN_FLIGHT);
        let until = retention.expires_at(now).max(in_flight) + SLACK;
        let (entries, hold) = (timelines.clone(), Hold::default());
        Ok(Self {
            activities: Activities::new(ledger),
            follows: Follows::new(ledger),
            rooms: Rooms::new(ledger),
            marks: Marks(ledger.clone()),
            reconciler: Reconciler::new(ledger, entries, retention, clock.clone(), hold),
            ledger: ledger.clone(),
            facts: facts.clone(),
            views: views.clone(),
            timelines,
            retention,
            clock,
            viewer,
            actor: person,
            until,
        })
    }

    /// When the last tombstone expires.
    pub fn until(&self) -> Timestamp {
        Timestamp::from_unix_millis(self.until * 1000)
    }

    /// Erases the person from ledger and timelines.
    pub async fn run(&self) -> Result<Erased, ErasureError> {
        let mut erased = Erased::default();
        self.known(&mut erased).await?;
        self.strays(&mut erased).await?;
        erased.entries = self.clear_own_timeline().await?;
        self.known(&mut erased).await?;
        self.facts_and_views(&mut erased).await?;
        Ok(erased)
    }

    /// Erases the facts, waits until that is folded, and then erases what views say of the person.
    async fn facts_and_views(&self, erased: &mut Erased) -> Result<(), ErasureError> {
        let scope = self.facts(erased).await?;
        if scope.waits_for_projector {
            let passed = projected(&self.facts, &self.views, &self.clock).await;
            passed.map_err(|failure| match failure {
                AuditError::Dynamo(failure) => failure.into(),
                AuditError::NotProjected => ErasureError::NotProjected(self.actor.clone()),
            })?;
        }
        Ok(self.views(&scope).await?)
    }

    /// Erases all that the ledger lists under the person, until it lists nothing more.
    async fn known(&self, erased: &mut Erased) -> Result<(), ErasureError> {
        for _ in 0..ROUNDS {
            let (activities, followers) = (self.activities().await?, self.followers().await?);
            let followees = self.followees().await?;
            erased.activities += activities;
            erased.followers += followers;
            erased.followees += followees;
            if (activities, followers, followees) == (0, 0, 0) {
                return Ok(());
            }
        }
        Err(ErasureError::KeepsArriving(self.actor.clone()))
    }

    async fn mark(&self, tombstone: Tombstone) -> Result<()> {
        self.marks.mark_expired(&tombstone, self.until).await.map(|_| ())
    }

    fn key(&self, activity: &ActivityId) -> ActivityKey {
        ActivityKey { activity_id: activity.clone(), actor_id: self.actor.clone() }
    }
}

/// Does something to each of them, several at the same time, and shows the progress.
async fn for_each<'i, T, F>(
    items: &'i [T],
    what: &'static str,
    work: impl FnMut(&'i T) -> F,
) -> Result<()>
where
    F: Future<Output = Result<()>>,
{
    let bar = progress::bar(items.len() as u64, what);
    let done = stream::iter(items).map(work).buffer_unordered(AT_ONCE);
    done.inspect(|_| bar.inc(1)).try_collect().await
}
