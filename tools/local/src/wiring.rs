//! What a stack is made of, and how the handlers are wired to it.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use aws_credential_types::Credentials;
use aws_credential_types::provider::SharedCredentialsProvider;
use aws_lambda_events::event::apigw::ApiGatewayV2httpRequest;
use aws_lambda_events::event::sqs::SqsEvent;
use aws_smithy_runtime_api::client::http::SharedHttpConnector;
use axum::Router;
use dlq_alerter::Alerter;
use event_intake::{Intake, TenantRates};
use fanout_writer::{CommandQueue, DeadLetterQueue, FanOutLimits, Shares, Writer};
use function_http::LogSampling;
use function_http::reader::{RequestMetrics, Requests};
use function_stream::Projection;
use futures::future::BoxFuture;
use nagare_client::local_stack::{ACCESS_KEY, CLOCK_PATH};
use nagare_client::tables::Tables;
use nagare_gateway::{Answerer, Authorization, Gateway, JwtAuthorizer, Limits};
use nagare_telemetry::numbers::{HISTORY_READER, INTAKE, Numbers, READER};
use period_keeper::{Keeper, Mappings};
use projector::Projector;
use shared::command::InternalSeal;
use shared::history::events::{Archives, EventSettings, Periods};
use shared::history::refusals::Refusals;
use shared::history::summaries::Summaries;
use shared::history::switch::HistorySwitch;
use shared::history::tenants::{Daily, Rules};
use shared::platform::crypto::seal::Secrets as Sealing;
use shared::platform::dead_letters::LetterSeal;
use shared::platform::objects::Objects;
use shared::platform::outbound::Bus;
use shared::platform::paging::CursorSeal;
use shared::platform::queue::Sender;
use shared::platform::runtime::clock::Clock;
use shared::platform::runtime::deadline::Deadline;
use shared::platform::runtime::env;
use shared::platform::runtime::hold::Hold;
use shared::platform::runtime::invocation::Invocation;
use shared::platform::values::Retention;
use shared::social::WriteQueues;
use shared::social::activities::ChangeLog;
use shared::social::activities::changes::Copies;
use shared::social::follows::Parking;
use timeline_reader::Reader;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use uuid::Uuid;

use super::bus::{self, LocalBus};
use super::calendar::Calendar;
use super::config::{COMMANDS, DEAD_LETTERS, StackConfig, StackError};
use super::connector::{self, InProcess};
use super::data_dir::{DataDir, Secrets};
use super::engine::Engine;
use super::event_source::EventSource;
use super::faults::{Deliveries, Faulty, Keepers};
use super::function_threads::FunctionThreads;
use super::keeper_loop::Keeping;
use super::lambda;
use super::s3::{BUCKET, S3};
use super::schema;
use super::sqs::{QueueConfig, Queues, REGION, Wire};
use super::stream_dead_letter::GivingUp;
use super::stream_source::{StreamSource, to_both_projectors};

/// How long one invocation may take, as the template sets it.
pub const FUNCTION_TIMEOUT: Duration = Duration::from_secs(60);
/// Writers at once: each spends most of its time waiting, for the tables and for pages that are being read.
const WRITERS: usize = 32;

/// Requests that Lambda makes of a queue for each invocation.
const RECEIVE_AND_DELETE: u32 = 2;

/// An invocation under a new id, as Lambda gives each one. There is no X-Ray here.
fn invocation() -> Invocation {
    Invocation::new(&Uuid::new_v4().to_string(), None)
}

/// The queue that commands come from, as SQS names it in what it moves from there.
fn command_queue_arn() -> String {
    QueueConfig::new(COMMANDS).arn()
}

/// The addresses that the stack listens at.
pub(super) struct Endpoints {
    pub(super) api: String,
    pub(super) tables: String,
    pub(super) queue: String,
    pub(super) objects: String,
}

