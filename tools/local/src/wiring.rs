//! What a stack is made of, and how the handlers are wired to it.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use aws_lambda_events::event::apigw::ApiGatewayV2httpRequest;
use aws_lambda_events::event::sqs::SqsEvent;
use aws_smithy_runtime_api::client::http::SharedHttpConnector;
use axum::Router;
use dlq_alerter::Alerter;
use event_intake::Intake;
use fanout_writer::Writer;
use futures::future::BoxFuture;
use nagare_client::local_stack::{ACCESS_KEY, CLOCK_PATH};
use nagare_gateway::{Answerer, Authorization, Gateway, JwtAuthorizer, Limits};
use nagare_telemetry::numbers::{HISTORY_READER, INTAKE, Numbers, READER};
use period_keeper::Keeper;
use projector::Projector;
use shared::history::events::EventSettings;
use shared::history::switch::HistorySwitch;
use shared::platform::dynamo::Dynamo;
use shared::platform::environment::Environment;
use shared::platform::runtime::deadline::Deadline;
use shared::platform::runtime::env::{self, Variables};
use shared::platform::runtime::invocation::Invocation;
use shared::platform::signed::Services;
use shared::social::follows::IdleViewers;
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
    functions: Environment,
    history: HistorySwitch,
    /// How they keep events. They take those of a clock that was set, too.
    events: EventSettings,
    keepers: Keepers,
    keeps_visibility: bool,
    deliveries: Deliveries,
    numbers: Numbers,
    /// Shared by writer and reader: both remember viewers who are not idle.
    idle_viewers: IdleViewers,
    pub(super) local_bus: LocalBus,
    /// The variables of programs beside this stack. Without the event history no bucket is named.
    pub(super) environment: Vec<(&'static str, String)>,
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
        let mut environment = environment(endpoints, config, &secrets, &wire);
        let functions = Environment {
            variables: Variables::given(environment.iter().cloned().chain(inside_only(config))),
            dynamo: Dynamo::new(connector::dynamodb(connector.clone())),
            sqs: connector::sqs(connector.clone()),
            services: Services::behind(connector, ACCESS_KEY, REGION),
            metrics: numbers.metrics(),
            clock: config.clock.clone(),
        };
        if !config.history.is_on() {
            environment.retain(|(name, _)| *name != env::ARCHIVE_BUCKET);
        }
        Ok(Self {
            local_bus,
            environment,
            history: config.history,
            events: config.events,
            keepers,
            keeps_visibility: config.template_visibility,
            idle_viewers: config.idle_viewers.clone(),
            deliveries: Deliveries::by(&config.telemetry.faults),
            functions,
            numbers,
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
    ) -> Result<Router, StackError> {
        let intake = Intake { events: self.events, ..Intake::from_env(&self.functions)? };
        let reader = Reader {
            idle_viewers: self.idle_viewers.clone(),
            ..Reader::from_env(&self.functions)?
        };
        let mut history = history_reader::Reader::from_env(&self.functions)?;
        history.events.settings = self.events;
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
        let gateway = gateway.with_clock(config.clock.clone());
        Ok(gateway.with_cors(config.cors.clone()).router())
    }

    pub(super) fn keeping(
        &self,
        calendar: &Calendar,
        data_dir: Option<&DataDir>,
    ) -> Result<Keeping, StackError> {
        Ok(Keeping {
            keeper: Keeper { settings: self.events, ..Keeper::from_env(&self.functions)? },
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
        let mut writer = Writer::from_env(&self.functions)?;
        if let Some(events) = &mut writer.events {
            events.settings = self.events;
        }
        writer.idle_viewers = self.idle_viewers.clone();
        let alerter = Alerter::from_env(&self.functions)?;
        let projector = Projector::from_env(&self.functions)?;
        let history = history_projector::Projector::from_env(&self.functions)?;
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
            giving_up: GivingUp::new(self.functions.sender(env::DEAD_LETTER_QUEUE_URL)?),
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
}

/// The variables of programs beside a stack, and of its own functions.
fn environment(
    endpoints: &Endpoints,
    config: &StackConfig,
    secrets: &Secrets,
    wire: &Wire,
) -> Vec<(&'static str, String)> {
    let authorization = if config.auth { "jwt" } else { "open" };
    let [timelines, ledger, facts, views, dead_letters, events] = schema::names().variables();
    vec![
        (env::API_URL, endpoints.api.clone()),
        (env::QUEUE_URL, wire.queue_url(COMMANDS)),
        (env::QUEUE_ARN, command_queue_arn()),
        (env::DEAD_LETTER_QUEUE_URL, wire.queue_url(DEAD_LETTERS)),
        timelines,
        ledger,
        facts,
        views,
        dead_letters,
        (env::HISTORY, config.history.as_str().to_owned()),
        events,
        (env::CURSOR_SECRETS[0], secrets.cursor.clone()),
        (env::INTERNAL_SECRETS[0], secrets.internal.clone()),
        (env::AUTHORIZATION, authorization.to_owned()),
        (env::DYNAMODB_ENDPOINT, endpoints.tables.clone()),
        (env::SQS_ENDPOINT, endpoints.queue.clone()),
        (env::S3_ENDPOINT, endpoints.objects.clone()),
        (env::ARCHIVE_BUCKET, BUCKET.to_owned()),
        (env::EVENTBRIDGE_ENDPOINT, format!("{}{}", endpoints.queue, bus::PATH)),
        (env::EVENT_BUS_NAME, bus::NAME.to_owned()),
        (env::EVENT_PERIOD, config.events.length.to_string()),
        (env::EVENT_LATENESS_DAYS, config.events.lateness_days.to_string()),
        (env::EVENT_DAYS, config.events.days.to_string()),
        (env::EVENT_ARCHIVE_DAYS, config.events.archive_days.to_string()),
        (env::CLOCK_URL, format!("{}{}", endpoints.queue, CLOCK_PATH)),
        ("AWS_ACCESS_KEY_ID", ACCESS_KEY.to_owned()),
        ("AWS_SECRET_ACCESS_KEY", ACCESS_KEY.to_owned()),
        ("AWS_REGION", REGION.to_owned()),
        ("AWS_DEFAULT_REGION", REGION.to_owned()),
    ]
}

/// The variables that only the stack's own functions need.
fn inside_only(config: &StackConfig) -> [(&'static str, String); 6] {
    let [viewer, tenant] = env::CLAIMS;
    [
        (viewer, config.claims.viewer().to_owned()),
        (tenant, config.claims.tenant().to_owned()),
        (env::PUBLIC_CACHE_SECONDS, config.public_cache_seconds.to_string()),
        // One process reads pages here.
        (env::CHANGE_LOG_COPIES, "1".to_owned()),
        (env::LAMBDA_ENDPOINT, lambda::ENDPOINT.to_owned()),
        (env::STREAM_MAPPING, lambda::mapping_request()),
    ]
}
