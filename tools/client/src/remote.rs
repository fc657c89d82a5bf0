//! Clients for the stack that a command talks to.

use aws_config::SdkConfig;
use aws_smithy_runtime_api::client::http::SharedHttpConnector;
use shared::history::events::{EventSettings, EventTables, Events};
use shared::history::switch::HistorySwitch;
use shared::platform::dead_letters::DeadLetters;
use shared::platform::dynamo::{Dynamo, PacedTable, Table};
use shared::platform::facts::Facts;
use shared::platform::ledger::Ledger;
use shared::platform::objects::Objects;
use shared::platform::projection::Views;
use shared::platform::runtime::env;
use shared::platform::signed::Services;
use shared::platform::values::Retention;
use shared::social::timelines::Timelines;

use super::aws;
use super::queue_counts::QueueCounts;
use super::sender::Sender;
use super::target::Target;
use crate::call_timeout::call_timeout;
use crate::failure::Failure;
use crate::local_stack::{self, ACCESS_KEY, REGION};
use crate::tables::{TableNames, Tables};

use super::loopback::is_loopback;
use super::read_only::reading;

/// Clients for the stack. Which variables are required depends on the clients that are used.
#[derive(Debug, Clone)]
pub struct Remote {
    target: Target,
    /// The configuration of a stack that the environment names.
    config: Option<SdkConfig>,
    sqs: aws_sdk_sqs::Client,
    dynamodb: aws_sdk_dynamodb::Client,
    dynamo: Dynamo,
}

impl Remote {
    /// The stack that the environment names, or else the one that runs on this machine.
    ///
    /// # Errors
    /// [`Failure::Usage`] if there is none, or if it is not clear which.
    pub async fn from_environment() -> Result<Self, Failure> {
        Self::connect(Target::find()?).await
    }

    /// The stack that a target names.
    ///
    /// # Errors
    /// [`Failure::Usage`] if it does not say where it is, or lacks credentials.
    pub async fn connect(target: Target) -> Result<Self, Failure> {
        let config = match &target {
            Target::Environment => {
                // Which stack it is comes first: it is named by its tables or by its queue.
                if target.required(env::LEDGER_TABLE).is_err() {
                    target.required(env::QUEUE_URL)?;
                }
                Some(aws::config().await?)
            }
            Target::Local(_) => None,
        };
        let (sqs, dynamodb) = match &config {
            Some(config) => {
                (aws_sdk_sqs::Client::new(config), aws_sdk_dynamodb::Client::new(config))
            }
            None => (
                local_stack::sqs_over_http(&target.required(env::SQS_ENDPOINT)?),
                local_stack::dynamodb_over_http(&target.required(env::DYNAMODB_ENDPOINT)?),
            ),
        };
        Ok(Self { target, config, sqs, dynamo: dynamo(&dynamodb), dynamodb })
    }

    /// The same, with clients that cannot write.
    ///
    /// # Errors
    /// [`Failure::No`] if a client has no connection of its own to guard.
    pub fn only_reading(self) -> Result<Self, Failure> {
        let unguarded = || Failure::No("there is no HTTP client".to_owned());
        let sqs = self.sqs.config();
        let inside = sqs.http_client().ok_or_else(unguarded)?;
        let sqs = sqs.to_builder().http_client(reading(inside)).build();
        let dynamodb = self.dynamodb.config();
        let inside = dynamodb.http_client().ok_or_else(unguarded)?;
        let dynamodb = dynamodb.to_builder().http_client(reading(inside)).build();
        let (sqs, dynamodb) =
            (aws_sdk_sqs::Client::from_conf(sqs), aws_sdk_dynamodb::Client::from_conf(dynamodb));
        Ok(Self { sqs, dynamo: dynamo(&dynamodb), dynamodb, ..self })
    }

    /// Which stack it is.
    pub fn target(&self) -> &Target {
        &self.target
    }

    /// Credentials, region and endpoints, if the environment names the stack.
    pub fn config(&self) -> Option<&SdkConfig> {
        self.config.as_ref()
    }

    /// The client of its queues.
    pub fn sqs(&self) -> &aws_sdk_sqs::Client {
        &self.sqs
    }

    /// The client of its tables.
    pub fn dynamodb(&self) -> &aws_sdk_dynamodb::Client {
        &self.dynamodb
    }

    /// True for a stack on this machine: both its tables and its queue are at loopback addresses. With local tables alone, commands
    /// would go to the queue of an AWS account.
    pub fn is_local(&self) -> bool {
        let is_here = |name| self.target.optional(name).map(|url| is_loopback(&url));
        let queue = is_here(env::SQS_ENDPOINT).or_else(|| is_here(env::QUEUE_URL));
        is_here(env::DYNAMODB_ENDPOINT) == Some(true) && queue != Some(false)
    }

    /// All tables, through another client of the same account.
    ///
    /// # Errors
    /// [`Failure::Usage`] if a table is not named.
    pub fn tables(&self, client: aws_sdk_dynamodb::Client) -> Result<Tables, Failure> {
        let named = |name| self.target.required(name);
        let names = TableNames {
            timelines: named(env::TIMELINES_TABLE)?,
            ledger: named(env::LEDGER_TABLE)?,
            facts: named(env::FACTS_TABLE)?,
            views: named(env::VIEWS_TABLE)?,
            dead_letters: named(env::DEAD_LETTERS_TABLE)?,
            events: named(env::EVENTS_TABLE_PREFIX)?,
        };
        Ok(Tables::new(client, &names).keeping(self.event_settings()?))
    }

