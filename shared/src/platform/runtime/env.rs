//! The one reader of the environment: every variable's name, and how its value is parsed.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::str::FromStr;
use std::sync::Arc;

use crate::platform::crypto::seal::{SecretError, Secrets};
use crate::platform::values::{DEFAULT_RETENTION_DAYS, Retention};

/// The timelines table.
pub const TIMELINES_TABLE: &str = "NAGARE_TIMELINES_TABLE";
/// The table of follows, activities and outboxes.
pub const LEDGER_TABLE: &str = "NAGARE_LEDGER_TABLE";
/// The table of facts that views are folded from.
pub const FACTS_TABLE: &str = "NAGARE_FACTS_TABLE";
/// The table of views.
pub const VIEWS_TABLE: &str = "NAGARE_VIEWS_TABLE";
/// The table of dead letters.
pub const DEAD_LETTERS_TABLE: &str = "NAGARE_DEAD_LETTERS_TABLE";
/// The queue of commands.
pub const QUEUE_URL: &str = "NAGARE_QUEUE_URL";
/// The ARN of that queue: the alerter recognizes messages that SQS moved from it, and the keeper measures it.
pub const QUEUE_ARN: &str = "NAGARE_QUEUE_ARN";
/// The dead-letter queue of commands.
pub const DEAD_LETTER_QUEUE_URL: &str = "NAGARE_DEAD_LETTER_QUEUE_URL";
/// The shard of stream events without a shard id, for an emulator with one shard. AWS always has the id (docs/CONFIGURATION.md); there
/// nothing is folded without it.
pub const ONLY_SHARD: &str = "NAGARE_ONLY_SHARD";
/// Days an activity stays in timelines.
pub const RETENTION_DAYS: &str = "NAGARE_RETENTION_DAYS";
/// The days after which a viewer who has not read is idle; 0 or unset: never.
pub const IDLE_DAYS: &str = "NAGARE_IDLE_DAYS";
/// Days a notification is kept after it was read.
pub const READ_NOTIFICATION_DAYS: &str = "NAGARE_READ_NOTIFICATION_DAYS";
/// Whether the stack has the event history: `on` or `off`.
pub const HISTORY: &str = "NAGARE_HISTORY";
/// The prefix of the names of tables of events. The rest is the name of a period.
pub const EVENTS_TABLE_PREFIX: &str = "NAGARE_EVENTS_TABLE_PREFIX";
/// The length of periods of events: `day`, `week` or `month`.
pub const EVENT_PERIOD: &str = "NAGARE_EVENT_PERIOD";
/// Days from the end of a period until it takes no more events.
pub const EVENT_LATENESS_DAYS: &str = "NAGARE_EVENT_LATENESS_DAYS";
/// Days that events can be read after the end of their period.
pub const EVENT_DAYS: &str = "NAGARE_EVENT_DAYS";
/// Days that events are in the archive after the end of their period; 0: without end.
pub const EVENT_ARCHIVE_DAYS: &str = "NAGARE_EVENT_ARCHIVE_DAYS";
/// The four that say how events are kept.
pub const EVENT_SETTINGS: [&str; 4] =
    [EVENT_PERIOD, EVENT_LATENESS_DAYS, EVENT_DAYS, EVENT_ARCHIVE_DAYS];
