//! The local stack: tables, queues, the three handlers and the HTTP API in one process.
//!
//! ```text
//!   producers ──HTTP──▶ sqs_http ─▶ queue ─▶ event_source ─▶ fanout_writer ─┐
//!                                     │ five receives                       ├─▶ connector ─▶ engine
//!                                     └────▶ queue ─▶ event_source ─▶ dlq_alerter ─┤               ▲
//!   viewers ────HTTP──▶ gateway ─▶ timeline_reader ─────────────────────────┘               │
//!   any SDK ────HTTP──▶ tables_http ────────────────────────────────────────────────────────┘
//! ```
//!
//! The handlers are the functions' own, called with the events Lambda would send. They reach the
//! tables through the SDK, over a [connector] in place of the network. Everything listens
//! on 127.0.0.1 only.

mod calendar;
pub mod connector;
mod data_dir;
pub mod engine;
pub mod event_source;
pub mod faults;
mod ports;
pub mod schema;
pub mod sqs_event;
mod sqs_http;
pub(crate) mod tables_http;
#[cfg(test)]
mod tests;

use std::convert::Infallible;
use std::io;
use std::net::Ipv4Addr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use aws_lambda_events::event::apigw::ApiGatewayV2httpRequest;
use aws_lambda_events::event::sqs::SqsEvent;
use aws_smithy_runtime_api::client::http::SharedHttpConnector;
use axum::Router;
use dlq_alerter::Alerter;
use fanout_writer::{CommandQueue, DeadLetterQueue, Sizes, Writer};
use shared::command::InternalSeal;
use shared::cursor::CursorSeal;
use shared::dead_letter::MAX_RECEIVES;
use shared::queue::Sender;
use shared::seal::SecretError;
use shared::store::Store;
use shared::{Clock, Deadline, Metrics, Retention, env};
use timeline_reader::Reader;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::{JoinHandle, JoinSet};

use crate::gateway::{Authorization, Gateway, JwtAuthorizer, Limits};
use crate::queue::{QueueConfig, QueueError, Queues, REGION, Redrive, Wire};
use calendar::Calendar;
use connector::{ACCESS_KEY, InProcess};
use data_dir::{DataDir, DataDirError, Secrets};
use engine::{Engine, EngineError};
use event_source::EventSource;
use faults::{Deliveries, Faults, Faulty};
use ports::Bounds;

/// The queue of commands.
pub const COMMANDS: &str = "nagare-commands";
/// The queue of dead letters.
pub const DEAD_LETTERS: &str = "nagare-dead-letters";
/// How long one invocation may take, as the template sets it.
const FUNCTION_TIMEOUT: Duration = Duration::from_secs(60);
/// How long a received message stays hidden, as the template sets it: six times the function's timeout,
/// for the poller there may be throttled.
const TEMPLATE_VISIBILITY: Duration = Duration::from_secs(360);
/// The same where nobody throttles the poller.
const VISIBILITY: Duration = Duration::from_secs(90);
/// Dead letters are kept longer than commands: expiry counts from the first send.
const DEAD_LETTER_RETENTION: Duration = Duration::from_secs(14 * 86_400);
/// Writers at once: each spends most of its time waiting for the tables.
const WRITERS: usize = 8;
/// How often expired entries are dropped.
const SWEEP: Duration = Duration::from_secs(300);
/// Connections to the API at once: more than it lets in, so that who is too much is told so. With those of
/// the other two it stays below the 1,024 descriptors that a process mostly has.
const READERS: usize = 512;
/// Connections to the tables, and to the queue.
const CLIENTS: usize = 192;
/// How long connections may take to end once the stack is told to.
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
    /// Leave a message that was not acknowledged hidden for as long as on AWS.
    pub template_visibility: bool,
    /// What goes wrong on purpose.
    pub faults: Faults,
    /// What time it is: the system's, unless a test says otherwise.
    pub clock: Clock,
}

