//! `nagare-bench handler`: one publish and all its segments, as the writer applies them. It records the
//! facts, reads the followers from the ledger at the endpoint, writes entries and checks them again, and
//! records progress. The queue that segments go back to is in this process, and sees one message for
//! every few segments.

use std::sync::Arc;
use std::time::Duration;

use aws_smithy_runtime_api::client::http::SharedHttpConnector;
use clap::Args;
use fanout_writer::{CommandQueue, DeadLetterQueue, Delivery, FanOutLimits, Shares, Turns, Writer};
use nagare::Failure;
use nagare::print::print_json;
use nagare_local::connector::{self, InProcess};
use nagare_local::engine::Engine;
use nagare_local::sqs::{Queue, QueueConfig, Queues, Wire};
use nagare_local::{COMMANDS, DEAD_LETTERS};
use shared::command::{Command, InternalSeal};
use shared::platform::crypto::seal::{MIN_SECRET_LENGTH, Secrets};
use shared::platform::dead_letters::LetterSeal;
use shared::platform::outbound::Bus;
use shared::platform::queue::Sender;
use shared::platform::runtime::clock::Clock;
use shared::platform::runtime::deadline::Deadline;
use shared::platform::runtime::hold::Hold;
use shared::platform::runtime::metrics::Metrics;
use shared::platform::values::{ActivityId, ActorId, Kind, Payload, Retention};
use shared::social::WriteQueues;
use shared::social::activities::ChangeLog;
use shared::social::activities::Publish;
use shared::social::follows::IdleViewers;

use super::report::Measurement;
use super::{ACTOR, in_flight, on_one_thread, tables_at};

/// How long an invocation may take, as the template sets it.
const TIMEOUT: Duration = Duration::from_secs(58);

#[derive(Debug, Args)]
pub(crate) struct Handler {
    /// The endpoint of a `nagare-bench table --follows N`.
    #[arg(long)]
    endpoint: String,
    /// Calls in flight at once.
    #[arg(long, default_value_t = shared::platform::dynamo::IN_FLIGHT, value_parser = in_flight)]
    in_flight: usize,
}

impl Handler {
    /// Runs on one thread, as in the function.
    pub(super) async fn run(self) -> Result<(), Failure> {
        on_one_thread(|| self.measure()).await
    }

    async fn measure(self) -> Result<(), Failure> {
        let broken = |problem: &dyn std::fmt::Display| Failure::Unreachable(problem.to_string());
        let clock = Clock::system();
        let time = clock.clone();
        let configs = [COMMANDS, DEAD_LETTERS].map(QueueConfig::new).into();
        let queues = Queues::in_memory(configs, Arc::new(move || time.now().unix_millis()));
        let queues = queues.map_err(|e| broken(&e))?;
        let wire = Wire::new(queues.clone(), "http://queue.local");
        let engine = Engine::in_memory().map_err(|e| broken(&e))?;
        let inside = SharedHttpConnector::new(InProcess::new(engine, wire.clone()));
        let sqs = connector::sqs(inside);
        let tables = tables_at(&self.endpoint, self.in_flight).await?;
        let secrets = Secrets::new(&[0; MIN_SECRET_LENGTH]).map_err(|e| broken(&e))?;
        let writer = Writer {
            ledger: tables.ledger,
            facts: tables.facts,
            views: tables.views,
            timelines: tables.timelines,
            commands: CommandQueue::new(
                Sender::new(sqs.clone(), wire.queue_url(COMMANDS)),
                InternalSeal::new(&secrets),
            ),
            dead_letters: DeadLetterQueue::new(
                Sender::new(sqs, wire.queue_url(DEAD_LETTERS)),
                LetterSeal::new(&secrets),
            ),
            limits: FanOutLimits::default(),
            retention: Retention::default(),
            idle_viewers: IdleViewers::off(),
            metrics: Metrics::off(),
            clock: clock.clone(),
            change_log: ChangeLog::default(),
            queues: WriteQueues::default(),
            turns: Turns::default(),
            events: Some(tables.events),
            hold: Hold::default(),
            bus: Bus::off(),
            shares: Shares::unbounded(),
        };
        let queue = queues.queue(COMMANDS).map_err(|e| broken(&e))?;
        let measurement = Measurement::start()?;
        apply(&writer, publish(&clock)?).await?;
        while let Some(segment) = next(&writer, &queue).await? {
            apply(&writer, segment).await?;
        }
        print_json(&measurement.report(tables.dynamo.usage())?)?;
        Ok(())
    }
}

async fn apply(writer: &Writer, command: Command) -> Result<(), Failure> {
    let applied = writer.apply(command, Delivery::only(Deadline::after(TIMEOUT))).await;
    applied.map(drop).map_err(|e| Failure::Unreachable(e.to_string()))
}

fn publish(clock: &Clock) -> Result<Command, Failure> {
    let wrong = |e: shared::platform::values::IdError| Failure::Usage(e.to_string());
    let activity_id = format!("bench-{}", std::process::id());
    Ok(Command::Publish(Publish {
        activity_id: ActivityId::new(activity_id).map_err(wrong)?,
        actor_id: ActorId::new(ACTOR).map_err(wrong)?,
        published_at: clock.now(),
        kind: Kind::default(),
        payload: Payload::default(),
    }))
}

/// Takes the next segment from the queue.
async fn next(writer: &Writer, queue: &Queue) -> Result<Option<Command>, Failure> {
    let broken = |problem: &dyn std::fmt::Display| Failure::Unreachable(problem.to_string());
    let received = queue.receive(1, None, Duration::ZERO).await.map_err(|e| broken(&e))?;
    let Some(message) = received.first() else { return Ok(None) };
    queue.delete_batch(&[message.receipt_handle]).map_err(|e| broken(&e))?;
    let segment = writer.commands.parse(&message.body, writer.clock.now());
    segment.map(Some).map_err(|e| broken(&e))
}
