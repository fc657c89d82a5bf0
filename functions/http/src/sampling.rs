//! The sampling of log lines of successful requests.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::num::{NonZeroU32, ParseIntError};
use std::str::FromStr;
use std::time::Duration;

/// A request of this duration is always logged.
const SLOW: Duration = Duration::from_secs(1);

/// The number of successful requests per line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LogSampling(NonZeroU32);

impl LogSampling {
    /// Every request is logged.
    pub const ALL: Self = Self(NonZeroU32::MIN);

    /// The number of requests that the line of this one represents; `None` if it has no line. A request that failed, took a second or has no
    /// id represents itself.
    #[must_use]
    pub fn requests_per_line(
        self,
        is_smooth: bool,
        took: Duration,
        request_id: Option<&str>,
    ) -> Option<u32> {
        let Some(request_id) = request_id.filter(|_| is_smooth && took < SLOW) else {
            return Some(1);
        };
        // Every process of a version has the same hasher.
        let mut hasher = DefaultHasher::new();
        request_id.hash(&mut hasher);
        hasher.finish().is_multiple_of(u64::from(self.0.get())).then_some(self.0.get())
    }
}

impl FromStr for LogSampling {
    type Err = ParseIntError;

    /// A whole number from 1.
    fn from_str(text: &str) -> Result<Self, ParseIntError> {
        text.parse().map(Self)
    }
}