/// What the servers and pollers share.
pub(super) struct Wiring {
    pub(super) engine: Engine,
    pub(super) queues: Queues,
    pub(super) wire: Wire,
    pub(super) objects: S3,
    tables: Tables,
    sqs: aws_sdk_sqs::Client,
    secrets: Secrets,
    cursors: CursorSeal,
    internal: InternalSeal,
    letter_seal: LetterSeal,
    clock: Clock,
    history: HistorySwitch,
    events: EventSettings,
    /// The archive as functions reach it.
    archive: Objects,
    mappings: Mappings,
    keepers: Keepers,
    keeps_visibility: bool,
    deliveries: Deliveries,
    numbers: Numbers,
    parking: Parking,
    pub(super) local_bus: LocalBus,
    /// The bus as functions reach it.
    bus: Bus,
}

impl Wiring {
    pub(super) fn open(
        data_dir: Option<&DataDir>,
        calendar: &Calendar,
        endpoints: &Endpoints,
        config: &StackConfig,
    ) -> Result<Self, StackError> {
        let (steady, expiry) = (calendar.clone(), calendar.clone());
        let time = Arc::new(move || steady.steady().unix_millis());
        let (engine, queues, secrets) = match data_dir {
            None => {
                let queues = Queues::in_memory(config.queues(), time.clone())?;
                (Engine::in_memory()?, queues, Secrets::random())
            }
            Some(dir) => {
                dir.check()?;
                // Tables first: where there is a queue, its tables were there before.
                let path = dir.tables();
                let engine =
                    Engine::open(&path).map_err(|source| StackError::Tables { path, source })?;
                let queues = Queues::open(&dir.queues(), config.queues(), time.clone())?;
                (engine, queues, dir.secrets()?)
            }
        };
        let engine = engine.with_time(time);
        let queues = queues.expiring_by(Arc::new(move || expiry.expiry().unix_millis()));
        let numbers = config.telemetry.numbers.clone();
        let wire = Wire::new(queues.clone(), &endpoints.queue).counted(numbers.clone());
        // Calls of functions are counted, and those of other programs, which come over HTTP, are not.
        let tables = engine.counted(numbers.clone());
        let keepers = Keepers::by(&config.telemetry.faults);
        let mangling = keepers.clone();
        let objects = S3::open(data_dir, &config.clock)?
            .mangled_by(Arc::new(move |object| mangling.mangled(object)));
        let inside = InProcess::new(tables, wire.clone()).with_objects(objects.clone());
        let local_bus = LocalBus::new(&config.clock);
        let inside = inside.with_bus(local_bus.clone()).taking_turns();
        let inside = SharedHttpConnector::new(inside);
        let connector = SharedHttpConnector::new(Faulty::by(&config.telemetry.faults, inside));
        let internal = Sealing::new(secrets.internal.as_bytes())?;
        let keys = Credentials::new(ACCESS_KEY, ACCESS_KEY, None, None, "nagare up");
        let keys = SharedCredentialsProvider::new(keys);
        Ok(Self {
            tables: Tables::new(connector::dynamodb(connector.clone()), &schema::names())
                .keeping(config.events),
            archive: Objects::over(
                connector.clone(),
                keys.clone(),
                REGION,
                &endpoints.objects,
                BUCKET,
            ),
            bus: Bus::over(
                connector.clone(),
                keys.clone(),
                REGION,
                bus::ENDPOINT,
                bus::NAME,
                config.clock.clone(),
            ),
            local_bus,
            mappings: Mappings::over(
                connector.clone(),
                keys,
                REGION,
                lambda::ENDPOINT,
                lambda::mapping_request(),
            ),
            history: config.history,
            events: config.events,
            keepers,
            sqs: connector::sqs(connector),
            cursors: CursorSeal::new(&Sealing::new(secrets.cursor.as_bytes())?),
            internal: InternalSeal::new(&internal),
            letter_seal: LetterSeal::new(&internal),
            clock: config.clock.clone(),
            keeps_visibility: config.template_visibility,
            parking: config.parking.clone(),
            deliveries: Deliveries::by(&config.telemetry.faults),
            numbers,
            secrets,
            engine,
            queues,
            wire,
            objects,
        })
    }

