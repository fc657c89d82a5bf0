//! The stack that the environment names.

use aws_config::SdkConfig;
use shared::dead_letters::DeadLetters;
use shared::dynamo::{Dynamo, PacedTable, Table, sdk_config};
use shared::ledger::Ledger;
use shared::runtime::env;
use shared::timelines::Timelines;

use super::Failure;
use super::drain::Drain;
use super::sender::Sender;

pub(crate) use crate::operator::soon;

/// Clients for the stack. Which variables are required depends on the clients that are used.
pub(crate) struct Remote {
    config: SdkConfig,
    dynamo: Dynamo,
}

impl Remote {
    pub(crate) async fn from_environment() -> Result<Self, Failure> {
        let config = sdk_config().await;
        let dynamo = Dynamo::new(aws_sdk_dynamodb::Client::new(&config));
        Ok(Self { config, dynamo })
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

    pub(crate) fn ledger(&self) -> Result<Ledger, Failure> {
        Ok(Ledger::new(self.dynamo.table(&env::required(env::LEDGER_TABLE)?)))
    }

    pub(crate) fn timelines(&self) -> Result<Timelines, Failure> {
        Ok(Timelines::new(PacedTable::new(self.timelines_table()?), &self.ledger()?))
    }

    pub(crate) fn timelines_table(&self) -> Result<Table, Failure> {
        Ok(self.dynamo.table(&env::required(env::TIMELINES_TABLE)?))
    }

    pub(crate) fn dead_letters(&self) -> Result<DeadLetters, Failure> {
        Ok(DeadLetters::new(self.dynamo.table(&env::required(env::DEAD_LETTERS_TABLE)?)))
    }

    fn sqs(&self) -> aws_sdk_sqs::Client {
        aws_sdk_sqs::Client::new(&self.config)
    }
}
