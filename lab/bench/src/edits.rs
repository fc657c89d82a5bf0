//! `nagare-bench edits`: edits and deletes that come at once, through the code that ships. Each invocation at once is a
//! process of its own, as on Lambda: it shares no change log with others.

use std::collections::{BTreeMap, BTreeSet};

use clap::Args;
use fastrand::Rng;
use nagare::Failure;
use nagare::print::{print_json, say};
use serde::Serialize;
use shared::command::Command;
use shared::platform::values::{ActivityId, ActorId, Kind, Payload, Timestamp};
use shared::social::activities::{Activities, ActivityKey, ActivityUpdate, Delete, Publish};
use tokio::time::Instant;

use super::deliveries::SEED;
use super::running::{Running, WRITERS, queue, send};
use super::stage::{Stage, broken};
use super::{Setting, in_flight, number, share};

/// Actors whose activities are edited.
const ACTORS: usize = 10;

#[derive(Debug, Args)]
pub(crate) struct Edits {
    /// How many edits and deletes there are.
    #[arg(long, value_name = "N", default_value_t = 6_000, value_parser = number)]
    edits: usize,
    /// How many activities they are of.
    #[arg(long, value_name = "N", default_value_t = 1_000, value_parser = number)]
    activities: usize,
    /// The share of them that are deletes, from 0 to 1.
    #[arg(long, value_name = "SHARE", default_value = "0.1", value_parser = share)]
    deletes: f64,
    /// What the tables admit, as `nagare up` takes it; several times, for one run each.
    #[arg(long, value_name = "FAULTS", default_value = "partition-writes=1000,slow=10ms")]
    faults: Vec<Setting>,
    /// Invocations of the writer at once.
    #[arg(long, value_name = "N", default_value_t = WRITERS, value_parser = in_flight)]
    writers: usize,
    /// Print one JSON object a line.
    #[arg(long)]
    json: bool,
}

/// What a run took.
#[derive(Debug, Serialize)]
struct EditsMeasurement {
    faults: String,
    edits: usize,
    writers: usize,
    /// From the first delivery to when the last was acknowledged.
    seconds: f64,
    per_second: f64,
    /// Of all tables, those of what was refused as well.
    write_units_each: f64,
    throttled_calls: u64,
    dead_letters: u64,
    /// Activities that say in the end what the latest of their edits says, or are deleted, of all that were edited.
    in_effect: usize,
    edited: usize,
}

impl Edits {
    pub(super) async fn run(self) -> Result<(), Failure> {
        let mut all = Vec::new();
        for setting in &self.faults {
            all.push(self.measure(setting).await?);
        }
        print(&all, self.json)
    }

    async fn measure(&self, setting: &Setting) -> Result<EditsMeasurement, Failure> {
        let stage = Stage::new(&setting.faults)?;
        let now = stage.clock.now();
        let published = (0..self.activities).map(|n| publish(n, now).map(Command::Publish));
        send(&queue(&stage)?, &published.collect::<Result<Vec<_>, _>>()?)?;
        Running::start(&stage, self.writers)?.end().await?;
        stage.meter.reset();
        let edits = self.edits(now)?;
        send(&queue(&stage)?, &edits)?;
        let (running, begun) = (Running::start(&stage, self.writers)?, Instant::now());
        running.end().await?;
        let (seconds, measured) = (begun.elapsed().as_secs_f64(), stage.meter.read());
        let (edited, in_effect) = in_effect(&stage, &edits).await?;
        Ok(EditsMeasurement {
            faults: setting.text.clone(),
            edits: self.edits,
            writers: self.writers,
            seconds,
            per_second: self.edits as f64 / seconds,
            write_units_each: (measured.all_units() + measured.refused_units) / self.edits as f64,
            throttled_calls: measured.throttled,
            dead_letters: stage.dead_letters()?,
            in_effect,
            edited,
        })
    }

    /// Edits of activities at random, each later than the one before, and some deletes.
    fn edits(&self, now: Timestamp) -> Result<Vec<Command>, Failure> {
        let mut random = Rng::with_seed(SEED);
        let edits = (0..self.edits).map(|number| {
            let ActivityKey { activity_id, actor_id } = key(random.usize(0..self.activities))?;
            if random.f64() < self.deletes {
                return Ok(Command::Delete(Delete { activity_id, actor_id }));
            }
            let at = now.plus_millis(i64::try_from(number).unwrap_or(0));
            let payload = Payload::parse(&number.to_string()).map_err(|e| broken(&e))?;
            Ok(Command::Update(ActivityUpdate { activity_id, actor_id, at, payload, kind: None }))
        });
        edits.collect()
    }
}

fn key(number: usize) -> Result<ActivityKey, Failure> {
    Ok(ActivityKey {
        activity_id: ActivityId::new(format!("activity-{number:07}"))?,
        actor_id: ActorId::new(format!("actor-{}", number % ACTORS))?,
    })
}

fn publish(number: usize, now: Timestamp) -> Result<Publish, Failure> {
    let ActivityKey { activity_id, actor_id } = key(number)?;
    let (kind, payload) = (Kind::default(), Payload::default());
    Ok(Publish { activity_id, actor_id, published_at: now.plus_millis(-1), kind, payload })
}

/// How many activities were edited, and how many of those say what the commands come to.
async fn in_effect(stage: &Stage, edits: &[Command]) -> Result<(usize, usize), Failure> {
    let (mut latest, mut deleted) = (BTreeMap::new(), BTreeSet::new());
    for edit in edits {
        match edit {
            Command::Delete(delete) => drop(deleted.insert(delete.activity_id.clone())),
            Command::Update(update) => drop(latest.insert(update.activity_id.clone(), update)),
            _ => {}
        }
    }
    let activities = Activities::new(&stage.tables.ledger);
    let mut right = 0;
    let edited: BTreeSet<_> = latest.keys().chain(&deleted).collect();
    for activity in &edited {
        let there = activities.published(activity).await;
        let there = there.map_err(|e| broken(&e))?.map(|(_, published)| published.payload);
        let expected = latest.get(*activity).filter(|_| !deleted.contains(*activity));
        right += usize::from(there == expected.map(|update| update.payload.clone()));
    }
    Ok((edited.len(), right))
}

fn print(all: &[EditsMeasurement], json: bool) -> Result<(), Failure> {
    if json {
        return all.iter().try_for_each(print_json);
    }
    say!("     edits  writers  a second  units each  throttled  dead letters  in effect")?;
    all.iter().try_for_each(|run| {
        say!(
            "{:>10}{:>9}{:>10.0}{:>12.2}{:>11}{:>14}{:>11}  {}",
            run.edits,
            run.writers,
            run.per_second,
            run.write_units_each,
            run.throttled_calls,
            run.dead_letters,
            format!("{}/{}", run.in_effect, run.edited),
            run.faults
        )
    })
}

/// In simulated time: `cd lab && cargo test --locked -p nagare-bench edits::simulated -- --show-output`.
#[cfg(test)]
mod simulated {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_burst_of_edits_is_in_effect_at_five_hundred_a_second() {
        let edits = Edits {
            edits: 2_000,
            activities: 200,
            deletes: 0.1,
            faults: Vec::new(),
            writers: WRITERS,
            json: false,
        };
        let setting = "partition-writes=1000,slow=10ms".parse().unwrap();
        let run = edits.measure(&setting).await.unwrap();
        print(std::slice::from_ref(&run), false).unwrap();
        assert!(run.per_second >= 500.0, "{run:?}");
        assert_eq!((run.dead_letters, run.in_effect), (0, run.edited), "{run:?}");
    }
}
