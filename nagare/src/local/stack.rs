//! A running stack: listeners, servers and pollers.

use std::io;
use std::net::Ipv4Addr;
use std::path::PathBuf;
use std::time::Duration;

use axum::middleware::from_fn;
use shared::crypto::seal::SecretError;
use shared::dead_letters::MAX_RECEIVES;
use shared::events::{EventSettings, PeriodLength};
use shared::runtime::clock::Clock;
use shared::values::Timestamp;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::{JoinHandle, JoinSet};

use super::calendar::Calendar;
use super::cors::Cors;
use super::data_dir::{self, DataDir, DataDirError};
use super::engine::{Engine, EngineError};
use super::gateway::JwtAuthorizer;
use super::ports::{self, Bounds, Pages};
use super::s3;
use super::s3::store::StoreError;
use super::sqs::{QueueConfig, QueueError, Redrive};
use super::wiring::{Endpoints, Wiring};
use super::{bus, connector, control, example, set_clock, sqs_http, tables_http};
use crate::client::remote::Remote;
use crate::client::target::Target;
use crate::console::inside::Inside;
use crate::console::{self, Access, Console, Mode};
use crate::running::Note;

/// The queue of commands.
pub const COMMANDS: &str = "nagare-commands";
/// The queue of dead letters.
pub const DEAD_LETTERS: &str = "nagare-dead-letters";
/// How long a received message stays hidden, as the template sets it: six times the function's timeout,
/// because the poller may be throttled there.
pub const TEMPLATE_VISIBILITY: Duration = Duration::from_secs(360);
/// The same where nobody throttles the poller.
const VISIBILITY: Duration = Duration::from_secs(90);
/// Dead letters are kept longer than commands: expiry counts from the first send.
pub const DEAD_LETTER_RETENTION: Duration = Duration::from_secs(14 * 86_400);
/// How often expired entries are dropped.
const SWEEP: Duration = Duration::from_secs(300);
/// Connections to the API at once: more than it admits, so that excess requests are answered. Together
/// with those of the other three ports they stay below the 1,024 descriptors that a process usually has.
const READERS: usize = 512;
/// Connections to the tables, and to the queue.
const CLIENTS: usize = 192;
/// Connections to the archive.
const OBJECTS: usize = 64;
/// How long connections may take to end when the stack stops.
const GRACE: Duration = Duration::from_secs(2);

/// How a stack is started.
#[derive(Debug, Clone, Default)]
pub struct StackConfig {
    /// The port of the HTTP API; the tables, the queue and the archive take the three that follow. 0: any four.
    pub port: u16,
    /// Where to keep tables and queues; in memory if it is not given.
    pub data_dir: Option<PathBuf>,
    /// Demand tokens.
    pub auth: bool,
    /// The web pages of other origins that may call the API.
    pub cors: Cors,
    /// For how many seconds caches may keep what is the same for everybody.
    pub public_cache_seconds: u8,
    /// Leave a message that was not acknowledged hidden for as long as on AWS.
    pub template_visibility: bool,
    /// Let everybody who reaches the port open the console.
    pub open_console: bool,
    /// What its console sees of its inside, and what goes wrong there on purpose.
    pub inside: Inside,
    /// What time it is: the system's, unless a test says otherwise.
    pub clock: Clock,
    /// What time it is when it starts, in place of that: its own clock goes on from there.
    pub start_at: Option<Timestamp>,
    /// How time is cut into tables of events, if that is said: as the data directory has it, or into months.
    pub event_period: Option<PeriodLength>,
    /// How else events are kept. Where the clock was set, they are taken from 2000-01-01 on.
    pub events: EventSettings,
}

impl StackConfig {
    /// The same with this clock, and with the periods of the data directory.
    fn at(mut self, clock: &Clock, dir: Option<&DataDir>) -> Result<Self, StackError> {
        self.clock = clock.clone();
        if clock.is_set() {
            self.events.earliest = EventSettings::EARLIEST_BY_HAND;
        }
        let kept = dir.and_then(DataDir::event_period);
        let asked = self.event_period.unwrap_or(kept.unwrap_or(self.events.length));
        match (kept, dir) {
            (Some(kept), _) if kept != asked => {
                return Err(StackError::OtherPeriod { asked, kept });
            }
            (None, Some(dir)) => dir.note_event_period(asked)?,
            _ => {}
        }
        self.events.length = asked;
        Ok(self)
    }

