//! `nagare down`: ends a local stack, and returns once it has ended.

use std::time::Duration;

use clap::Args;
use nagare_client::running::{self, Running};
use shared::runtime::deadline::Deadline;

use super::Failure;
use super::print::say;

/// How long a stack may take to end: an invocation in flight takes up to a minute.
const PATIENCE: Duration = Duration::from_secs(120);

#[derive(Debug, Args)]
pub(super) struct Down {
    /// The port of its HTTP API; needed if several run.
    #[arg(long, conflicts_with = "all")]
    port: Option<u16>,
    /// End all that run.
    #[arg(long)]
    all: bool,
}

impl Down {
    pub(super) async fn run(self) -> Result<(), Failure> {
        let running = running::stacks()?;
        let elsewhere: Vec<_> = running.iter().map(|stack| stack.note.port.to_string()).collect();
        let stacks = self.chosen(running)?;
        for stack in &stacks {
            let port = stack.note.port;
            stack.ask_to_end().map_err(|e| {
                Failure::No(format!("the stack on port {port} cannot be ended: {e}"))
            })?;
        }
        for stack in &stacks {
            let port = stack.note.port;
            if !stack.has_ended(Deadline::after(PATIENCE)).await {
                let seconds = PATIENCE.as_secs();
                return Err(Failure::No(format!(
                    "the stack on port {port} has not ended after {seconds} s"
                )));
            }
            say!("the stack on port {port} has ended")?;
        }
        if stacks.is_empty() {
            match self.port {
                Some(port) if !elsewhere.is_empty() => {
                    let ports = elsewhere.join(", ");
                    say!("no stack runs on port {port}; those that run are on {ports}")?;
                }
                Some(port) => say!("no stack runs on port {port}")?,
                None => say!("no stack runs on this machine")?,
            }
        }
        Ok(())
    }

    /// Those to end. None is no error: what was to be reached is so.
    fn chosen(&self, mut stacks: Vec<Running>) -> Result<Vec<Running>, Failure> {
        if let Some(port) = self.port {
            stacks.retain(|stack| stack.note.port == port);
        } else if !self.all && stacks.len() > 1 {
            let ports: Vec<_> = stacks.iter().map(|stack| stack.note.port.to_string()).collect();
            return Err(Failure::Usage(format!(
                "{} stacks run on this machine, on the ports {}; choose one with --port, or --all",
                ports.len(),
                ports.join(", ")
            )));
        }
        Ok(stacks)
    }
}
