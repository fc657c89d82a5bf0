//! `nagare forget`: everything about one person, as viewer and as actor.
//!
//! The order is that of the writer: state the fact, act on it, look again. What they published is deleted
//! and what they follow unfollowed before anything is cleared away, so that every fan-out and backfill
//! that is under way finds it so in its second look; and all of it is asked for once more at the end,
//! until nothing new is found. What is done is marked (see [`shared::store::Tombstone`]), outbox rows last, so it can be
//! interrupted anywhere and run again.

mod activities;
mod edges;
mod letters;

use std::time::Duration;

use clap::Args;
use fanout_writer::Writer;
use serde::Serialize;
use shared::activity::ActivityKey;
use shared::store::Store;
use shared::{ActivityId, ActorId, Clock, Timestamp, ViewerId, env};

use super::Failure;
use super::drain::Drain;
use super::print::{print_json, say};
use super::remote::Remote;

/// The longest that a command can be under way: four days on its queue, fourteen on that of dead letters.
const UNDER_WAY: Duration = Duration::from_secs(18 * 86_400);
/// Clocks differ, and a day is what DynamoDB takes for its TTL anyway.
const SLACK: Duration = Duration::from_secs(86_400);
/// Edges and activities dealt with at once.
const AT_ONCE: usize = 32;
/// How often what came meanwhile is seen to.
const ROUNDS: usize = 10;

#[derive(Debug, Args)]
pub(super) struct Forget {
    /// The viewer's or actor's id.
    person: ActorId,
    /// Print what was done as a JSON object.
    #[arg(long)]
    json: bool,
}

/// What was found and dealt with.
#[derive(Debug, Serialize)]
struct Report {
    person_id: ActorId,
    activities: usize,
    followers: usize,
    followees: usize,
    /// Of their own timeline, that nobody they followed accounts for.
    entries: usize,
    /// Notes of how far something has come that named them.
    progress: usize,
    dead_letters: usize,
    /// Parts of large dead letters that no letter needed, whomever they were about.
    dead_letter_parts: usize,
    /// The same, stored so lately that a letter may be on its way to them.
    dead_letter_parts_waiting: usize,
    /// When the last tombstone may go.
    tombstones_until: Timestamp,
    /// Commands that had not been applied by the end, whomever they are about.
    commands_waiting: u64,
}

/// The one to forget, and where.
struct Forgetting {
    store: Store,
    writer: Writer,
    viewer: ViewerId,
    actor: ActorId,
    /// Second at which tombstones may go.
    until: i64,
}

impl Forget {
    pub(super) async fn run(self) -> Result<(), Failure> {
        let remote = Remote::from_environment().await?;
        let drain = remote.drain()?;
        let store = remote.store(&[env::DEAD_LETTERS_TABLE])?;
        let mut report = Forgetting::new(self.person, remote.writer()?)?.run(&drain).await?;
        let now = Clock::system().now();
        report.dead_letters = letters::drop_those_of(&store, &report.person_id, now).await?;
        let parts = letters::drop_spare_parts(&store, now).await?;
        (report.dead_letter_parts, report.dead_letter_parts_waiting) = parts;
        print(&report, self.json)
    }
}

fn print(report: &Report, json: bool) -> Result<(), Failure> {
    if json {
        return print_json(report);
    }
    let Report { person_id, activities, followers, followees, entries, dead_letters, .. } = report;
    say!(
        "{person_id}: {activities} activities, {followers} followers, {followees} followees, {entries} other \
         entries, {dead_letters} dead letters; tombstones without content go by {}",
        report.tombstones_until
    )?;
    if report.commands_waiting > 0 {
        let waiting = report.commands_waiting;
        eprintln!("{waiting} commands were still on their way; run this again once those are done");
    }
    if report.dead_letter_parts_waiting > 0 {
        let waiting = report.dead_letter_parts_waiting;
        eprintln!(
            "{waiting} parts of dead letters were stored just now; run this again in an hour"
        );
    }
    Ok(())
}

impl Forgetting {
    fn new(person: ActorId, writer: Writer) -> Result<Self, Failure> {
        let viewer = ViewerId::new(person.as_str()).map_err(|e| Failure::Usage(e.to_string()))?;
        let now = writer.clock.now();
        let kept = writer.retention.expires_at(now);
        let under_way = now.unix_millis() / 1000 + seconds(UNDER_WAY);
        let until = kept.max(under_way) + seconds(SLACK);
        Ok(Self { store: writer.store.clone(), writer, viewer, actor: person, until })
    }

    async fn run(&self, drain: &Drain) -> Result<Report, Failure> {
        let mut report = Report {
            person_id: self.actor.clone(),
            activities: 0,
            followers: 0,
            followees: 0,
            entries: 0,
            progress: 0,
            dead_letters: 0,
            dead_letter_parts: 0,
            dead_letter_parts_waiting: 0,
            tombstones_until: Timestamp::from_unix_millis(self.until * 1000),
            commands_waiting: 0,
        };
        self.known(&mut report).await?;
        let (activities, progress) = self.strays().await?;
        report.activities += activities;
        report.progress = progress;
        report.entries = self.clear_own_timeline().await?;
        self.known(&mut report).await?;
        report.commands_waiting = drain.messages().await?;
        Ok(report)
    }

    /// Deals with all that the ledger lists under the person, until it lists nothing more.
    async fn known(&self, report: &mut Report) -> Result<(), Failure> {
        for _ in 0..ROUNDS {
            let found =
                [self.activities().await?, self.followers().await?, self.followees().await?];
            let [activities, followers, followees] = found;
            report.activities += activities;
            report.followers += followers;
            report.followees += followees;
            if found == [0; 3] {
                return Ok(());
            }
        }
        let actor = &self.actor;
        let stop = "have whoever sends them stop, and run this again";
        Err(Failure::No(format!("commands about {actor} keep arriving: {stop}")))
    }

    fn key(&self, activity: &ActivityId) -> ActivityKey {
        ActivityKey { activity_id: activity.clone(), actor_id: self.actor.clone() }
    }
}

fn seconds(duration: Duration) -> i64 {
    i64::try_from(duration.as_secs()).unwrap_or(i64::MAX)
}
