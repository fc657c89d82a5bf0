//! The outcome of a message: what the queue is told, and what is logged and counted.

use std::borrow::Cow;
use std::time::Duration;

use shared::platform::dynamo::DynamoError;
use shared::platform::queue::SendError;

use crate::failure::Failure;

/// The outcome of a message, whether it was a command or not.
#[derive(Debug)]
pub enum Disposition {
    /// In effect. It ended a fan-out, unless it has none or other segments are left.
    Applied(Option<FanOutEnd>),
    /// In effect, and no page shows it: a follow of somebody who has published nothing.
    Unseen,
    /// Applied without this many of its events, each of which is refused.
    AppliedBut(usize),
    /// On record; its fan-out was handed out in this many segments.
    Split(usize),
    /// On record, and handed on: half of the time was used up and progress is noted.
    Continued,
    /// Handed on before it is known whether it is refused: its table is slow or is not made yet, its refusal is slow to count, or
    /// its person is beyond the [share](crate::shares::Shares) of one person.
    Undecided,
    /// Older than retention: recorded and counted, but in no timeline.
    Expired,
    /// A publish that its delete has overtaken, so nobody is ever shown it. It is counted, because a producer could
    /// delete ids that others are going to use.
    Suppressed,
    /// No delivery can help. It is a dead letter, or counted.
    Refused(Failure),
    /// A dead letter that failed too often.
    GivenUp(Failure),
    /// To be delivered again; all others are acknowledged. If it should have become a dead letter, the error says why it
    /// did not; the queue itself moves it after its last receive.
    Retry(Failure, Option<NotGivenUp>),
}

/// Why a message did not become a dead letter.
#[derive(Debug, thiserror::Error)]
pub enum NotGivenUp {
    #[error(transparent)]
    Unsent(#[from] SendError),
    #[error("its refusal was not counted: {0}")]
    Uncounted(#[from] DynamoError),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FanOutEnd {
    /// Entries that it inserted or removed.
    pub entries: u64,
    pub took: Duration,
    /// The time from the publish to the last entry, if there is an entry.
    pub latency: Option<Duration>,
}

impl Disposition {
    /// True if it has to be delivered again.
    pub fn is_retry(&self) -> bool {
        matches!(self, Self::Retry(..))
    }

    /// Why it failed, if it did.
    pub fn failure(&self) -> Option<&Failure> {
        match self {
            Self::Refused(failure) | Self::GivenUp(failure) | Self::Retry(failure, _) => {
                Some(failure)
            }
            _ => None,
        }
    }

    /// The segments that were handed out.
    pub fn segments(&self) -> Option<usize> {
        match self {
            Self::Split(segments) => Some(*segments),
            _ => None,
        }
    }

    pub fn fan_out(&self) -> Option<FanOutEnd> {
        match self {
            Self::Applied(end) => *end,
            _ => None,
        }
    }

    /// Its outcome, in words that quote nothing.
    pub fn text(&self) -> Cow<'static, str> {
        match self {
            Self::Applied(_) | Self::Unseen => "applied".into(),
            Self::AppliedBut(refused) => format!("applied, {refused} of its events refused").into(),
            Self::Split(_) => "split".into(),
            Self::Continued | Self::Undecided => "continued".into(),
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
