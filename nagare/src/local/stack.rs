//! A running stack: listeners, servers and pollers.

use std::io;
use std::net::Ipv4Addr;
use std::path::PathBuf;
use std::time::Duration;

use axum::middleware::from_fn;
use shared::crypto::seal::SecretError;
use shared::dead_letters::MAX_RECEIVES;
use shared::runtime::clock::Clock;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::{JoinHandle, JoinSet};

use super::calendar::Calendar;
use super::cors::Cors;
use super::data_dir::{self, DataDir, DataDirError};
use super::engine::{Engine, EngineError};
use super::gateway::JwtAuthorizer;
use super::ports::{self, Bounds, Pages};
use super::sqs::{QueueConfig, QueueError, Redrive};
use super::wiring::Wiring;
use super::{sqs_http, tables_http};
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
const TEMPLATE_VISIBILITY: Duration = Duration::from_secs(360);
/// The same where nobody throttles the poller.
const VISIBILITY: Duration = Duration::from_secs(90);
/// Dead letters are kept longer than commands: expiry counts from the first send.
const DEAD_LETTER_RETENTION: Duration = Duration::from_secs(14 * 86_400);
/// How often expired entries are dropped.
const SWEEP: Duration = Duration::from_secs(300);
/// Connections to the API at once: more than it admits, so that excess requests are answered. Together
/// with those of the other two ports they stay below the 1,024 descriptors that a process usually has.
const READERS: usize = 512;
/// Connections to the tables, and to the queue.
const CLIENTS: usize = 192;
/// How long connections may take to end when the stack stops.
const GRACE: Duration = Duration::from_secs(2);

/// How a stack is started.
#[derive(Debug, Clone, Default)]
pub struct StackConfig {
    /// The port of the HTTP API; the tables and the queue take the two that follow. 0: any three.
    pub port: u16,
    /// Where to keep tables and queues; in memory if it is not given.
    pub data_dir: Option<PathBuf>,
    /// Demand tokens.
    pub auth: bool,
    /// The web pages of other origins that may call the API.
    pub cors: Cors,
    /// Leave a message that was not acknowledged hidden for as long as on AWS.
    pub template_visibility: bool,
    /// Let everybody who reaches the port open the console.
    pub open_console: bool,
    /// What its console sees of its inside, and what goes wrong there on purpose.
    pub inside: Inside,
    /// What time it is: the system's, unless a test says otherwise.
    pub clock: Clock,
}

impl StackConfig {
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
    _data_dir: Option<DataDir>,
}

impl Stack {
    /// Starts everything; ready when it returns.
    ///
    /// # Errors
    /// [`StackError`] says what to change.
    pub async fn start(config: StackConfig) -> Result<Self, StackError> {
        let [api, tables, queue] = listeners(config.port).await?;
        let data_dir = config.data_dir.as_deref().map(DataDir::open).transpose()?;
        let last = data_dir.as_ref().and_then(DataDir::last_ran_at);
        let calendar = Calendar::new(config.clock.clone(), last);
        let wiring = Wiring::open(data_dir.as_ref(), &calendar, &url(&queue), &config)?;
        let authorizer = config.auth.then(|| JwtAuthorizer::with_key(data_dir::random_secret()));

        let (stop, stopped) = watch::channel(false);
        let mut servers = JoinSet::new();
        let port = port_of(&api);
        let mut environment =
            wiring.environment(&url(&api), &url(&tables), &url(&queue), &authorizer);
        let access = if config.open_console { Access::Open } else { Access::of_run(port) };
        environment.push((console::URL, access.address(&url(&api))));
        let note = Note::new(port, &environment);
        let console = Remote::of(Target::Local(note))
            .await
            .and_then(|remote| Console::new(remote, Mode::Write, access));
        let api_router = wiring.gateway(authorizer, config.cors.clone());
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
            (api, api_router, READERS, Pages::of_console(config.cors)),
        ];
        for (listener, router, connections, pages) in routers {
            let bounds = Bounds::of(connections);
            servers.spawn(ports::serve(listener, router, bounds, pages, stopped.clone()));
        }
        servers.spawn(sweep(wiring.engine.clone(), calendar, data_dir.clone()));
        let pollers = wiring.poll(&stopped)?;
        Ok(Self { environment, port, stop, pollers, servers, _data_dir: data_dir })
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
        for poller in self.pollers {
            let _ = poller.await;
        }
        let _ = tokio::time::timeout(GRACE, async {
            while self.servers.join_next().await.is_some() {}
        })
        .await;
        self.servers.shutdown().await;
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

/// Listeners for the API, the tables and the queue.
async fn listeners(port: u16) -> Result<[TcpListener; 3], StackError> {
    let nth = |n: u16| if port == 0 { 0 } else { port.saturating_add(n) };
    Ok([listen(nth(0)).await?, listen(nth(1)).await?, listen(nth(2)).await?])
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