    pub(super) fn gateway(
        &self,
        authorizer: Option<JwtAuthorizer>,
        config: &StackConfig,
    ) -> Router {
        let trusted = match authorizer {
            Some(_) => function_http::Authorization::Jwt,
            None => function_http::Authorization::Open,
        };
        let intake = Intake {
            commands: self.sender(COMMANDS),
            authorization: trusted,
            claims: config.claims.clone(),
            rates: TenantRates::default(),
            events: self.events,
            metrics: self.numbers.metrics(),
            log_sampling: LogSampling::ALL,
            clock: self.clock.clone(),
        };
        let requests = Requests {
            authorization: trusted,
            claims: config.claims.clone(),
            seal: self.cursors.clone(),
            metrics: RequestMetrics::new(self.numbers.metrics()),
            // Whoever develops wants to see every request.
            log_sampling: LogSampling::ALL,
            clock: self.clock.clone(),
        };
        let history = history_reader::Reader {
            ledger: self.tables.ledger.clone(),
            views: self.tables.views.clone(),
            events: self.tables.events.clone(),
            objects: Some(self.archive.clone()),
            requests: requests.clone(),
        };
        let reader = Reader {
            ledger: self.tables.ledger.clone(),
            facts: self.tables.facts.clone(),
            views: self.tables.views.clone(),
            timelines: self.tables.timelines.clone(),
            records: Arc::default(),
            counts: Arc::default(),
            hold: Hold::default(),
            public_cache_seconds: config.public_cache_seconds,
            retention: Retention::default(),
            parking: self.parking.clone(),
            requests,
        };
        let (numbers, has_history) = (self.numbers.clone(), self.history.is_on());
        let handler = move |event: ApiGatewayV2httpRequest| {
            let (intake, reader, history) = (intake.clone(), reader.clone(), history.clone());
            let numbers = numbers.clone();
            async move {
                let answerer = match has_history {
                    true => Answerer::of(&event),
                    false => Answerer::TimelineReader,
                };
                let (name, answer): (_, BoxFuture<'_, _>) = match answerer {
                    Answerer::EventIntake => {
                        (INTAKE, intake.handle(&event, Deadline::after(event_intake::PATIENCE)))
                    }
                    Answerer::HistoryReader => {
                        let deadline = Deadline::after(history_reader::PATIENCE);
                        (HISTORY_READER, history.handle(&event, deadline))
                    }
                    Answerer::TimelineReader => {
                        (READER, reader.handle(&event, Deadline::after(timeline_reader::PATIENCE)))
                    }
                };
                numbers.invocation(name, 0);
                Ok::<_, Infallible>(invocation().scope(answer).await)
            }
        };
        let authorization = authorizer.map_or(Authorization::Open, Authorization::Jwt);
        let gateway = Gateway::new(handler, authorization, Limits::default());
        let gateway = match self.history {
            HistorySwitch::On => gateway.taking(event_intake::ROUTES),
            HistorySwitch::Off => gateway,
        };
        gateway.with_clock(self.clock.clone()).with_cors(config.cors.clone()).router()
    }

    pub(super) fn keeping(
        &self,
        calendar: &Calendar,
        data_dir: Option<&DataDir>,
    ) -> Result<Keeping, StackError> {
        let keeper = Keeper {
            periods: Periods::new(&self.tables.ledger),
            archives: Archives::new(&self.tables.ledger),
            keepers: shared::history::events::Keepers::new(&self.tables.ledger),
            tables: self.tables.events.tables().clone(),
            objects: self.archive.clone(),
            mappings: self.mappings.clone(),
            cloud_watch: None,
            daily: Daily::new(&self.tables.ledger).with_bus(&self.bus),
            bus: self.bus.clone(),
            summaries: Summaries::new(&self.tables.views),
            settings: self.events,
            limits: period_keeper::KeeperLimits::default(),
            metrics: self.numbers.metrics(),
            clock: self.clock.clone(),
        };
        Ok(Keeping {
            keeper,
            history: self.history,
            queues: [self.queues.queue(COMMANDS)?, self.queues.queue(DEAD_LETTERS)?],
            numbers: self.numbers.clone(),
            faults: self.keepers.clone(),
            calendar: calendar.clone(),
            engine: self.engine.clone(),
            data_dir: data_dir.cloned(),
            turn: Arc::default(),
            moving: Arc::default(),
        })
    }

