//! `nagare-bench likes`: likes of one activity, through the code that ships and as m3's transaction, over the same
//! tables behind the same throttle.
//!
//! ```text
//! plan     what is delivered: likes, undos, duplicates
//! ours     the writer's and the projector's handlers
//! transaction     the transaction that they are compared with
//! single_command  what single commands cost
//! report   what is printed
//! ```

mod ours;
mod plan;
mod report;
#[cfg(test)]
mod simulated;
mod single_command;
mod transaction;

use clap::Args;
use nagare::Failure;
use nagare_local::faults::FaultsError;
use tokio::time::Instant;

use super::running::WRITERS;
use super::stage::Stage;
use super::{NAGARE, Setting, in_flight, share};
use ours::Pace;
use plan::LikesPlan;
use report::{Lag, Storm, print_single_commands, print_storms};
use single_command::single_commands;
use transaction::Design;

#[derive(Debug, Args)]
pub(crate) struct Likes {
    /// How many viewers like the activity.
    #[arg(long, value_name = "N", default_value_t = 20_000, value_parser = likes)]
    likes: usize,
    /// How many do so in m3's design, whose list of who liked makes every like dearer than the one before.
    #[arg(long, value_name = "N", default_value_t = 1_000, value_parser = likes)]
    m3_likes: usize,
    /// The share of likes that are undone, from 0 to 1.
    #[arg(long, value_name = "SHARE", default_value = "0", value_parser = share)]
    undos: f64,
    /// The share of messages that are delivered twice, from 0 to 1.
    #[arg(long, value_name = "SHARE", default_value = "0.1", value_parser = share)]
    duplicates: f64,
    /// What the tables admit, as `nagare up` takes it; several times, for one storm each. Without it a storm at
    /// `writes=4000`, one at `partition-writes=1000` and one at both.
    #[arg(long, value_name = "FAULTS")]
    faults: Vec<Setting>,
    /// Invocations of the writer at once.
    #[arg(long, value_name = "N", default_value_t = WRITERS, value_parser = in_flight)]
    writers: usize,
    /// Transactions of m3's design at once.
    #[arg(long, value_name = "N", default_value_t = 64, value_parser = in_flight)]
    clients: usize,
    /// Instead of storms: likes that come at this rate a second, and how long each takes to its view.
    #[arg(long, value_name = "N", value_parser = rate)]
    rate: Option<f64>,
    /// Print one JSON object a line.
    #[arg(long)]
    json: bool,
}

/// Those that are tried unless others are named.
const SETTINGS: [&str; 3] =
    ["writes=4000", "partition-writes=1000", "writes=4000,partition-writes=1000"];

impl Likes {
    pub(super) async fn run(self) -> Result<(), Failure> {
        let settings = match self.faults.is_empty() {
            false => self.faults.clone(),
            true if self.rate.is_some() => vec![Setting::default()],
            true => settings()?,
        };
        if let Some(rate) = self.rate {
            for setting in settings {
                self.at_rate(rate, &setting).await?.print(self.json)?;
            }
            return Ok(());
        }
        print_single_commands(&single_commands().await?, self.json)?;
        for setting in settings {
            print_storms(&self.storms(&setting).await?, self.json)?;
        }
        Ok(())
    }

    async fn at_rate(&self, rate: f64, setting: &Setting) -> Result<Lag, Failure> {
        let stage = Stage::new(&setting.faults)?;
        ours::publish(&stage).await?;
        stage.meter.reset();
        let plan = self.plan(self.likes, &stage)?;
        let ran = ours::run(&stage, &plan, self.writers, Pace::Rate(rate)).await?;
        let (measured, counted) = (stage.meter.read(), ours::counted(&stage).await?);
        Ok(Lag::of(rate, &plan, &ran.lags, &measured, counted))
    }

