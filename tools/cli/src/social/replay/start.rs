//! How a run starts: what the ledger says of its ids, before anything is sent.
//!
//! The run reserves the id of the file's first row, by the claim that the writer would make of it. So if two replays of one file
//! start at the same time, one sets the offset and the other joins it. The same holds for a replay that is run again before the queue
//! has applied anything of the first one.

use std::collections::{BTreeSet, HashMap};
use std::iter;

use futures::{StreamExt, TryStreamExt, stream};
use nagare_operator::completion::MOST_WAITING;
use nagare_operator::progress;
use shared::platform::dynamo::BATCH_GET;
use shared::platform::values::{ActivityId, ActorId, Retention, Timestamp};
use shared::social::activities::{Activities, ActivityClaim, ActivityKey};

use super::Handles;
use super::posts::{Post, Posts};
use super::run::{Naming, Run};
use crate::Failure;

/// Calls in flight at once.
const IN_FLIGHT: usize = 8;
/// How often to look again after somebody else has reserved the first row.
const ATTEMPTS: usize = 3;

/// What the file says, seen as a whole.
#[derive(Debug)]
pub(super) struct Survey {
    pub(super) rows: u64,
    pub(super) first: Post,
    /// The time of the last row.
    pub(super) last: i64,
}

/// A run, and what an earlier replay has published of it.
#[derive(Debug)]
pub(super) struct Start {
    pub(super) run: Run,
    /// For each row whether it was published. Empty: none was.
    published: Vec<bool>,
}

/// What the ledger says of the ids of all rows.
#[derive(Debug, Default)]
struct Found {
    published: Vec<bool>,
    /// By how much whoever published them moved the file's times, in milliseconds.
    offset: Option<i64>,
    /// The latest time of a row that was not published.
    missing: Option<i64>,
    /// The first line with an id that another actor owns, or that was published with another offset.
    taken: Option<u64>,
}

impl Survey {
    /// Reads the whole file.
    pub(super) fn of(posts: &Posts, naming: &Naming) -> Result<Self, Failure> {
        let mut survey: Option<Self> = None;
        for post in posts.read()? {
            let post = post?;
            naming.activity_id(&post).map_err(|e| {
                Failure::Usage(format!("{posts}: line {}: the activity's id: {e}", post.line))
            })?;
            match &mut survey {
                None => survey = Some(Self::begin(post)),
                Some(survey) => survey.add(&post),
            }
        }
        survey.ok_or_else(|| Failure::Usage(format!("{posts}: there are no rows")))
    }

    fn begin(first: Post) -> Self {
        let last = first.seconds;
        Self { rows: 1, first, last }
    }

    fn add(&mut self, post: &Post) {
        self.rows += 1;
        self.last = post.seconds;
    }

    /// Finds out what to send, and reserves it.
    ///
    /// # Errors
    /// [`Failure::No`] if there is nothing to send that would not become a dead letter.
    pub(super) async fn start(
        &self,
        posts: &Posts,
        naming: &Naming,
        Handles { activities, retention, clock, .. }: &Handles,
    ) -> Result<Start, Failure> {
        for _ in 0..ATTEMPTS {
            let mut found = look_up(posts, self.rows, naming, activities).await?;
            found.check_reservation(&self.first, naming, activities).await?;
            if let Some(start) = found.decide(posts, self, naming, *retention, clock.now())? {
                return Ok(start);
            }
            // The last row falls at now.
            let offset = clock.now().unix_millis() - self.last * 1000;
            let run = Run { naming: naming.clone(), offset };
            let first = run.publish(self.first.clone())?;
            if activities.claim(&first).await? != ActivityClaim::Taken {
                return Ok(Start { run, published: Vec::new() });
            }
        }
        let again = "another replay of these rows is starting; run this one again";
        Err(Failure::No(again.to_owned()))
    }
}

impl Start {
    /// How many rows an earlier replay has published.
    pub(super) fn published_before(&self) -> u64 {
        self.published.iter().filter(|published| **published).count() as u64
    }

    /// The rows that are not published, or whose publish may not have reached all timelines: a
    /// replay has at most [`MOST_WAITING`] commands that are not done, and sends rows in their
    /// order.
    pub(super) fn unfinished(
        &self,
        posts: &Posts,
    ) -> Result<impl Iterator<Item = Result<Post, Failure>>, Failure> {
        let last = self.published.iter().rposition(|published| *published).unwrap_or(0);
        let published = self.published.iter().copied().chain(iter::repeat(false));
        let rows = posts.read()?.zip(published).enumerate();
        let is_finished = move |n: usize, published| published && n + MOST_WAITING < last;
        let rows = rows
            .filter(move |(n, (post, published))| post.is_err() || !is_finished(*n, *published));
        Ok(rows.map(|(_, (post, _))| post))
    }
}

