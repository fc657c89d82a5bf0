//! The stack that the environment names.

use std::time::Duration;

use aws_config::SdkConfig;
use fanout_writer::{CommandQueue, DeadLetterQueue, Sizes, Writer};
use shared::store::{Store, sdk_config};
use shared::{Clock, Deadline, Metrics, env, queue};

use super::Failure;
use super::drain::Drain;
use super::sender::Sender;

/// How long a single call is tried for.
const PATIENCE: Duration = Duration::from_secs(8);

/// Clients for the stack. Which variables have to be set depends on what is asked for.
pub(crate) struct Remote {
    config: SdkConfig,
}

impl Remote {
    pub(crate) async fn from_environment() -> Result<Self, Failure> {
        Ok(Self { config: sdk_config().await })
    }

    /// Sends commands to the queue.
    pub(crate) fn sender(&self) -> Result<Sender, Failure> {
        Ok(Sender::new(self.sqs(), env::required(env::QUEUE_URL)?))
    }

    /// Waits for the queues to drain.
    pub(crate) fn drain(&self) -> Result<Drain, Failure> {
        let commands = env::required(env::QUEUE_URL)?;
        Ok(Drain::new(self.sqs(), commands, env::optional(env::DEAD_LETTER_QUEUE_URL)))
    }

    /// The tables.
    pub(crate) fn store(&self, needed: &[&'static str]) -> Result<Store, Failure> {
        let tables = env::tables(needed)?;
        Ok(Store::new(aws_sdk_dynamodb::Client::new(&self.config), tables))
    }

    /// The writer's own code, to mend timelines with. It hands nothing on.
    pub(crate) fn writer(&self) -> Result<Writer, Failure> {
        let letters = env::optional(env::DEAD_LETTER_QUEUE_URL).unwrap_or_default();
        Ok(Writer {
            store: self.store(&[env::TIMELINES_TABLE, env::LEDGER_TABLE])?,
            commands: CommandQueue::none(),
            dead_letters: DeadLetterQueue(queue::Sender::new(self.sqs(), letters)),
            sizes: Sizes::default(),
            retention: env::retention()?,
            metrics: Metrics::off(),
            clock: Clock::system(),
        })
    }

    fn sqs(&self) -> aws_sdk_sqs::Client {
        aws_sdk_sqs::Client::new(&self.config)
    }
}

/// The deadline of one call made now.
pub(crate) fn soon() -> Deadline {
    Deadline::after(PATIENCE)
}
