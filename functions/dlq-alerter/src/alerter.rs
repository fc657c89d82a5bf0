//! The state of the alerter, and how it is built from the environment.

use shared::platform::dead_letters::{DeadLetters, LetterSeal};
use shared::platform::environment::Environment;
use shared::platform::runtime::clock::Clock;
use shared::platform::runtime::env::EnvError;
use shared::platform::runtime::metrics::Metrics;

use crate::env;

/// The alerter. Made once; every invocation borrows it.
#[derive(Debug, Clone)]
pub struct Alerter {
    pub letters: DeadLetters,
    /// The seal that writer and projectors put on letters.
    pub seal: LetterSeal,
    /// The queue that commands come from: what SQS moves from there is a letter.
    pub command_queue_arn: String,
    /// Where letters are counted.
    pub metrics: Metrics,
    pub clock: Clock,
}

impl Alerter {
    /// Builds an alerter from the environment of its function.
    pub fn from_env(environment: &Environment) -> Result<Self, EnvError> {
        let Environment { variables, metrics, clock, .. } = environment;
        Ok(Self {
            letters: DeadLetters::new(environment.table(env::DEAD_LETTERS_TABLE)?),
            seal: LetterSeal::new(&variables.secrets(env::INTERNAL_SECRETS)?),
            command_queue_arn: variables.required(env::QUEUE_ARN)?,
            metrics: metrics.clone(),
            clock: clock.clone(),
        })
    }
}
