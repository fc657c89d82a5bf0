//! `nagare down`: ends a local stack, and returns once it has ended.

use std::time::Duration;

use clap::Args;
use nagare_client::call_timeout::call_timeout;
use nagare_client::proxy;
use nagare_client::running::{self, Running};
use shared::platform::runtime::deadline::Deadline;

use super::Failure;
use super::print::say;

/// How long a stack may take to end: an invocation in flight takes up to a minute.
const PATIENCE: Duration = Duration::from_secs(120);

/// How long a stack that ends may take to answer.
const ANSWER: Duration = Duration::from_secs(2);

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
            await_end(stack).await?;
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

/// Waits until a stack has ended: as long as it takes the invocations in flight to end, and no
/// longer if its process does not run.
async fn await_end(stack: &Running) -> Result<(), Failure> {
    let deadline = Deadline::after(PATIENCE);
    while !stack.has_ended(deadline.within(call_timeout())).await {
        let (port, pid) = (stack.note.port, stack.note.pid());
        if deadline.has_passed() || is_silent(port).await? {
            return Err(Failure::Unreachable(format!(
                "the stack on port {port} was asked to end and has not, and may not be able to: `kill -CONT {pid}` continues a \
                 process that is stopped, `kill -KILL {pid}` ends it at once (a data directory keeps all that was acknowledged)"
            )));
        }
    }
    Ok(())
}

/// True if something accepts connections at a port and does not answer. A stack that ends answers,
/// or has closed its port.
async fn is_silent(port: u16) -> Result<bool, Failure> {
    let request = proxy::http_client()?.get(format!("http://127.0.0.1:{port}/")).timeout(ANSWER);
    Ok(request.send().await.is_err_and(|error| error.is_timeout()))
}
