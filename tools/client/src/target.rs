//! Which stack a command talks to.
//!
//! If any variable that names a stack is set, the environment alone counts, and with it the AWS SDK's own variables for credentials,
//! region and endpoints. Otherwise the command talks to the local stack that runs ([`crate::running`]), and that stack's note alone
//! counts: no variable that begins with `AWS_` and no profile is read. So no command that is meant for the local stack reaches an
//! account, and none that is meant for an account is sent to the local stack.

use function_http::Authorization;
use shared::platform::runtime::env::{self, Variables};
use shared::platform::values::Retention;

use crate::failure::Failure;
use crate::running::{self, Note, Running};

/// The variables that name a stack.
const NAMING: [&str; 8] = [
    env::API_URL,
    env::QUEUE_URL,
    env::DEAD_LETTER_QUEUE_URL,
    env::TIMELINES_TABLE,
    env::LEDGER_TABLE,
    env::FACTS_TABLE,
    env::VIEWS_TABLE,
    env::DEAD_LETTERS_TABLE,
];

/// The variables that name other parts of the stack, and its settings.
const SETTINGS: [&str; 9] = [
    env::HISTORY,
    env::ARCHIVE_BUCKET,
    env::EVENTS_TABLE_PREFIX,
    env::EVENT_PERIOD,
    env::EVENT_LATENESS_DAYS,
    env::EVENT_DAYS,
    env::EVENT_ARCHIVE_DAYS,
    env::AUTHORIZATION,
    env::STAGE,
];
/// Variables of the caller, and those that only a local stack prints.
const OTHERS: [&str; 9] = [
    env::TOKEN,
    env::JWT_KEY,
    env::VIEWER_CLAIM,
    env::CLOCK_URL,
    env::CONSOLE_URL,
    env::DYNAMODB_ENDPOINT,
    env::SQS_ENDPOINT,
    env::S3_ENDPOINT,
    env::EVENTBRIDGE_ENDPOINT,
];

/// The variables that say where a stack is and how it is set up.
pub fn stack_variables() -> Vec<&'static str> {
    [&NAMING[..], &SETTINGS].concat()
}

/// The stack that a command talks to.
#[derive(Debug, Clone)]
pub enum Target {
    /// The one that the environment names.
    Environment,
    /// The one that runs on this machine.
    Local(Note),
}

impl Target {
    /// The stack that the environment names, or else the one that runs.
    ///
    /// # Errors
    /// [`Failure::Usage`] if none runs, or several do; it says how to start one, or to choose.
    pub fn find() -> Result<Self, Failure> {
        if NAMING.into_iter().any(|name| env::optional(name).is_some()) {
            return Ok(Self::Environment);
        }
        Ok(Self::Local(only_one(running::stacks()?, None)?.note))
    }

    /// A variable that a command cannot do without.
    ///
    /// # Errors
    /// [`Failure::Usage`] if it is not set.
    pub fn required(&self, name: &'static str) -> Result<String, Failure> {
        Ok(self.optional(name).ok_or(env::EnvError::Missing(name))?)
    }

    /// A variable, if it is set.
    pub fn optional(&self, name: &'static str) -> Option<String> {
        debug_assert!([&NAMING[..], &SETTINGS, &OTHERS].concat().contains(&name), "{name}");
        match self {
            Self::Environment => env::optional(name),
            Self::Local(note) => note.variable(name).map(ToOwned::to_owned),
        }
    }

    /// What its API demands of callers, if the environment says it.
    ///
    /// # Errors
    /// [`Failure::Usage`] if the environment says something else than a mode.
    pub fn authorization(&self) -> Result<Option<Authorization>, Failure> {
        match self {
            Self::Environment => Ok(Variables::Process.parsed(env::AUTHORIZATION)?),
            Self::Local(note) => Ok(note.variable(env::AUTHORIZATION).and_then(|a| a.parse().ok())),
        }
    }

    /// How long activities stay in its timelines. A local stack has the default.
    ///
    /// # Errors
    /// [`Failure::Usage`] if the environment says something else than a number of days.
    pub fn retention(&self) -> Result<Retention, Failure> {
        match self {
            Self::Environment => Ok(Variables::Process.days(env::RETENTION_DAYS)?),
            Self::Local(_) => Ok(Retention::default()),
        }
    }
}

/// The only stack that runs, or the one of several whose API has this port.
///
/// # Errors
/// [`Failure::Usage`] if there is none, or the choice is open.
pub fn only_one(stacks: Vec<Running>, port: Option<u16>) -> Result<Running, Failure> {
    let ports: Vec<_> = stacks.iter().map(|stack| stack.note.port.to_string()).collect();
    let mut chosen = stacks.into_iter().filter(|stack| port.is_none_or(|p| p == stack.note.port));
    match (chosen.next(), chosen.next(), port) {
        (Some(stack), None, _) => Ok(stack),
        (Some(_), Some(_), _) => Err(Failure::Usage(format!(
            "{} stacks run on this machine, with their APIs on the ports {}; choose one for this shell with \
             `eval \"$(nagare env --port {})\"`",
            ports.len(),
            ports.join(", "),
            ports[0]
        ))),
        (None, _, None) => Err(none_runs()),
        (None, _, Some(port)) => Err(Failure::Usage(format!(
            "no stack runs on port {port}; {}",
            match ports.is_empty() {
                true => "none runs on this machine".to_owned(),
                false => format!("those that run are on {}", ports.join(", ")),
            }
        ))),
    }
}

fn none_runs() -> Failure {
    Failure::Usage(
        "no stack runs on this machine; start one with `nagare up --detach`, or name another with its \
         NAGARE_… variables (on AWS, the output `Environment`)"
            .to_owned(),
    )
}
