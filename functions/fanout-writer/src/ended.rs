//! How a message ended: what is told to the queue, logged and counted of it.

use std::borrow::Cow;

use shared::store::Tally;

use crate::fan_out::FanOutEnd;
use crate::message::{Failure, Outcome};

/// What a message came to.
#[derive(Debug)]
pub(crate) struct Processed {
    /// The type of its command.
    pub(crate) command: &'static str,
    pub(crate) ended: Ended,
    pub(crate) cost: Tally,
}

/// How it ended.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) ending: Ending,
    /// The parts that were handed out.
    pub(crate) parts: Option<usize>,
    /// The fan-out that came to its end.
    pub(crate) fan_out: Option<FanOutEnd>,
    /// Why it failed, if it did.
    pub(crate) reason: Option<&'static str>,
    /// The same in words that quote nothing.
    pub(crate) text: Cow<'static, str>,
}

/// The ways to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ending {
    Applied,
    Split,
    Continued,
    Expired,
    /// Deleted before it was published.
    Suppressed,
    /// No delivery can help: it is a dead letter.
    Refused,
    /// It failed too often, and is a dead letter.
    GivenUp,
    /// It has to come again. All others are acknowledged.
    Failed,
}

impl Ended {
    /// It failed, and this is what was done about it.
    pub(crate) fn badly(ending: Ending, done: &str, failure: &Failure) -> Self {
        let (reason, text) = (Some(failure.reason()), format!("{done}: {failure}").into());
        Self { ending, parts: None, fan_out: None, reason, text }
    }
}

impl From<Outcome> for Ended {
    fn from(outcome: Outcome) -> Self {
        let (ending, text) = match outcome {
            Outcome::Applied(_) => (Ending::Applied, "applied"),
            Outcome::Split(_) => (Ending::Split, "split"),
            Outcome::Continued => (Ending::Continued, "continued"),
            Outcome::Expired => (Ending::Expired, "older than retention"),
            Outcome::Suppressed => (Ending::Suppressed, "suppressed by an earlier delete"),
        };
        let (parts, fan_out) = match outcome {
            Outcome::Split(parts) => (Some(parts), None),
            Outcome::Applied(fan_out) => (None, fan_out),
            Outcome::Continued | Outcome::Expired | Outcome::Suppressed => (None, None),
        };
        Self { ending, parts, fan_out, reason: None, text: text.into() }
    }
}