impl StackConfig {
    fn queues(&self) -> Vec<QueueConfig> {
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
        /// Which.
        port: u16,
        /// Why.
        source: io::Error,
    },
    /// The data directory cannot be used.
    #[error(transparent)]
    DataDir(#[from] DataDirError),
    /// The tables cannot be opened.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// The queues cannot be opened.
    #[error("the queues could not be opened: {}", .0.in_full())]
    Queues(#[from] QueueError),
    /// A kept secret was tampered with.
    #[error("the secrets in the data directory: {0}")]
    Secret(#[from] SecretError),
}

/// A running stack.
#[derive(Debug)]
pub struct Stack {
    environment: Vec<(&'static str, String)>,
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
        let parts = Parts::open(data_dir.as_ref(), &calendar, &url(&queue), &config)?;
        let authorizer = config.auth.then(|| JwtAuthorizer::with_key(data_dir::random_secret()));

        let (stop, stopped) = watch::channel(false);
        let mut servers = JoinSet::new();
        let environment = parts.environment(&url(&api), &url(&tables), &url(&queue), &authorizer);
        let routers = [
            (queue, sqs_http::router(parts.wire.clone()), Bounds::of(CLIENTS)),
            (tables, tables_http::router(parts.engine.clone()), Bounds::of(CLIENTS)),
            (api, parts.gateway(authorizer), Bounds::of(READERS)),
        ];
        for (listener, router, bounds) in routers {
            servers.spawn(ports::serve(listener, router, bounds, stopped.clone()));
        }
        servers.spawn(sweep(parts.engine.clone(), calendar, data_dir.clone()));
        let pollers = parts.poll(&stopped)?;
        Ok(Self { environment, stop, pollers, servers, _data_dir: data_dir })
    }

    /// What a shell has to export for SDKs, the `aws` CLI and `nagare` to find this stack.
    #[must_use]
    pub fn environment(&self) -> &[(&'static str, String)] {
        &self.environment
    }

    /// One variable of the environment.
    #[must_use]
    pub fn variable(&self, name: &str) -> Option<&str> {
        let found = self.environment.iter().find(|(other, _)| *other == name);
        found.map(|(_, value)| value.as_str())
    }

    /// Stops polling, lets the invocations under way end, and closes the connections.
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

/// What the servers and pollers share.
struct Parts {
    engine: Engine,
    queues: Queues,
    wire: Wire,
    store: Store,
    sqs: aws_sdk_sqs::Client,
    secrets: Secrets,
    cursors: CursorSeal,
    internal: InternalSeal,
    clock: Clock,
    keeps_visibility: bool,
    deliveries: Deliveries,
}

impl Parts {
    fn open(
        data_dir: Option<&DataDir>,
        calendar: &Calendar,
        queue_endpoint: &str,
        config: &StackConfig,
    ) -> Result<Self, StackError> {
        let faults = &config.faults;
        let (steady, expiry) = (calendar.clone(), calendar.clone());
        let time = Arc::new(move || steady.steady().unix_millis());
        let (engine, queues, secrets) = match data_dir {
            None => {
                let queues = Queues::in_memory(config.queues(), time)?;
                (Engine::in_memory()?, queues, Secrets::random())
            }
            Some(dir) => {
                dir.check()?;
                // Tables first: where there is a queue, its tables were there before.
                let engine = Engine::open(&dir.tables())?;
                let queues = Queues::open(&dir.queues(), config.queues(), time)?;
                (engine, queues, dir.secrets()?)
            }
        };
        let queues = queues.expiring_by(Arc::new(move || expiry.expiry().unix_millis()));
        let wire = Wire::new(queues.clone(), queue_endpoint);
        let inside = SharedHttpConnector::new(InProcess::new(engine.clone(), wire.clone()));
        let connector = match *faults == Faults::default() {
            true => inside,
            false => SharedHttpConnector::new(Faulty::new(faults.clone(), inside)),
        };
        Ok(Self {
            store: Store::new(connector::dynamodb(connector.clone()), schema::tables()),
            sqs: connector::sqs(connector),
            cursors: CursorSeal::new(secrets.cursor.as_bytes())?,
            internal: InternalSeal::new(secrets.internal.as_bytes())?,
            clock: config.clock.clone(),
            keeps_visibility: config.template_visibility,
            deliveries: Deliveries::new(faults.clone()),
            secrets,
            engine,
            queues,
            wire,
        })
    }

    fn gateway(&self, authorizer: Option<JwtAuthorizer>) -> Router {
        let reader = Reader {
            store: self.store.clone(),
            seal: self.cursors.clone(),
            authorization: match authorizer {
                Some(_) => timeline_reader::Authorization::Jwt,
                None => timeline_reader::Authorization::Open,
            },
            retention: Retention::default(),
            metrics: Metrics::off(),
            clock: self.clock.clone(),
        };
        let handler = move |event: ApiGatewayV2httpRequest| {
            let reader = reader.clone();
            async move {
                let deadline = Deadline::after(timeline_reader::PATIENCE);
                Ok::<_, Infallible>(reader.handle(&event, deadline).await)
            }
        };
        let authorization = authorizer.map_or(Authorization::Open, Authorization::Jwt);
        Gateway::new(handler, authorization, Limits::default()).router()
    }

    fn poll(&self, stop: &watch::Receiver<bool>) -> Result<Vec<JoinHandle<()>>, StackError> {
        let writer = Writer {
            store: self.store.clone(),
            commands: CommandQueue::new(self.sender(COMMANDS), self.internal.clone()),
            dead_letters: DeadLetterQueue(self.sender(DEAD_LETTERS)),
            sizes: Sizes::default(),
            retention: Retention::default(),
            metrics: Metrics::off(),
            clock: self.clock.clone(),
        };
        let alerter = Alerter {
            store: self.store.clone(),
            metrics: Metrics::off(),
            clock: self.clock.clone(),
        };
        let write = move |event: SqsEvent, deadline| {
            let writer = writer.clone();
            async move { writer.handle(event, deadline).await }
        };
        let alert = move |event: SqsEvent, deadline| {
            let alerter = alerter.clone();
            async move { alerter.handle(event, deadline).await }
        };
        let (commands, letters) = (self.queues.queue(COMMANDS)?, self.queues.queue(DEAD_LETTERS)?);
        // Whoever held these messages is gone: nobody else receives from a stack that was down.
        commands.release_in_flight()?;
        letters.release_in_flight()?;
        let source = |concurrency| EventSource {
            concurrency,
            timeout: FUNCTION_TIMEOUT,
            keeps_visibility: self.keeps_visibility,
            faults: self.deliveries.clone(),
        };
        Ok(vec![
            tokio::spawn(source(WRITERS).run(commands, write, stop.clone())),
            tokio::spawn(source(1).run(letters, alert, stop.clone())),
        ])
    }

    fn sender(&self, queue: &str) -> Sender {
        Sender::new(self.sqs.clone(), self.wire.queue_url(queue))
    }

    fn environment(
        &self,
        api: &str,
        tables: &str,
        queue: &str,
        authorizer: &Option<JwtAuthorizer>,
    ) -> Vec<(&'static str, String)> {
        let names = schema::tables();
        let authorization = if authorizer.is_some() { "jwt" } else { "open" };
        let mut environment = vec![
            (env::API_URL, api.to_owned()),
            (env::QUEUE_URL, self.wire.queue_url(COMMANDS)),
            (env::DEAD_LETTER_QUEUE_URL, self.wire.queue_url(DEAD_LETTERS)),
            (env::TIMELINES_TABLE, names.timelines),
            (env::LEDGER_TABLE, names.ledger),
            (env::DEAD_LETTERS_TABLE, names.dead_letters),
            (env::CURSOR_SECRET, self.secrets.cursor.clone()),
            (env::INTERNAL_SECRET, self.secrets.internal.clone()),
            (env::AUTHORIZATION, authorization.to_owned()),
            ("AWS_ENDPOINT_URL_DYNAMODB", tables.to_owned()),
            ("AWS_ENDPOINT_URL_SQS", queue.to_owned()),
            ("AWS_ACCESS_KEY_ID", ACCESS_KEY.to_owned()),
            ("AWS_SECRET_ACCESS_KEY", ACCESS_KEY.to_owned()),
            ("AWS_REGION", REGION.to_owned()),
            ("AWS_DEFAULT_REGION", REGION.to_owned()),
        ];
        environment.extend(authorizer.as_ref().map(|a| (env::JWT_KEY, a.key().to_owned())));
        environment
    }
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
    let port = listener.local_addr().map_or(0, |address| address.port());
    format!("http://127.0.0.1:{port}")
}

/// Drops what has expired, now and again, and notes what time it was.
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