    pub(super) fn poll(
        &self,
        threads: &FunctionThreads,
        stop: &watch::Receiver<bool>,
    ) -> Result<Vec<JoinHandle<()>>, StackError> {
        let writer = Writer {
            ledger: self.tables.ledger.clone(),
            facts: self.tables.facts.clone(),
            views: self.tables.views.clone(),
            timelines: self.tables.timelines.clone(),
            commands: CommandQueue::new(self.sender(COMMANDS), self.internal.clone()),
            dead_letters: DeadLetterQueue::new(self.sender(DEAD_LETTERS), self.letter_seal.clone()),
            limits: FanOutLimits::default(),
            retention: Retention::default(),
            parking: self.parking.clone(),
            metrics: self.numbers.metrics(),
            clock: self.clock.clone(),
            // One process reads pages here.
            change_log: ChangeLog::new(Copies::ONE),
            queues: WriteQueues::default(),
            events: self.history.is_on().then(|| self.tables.events.clone()),
            hold: Hold::default(),
            bus: self.bus.clone(),
            shares: Shares::default(),
        };
        let alerter = Alerter {
            letters: self.tables.dead_letters.clone(),
            seal: self.letter_seal.clone(),
            command_queue_arn: command_queue_arn(),
            metrics: self.numbers.metrics(),
            clock: self.clock.clone(),
        };
        let projection = Projection {
            facts: self.tables.facts.clone(),
            views: self.tables.views.clone(),
            dead_letters: function_stream::DeadLetterQueue::new(
                self.sender(DEAD_LETTERS),
                self.internal.clone(),
                self.letter_seal.clone(),
            ),
            metrics: self.numbers.metrics(),
            clock: self.clock.clone(),
            bus: self.bus.clone(),
        };
        let history = history_projector::Projector {
            projection: projection.clone(),
            tables: self.tables.events.tables().clone(),
            rules: Rules::new(&self.tables.ledger, &self.tables.views).with_bus(&self.bus),
            refusals: Refusals::new(&self.tables.ledger),
        };
        let projector = Projector { projection, read_notifications: Retention::default() };
        let numbers = [(); 4].map(|()| self.numbers.clone());
        let [by_writer, by_alerter, by_projector, by_history] = numbers;
        let write = move |event: SqsEvent, deadline| {
            let writer = writer.clone();
            by_writer.invocation("fan-out writer", RECEIVE_AND_DELETE);
            async move { invocation().scope(writer.handle(event, deadline)).await }
        };
        let alert = move |event: SqsEvent, deadline| {
            let alerter = alerter.clone();
            by_alerter.invocation("dead-letter alerter", RECEIVE_AND_DELETE);
            async move { invocation().scope(alerter.handle(event, deadline)).await }
        };
        let project_events = move |event, deadline| {
            let history = history.clone();
            by_history.invocation("history projector", 0);
            async move { invocation().scope(history.handle(event, deadline)).await }
        };
        let (brought_back, has_history) = (project_events.clone(), self.history.is_on());
        let project_facts = move |event, deadline| {
            let (projector, brought_back) = (projector.clone(), brought_back.clone());
            by_projector.invocation("projector", 0);
            async move {
                let project =
                    async |event| invocation().scope(projector.handle(event, deadline)).await;
                let project_history = async |event| brought_back(event, deadline).await;
                match has_history {
                    true => to_both_projectors(project, project_history, event).await,
                    false => project(event).await,
                }
            }
        };
        let (commands, letters) = (self.queues.queue(COMMANDS)?, self.queues.queue(DEAD_LETTERS)?);
        // Whoever held these messages is gone: a stack that was down has no other receivers.
        commands.release_in_flight()?;
        letters.release_in_flight()?;
        let source = |concurrency| EventSource {
            concurrency,
            timeout: FUNCTION_TIMEOUT,
            keeps_visibility: self.keeps_visibility,
            faults: self.deliveries.clone(),
        };
        let stream = StreamSource {
            timeout: FUNCTION_TIMEOUT,
            faults: self.deliveries.clone(),
            giving_up: GivingUp::new(self.sender(DEAD_LETTERS)),
        };
        let engine = || self.engine.clone();
        let mut pollers = vec![
            threads.spawn(source(WRITERS).run(commands, write, stop.clone())),
            threads.spawn(source(1).run(letters, alert, stop.clone())),
            threads.spawn(stream.clone().run(engine(), project_facts, stop.clone())),
        ];
        if self.history.is_on() {
            pollers.push(threads.spawn(stream.run_events(engine(), project_events, stop.clone())));
        }
        Ok(pollers)
    }

