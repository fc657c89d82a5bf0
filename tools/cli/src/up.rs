//! `nagare up`: the local stack, until Ctrl-C or `nagare down`.

use std::path::PathBuf;

use aws_sdk_sqs::Client;
use clap::Args;
use futures::stream;
use nagare_client::clock;
use nagare_client::local_stack;
use nagare_client::remote::Remote;
use nagare_client::running::{self, Note, Noted};
use nagare_client::sender::Sender;
use nagare_client::target::Target;
use nagare_console::{Access, Console, Mode};
use nagare_gateway::cors::{Cors, Origin};
use nagare_gateway::ports::PortError;
use nagare_local::faults::Faults;
use nagare_local::{ClaimName, Claims, OpenStack, Stack, StackConfig, StackError};
use nagare_operator::completion::complete;
use nagare_telemetry::LocalTelemetry;
use nagare_telemetry::playing::Playing;
use nix::unistd::setsid;
use shared::history::events::EventSettings;
use shared::history::switch::HistorySwitch;
use shared::platform::runtime::clock::Clock;
use shared::platform::runtime::env;
use tokio::signal::unix::{SignalKind, signal};
use tokio::time::MissedTickBehavior;
use tracing::warn;

use super::Failure;
use super::print::say;
use super::time::Time;
use super::{detach, exports, log};
use crate::social::sample::{self, Life};

#[derive(Debug, Args)]
pub(super) struct Up {
    /// Load a small built-in sample.
    #[arg(long)]
    sample: bool,
    /// The port of the HTTP API on 127.0.0.1; the tables, the queue and the archive take the next three. 0: any free
    /// ports.
    #[arg(long, default_value_t = 3000, value_parser = clap::value_parser!(u16).range(0..=65532))]
    port: u16,
    /// Keep tables and queues in this directory; without it they are in memory.
    #[arg(long)]
    data_dir: Option<PathBuf>,
    /// Demand a bearer token of every reader, as the real API does. It covers the HTTP API alone: whoever is
    /// on this machine reads and writes the tables and the queue at their ports without any.
    #[arg(long)]
    auth: bool,
    /// The claim of tokens with the id of their viewer, as the template's `ViewerClaim` on AWS.
    #[arg(long, value_name = "NAME", default_value = "sub", requires = "auth", value_parser = claims)]
    viewer_claim: Claims,
    /// Let everybody on this machine open the console, without the secret that its address has otherwise.
    #[arg(long, conflicts_with = "auth")]
    open_console: bool,
    /// Let web pages of these origins call the HTTP API from a browser, with commas between
    /// (`https://app.example.com,http://localhost:5173`), as the template's `CorsOrigins` does on AWS; `*`: of any.
    #[arg(long, value_name = "ORIGIN", value_delimiter = ',')]
    cors: Vec<Origin>,
    /// Let caches keep answers that are the same for everybody for this many seconds, as the template's
    /// `PublicCacheSeconds` does on AWS.
    #[arg(long, value_name = "SECONDS", default_value_t = 0, value_parser = clap::value_parser!(u8).range(0..=60))]
    public_cache: u8,
    /// Make things go wrong between the functions and their tables and queues, to see what your
    /// clients make of it: `all=1%`, which is what it means alone, or settings such as
    /// `errors=5%,queue-resets=5%,writes=4000,seed=7` (docs/FAULTS.md lists them).
    #[arg(long, value_name = "SETTINGS", num_args = 0..=1, require_equals = true, default_missing_value = "all=1%")]
    faults: Option<Faults>,
    /// Whether there is the event history, as the template's `History`: on or off.
    #[arg(long, value_name = "SWITCH", default_value = "on")]
    history: HistorySwitch,
    #[command(flatten)]
    time: Time,
    /// Keep to the template's visibility timeout: a message that was not acknowledged is delivered again
    /// after 360 s, as on AWS, instead of after seconds.
    #[arg(long)]
    template_visibility: bool,
    /// Print the `export` lines and nothing else.
    #[arg(long)]
    print_env: bool,
    /// Return once the stack is ready. It runs on until `nagare down`, and logs to a file.
    #[arg(long)]
    detach: bool,
    /// Of the process that `--detach` starts.
    #[arg(long, hide = true, conflicts_with = "detach")]
    detached: bool,
}

/// The claims of tokens, if the viewer's has this name.
fn claims(name: &str) -> Result<Claims, String> {
    let viewer = name.parse::<ClaimName>().map_err(|e| e.to_string())?;
    Claims::with_viewer(viewer).map_err(|e| e.to_string())
}

