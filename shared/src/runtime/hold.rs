//! The hold: how long writers wait after what a reader can see, so that a page is of one moment.
//!
//! A page reads several items, one call after another or side by side, and no two calls at the same moment. Yet
//! its answer has to be what the query says at one moment. Versions of everything a page reads would cost a
//! write for each entry. Instead writers wait:
//!
//! * a command is acknowledged no sooner than a hold after its last visible write, and
//! * where a command makes one thing visible that depends on others (a follow that is complete; entries taken
//!   out after an unfollow), a hold passes in between.
//!
//! So if all reads of a page fall within one hold, they cannot tell an order that did not happen. Say it shows
//! a command *c*, and *b* was acknowledged before *c* began. Then everything that *b* changed was in place a
//! hold before *c* changed anything, so it was there when the first call of the page was answered. A page whose
//! reads took longer is checked, call by call, against what was written meanwhile.
//!
//! **A long hold** is seven of them. It passes between hiding an actor whom a viewer has left and removing entries, and
//! between showing an actor whom a follow has brought in and the acknowledgement of that. Nobody waits for either: what
//! is shown is what it is already. So a page that has read who is hidden, and then the entries, within a long hold knows for
//! each actor what held in between.
//!
//! Both sides measure lengths on their own monotonic clocks. What time it is anywhere does not matter, nor does
//! a process that is frozen: a writer that is frozen waits longer, a reader that is frozen reads again.

use std::time::Duration;

use tokio::time::{Instant, sleep};

/// How many holds are a long one.
const LONG: u32 = 7;

/// How long writers wait, and within what time a page's reads have to fall.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hold(Duration);

impl Default for Hold {
    /// Four times what an ordinary page takes. It costs a writer that much time for each batch.
    fn default() -> Self {
        Self(Duration::from_millis(30))
    }
}

impl Hold {
    /// No waiting. Every page is checked against what was written meanwhile.
    pub const NONE: Self = Self(Duration::ZERO);

    /// A hold of this length, which has to be the same for writers and readers.
    #[must_use]
    pub const fn new(length: Duration) -> Self {
        Self(length)
    }

    /// How long it is.
    #[must_use]
    pub const fn length(self) -> Duration {
        self.0
    }

    /// A long one.
    #[must_use]
    pub const fn long(self) -> Self {
        Self(self.0.saturating_mul(LONG))
    }

    /// Waits, after something was written.
    pub async fn wait(self) {
        if !self.0.is_zero() {
            sleep(self.0).await;
        }
    }

    /// True if all that was read since an instant, and has been answered, was read within one hold. A tenth of
    /// it is left for clocks that run at different rates.
    #[must_use]
    pub fn covers(self, begun: Instant) -> bool {
        self.spans(begun.elapsed())
    }

    /// True if a length of time is within one hold, likewise.
    #[must_use]
    pub fn spans(self, length: Duration) -> bool {
        length < self.0 / 10 * 9
    }
}
