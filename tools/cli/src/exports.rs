//! `nagare env`: how a shell and other programs find the local stack that runs.
//!
//! It ignores what the environment already names, because a shell may have the lines of a stack that is gone.

use std::collections::BTreeMap;

use clap::Args;
use nagare_client::running;
use nagare_client::target::only_one;

use super::Failure;
use super::print::{print_json, say};

#[derive(Debug, Args)]
pub(super) struct Env {
    /// The port of its HTTP API; needed if several run.
    #[arg(long)]
    port: Option<u16>,
    /// Print one JSON object.
    #[arg(long)]
    json: bool,
}

impl Env {
    pub(super) fn run(self) -> Result<(), Failure> {
        let stack = only_one(running::stacks()?, self.port)?;
        let environment = stack.note.environment.iter();
        let variables = environment.map(|(name, value)| (name.as_str(), value.as_str()));
        match self.json {
            true => print_json(&BTreeMap::from_iter(variables)),
            false => print(variables),
        }
    }
}

/// Prints variables as lines that a shell reads. No value has a quote in it.
pub(super) fn print<'a>(
    variables: impl IntoIterator<Item = (&'a str, &'a str)>,
) -> Result<(), Failure> {
    variables.into_iter().try_for_each(|(name, value)| say!("export {name}='{value}'"))
}