impl Up {
    /// The command that `nagare` without arguments runs.
    pub(super) fn sample() -> Self {
        Self {
            sample: true,
            port: 3000,
            data_dir: None,
            auth: false,
            viewer_claim: Claims::default(),
            open_console: false,
            cors: Vec::new(),
            public_cache: 0,
            faults: None,
            history: HistorySwitch::On,
            time: Time::default(),
            template_visibility: false,
            print_env: false,
            detach: false,
            detached: false,
        }
    }

    pub(super) async fn run(self) -> Result<(), Failure> {
        if self.detach {
            return detach::start();
        }
        if self.detached {
            // The terminal it was started from may close. It fails only where this is so already.
            let _ = setsid();
        }
        let telemetry = LocalTelemetry::default();
        let playing_now = telemetry.playing.clone();
        telemetry.faults.set(self.faults.clone().unwrap_or_default());
        let log = log::start(&telemetry.journal);
        let config = StackConfig {
            port: self.port,
            data_dir: self.data_dir.clone(),
            auth: self.auth,
            claims: self.viewer_claim.clone(),
            cors: Cors::for_origins(self.cors.clone()),
            public_cache_seconds: self.public_cache,
            template_visibility: self.template_visibility,
            telemetry: telemetry.clone(),
            clock: Clock::system(),
            start_at: self.time.clock,
            history: self.history,
            event_period: self.time.event_period,
            events: self.time.events(),
            idle_viewers: self.time.idle_days.clone(),
        };
        let stack = OpenStack::open(config).await.map_err(not_started)?;
        let stack = self.with_console(stack, telemetry).await.start().await?;
        clock::go_by(stack.clock());
        let life = match self.sample {
            true => Some(load_sample(&stack, self.history).await?),
            false => None,
        };
        let asked_to_end = asked_to_end()?;
        let noted = Noted::write(&Note::new(stack.port(), stack.environment()));
        if let Err(problem) = &noted {
            log.say(&format!(
                "commands do not find this stack without its `export` lines: {problem}"
            ));
        }
        self.say_ready(&stack, noted.is_ok(), life.as_ref())?;
        let playing = life.map(|life| {
            playing_now.set(life.scene());
            tokio::spawn(play(life, commands(&stack), stack.clock().clone(), playing_now))
        });
        asked_to_end.await;
        if let Some(playing) = playing {
            playing.abort();
        }
        if let Ok(noted) = &noted {
            noted.withdraw();
        }
        if !self.print_env {
            log.say("stopping");
        }
        stack.shut_down().await;
        log.flush();
        Ok(())
    }

    /// With a console before the API. A stack without one is still a stack.
    async fn with_console(&self, stack: OpenStack, telemetry: LocalTelemetry) -> OpenStack {
        let access = if self.open_console { Access::Open } else { Access::of_run(stack.port()) };
        let address = access.address(&stack.url());
        let stack = stack.exporting(nagare_console::URL, address);
        let remote = Remote::connect(Target::Local(stack.note())).await;
        match remote.and_then(|remote| Console::new(remote, Mode::Write, access)) {
            Ok(console) => {
                let console = console.with_telemetry(telemetry);
                stack.with_pages(nagare_console::PATH, |api| console.in_front_of(api))
            }
            Err(failure) => {
                tracing::error!("there is no console: {failure}");
                stack
            }
        }
    }

    fn say_ready(&self, stack: &Stack, noted: bool, life: Option<&Life>) -> Result<(), Failure> {
        let environment = stack.environment().iter();
        exports::print(environment.map(|(name, value)| (*name, value.as_str())))?;
        if !self.print_env {
            self.explain(stack, noted, life)?;
        }
        if self.detached {
            detach::say_ready(stack.port())?;
        }
        Ok(())
    }