/// Asks the ledger for the ids of all rows.
async fn look_up(
    posts: &Posts,
    rows: u64,
    naming: &Naming,
    activities: &Activities,
) -> Result<Found, Failure> {
    let bar = progress::bar(rows, "rows looked up");
    let chunks = stream::iter(posts.read()?).try_chunks(BATCH_GET).map_err(|e| e.1);
    let looked_up = chunks.map(async |chunk| look_up_chunk(chunk?, naming, activities).await);
    let found =
        looked_up.buffered(IN_FLIGHT).try_fold(Found::default(), async |mut found, rows| {
            bar.inc(rows.len() as u64);
            rows.iter().for_each(|(post, claim)| found.add(post, claim.as_ref()));
            Ok(found)
        });
    let found = found.await?;
    bar.finish_and_clear();
    Ok(found)
}

/// Some rows, each with the actor that owns its id and when that one published it.
async fn look_up_chunk(
    chunk: Vec<Post>,
    naming: &Naming,
    activities: &Activities,
) -> Result<Vec<(Post, Option<(ActorId, Timestamp)>)>, Failure> {
    let ids = chunk.iter().map(|post| naming.activity_id(post));
    let ids = ids.collect::<Result<Vec<_>, _>>()?;
    let different: BTreeSet<_> = ids.iter().collect();
    let claims: HashMap<ActivityId, _> = activities.all_claimed(different).await?;
    let claim = |id| claims.get(id).cloned();
    Ok(chunk.into_iter().zip(&ids).map(|(post, id)| (post, claim(id))).collect())
}

impl Found {
    fn add(&mut self, post: &Post, claim: Option<&(ActorId, Timestamp)>) {
        self.published.push(claim.is_some());
        let Some((actor, at)) = claim else {
            self.missing = self.missing.max(Some(post.seconds));
            return;
        };
        let offset = at.unix_millis() - post.seconds * 1000;
        if *actor != post.author || *self.offset.get_or_insert(offset) != offset {
            self.taken.get_or_insert(post.line);
        }
    }

    /// The first row may have been reserved by a replay that ended before it published anything.
    async fn check_reservation(
        &mut self,
        first: &Post,
        naming: &Naming,
        activities: &Activities,
    ) -> Result<(), Failure> {
        let Some(claimed) = self.published.first_mut().filter(|claimed| **claimed) else {
            return Ok(());
        };
        let (activity_id, actor_id) = (naming.activity_id(first)?, first.author.clone());
        let key = ActivityKey { activity_id, actor_id };
        if activities.activity(&key).await?.published.is_none() {
            *claimed = false;
            self.missing = self.missing.max(Some(first.seconds));
        }
        Ok(())
    }

    /// Goes on with a run that was interrupted. Nothing if no row is published.
    fn decide(
        self,
        posts: &Posts,
        survey: &Survey,
        naming: &Naming,
        retention: Retention,
        now: Timestamp,
    ) -> Result<Option<Start>, Failure> {
        let refused = |problem: String| {
            let name = if naming.0.is_some() { "another NAME" } else { "AUTHOR-T-NAME" };
            Failure::No(format!(
                "{problem}; nothing was sent. To publish the rows as other activities, with ids of their own \
                 ({name}), add --run NAME"
            ))
        };
        if let Some(line) = self.taken {
            let problem = "the id of its activity belongs to another one";
            return Err(refused(format!("{posts}: line {line}: {problem}")));
        }
        let Some(offset) = self.offset else { return Ok(None) };
        let run = Run { naming: naming.clone(), offset };
        let began = run.published_at(survey.last);
        if began > now {
            let problem = "some of its rows were published by a replay of fewer rows, and others would lie in \
                           the future beside them";
            return Err(refused(format!("{posts}: {problem}")));
        }
        // The writer takes no notice of what is older than retention, so such rows are never published.
        match self.missing.is_some_and(|t| retention.holds(run.published_at(t), now)) {
            true => Ok(Some(Start { run, published: self.published })),
            false => Err(refused(format!(
                "{posts} was replayed at {began}, and all of its rows are published"
            ))),
        }
    }
}
