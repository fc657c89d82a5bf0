//! `nagare up`: the local stack, until Ctrl-C.

use std::path::PathBuf;

use aws_sdk_sqs::Client;
use clap::Args;
use shared::runtime::clock::Clock;
use shared::runtime::env;

use super::Failure;
use super::drain::Drain;
use super::log;
use super::print::say;
use super::sample;
use super::sender::Sender;
use crate::local::cors::{Cors, Origin};
use crate::local::faults::Faults;
use crate::local::{Stack, StackConfig, connector};

#[derive(Debug, Args)]
pub(super) struct Up {
    /// Load a small built-in sample.
    #[arg(long)]
    sample: bool,
    /// The port of the HTTP API on 127.0.0.1; the tables and the queue take the next two. 0: any free
    /// ports.
    #[arg(long, default_value_t = 3000, value_parser = clap::value_parser!(u16).range(0..=65533))]
    port: u16,
    /// Keep tables and queues in this directory; without it they are in memory.
    #[arg(long)]
    data_dir: Option<PathBuf>,
    /// Demand a bearer token of every reader, as the real API does. It covers the HTTP API alone: whoever is
    /// on this machine reads and writes the tables and the queue at their ports without any.
    #[arg(long)]
    auth: bool,
    /// Let web pages of these origins call the HTTP API from a browser, with commas between
    /// (`https://app.example.com,http://localhost:5173`), as the template's `CorsOrigins` does on AWS; `*`: of any.
    #[arg(long, value_name = "ORIGIN", value_delimiter = ',')]
    cors: Vec<Origin>,
    /// Make things go wrong between the functions and their tables and queues, to see what your
    /// clients make of it: `all=1%`, which is what it means alone, or settings such as
    /// `errors=5%,queue-resets=5%,writes=4000,seed=7` (docs/FAULTS.md lists them).
    #[arg(long, value_name = "SETTINGS", num_args = 0..=1, require_equals = true, default_missing_value = "all=1%")]
    faults: Option<Faults>,
    /// Keep to the template's visibility timeout: a message that was not acknowledged is delivered again
    /// after 360 s, as on AWS, instead of after seconds.
    #[arg(long)]
    template_visibility: bool,
    /// Print the `export` lines and nothing else.
    #[arg(long)]
    print_env: bool,
}

impl Up {
    /// The command that `nagare` without arguments runs.
    pub(super) fn sample() -> Self {
        Self {
            sample: true,
            port: 3000,
            data_dir: None,
            auth: false,
            cors: Vec::new(),
            faults: None,
            template_visibility: false,
            print_env: false,
        }
    }

    pub(super) async fn run(self) -> Result<(), Failure> {
        let log = log::start();
        let config = StackConfig {
            port: self.port,
            data_dir: self.data_dir.clone(),
            auth: self.auth,
            cors: Cors::of(self.cors.clone()),
            template_visibility: self.template_visibility,
            faults: self.faults.clone().unwrap_or_default(),
            clock: Clock::system(),
        };
        let stack = Stack::start(config).await?;
        if self.sample {
            load_sample(&stack).await?;
        }
        for (name, value) in stack.environment() {
            say!("export {name}='{value}'")?;
        }
        if !self.print_env {
            self.explain(&stack)?;
        }
        stopped().await?;
        if !self.print_env {
            log.say("stopping");
        }
        stack.shut_down().await;
        log.flush();
        Ok(())
    }

    /// Prints what to try next, as comments, so that the whole output can be pasted into a shell.
    fn explain(&self, stack: &Stack) -> Result<(), Failure> {
        let api = stack.variable(env::API_URL).unwrap_or_default();
        say!("#")?;
        say!("# The stack is ready. Paste the lines above into another shell, then try:")?;
        if self.auth {
            say!("#   nagare timeline {}", sample::VIEWER)?;
            say!(
                "# Readers need a token: HS256 with NAGARE_JWT_KEY as its key, `sub` the viewer, `exp`."
            )?;
            say!(
                "# That covers the API alone: tables and queue are open to everybody on this machine."
            )?;
        } else {
            say!("#   curl '{api}/v1/timelines/{}?limit=3'", sample::VIEWER)?;
            say!(
                "# The API is open: anybody on this machine reads any timeline (--auth demands tokens)."
            )?;
        }
        for origin in &self.cors {
            say!("# Web pages may call the API: {origin}")?;
        }
        if self.faults.is_some() {
            say!(
                "# Things go wrong on purpose (--faults): answers come late, twice or not at all."
            )?;
        }
        say!("#   nagare follow bob anna")?;
        say!(
            "#   nagare publish --actor anna --activity live-1 --kind live --payload '{{\"title\":\"Hello\"}}'"
        )?;
        say!("#   nagare timeline bob")?;
        say!(
            "# Here `nagare` is target/release/nagare. Ctrl-C ends the stack{}.",
            match self.data_dir {
                Some(_) => "; the data directory keeps its tables and queues",
                None => " and everything in it",
            }
        )
    }
}

/// Sends the sample over the queue, like any producer, and waits until it is applied.
async fn load_sample(stack: &Stack) -> Result<(), Failure> {
    let variable = |name| stack.variable(name).unwrap_or_default().to_owned();
    let client = sqs_at(&variable("AWS_ENDPOINT_URL_SQS"));
    let commands = variable(env::QUEUE_URL);
    let dead_letters = Some(variable(env::DEAD_LETTER_QUEUE_URL));
    let sender = Sender::new(client.clone(), commands.clone());
    sender.send(sample::commands(Clock::system().now())).await?;
    Drain::new(client, commands, dead_letters).wait(|_| ()).await
}

/// A client for the queue of a stack that this process runs, over its HTTP endpoint.
fn sqs_at(endpoint: &str) -> Client {
    connector::sqs_over_http(endpoint)
}

/// Resolves when the process is asked to end.
pub(super) async fn stopped() -> Result<(), Failure> {
    let mut terminated = tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate())?;
    tokio::select! {
        interrupted = tokio::signal::ctrl_c() => Ok(interrupted?),
        _ = terminated.recv() => Ok(()),
    }
}