/// How the table of the current period is paid for: `on-demand` or `provisioned`.
pub const EVENT_CAPACITY: &str = "NAGARE_EVENT_CAPACITY";
/// The mapping of the stream of a period's table to the history projector: a request of Lambda's `CreateEventSourceMapping` without the stream,
/// in JSON.
pub const STREAM_MAPPING: &str = "NAGARE_STREAM_MAPPING";
/// The bucket that events are archived in.
pub const ARCHIVE_BUCKET: &str = "NAGARE_ARCHIVE_BUCKET";
/// The minimum number of copies of the change log.
pub const CHANGE_LOG_COPIES: &str = "NAGARE_CHANGE_LOG_COPIES";
/// The secret that seals cursors, and an optional second one whose cursors are also accepted, for rotation.
pub const CURSOR_SECRETS: [&str; 2] = ["NAGARE_CURSOR_SECRET", "NAGARE_OTHER_CURSOR_SECRET"];
/// The secret that seals what the functions send to themselves, and another, as for cursors.
pub const INTERNAL_SECRETS: [&str; 2] = ["NAGARE_INTERNAL_SECRET", "NAGARE_OTHER_INTERNAL_SECRET"];
/// The authentication of the API: `jwt`, `iam` or `open`. With `iam` the command line signs its requests.
pub const AUTHORIZATION: &str = "NAGARE_AUTHORIZATION";
/// The claim of a token with the id of the viewer who owns it.
pub const VIEWER_CLAIM: &str = "NAGARE_VIEWER_CLAIM";
/// The claims of a token with its owner's id, and with its owner's tenant.
pub const CLAIMS: [&str; 2] = [VIEWER_CLAIM, "NAGARE_TENANT_CLAIM"];
/// The limit of events per second of a tenant in one instance of the intake; 0: no limit.
pub const TENANT_EVENTS_PER_SECOND: &str = "NAGARE_TENANT_EVENTS_PER_SECOND";
/// The base address of the HTTP API, for the command line.
pub const API_URL: &str = "NAGARE_API_URL";
/// The bearer token the command line sends to the HTTP API, if any.
pub const TOKEN: &str = "NAGARE_TOKEN";
/// The key of the local stack's tokens, for the command line to make them with.
pub const JWT_KEY: &str = "NAGARE_JWT_KEY";
/// The endpoint of DynamoDB, for the AWS SDK.
pub const DYNAMODB_ENDPOINT: &str = "AWS_ENDPOINT_URL_DYNAMODB";
/// The endpoint of SQS, for the AWS SDK.
pub const SQS_ENDPOINT: &str = "AWS_ENDPOINT_URL_SQS";
/// The endpoint of S3, for the AWS SDK.
pub const S3_ENDPOINT: &str = "AWS_ENDPOINT_URL_S3";
/// The endpoint of Lambda, for the AWS SDK.
pub const LAMBDA_ENDPOINT: &str = "AWS_ENDPOINT_URL_LAMBDA";
/// The endpoint of CloudWatch, for the AWS SDK.
pub const CLOUDWATCH_ENDPOINT: &str = "AWS_ENDPOINT_URL_CLOUDWATCH";
/// The event bus of outbound events. Without it none are sent.
pub const EVENT_BUS_NAME: &str = "NAGARE_EVENT_BUS_NAME";
/// The endpoint of EventBridge, for the AWS SDK.
pub const EVENTBRIDGE_ENDPOINT: &str = "AWS_ENDPOINT_URL_EVENTBRIDGE";
/// The address of the clock of a local stack, for the command line.
pub const CLOCK_URL: &str = "NAGARE_CLOCK_URL";
/// The address of the console of a local stack, for the command line.
pub const CONSOLE_URL: &str = "NAGARE_CONSOLE_URL";
/// The seconds that a call of the command line may take.
pub const CALL_TIMEOUT: &str = "NAGARE_CALL_TIMEOUT";
/// The name of the deployment: the dimension of all metrics.
pub const STAGE: &str = "NAGARE_STAGE";
/// The seconds for which caches may keep answers that are the same for everybody. Without it they may not.
pub const PUBLIC_CACHE_SECONDS: &str = "NAGARE_PUBLIC_CACHE_SECONDS";
/// The reader logs one of this many successful requests. Without it, every one.
pub const LOG_ONE_IN: &str = "NAGARE_LOG_ONE_IN";
/// What to log, in the syntax of [`tracing_subscriber::filter::Targets`]: a level, or `target=level`,
/// separated by commas. If it is unset or malformed, the functions log `info`.
pub const LOG: &str = "NAGARE_LOG";

/// The name of the function, as Lambda sets it.
pub const FUNCTION_NAME: &str = "AWS_LAMBDA_FUNCTION_NAME";

/// Those that every function reads.
pub const COMMON: [&str; 2] = [LOG, STAGE];

/// The days that something may be kept.
pub const DAYS: RangeInclusive<u32> = 1..=3650;

/// A variable's name, or those of several that are read together.
pub trait Names {
    fn names(&self) -> Vec<&'static str>;
}

impl Names for &'static str {
    fn names(&self) -> Vec<&'static str> {
        vec![self]
    }
}

impl<const N: usize> Names for [&'static str; N] {
    fn names(&self) -> Vec<&'static str> {
        self.to_vec()
    }
}

