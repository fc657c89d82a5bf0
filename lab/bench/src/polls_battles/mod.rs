//! `nagare-bench arena`: votes of one poll and hits of one battle, through the code that ships and as a talk has it, over
//! the same tables behind the same throttle.
//!
//! ```text
//! plan     what is delivered: votes, hits, duplicates
//! ours     the writer's and the projector's handlers
//! atomic_counters  the designs that they are compared with
//! report   what is printed
//! ```

mod atomic_counters;
mod ours;
mod plan;
mod report;
#[cfg(test)]
mod simulated;

use clap::Args;
use nagare::Failure;
use tokio::time::Instant;

use super::running::WRITERS;
use super::stage::Stage;
use super::{NAGARE, Setting, in_flight, number, share};
use plan::{Game, VotesPlan};
use report::{VotesMeasurement, print_game};

#[derive(Debug, Args)]
pub(crate) struct Arena {
    /// How many viewers vote.
    #[arg(long, value_name = "N", default_value_t = 20_000, value_parser = number)]
    votes: usize,
    /// How many hits the boss takes.
    #[arg(long, value_name = "N", default_value_t = 20_000, value_parser = number)]
    hits: usize,
    /// How many players hit it, in turn.
    #[arg(long, value_name = "N", default_value_t = 200, value_parser = number)]
    players: usize,
    /// The share of messages that are delivered twice, from 0 to 1.
    #[arg(long, value_name = "SHARE", default_value = "0.1", value_parser = share)]
    duplicates: f64,
    /// What the tables admit, as `nagare up` takes it; several times, for one run each.
    #[arg(long, value_name = "FAULTS", default_value = "partition-writes=1000")]
    faults: Vec<Setting>,
    /// Invocations of the writer at once.
    #[arg(long, value_name = "N", default_value_t = WRITERS, value_parser = in_flight)]
    writers: usize,
    /// Updates of the talk's designs at once.
    #[arg(long, value_name = "N", default_value_t = 64, value_parser = in_flight)]
    clients: usize,
    /// Print one JSON object a line.
    #[arg(long)]
    json: bool,
}

impl Arena {
    pub(super) async fn run(self) -> Result<(), Failure> {
        for setting in &self.faults {
            for game in [Game::Votes, Game::Hits] {
                print_game(game, &self.both(game, setting).await?, self.json)?;
            }
        }
        Ok(())
    }

    async fn both(&self, game: Game, setting: &Setting) -> Result<[VotesMeasurement; 2], Failure> {
        Ok([self.atomic_counters(game, setting).await?, self.ours(game, setting).await?])
    }

    async fn atomic_counters(
        &self,
        game: Game,
        setting: &Setting,
    ) -> Result<VotesMeasurement, Failure> {
        let stage = Stage::new(&setting.faults)?;
        let plan = self.plan(game, &stage)?;
        atomic_counters::open(&stage, &plan).await?;
        stage.meter.reset();
        let begun = Instant::now();
        let ended = atomic_counters::run(&stage, &plan, self.clients).await?;
        let (measured, read) = (stage.meter.read(), atomic_counters::read(&stage, &plan).await?);
        let design = match game {
            Game::Votes => "ten counters",
            Game::Hits => "one item",
        };
        Ok(VotesMeasurement::of((design, &setting.text), &plan, &measured, (begun, ended), read))
    }

    async fn ours(&self, game: Game, setting: &Setting) -> Result<VotesMeasurement, Failure> {
        let stage = Stage::new(&setting.faults)?;
        let plan = self.plan(game, &stage)?;
        ours::open(&stage, &plan).await?;
        stage.meter.reset();
        let ran = ours::run(&stage, &plan, self.writers).await?;
        let (measured, read) = (stage.meter.read(), ours::read(&stage, &plan).await?);
        let span = (ran.begun, ran.ended);
        Ok(VotesMeasurement::of((NAGARE, &setting.text), &plan, &measured, span, read))
    }

    fn plan(&self, game: Game, stage: &Stage) -> Result<VotesPlan, Failure> {
        let now = stage.clock.now();
        match game {
            Game::Votes => VotesPlan::votes(self.votes, self.duplicates, now),
            Game::Hits => VotesPlan::hits(self.hits, self.players, self.duplicates, now),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    /// What is delivered twice counts twice in the talk's designs, and once here.
    #[tokio::test]
    async fn one_design_counts_what_was_sent_and_the_other_what_was_delivered() {
        let arena = simulated::options(400, 20);
        let setting = "".parse().unwrap();
        for game in [Game::Votes, Game::Hits] {
            let [talk, nagare] = arena.both(game, &setting).await.unwrap();
            assert!(talk.deliveries > talk.commands);
            assert_eq!(talk.deliveries, nagare.deliveries);
            assert!(talk.counted > talk.truth, "{talk:?}");
            assert_eq!(talk.write_units_each, talk.deliveries as f64 / talk.commands as f64);
            assert_eq!(nagare.counted, nagare.truth, "{nagare:?}");
        }
    }
}