    pub(super) fn queues(&self) -> Vec<QueueConfig> {
        let visibility_timeout =
            if self.template_visibility { TEMPLATE_VISIBILITY } else { VISIBILITY };
        let dead_letter_queue = DEAD_LETTERS.to_owned();
        let redrive = Some(Redrive { max_receives: MAX_RECEIVES, dead_letter_queue });
        let (commands, letters) = (QueueConfig::new(COMMANDS), QueueConfig::new(DEAD_LETTERS));
        vec![
            QueueConfig { visibility_timeout, redrive, ..commands },
            QueueConfig { visibility_timeout, retention: DEAD_LETTER_RETENTION, ..letters },
        ]
    }
}

/// The stack cannot be started. Somebody has to change how it is called.
#[derive(Debug, thiserror::Error)]
pub enum StackError {
    /// A port is taken.
    #[error(
        "port {port} on 127.0.0.1 cannot be listened on ({source}); choose another with --port"
    )]
    Port {
        /// The port.
        port: u16,
        /// The cause.
        source: io::Error,
    },
    /// The data directory cannot be used.
    #[error(transparent)]
    DataDir(#[from] DataDirError),
    /// The tables cannot be opened.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// The tables of the data directory cannot be opened.
    #[error("{}: {source}; see that its disk has room, or name another directory with --data-dir", .path.display())]
    Tables {
        /// Their file.
        path: PathBuf,
        /// The cause.
        source: EngineError,
    },
    /// The queues cannot be opened.
    #[error("the queues could not be opened: {}", .0.unredacted())]
    Queues(#[from] QueueError),
    /// The time that was asked for has passed.
    #[error(
        "--clock {asked} is in the past of this data directory, whose clock has come to {reached}: time never goes back \
         there, since what was decided by it stays. Leave --clock away to go on from there, or name another directory"
    )]
    ClockBehind {
        /// The time.
        asked: Timestamp,
        /// How far the directory has come.
        reached: Timestamp,
    },
    /// The data directory has periods of another length.
    #[error(
        "this data directory keeps events by the {kept}, and --event-period {asked} would cut time anew; leave \
         it away, or name another directory"
    )]
    OtherPeriod {
        /// The length that was asked for.
        asked: PeriodLength,
        /// The length there.
        kept: PeriodLength,
    },
    /// The objects of the archive cannot be opened.
    #[error("{0}; see that its disk has room, or name another directory with --data-dir")]
    Objects(#[from] StoreError),
    /// A stored secret was tampered with.
    #[error("the secrets in the data directory: {0}")]
    Secret(#[from] SecretError),
}

/// A running stack.
#[derive(Debug)]
pub struct Stack {
    environment: Vec<(&'static str, String)>,
    port: u16,
    stop: watch::Sender<bool>,
    pollers: Vec<JoinHandle<()>>,
    servers: JoinSet<()>,
    /// What is done at intervals, and is given up in between when the stack stops.
    chores: JoinSet<()>,
    clock: Clock,
    data_dir: Option<DataDir>,
}

impl Stack {
    /// Starts everything; ready when it returns.
    ///
    /// # Errors
    /// [`StackError`] says what to change.
    pub async fn start(config: StackConfig) -> Result<Self, StackError> {
        let [api, tables, queue, objects] = listeners(config.port).await?;
        let data_dir = config.data_dir.as_deref().map(DataDir::open).transpose()?;
        let clock = set_clock::of(&config, data_dir.as_ref())?;
        let config = config.at(&clock, data_dir.as_ref())?;
        let last = data_dir.as_ref().and_then(DataDir::last_ran_at);
        let calendar = Calendar::new(clock.clone(), last);
        let endpoints = Endpoints {
            api: url(&api),
            tables: url(&tables),
            queue: url(&queue),
            objects: url(&objects),
        };
        let wiring = Wiring::open(data_dir.as_ref(), &calendar, &endpoints, &config)?;
        let authorizer = config.auth.then(|| JwtAuthorizer::with_key(data_dir::random_secret()));

        let (stop, stopped) = watch::channel(false);
        let mut servers = JoinSet::new();
        let port = port_of(&api);
        let mut environment = wiring.environment(&endpoints, &authorizer);
        let access = if config.open_console { Access::Open } else { Access::of_run(port) };
        environment.push((console::URL, access.address(&url(&api))));
        let note = Note::new(port, &environment);
        let console = Remote::of(Target::Local(note))
            .await
            .and_then(|remote| Console::new(remote, Mode::Write, access));
        let keeping = wiring.keeping(&calendar, data_dir.as_ref());
        let api_router = wiring.gateway(authorizer, &config);
        let api_router = control::router(keeping.clone()).fallback_service(api_router);
        let api_router = bus::router(wiring.local_bus.clone()).fallback_service(api_router);
        let api_router = match config.auth {
            true => api_router,
            false => {
                let sqs = connector::sqs_over_http(&endpoints.queue);
                let example = example::router(sqs, wiring.wire.queue_url(COMMANDS), clock.clone());
                example.fallback_service(api_router)
            }
        };
        let api_router = match console {
            Ok(console) => {
                let console = console.with_inside(config.inside.clone()).router();
                console.fallback_service(api_router).layer(from_fn(console::lead_browsers))
            }
            Err(failure) => {
                tracing::error!("there is no console: {failure}");
                api_router
            }
        };
        let routers = [
            (queue, sqs_http::router(wiring.wire.clone()), CLIENTS, Pages::default()),
            (tables, tables_http::router(wiring.engine.clone()), CLIENTS, Pages::default()),
            (objects, s3::router(wiring.objects.clone()), OBJECTS, Pages::default()),
            (api, api_router, READERS, Pages::of_console(config.cors)),
        ];
        for (listener, router, connections, pages) in routers {
            let bounds = Bounds::of(connections);
            servers.spawn(ports::serve(listener, router, bounds, pages, stopped.clone()));
        }
        let mut chores = JoinSet::new();
        chores.spawn(sweep(wiring.engine.clone(), calendar, data_dir.clone()));
        if let Some(dir) = data_dir.clone().filter(|_| clock.is_set()) {
            chores.spawn(set_clock::keep(clock.clone(), dir));
        }
        keeping.start().await;
        servers.spawn(keeping.run(stopped.clone()));
        let pollers = wiring.poll(&stopped)?;
        Ok(Self { environment, port, stop, pollers, servers, chores, clock, data_dir })
    }

    /// What a shell has to export for SDKs, the `aws` CLI and `nagare` to find this stack.
    #[must_use]
    pub fn environment(&self) -> &[(&'static str, String)] {
        &self.environment
    }

    /// The port of the HTTP API.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port
    }

    /// One variable of the environment.
    #[must_use]
    pub fn variable(&self, name: &str) -> Option<&str> {
        let found = self.environment.iter().find(|(other, _)| *other == name);
        found.map(|(_, value)| value.as_str())
    }

    /// Stops polling, lets the invocations in flight end, and closes the connections.
    pub async fn shut_down(mut self) {
        let _ = self.stop.send(true);
        self.chores.shutdown().await;
        for poller in self.pollers {
            let _ = poller.await;
        }
        let _ = tokio::time::timeout(GRACE, async {
            while self.servers.join_next().await.is_some() {}
        })
        .await;
        self.servers.shutdown().await;
        if let Some(dir) = self.data_dir.filter(|_| self.clock.is_set()) {
            set_clock::note_last(&self.clock, &dir);
        }
    }

    /// What time it is in the stack.
    #[must_use]
    pub fn clock(&self) -> &Clock {
        &self.clock
    }
}

/// Serves a console alone until it is told to stop.
pub(crate) async fn serve_console(
    listener: TcpListener,
    console: Console,
    stop: watch::Receiver<bool>,
) {
    let (router, bounds) = (console.router_alone(), Bounds::of(CLIENTS));
    ports::serve(listener, router, bounds, Pages::of_console(Cors::default()), stop).await;
}

/// Listeners for the API, the tables, the queue and the archive.
async fn listeners(port: u16) -> Result<[TcpListener; 4], StackError> {
    let nth = |n: u16| listen(if port == 0 { 0 } else { port.saturating_add(n) });
    Ok([nth(0).await?, nth(1).await?, nth(2).await?, nth(3).await?])
}

pub(crate) async fn listen(port: u16) -> Result<TcpListener, StackError> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await;
    listener.map_err(|source| StackError::Port { port, source })
}

pub(crate) fn url(listener: &TcpListener) -> String {
    format!("http://127.0.0.1:{}", port_of(listener))
}

pub(crate) fn port_of(listener: &TcpListener) -> u16 {
    listener.local_addr().map_or(0, |address| address.port())
}

/// Drops what has expired, at intervals, and stores the time.
async fn sweep(engine: Engine, calendar: Calendar, data_dir: Option<DataDir>) {
    let mut ticks = tokio::time::interval(SWEEP);
    loop {
        ticks.tick().await;
        let (engine, data_dir, now) = (engine.clone(), data_dir.clone(), calendar.expiry());
        let work = move || {
            if let Err(failure) = engine.sweep(now) {
                tracing::warn!("expired entries were not dropped: {failure}");
            }
            if let Some(Err(failure)) = data_dir.map(|dir| dir.note_time(now)) {
                tracing::warn!("{failure}");
            }
        };
        let _ = tokio::task::spawn_blocking(work).await;
    }
}
