//! The one clock. Rules take `now` as an argument; only the edges ask a [`Clock`].

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::values::Timestamp;

/// Tells the time: the system's, or one that somebody sets by hand.
#[derive(Debug, Clone, Default)]
pub struct Clock {
    manual: Option<Arc<AtomicI64>>,
}

impl Clock {
    /// The system's clock.
    #[must_use]
    pub fn system() -> Self {
        Self::default()
    }

    /// A clock that stands at `now` until it is [set](Self::set).
    #[must_use]
    pub fn manual(now: Timestamp) -> Self {
        Self { manual: Some(Arc::new(AtomicI64::new(now.unix_millis()))) }
    }

    /// Sets a manual clock. The system's clock is left alone.
    pub fn set(&self, now: Timestamp) {
        if let Some(manual) = &self.manual {
            manual.store(now.unix_millis(), Ordering::SeqCst);
        }
    }

    /// What time it is.
    #[must_use]
    pub fn now(&self) -> Timestamp {
        let millis = match &self.manual {
            Some(manual) => manual.load(Ordering::SeqCst),
            None => system_millis(),
        };
        Timestamp::from_unix_millis(millis)
    }
}

#[allow(clippy::disallowed_methods, reason = "the one place that reads the system's clock")]
fn system_millis() -> i64 {
    // A clock before 1970 shows 1970.
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO);
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}
