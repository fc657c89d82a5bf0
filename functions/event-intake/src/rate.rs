//! The rate of a tenant: a number of events a second for each instance of the function.
//!
//! Each instance counts for itself, and remembers nothing of the others. So a tenant whose requests are spread over ten
//! instances may send ten times as much: the limit is there to keep one tenant from taking all the room, and no price stands on it. To
//! count exactly, every request would have to write to one item of its tenant, which is slower and dearer than what it protects.
//!
//! A tenant has an allowance, which grows by the rate up to what one second brings, and which every event uses up. A
//! request is let in while there is any left and takes what it needs, if need be in advance: so a request of 500 events passes
//! at any rate, and the next one waits until the debt is paid.
//!
//! Only tenants that have used some of their allowance are remembered, and at most [`MOST_TENANTS`] of them.

use std::collections::HashMap;
use std::num::ParseIntError;
use std::str::FromStr;
use std::sync::{Arc, Mutex, PoisonError};

use function_http::Problem;
use shared::platform::values::{TenantId, Timestamp};

/// Tenants that are remembered. Beyond that the ones are forgotten that have nearly all of their allowance.
const MOST_TENANTS: usize = 10_000;
const SECOND_MILLIS: i64 = 1_000;

/// What tenants may send, and have sent. Cheap to clone; clones count together.
#[derive(Debug, Clone, Default)]
pub struct TenantRates {
    /// Events a second; 0: as many as they like.
    per_second: u32,
    /// By tenant, when its allowance is whole again.
    whole_at: Arc<Mutex<HashMap<TenantId, Whole>>>,
}

/// An instant, in thousandths of an event's share of a second: fine enough that nothing is lost by rounding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Whole(i128);

impl FromStr for TenantRates {
    type Err = ParseIntError;

    /// A whole number of events a second; 0: as many as they like.
    fn from_str(text: &str) -> Result<Self, ParseIntError> {
        text.parse().map(Self::per_second)
    }
}

impl TenantRates {
    /// So many events a second for each; 0: as many as they like.
    pub fn per_second(per_second: u32) -> Self {
        Self { per_second, whole_at: Arc::default() }
    }

    /// Lets a request of a tenant in, if its allowance is not used up.
    ///
    /// # Errors
    /// [`Problem::TooMuch`] says after how many seconds it will be let in.
    pub(crate) fn admit(&self, tenant: &TenantId, now: Timestamp) -> Result<(), Problem> {
        if self.per_second == 0 {
            return Ok(());
        }
        let known = self.whole_at.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(Whole(whole)) = known.get(tenant) else { return Ok(()) };
        // The allowance is used up for as long as it takes longer than a second to become whole.
        let excess = whole - self.units(now.unix_millis()) - self.units(SECOND_MILLIS);
        if excess < 0 {
            return Ok(());
        }
        let millis = excess / i128::from(self.per_second) + 1;
        let seconds = (millis + i128::from(SECOND_MILLIS) - 1) / i128::from(SECOND_MILLIS);
        Err(Problem::TooMuch(u64::try_from(seconds).unwrap_or(1)))
    }

    /// Uses up what a request takes.
    pub(crate) fn count(&self, tenant: &TenantId, events: usize, now: Timestamp) {
        if self.per_second == 0 {
            return;
        }
        let now = self.units(now.unix_millis());
        let mut known = self.whole_at.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= MOST_TENANTS && !known.contains_key(tenant) {
            forget(&mut known, now);
        }
        let whole = known.entry(tenant.clone()).or_insert(Whole(now));
        whole.0 = whole.0.max(now) + events as i128 * i128::from(SECOND_MILLIS);
    }

    /// Milliseconds in units of which each event takes a thousand.
    fn units(&self, millis: i64) -> i128 {
        i128::from(millis) * i128::from(self.per_second)
    }
}

/// Makes room: all that are whole go, and if that is none, the half that is so first.
fn forget(known: &mut HashMap<TenantId, Whole>, now: i128) {
    known.retain(|_, whole| whole.0 > now);
    if known.len() < MOST_TENANTS {
        return;
    }
    let mut all: Vec<_> = known.values().copied().collect();
    let (_, middle, _) = all.select_nth_unstable(MOST_TENANTS / 2);
    let middle = *middle;
    known.retain(|_, whole| *whole > middle);
}
