//! The environment of a handler: the values of its variables, the services that it calls, the time, and where it counts.
//!
//! On AWS it is the environment of the process. The local stack and the tests make others, behind connectors, and build the
//! same handlers from them.

use super::dynamo::{Dynamo, Table, sdk_config};
use super::objects::Objects;
use super::outbound::Bus;
use super::queue::Sender;
use super::runtime::clock::Clock;
use super::runtime::env::{self, EnvError, Variables};
use super::runtime::metrics::Metrics;
use super::signed::Services;

/// The environment of a handler. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Environment {
    pub variables: Variables,
    pub dynamo: Dynamo,
    pub sqs: aws_sdk_sqs::Client,
    /// The services that have no SDK here.
    pub services: Services,
    pub metrics: Metrics,
    pub clock: Clock,
}

impl Environment {
    /// Reads the environment of the process of a function.
    pub async fn of_process() -> Self {
        let (variables, config) = (Variables::Process, sdk_config().await);
        Self {
            dynamo: Dynamo::new(aws_sdk_dynamodb::Client::new(&config)),
            sqs: aws_sdk_sqs::Client::new(&config),
            services: Services::from_config(&config),
            metrics: Metrics::to(std::io::stdout(), &variables.stage()),
            clock: Clock::system(),
            variables,
        }
    }

    /// The table that a variable names.
    ///
    /// # Errors
    /// [`EnvError::Missing`]
    pub fn table(&self, variable: &'static str) -> Result<Table, EnvError> {
        Ok(self.dynamo.table(&self.variables.required(variable)?))
    }

    /// A sender to the queue whose URL a variable has.
    ///
    /// # Errors
    /// [`EnvError::Missing`]
    pub fn sender(&self, variable: &'static str) -> Result<Sender, EnvError> {
        Ok(Sender::new(self.sqs.clone(), self.variables.required(variable)?))
    }

    /// The objects of the bucket that a variable names.
    ///
    /// # Errors
    /// [`EnvError::Missing`]
    pub fn objects(&self, variable: &'static str) -> Result<Objects, EnvError> {
        let bucket = self.variables.required(variable)?;
        Ok(Objects::new(&self.services_at(env::S3_ENDPOINT), &bucket))
    }

    /// The bus that a variable names, or none.
    pub fn bus(&self, variable: &'static str) -> Bus {
        self.variables.optional(variable).map_or_else(Bus::off, |name| {
            Bus::new(&self.services_at(env::EVENTBRIDGE_ENDPOINT), &name, self.clock.clone())
        })
    }

    /// How a service is called whose endpoint a variable may name.
    pub fn services_at(&self, endpoint: &'static str) -> Services {
        self.services.clone().at(self.variables.optional(endpoint))
    }
}
