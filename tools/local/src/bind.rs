//! A stack that has its addresses, and serves nothing yet: who needs them first, as a console does, is made in between.

use axum::Router;
use nagare_client::local_stack;
use nagare_client::running::Note;
use nagare_gateway::ports::{self, Bounds, Pages, PortError, listen, port_of, url};
use nagare_gateway::{JwtAuthorizer, random_secret};
use shared::platform::runtime::clock::Clock;
use shared::platform::runtime::env;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinSet;

use super::calendar::Calendar;
use super::config::{COMMANDS, StackConfig, StackError};
use super::data_dir::DataDir;
use super::function_threads::FunctionThreads;
use super::keeper_loop::Keeping;
use super::stack::{Stack, sweep};
use super::wiring::{Endpoints, Wiring};
use super::{bus, compaction, control, example, s3, set_clock, sqs_http, tables_http};

/// Connections to the API at once: more than it admits, so that excess requests are answered. Together
/// with those of the other three ports they stay below the 1,024 descriptors that a process usually has.
const READERS: usize = 512;
/// Connections to the tables, and to the queue.
const CLIENTS: usize = 192;
/// Connections to the archive.
const OBJECTS: usize = 64;

/// A stack that is ready to start.
pub struct OpenStack {
    listeners: [TcpListener; 4],
    calendar: Calendar,
    clock: Clock,
    data_dir: Option<DataDir>,
    wiring: Wiring,
    keeping: Keeping,
    environment: Vec<(&'static str, String)>,
    api: Router,
    /// The paths at the API's port that no authorizer guards.
    open_paths: Vec<&'static str>,
    pages: Pages,
}

impl OpenStack {
    /// Takes its ports, and opens its tables and queues.
    pub async fn open(config: StackConfig) -> Result<Self, StackError> {
        let listeners = listeners(config.port).await?;
        let data_dir = config.data_dir.as_deref().map(DataDir::open).transpose()?;
        let clock = set_clock::begin(&config, data_dir.as_ref())?;
        let config = config.at(&clock, data_dir.as_ref())?;
        let last = data_dir.as_ref().and_then(DataDir::last_ran_at);
        let calendar = Calendar::new(clock.clone(), last);
        let [api, tables, queue, objects] = listeners.each_ref().map(url);
        let endpoints = Endpoints { api, tables, queue, objects };
        let wiring = Wiring::open(data_dir.as_ref(), &calendar, &endpoints, &config)?;
        let authorizer = config
            .auth
            .then(|| JwtAuthorizer::with_key(random_secret()).with_claims(config.claims.clone()));
        let mut environment = wiring.environment.clone();
        if let Some(authorizer) = &authorizer {
            environment.push((env::JWT_KEY, authorizer.key().to_owned()));
            environment.push((env::VIEWER_CLAIM, config.claims.viewer().to_owned()));
        }
        let keeping = wiring.keeping(&calendar, data_dir.as_ref())?;
        let mut open_paths = nagare_gateway::OPEN_PATHS.to_vec();
        let mut api = wiring.gateway(authorizer, &config)?;
        if !config.auth {
            let sqs = local_stack::sqs_over_http(&endpoints.queue);
            let example = example::router(sqs, wiring.wire.queue_url(COMMANDS), clock.clone());
            api = example.fallback_service(api);
            open_paths.push(example::PATH);
        }
        let pages = Pages::listed(config.cors);
        Ok(Self {
            listeners,
            calendar,
            clock,
            data_dir,
            wiring,
            keeping,
            environment,
            api,
            open_paths,
            pages,
        })
    }

    /// What commands find it by.
    pub fn note(&self) -> Note {
        Note::new(self.port(), &self.environment)
    }

    /// The port of the HTTP API.
    pub fn port(&self) -> u16 {
        port_of(&self.listeners[0])
    }

    /// The address of the HTTP API.
    pub fn url(&self) -> String {
        url(&self.listeners[0])
    }

    /// Names one more thing to whoever uses the stack.
    #[must_use]
    pub fn exporting(mut self, name: &'static str, value: String) -> Self {
        self.environment.push((name, value));
        self
    }

    /// Serves pages at the port of the API, below this path, and leads browsers there from `/`. The
    /// pages check callers themselves.
    #[must_use]
    pub fn with_pages(mut self, path: &'static str, around: impl FnOnce(Router) -> Router) -> Self {
        self.api = around(self.api);
        self.open_paths.extend(["/", path]);
        self.pages = self.pages.beside(path);
        self
    }

    /// Starts everything; ready when it returns.
    pub async fn start(self) -> Result<Stack, StackError> {
        let port = self.port();
        let (stop, stopped) = watch::channel(false);
        let routers = [
            (self.api, READERS, self.pages),
            (tables_http::router(self.wiring.engine.clone()), CLIENTS, Pages::default()),
            (programs(&self.wiring, &self.keeping), CLIENTS, Pages::default()),
            (s3::router(self.wiring.objects.clone()), OBJECTS, Pages::default()),
        ];
        let mut servers = JoinSet::new();
        for (listener, (router, connections, pages)) in self.listeners.into_iter().zip(routers) {
            let bounds = Bounds::with_connections(connections);
            servers.spawn(ports::serve(listener, router, bounds, pages, stopped.clone()));
        }
        let mut chores = JoinSet::new();
        chores.spawn(sweep(self.wiring.engine.clone(), self.calendar, self.data_dir.clone()));
        if let Some(dir) = self.data_dir.clone().filter(|_| self.clock.is_set()) {
            chores.spawn(set_clock::keep(self.clock.clone(), dir));
        }
        self.keeping.start().await;
        servers.spawn(self.keeping.run(stopped.clone()));
        let threads = FunctionThreads::start().map_err(StackError::Threads)?;
        let pollers = self.wiring.poll(&threads, &stopped)?;
        Ok(Stack {
            environment: self.environment,
            port,
            open_paths: self.open_paths,
            stop,
            pollers,
            threads,
            servers,
            chores,
            clock: self.clock,
            data_dir: self.data_dir,
        })
    }
}

impl Stack {
    /// Starts a stack without pages of its own; ready when it returns.
    pub async fn start(config: StackConfig) -> Result<Self, StackError> {
        OpenStack::open(config).await?.start().await
    }
}

/// The queues, the bus, the clock and the compaction. All programs on this machine may use them, so
/// they are not at the API's port, which may demand tokens.
fn programs(wiring: &Wiring, keeping: &Keeping) -> Router {
    control::router(keeping.clone())
        .merge(bus::router(wiring.local_bus.clone()))
        .merge(compaction::router(wiring.engine.clone(), wiring.queues.clone()))
        .merge(sqs_http::router(wiring.wire.clone()))
}

/// Listeners for the API, the tables, the queue and the archive.
async fn listeners(port: u16) -> Result<[TcpListener; 4], PortError> {
    let nth = |n: u16| listen(if port == 0 { 0 } else { port.saturating_add(n) });
    Ok([nth(0).await?, nth(1).await?, nth(2).await?, nth(3).await?])
}