/// Fills a function's module of the variables that it reads. The function imports this module and not [`env`](self), so
/// it cannot name others, and `all` tells `tests/template` which the template has to set.
#[macro_export]
macro_rules! variables {
    ($($name:ident),* $(,)?) => {
        pub use $crate::platform::runtime::env::{$($name),*};

        /// All that the function reads.
        pub fn all() -> Vec<&'static str> {
            use $crate::platform::runtime::env::Names;
            [$crate::platform::runtime::env::COMMON.names(), $($name.names(),)*].concat()
        }
    };
}

/// A variable is missing or malformed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EnvError {
    /// It is not set.
    #[error("the environment variable {0} is not set")]
    Missing(&'static str),
    /// Its value is malformed.
    #[error("the environment variable {name}: {problem}")]
    Invalid {
        /// Its name.
        name: &'static str,
        /// What was expected.
        problem: String,
    },
}

/// Reads a variable of the process if it is set.
#[allow(clippy::disallowed_methods, reason = "the one place that reads the environment")]
pub fn optional(name: &'static str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

/// The values of variables. A value that is empty counts as not set.
#[derive(Debug, Clone)]
pub enum Variables {
    /// The variables of the process.
    Process,
    Given(Arc<BTreeMap<&'static str, String>>),
}

impl Variables {
    pub fn given(values: impl IntoIterator<Item = (&'static str, String)>) -> Self {
        Self::Given(Arc::new(values.into_iter().collect()))
    }

    /// A variable if it is set.
    pub fn optional(&self, name: &'static str) -> Option<String> {
        match self {
            Self::Process => optional(name),
            Self::Given(values) => values.get(name).filter(|value| !value.is_empty()).cloned(),
        }
    }

    /// A variable that has to be set.
    ///
    /// # Errors
    /// [`EnvError::Missing`] if it is not.
    pub fn required(&self, name: &'static str) -> Result<String, EnvError> {
        self.optional(name).ok_or(EnvError::Missing(name))
    }

    /// A variable that has to be set, parsed.
    ///
    /// # Errors
    /// [`EnvError`] if it is not, or does not parse.
    pub fn required_parsed<T>(&self, name: &'static str) -> Result<T, EnvError>
    where
        T: FromStr<Err: std::fmt::Display>,
    {
        self.parsed(name)?.ok_or(EnvError::Missing(name))
    }

    /// A variable, parsed, if it is set.
    ///
    /// # Errors
    /// [`EnvError::Invalid`] if it is set but does not parse.
    pub fn parsed<T>(&self, name: &'static str) -> Result<Option<T>, EnvError>
    where
        T: FromStr<Err: std::fmt::Display>,
    {
        let invalid = |e: T::Err| EnvError::Invalid { name, problem: e.to_string() };
        self.optional(name).map(|text| text.parse().map_err(invalid)).transpose()
    }

    /// A variable, parsed, or the default where it is not set.
    ///
    /// # Errors
    /// [`EnvError::Invalid`] if it is set but does not parse.
    pub fn parsed_or<T>(&self, name: &'static str, default: T) -> Result<T, EnvError>
    where
        T: FromStr<Err: std::fmt::Display>,
    {
        Ok(self.parsed(name)?.unwrap_or(default))
    }

    /// A secret that has to be set, and another that may be.
    ///
    /// # Errors
    /// [`EnvError`] if the first is not set, or one of the two is too short.
    pub fn secrets(&self, [name, other]: [&'static str; 2]) -> Result<Secrets, EnvError> {
        let invalid =
            |name| move |e: SecretError| EnvError::Invalid { name, problem: e.to_string() };
        let secrets = Secrets::new(self.required(name)?.as_bytes()).map_err(invalid(name))?;
        match self.optional(other) {
            None => Ok(secrets),
            Some(secret) => secrets.also_opening(secret.as_bytes()).map_err(invalid(other)),
        }
    }

    /// The name of this deployment; `local` if unset.
    pub fn stage(&self) -> String {
        self.optional(STAGE).unwrap_or_else(|| "local".to_owned())
    }

    /// The days that something is kept: 30 if unset.
    ///
    /// # Errors
    /// [`EnvError::Invalid`] if it is not a number of days among [`DAYS`].
    pub fn days(&self, name: &'static str) -> Result<Retention, EnvError> {
        let days = self.parsed_or(name, DEFAULT_RETENTION_DAYS)?;
        if DAYS.contains(&days) {
            return Ok(Retention::days(days));
        }
        let problem = format!("expected {} to {} days, got {days}", DAYS.start(), DAYS.end());
        Err(EnvError::Invalid { name, problem })
    }
}