    fn sender(&self, queue: &str) -> Sender {
        Sender::new(self.sqs.clone(), self.wire.queue_url(queue))
    }

    pub(super) fn environment(
        &self,
        endpoints: &Endpoints,
        authorizer: &Option<JwtAuthorizer>,
    ) -> Vec<(&'static str, String)> {
        let names = schema::names();
        let authorization = if authorizer.is_some() { "jwt" } else { "open" };
        let mut environment = vec![
            (env::API_URL, endpoints.api.clone()),
            (env::QUEUE_URL, self.wire.queue_url(COMMANDS)),
            (env::QUEUE_ARN, command_queue_arn()),
            (env::DEAD_LETTER_QUEUE_URL, self.wire.queue_url(DEAD_LETTERS)),
            (env::TIMELINES_TABLE, names.timelines),
            (env::LEDGER_TABLE, names.ledger),
            (env::FACTS_TABLE, names.facts),
            (env::VIEWS_TABLE, names.views),
            (env::DEAD_LETTERS_TABLE, names.dead_letters),
            (env::HISTORY, self.history.as_str().to_owned()),
            (env::EVENTS_TABLE_PREFIX, names.events),
            (env::CURSOR_SECRETS[0], self.secrets.cursor.clone()),
            (env::INTERNAL_SECRETS[0], self.secrets.internal.clone()),
            (env::AUTHORIZATION, authorization.to_owned()),
            (env::DYNAMODB_ENDPOINT, endpoints.tables.clone()),
            (env::SQS_ENDPOINT, endpoints.queue.clone()),
            (env::S3_ENDPOINT, endpoints.objects.clone()),
            (env::ARCHIVE_BUCKET, BUCKET.to_owned()),
            (env::EVENTBRIDGE_ENDPOINT, format!("{}{}", endpoints.queue, bus::PATH)),
            (env::EVENT_BUS_NAME, bus::NAME.to_owned()),
            (env::EVENT_PERIOD, self.events.length.to_string()),
            (env::EVENT_LATENESS_DAYS, self.events.lateness_days.to_string()),
            (env::EVENT_DAYS, self.events.days.to_string()),
            (env::EVENT_ARCHIVE_DAYS, self.events.archive_days.to_string()),
            (env::CLOCK_URL, format!("{}{}", endpoints.queue, CLOCK_PATH)),
            ("AWS_ACCESS_KEY_ID", ACCESS_KEY.to_owned()),
            ("AWS_SECRET_ACCESS_KEY", ACCESS_KEY.to_owned()),
            ("AWS_REGION", REGION.to_owned()),
            ("AWS_DEFAULT_REGION", REGION.to_owned()),
        ];
        if !self.history.is_on() {
            environment.retain(|(name, _)| *name != env::ARCHIVE_BUCKET);
        }
        if let Some(authorizer) = authorizer {
            environment.push((env::JWT_KEY, authorizer.key().to_owned()));
            environment.push((env::VIEWER_CLAIM, authorizer.claims().viewer().to_owned()));
        }
        environment
    }
}