    /// Sends commands to the queue.
    pub fn sender(&self) -> Result<Sender, Failure> {
        Ok(Sender::new(self.sqs.clone(), self.target.required(env::QUEUE_URL)?))
    }

    /// How many commands have not been applied, approximately, and dead letters are not kept yet. A
    /// command that gives up reaches the dead-letter queue before it leaves its own, so asking in
    /// this order misses none.
    ///
    /// # Errors
    /// [`Failure::Unreachable`] if a queue does not answer.
    pub async fn messages(&self) -> Result<u64, Failure> {
        let commands = self.target.required(env::QUEUE_URL)?;
        let mut sum = QueueCounts::read(&self.sqs, &commands).await?.all();
        if let Some(letters) = self.target.optional(env::DEAD_LETTER_QUEUE_URL) {
            sum += QueueCounts::read(&self.sqs, &letters).await?.all();
        }
        Ok(sum)
    }

    pub fn ledger(&self) -> Result<Ledger, Failure> {
        Ok(Ledger::new(self.dynamo.table(&self.target.required(env::LEDGER_TABLE)?)))
    }

    pub fn facts(&self) -> Result<Facts, Failure> {
        Ok(Facts::new(self.dynamo.table(&self.target.required(env::FACTS_TABLE)?)))
    }

    pub fn views(&self) -> Result<Views, Failure> {
        Ok(Views::new(self.dynamo.table(&self.target.required(env::VIEWS_TABLE)?)))
    }

    pub fn timelines(&self) -> Result<Timelines, Failure> {
        Ok(Timelines::new(PacedTable::new(self.timelines_table()?), &self.ledger()?))
    }

    pub fn timelines_table(&self) -> Result<Table, Failure> {
        Ok(self.dynamo.table(&self.target.required(env::TIMELINES_TABLE)?))
    }

    pub fn dead_letters(&self) -> Result<DeadLetters, Failure> {
        Ok(DeadLetters::new(self.dynamo.table(&self.target.required(env::DEAD_LETTERS_TABLE)?)))
    }

    /// What customers of tenants did.
    pub fn events(&self) -> Result<Events, Failure> {
        let tables =
            EventTables::new(&self.dynamo, &self.target.required(env::EVENTS_TABLE_PREFIX)?);
        Ok(Events::new(self.event_settings()?, &tables, &self.ledger()?))
    }

    /// The archive of events.
    pub fn objects(&self) -> Result<Objects, Failure> {
        let bucket = self.target.required(env::ARCHIVE_BUCKET)?;
        if let Some(config) = &self.config {
            let services = Services::from_config(config).at(env::optional(env::S3_ENDPOINT));
            return Ok(Objects::new(&services, &bucket));
        }
        let http = aws_smithy_http_client::Connector::builder().build_http();
        let services = Services::behind(SharedHttpConnector::new(http), ACCESS_KEY, REGION);
        let endpoint = self.target.required(env::S3_ENDPOINT)?;
        Ok(Objects::new(&services.at(Some(endpoint)), &bucket))
    }

    /// Whether the stack has the event history.
    pub fn history(&self) -> Result<HistorySwitch, Failure> {
        let word = self.target.optional(env::HISTORY);
        let switch = word.map_or(Ok(HistorySwitch::On), |word| word.parse());
        switch.map_err(|e| Failure::Usage(format!("{}: {e}", env::HISTORY)))
    }

    /// How events are kept.
    pub fn event_settings(&self) -> Result<EventSettings, Failure> {
        let settings = EventSettings::of_variables(|name| self.target.optional(name));
        settings.map_err(|e| Failure::Usage(e.to_string()))
    }

    /// How long activities stay in timelines.
    pub fn retention(&self) -> Result<Retention, Failure> {
        self.target.retention()
    }
}

/// Tables whose calls end at their [deadline](crate::call_timeout).
fn dynamo(client: &aws_sdk_dynamodb::Client) -> Dynamo {
    Dynamo::new(client.clone()).with_patience(call_timeout())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use crate::running::Note;

    #[tokio::test]
    async fn a_stack_is_here_only_if_its_tables_and_its_queue_are() {
        let (here, account) = ("http://127.0.0.1:3001", "https://sqs.eu-west-1.amazonaws.com");
        for (tables, queue, is_local) in [
            (here, here, true),
            (here, account, false),
            (account, here, false),
            ("http://127.0.0.1.example", here, false),
            (here, "http://localhost@elsewhere.example", false),
        ] {
            let environment = [
                (env::DYNAMODB_ENDPOINT, tables.to_owned()),
                (env::SQS_ENDPOINT, queue.to_owned()),
            ];
            let remote =
                Remote::connect(Target::Local(Note::new(3000, &environment))).await.unwrap();
            assert_eq!(remote.is_local(), is_local, "{tables} {queue}");
        }
    }
}
