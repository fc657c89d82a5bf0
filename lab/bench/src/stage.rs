//! Where a design runs: tables and queues of its own, behind the same throttle and the same meter.

use std::sync::Arc;

use aws_smithy_runtime_api::client::http::SharedHttpConnector;
use nagare::Failure;
use nagare_client::local_stack::{ACCESS_KEY, REGION};
use nagare_client::tables::Tables;
use nagare_local::connector::{self, InProcess};
use nagare_local::engine::Engine;
use nagare_local::faults::{Deliveries, Faults, Faulty};
use nagare_local::schema;
use nagare_local::sqs::{QueueConfig, Queues, Wire};
use nagare_local::{COMMANDS, DEAD_LETTERS};
use shared::platform::runtime::clock::Clock;
use shared::platform::signed::Services;
use tokio::time::Instant;

use super::meter::Meter;

pub(super) struct Stage {
    pub(super) engine: Engine,
    pub(super) queues: Queues,
    pub(super) wire: Wire,
    pub(super) tables: Tables,
    pub(super) sqs: aws_sdk_sqs::Client,
    pub(super) services: Services,
    pub(super) meter: Meter,
    pub(super) deliveries: Deliveries,
    pub(super) clock: Clock,
}

impl Stage {
    pub(super) fn new(faults: &Faults) -> Result<Self, Failure> {
        let clock = Clock::system();
        // The queues go by the runtime's time, which is simulated in tests.
        let (start, begun) = (clock.now(), Instant::now());
        let time = move || start.unix_millis() + begun.elapsed().as_millis() as i64;
        let configs = [COMMANDS, DEAD_LETTERS].map(QueueConfig::new).into();
        let queues = Queues::in_memory(configs, Arc::new(time));
        let queues = queues.map_err(|e| broken(&e))?;
        let wire = Wire::new(queues.clone(), "http://queue.local");
        let engine = Engine::in_memory().map_err(|e| broken(&e))?;
        let meter = Meter::default();
        let inside = SharedHttpConnector::new(InProcess::new(engine.clone(), wire.clone()));
        let metered = meter.below(inside.clone(), schema::names().facts);
        let throttled = SharedHttpConnector::new(Faulty::new(faults.clone().measured(), metered));
        let tables = connector::dynamodb(meter.above(throttled));
        Ok(Self {
            tables: Tables::new(tables, &schema::names()),
            services: Services::behind(inside.clone(), ACCESS_KEY, REGION),
            sqs: connector::sqs(inside),
            deliveries: Deliveries::new(faults.clone()),
            engine,
            queues,
            wire,
            meter,
            clock,
        })
    }

    /// How many commands have become dead letters.
    pub(super) fn dead_letters(&self) -> Result<u64, Failure> {
        let counts = self.queues.queue(DEAD_LETTERS).and_then(|queue| queue.counts());
        let counts = counts.map_err(|e| broken(&e))?;
        Ok(counts.visible + counts.in_flight + counts.delayed)
    }
}

pub(super) fn broken(problem: &dyn std::fmt::Display) -> Failure {
    Failure::Unreachable(problem.to_string())
}
