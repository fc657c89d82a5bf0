//! Clients for the stack that a command talks to.

use shared::dead_letters::DeadLetters;
use shared::dynamo::{Dynamo, PacedTable, Table, sdk_config};
use shared::facts::Facts;
use shared::ledger::Ledger;
use shared::projection::Views;
use shared::runtime::env;
use shared::timelines::Timelines;
use shared::values::Retention;

use super::drain::Drain;
use super::sender::Sender;
use super::target::Target;
use crate::failure::Failure;
use crate::local::connector;

pub(crate) use crate::operator::soon;

/// Clients for the stack. Which variables are required depends on the clients that are used.
pub(crate) struct Remote {
    target: Target,
    sqs: aws_sdk_sqs::Client,
    dynamo: Dynamo,
}

impl Remote {
    /// The stack that the environment names, or else the one that runs on this machine.
    ///
    /// # Errors
    /// [`Failure::Usage`] if there is none, or if it is not clear which.
    pub(crate) async fn from_environment() -> Result<Self, Failure> {
        let target = Target::find()?;
        let (sqs, dynamodb) = match &target {
            Target::Environment => {
                let config = sdk_config().await;
                (aws_sdk_sqs::Client::new(&config), aws_sdk_dynamodb::Client::new(&config))
            }
            Target::Local(_) => (
                connector::sqs_over_http(&target.required(env::SQS_ENDPOINT)?),
                connector::dynamodb_over_http(&target.required(env::DYNAMODB_ENDPOINT)?),
            ),
        };
        Ok(Self { target, sqs, dynamo: Dynamo::new(dynamodb) })
    }

    /// Sends commands to the queue.
    pub(crate) fn sender(&self) -> Result<Sender, Failure> {
        Ok(Sender::new(self.sqs.clone(), self.target.required(env::QUEUE_URL)?))
    }

    /// Waits for the queues to drain.
    pub(crate) fn drain(&self) -> Result<Drain, Failure> {
        let commands = self.target.required(env::QUEUE_URL)?;
        let dead_letters = self.target.optional(env::DEAD_LETTER_QUEUE_URL);
        Ok(Drain::new(self.sqs.clone(), commands, dead_letters))
    }

    pub(crate) fn ledger(&self) -> Result<Ledger, Failure> {
        Ok(Ledger::new(self.dynamo.table(&self.target.required(env::LEDGER_TABLE)?)))
    }

    pub(crate) fn facts(&self) -> Result<Facts, Failure> {
        Ok(Facts::new(self.dynamo.table(&self.target.required(env::FACTS_TABLE)?)))
    }

    pub(crate) fn views(&self) -> Result<Views, Failure> {
        Ok(Views::new(self.dynamo.table(&self.target.required(env::VIEWS_TABLE)?)))
    }

    pub(crate) fn timelines(&self) -> Result<Timelines, Failure> {
        Ok(Timelines::new(PacedTable::new(self.timelines_table()?), &self.ledger()?))
    }

    pub(crate) fn timelines_table(&self) -> Result<Table, Failure> {
        Ok(self.dynamo.table(&self.target.required(env::TIMELINES_TABLE)?))
    }

    pub(crate) fn dead_letters(&self) -> Result<DeadLetters, Failure> {
        Ok(DeadLetters::new(self.dynamo.table(&self.target.required(env::DEAD_LETTERS_TABLE)?)))
    }

    /// How long activities stay in timelines.
    pub(crate) fn retention(&self) -> Result<Retention, Failure> {
        self.target.retention()
    }
}
