//! What became of a message: what is told to the queue, logged and counted of it.

use std::borrow::Cow;
use std::time::Duration;

use shared::queue::SendError;

use crate::Failure;

/// What became of a command, or of a message that is none.
#[derive(Debug)]
pub enum Disposition {
    /// In effect, and with it a fan-out came to its end, unless it had none, or there are other segments.
    Applied(Option<FanOutEnd>),
    /// Applied, without this many of its events. Each of these is a dead letter.
    AppliedBut(usize),
    /// On record, and its fan-out was handed out in this many segments.
    Split(usize),
    /// Half of the time is gone: how far it has come is noted, and the rest is handed on.
    Continued,
    /// Older than retention: recorded and counted, and in no timeline.
    Expired,
    /// A publish that its delete has overtaken: nobody is ever shown it. Counted, because whoever may send
    /// commands can delete ids ahead that others are going to use.
    Suppressed,
    /// No delivery can help: it is a dead letter.
    Refused(Failure),
    /// It failed too often, and is a dead letter.
    GivenUp(Failure),
    /// It has to be delivered again. All others are acknowledged. If it was to be a dead letter, this is why
    /// it is none; the queue itself will move it, after its last receive.
    Retry(Failure, Option<SendError>),
}

/// A fan-out that came to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FanOutEnd {
    /// Entries that it put into timelines, or took out.
    pub entries: u64,
    /// How long that took, if it is known when it began.
    pub took: Option<Duration>,
    /// From the instant of the publish to the last entry, if there is an entry.
    pub latency: Option<Duration>,
}

impl Disposition {
    /// True if it has to be delivered again.
    #[must_use]
    pub fn is_retry(&self) -> bool {
        matches!(self, Self::Retry(..))
    }

    /// Why it failed, if it did.
    #[must_use]
    pub fn failure(&self) -> Option<&Failure> {
        match self {
            Self::Refused(failure) | Self::GivenUp(failure) | Self::Retry(failure, _) => {
                Some(failure)
            }
            _ => None,
        }
    }

    /// The segments that were handed out.
    #[must_use]
    pub fn segments(&self) -> Option<usize> {
        match self {
            Self::Split(segments) => Some(*segments),
            _ => None,
        }
    }

    /// The fan-out that came to its end.
    #[must_use]
    pub fn fan_out(&self) -> Option<FanOutEnd> {
        match self {
            Self::Applied(end) => *end,
            _ => None,
        }
    }

    /// The same in words that quote nothing.
    #[must_use]
    pub fn text(&self) -> Cow<'static, str> {
        match self {
            Self::Applied(_) => "applied".into(),
            Self::AppliedBut(refused) => format!("applied, {refused} of its events refused").into(),
            Self::Split(_) => "split".into(),
            Self::Continued => "continued".into(),
            Self::Expired => "older than retention".into(),
            Self::Suppressed => "suppressed by an earlier delete".into(),
            Self::Refused(failure) => format!("refused: {failure}").into(),
            Self::GivenUp(failure) => format!("gave up: {failure}").into(),
            Self::Retry(failure, None) => format!("retry later: {failure}").into(),
            Self::Retry(failure, Some(error)) => {
                format!("could not give up: {error}: {failure}").into()
            }
        }
    }
}