    async fn storms(&self, setting: &Setting) -> Result<Vec<Storm>, Failure> {
        Ok(vec![
            self.transaction(("m3, four tables", &Design::in_four()), setting).await?,
            self.transaction(("m3, one table", &Design::in_one()), setting).await?,
            self.ours(setting).await?,
        ])
    }

    async fn transaction(
        &self,
        (name, design): (&'static str, &Design),
        setting: &Setting,
    ) -> Result<Storm, Failure> {
        let stage = Stage::new(&setting.faults)?;
        let plan = self.plan(self.m3_likes, &stage)?;
        let begun = Instant::now();
        let ended = transaction::run(&stage, design, &plan, self.clients).await?;
        let (measured, counted) = (stage.meter.read(), transaction::counted(&stage, design).await?);
        Ok(Storm::of((name, &setting.text), &plan, &measured, (begun, ended), counted))
    }

    async fn ours(&self, setting: &Setting) -> Result<Storm, Failure> {
        let stage = Stage::new(&setting.faults)?;
        ours::publish(&stage).await?;
        stage.meter.reset();
        let plan = self.plan(self.likes, &stage)?;
        let ran = ours::run(&stage, &plan, self.writers, Pace::Storm).await?;
        let (measured, counted) = (stage.meter.read(), ours::counted(&stage).await?);
        let span = (ran.begun, ran.ended);
        Ok(Storm::of((NAGARE, &setting.text), &plan, &measured, span, counted))
    }

    fn plan(&self, likes: usize, stage: &Stage) -> Result<LikesPlan, Failure> {
        LikesPlan::of(likes, [self.undos, self.duplicates], stage.clock.now())
    }
}

fn settings() -> Result<Vec<Setting>, Failure> {
    let settings = SETTINGS.map(str::parse).into_iter();
    let settings = settings.collect::<Result<_, _>>();
    settings.map_err(|e: FaultsError| Failure::Usage(e.to_string()))
}

fn likes(text: &str) -> Result<usize, String> {
    let number = text.parse().ok().filter(|number| (1..=1_000_000).contains(number));
    number.ok_or_else(|| "expected a number of likes from 1 to 1000000".to_owned())
}

fn rate(text: &str) -> Result<f64, String> {
    let rate = text.parse::<f64>().ok().filter(|rate| (1.0..=100_000.0).contains(rate));
    rate.ok_or_else(|| "expected a number of likes a second from 1 to 100000".to_owned())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn settings_are_as_the_local_stack_takes_them() {
        let all = settings().unwrap();
        assert_eq!(all.iter().map(|setting| setting.text.as_str()).collect::<Vec<_>>(), SETTINGS);
        assert!("writes=none".parse::<Setting>().is_err());
    }

    #[tokio::test]
    async fn a_lone_like_costs_no_more_than_m3s() {
        let [m3, nagare] = single_commands().await.unwrap();
        assert_eq!((m3.like, m3.undo, m3.duplicate), (8.0, 4.0, 2.0));
        assert_eq!((nagare.like, nagare.undo, nagare.duplicate), (6.0, 3.0, 2.0));
    }

    #[tokio::test]
    async fn both_designs_are_stormed() {
        let likes = Likes {
            likes: 300,
            m3_likes: 50,
            undos: 0.0,
            duplicates: 0.1,
            faults: Vec::new(),
            writers: 4,
            clients: 4,
            rate: None,
            json: false,
        };
        let storms = likes.storms(&Setting::default()).await.unwrap();
        let shown: Vec<_> = storms.iter().map(|s| (s.counted.likes, s.truth)).collect();
        assert_eq!(shown, [(50, 50), (50, 50), (300, 300)]);
        assert_eq!(storms[0].write_units_per_like, 8.0);
        assert!(storms[2].write_units_per_like <= 1.1 * 5.0, "{:?}", storms[2]);
        let lag = likes.at_rate(2_000.0, &Setting::default()).await.unwrap();
        lag.print(true).unwrap();
    }
}
