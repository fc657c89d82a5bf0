//! `cd lab && cargo run --release -p scale`: runs the scenarios and prints the results.

use std::io::{self, Write};

use clap::Parser;
use scale::scenarios;
use scale::setup::Settings;
use scale::table::Rules;

/// Fan-outs, readers and follow storms over a model of DynamoDB's partitions.
#[derive(Debug, Parser)]
struct Scale {
    /// Only scenarios whose names contain this.
    #[arg(default_value = "")]
    scenario: String,
    /// Print one JSON object a line.
    #[arg(long)]
    json: bool,
    /// Where partition keys lie, and who has how many followers.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Minutes for which a partition is hot before it is cut in two.
    #[arg(long, default_value_t = 10.0)]
    split_minutes: f64,
    /// Minutes after which traffic counts as a former peak, of which a table admits twice as much.
    #[arg(long, default_value_t = 30.0)]
    growth_minutes: f64,
    /// The most segments of a fan-out, instead of the deployed number.
    #[arg(long)]
    segments: Option<usize>,
    /// Writers at once, instead of the deployed number.
    #[arg(long)]
    writers: Option<usize>,
    /// Copies of the change log, of which each page reads one: the parameter `ChangeLogCopies`.
    #[arg(long, default_value_t = 4)]
    copies: usize,
}

fn main() -> io::Result<()> {
    match Scale::parse().print(&mut io::stdout().lock()) {
        // Whoever reads the output has read enough.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        printed => printed,
    }
}

impl Scale {
    fn print(&self, out: &mut impl Write) -> io::Result<()> {
        let settings = self.settings();
        for scenario in scenarios::all().iter().filter(|one| one.name.contains(&self.scenario)) {
            let report = scenario.run(&settings);
            if self.json {
                writeln!(out, "{}", serde_json::to_string(&report)?)?;
            } else {
                writeln!(out, "{report}")?;
            }
        }
        Ok(())
    }

    fn settings(&self) -> Settings {
        let (split_after, growth_after) = (self.split_minutes * 60.0, self.growth_minutes * 60.0);
        let rules = Rules { split_after, growth_after, ..Rules::default() };
        let Self { seed, segments, writers, copies, .. } = *self;
        Settings { seed, rules, segments, writers, copies }
    }
}