    /// Prints what to try next, as comments, so that the whole output can be pasted into a shell.
    fn explain(&self, stack: &Stack, noted: bool, life: Option<&Life>) -> Result<(), Failure> {
        let api = stack.variable(env::API_URL).unwrap_or_default();
        say!("#")?;
        say!("# Look at it: {}", stack.variable(nagare_console::URL).unwrap_or_default())?;
        if self.open_console {
            say!(
                "# The console is open (--open-console): anybody on this machine reads and changes everything by it."
            )?;
        }
        if noted {
            say!(
                "# The stack is ready. In another shell, `nagare` finds it without the lines above; other"
            )?;
            say!("# programs need them: eval \"$(nagare env)\". Try:")?;
        } else {
            say!("# The stack is ready. Paste the lines above into another shell, then try:")?;
        }
        if self.auth {
            say!("#   nagare timeline {}", sample::VIEWER)?;
            say!(
                "# Readers need a token: HS256 with NAGARE_JWT_KEY as its key, `{}` the viewer, `exp`.",
                self.viewer_claim.viewer()
            )?;
            say!(
                "# That covers the API alone: tables and queue are open to everybody on this machine."
            )?;
            say!("# Open without a token at the API's port: {}", stack.open_paths().join(", "))?;
        } else {
            say!("#   curl '{api}/v1/timelines/{}?limit=3'", sample::VIEWER)?;
            say!(
                "# The API is open: anybody on this machine reads any timeline (--auth demands tokens)."
            )?;
        }
        if stack.clock().is_set() {
            say!(
                "# It is {} in the stack (--clock), and goes on from there; `nagare events advance` moves it on.",
                stack.clock().now()
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
            "#   nagare publish --actor anna --activity live-$(date +%s) --kind live --payload '{{\"title\":\"Hello\"}}'"
        )?;
        say!("#   nagare timeline bob")?;
        if let Some(arena) = life.map(Life::arena) {
            say!("#   nagare poll show {} --watch", arena.poll())?;
            say!("#   nagare battle show {} --watch", arena.battle())?;
            say!("#   nagare room {} --follow", sample::ROOM)?;
        }
        if let Some(program) = std::env::args().next().filter(|program| program != "nagare") {
            say!("# Here `nagare` is {program}.")?;
        }
        say!(
            "# {} ends the stack{}.",
            if self.detached { "`nagare down`" } else { "Ctrl-C" },
            match self.data_dir {
                Some(_) => "; the data directory keeps its tables and queues",
                None => " and everything in it",
            }
        )
    }
}

/// Says so if the port is taken by a stack of this user's.
fn not_started(error: StackError) -> Failure {
    let StackError::Port(PortError { port, .. }) = &error else { return error.into() };
    let mut stacks = running::stacks().into_iter().flatten();
    match stacks.find(|stack| stack.note.listens_on(*port)) {
        Some(stack) => Failure::Usage(format!(
            "{error}. A stack of yours runs there, which `nagare down --port {}` ends",
            stack.note.port
        )),
        None => error.into(),
    }
}

/// Sends the sample over the queue, like any producer, and waits until it is applied. Returns what goes on.
async fn load_sample(stack: &Stack, history: HistorySwitch) -> Result<Life, Failure> {
    let now = stack.clock().now();
    let mut life = Life::new(now, history)?;
    let remote =
        Remote::connect(Target::Local(Note::new(stack.port(), stack.environment()))).await?;
    let settings = EventSettings::of_variables(|name| stack.variable(name).map(ToOwned::to_owned));
    let settings = settings.map_err(|e| Failure::Usage(e.to_string()))?;
    let settings = history.is_on().then_some(&settings);
    let sent = sample::commands(now, settings).into_iter().chain(life.opening(now)?);
    complete(&remote, stream::iter(sent.map(Ok)), |_| ()).await?;
    Ok(life)
}

/// Sends what goes on of the sample, for as long as the stack runs. What the queue refuses is left out: people go on.
async fn play(mut life: Life, sender: Sender, clock: Clock, seen: Playing) {
    let mut ticks = tokio::time::interval(sample::TICK);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    // The first comes at once: what was loaded is shown as it is for a moment.
    ticks.tick().await;
    loop {
        ticks.tick().await;
        let commands = match life.next(clock.now()) {
            Ok(commands) => commands,
            Err(failure) => return warn!("the sample goes on no longer: {failure}"),
        };
        if let Err(failure) = sender.send(commands).await {
            warn!("a moment of the sample is left out: {failure}");
        }
        seen.set(life.scene());
    }
}

/// What sends to the queue of a stack that this process runs.
fn commands(stack: &Stack) -> Sender {
    let variable = |name| stack.variable(name).unwrap_or_default().to_owned();
    Sender::new(sqs_at(&variable("AWS_ENDPOINT_URL_SQS")), variable(env::QUEUE_URL))
}

/// A client for the queue of a stack that this process runs, over its HTTP endpoint.
fn sqs_at(endpoint: &str) -> Client {
    local_stack::sqs_over_http(endpoint)
}

/// Resolves when the process is asked to end.
///
/// # Errors
/// [`Failure::Usage`] if the process cannot be told of signals.
pub async fn stopped() -> Result<(), Failure> {
    asked_to_end()?.await;
    Ok(())
}

/// The same, for requests that come from now on.
fn asked_to_end() -> Result<impl Future<Output = ()>, Failure> {
    let (mut terminated, mut interrupted) =
        (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
    Ok(async move {
        tokio::select! {
            _ = interrupted.recv() => {}
            _ = terminated.recv() => {}
        }
    })
}
