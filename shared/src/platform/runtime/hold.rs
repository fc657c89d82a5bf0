//! The hold: the time that writers wait after visible writes, so that each page is a consistent snapshot.
//!
//! A page reads several items, in sequential or parallel calls, at different moments. But its answer has to be the result of the query at
//! one moment. Versions of all items that a page reads would cost a write for each entry. Instead writers wait:
//!
//! * a command is acknowledged no sooner than a hold after its last visible write (the follow of an actor without activities has none: whatever
//!   it lets in is the write of a publish, which waits), and
//! * where a command makes something visible that depends on other writes (a completed follow; entries removed after an unfollow), a hold
//!   passes in between.
//!
//! So if all reads of a page fall within one hold, the page cannot show an order that did not happen. Say it shows a command *c*, and *b* was
//! acknowledged before *c* began. Then all writes of *b* were done a hold before the first write of *c*, so they were visible when the first
//! call of the page was answered. A page whose reads took longer is checked, call by call, for writes in between.
//!
//! **A long hold** is seven of them. It passes between hiding an actor whom a viewer has left and removing entries, and
//! between showing an actor after a follow and the acknowledgement of that. No user waits for either, because the timeline already
//! shows the result. So a page that reads the hidden actors, and then the entries, within a long hold knows the state of each actor in
//! between.
//!
//! Both sides measure durations with their own monotonic clocks. Wall clocks do not matter, nor do frozen processes: a frozen writer waits
//! longer, a frozen reader reads again.

use std::time::Duration;

use tokio::time::{Instant, sleep};

const LONG: u32 = 7;

/// The time that writers wait, and within which the reads of a page have to fall.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hold(Duration);

impl Default for Hold {
    /// Four times the duration of an ordinary page. Each batch of a writer takes that much longer.
    fn default() -> Self {
        Self(Duration::from_millis(30))
    }
}

impl Hold {
    /// No waiting. Every page is checked for writes in between.
    pub const NONE: Self = Self(Duration::ZERO);

    /// A hold of this length, which has to be the same for writers and readers.
    pub const fn new(length: Duration) -> Self {
        Self(length)
    }

    pub const fn length(self) -> Duration {
        self.0
    }

    #[must_use]
    pub const fn long(self) -> Self {
        Self(self.0.saturating_mul(LONG))
    }

    /// Waits for a hold, after a write.
    pub async fn wait(self) {
        if !self.0.is_zero() {
            sleep(self.0).await;
        }
    }

    /// True if all reads since an instant that are answered by now fall within one hold. A tenth of it is reserved for clocks of different
    /// rates.
    pub fn covers(self, begun: Instant) -> bool {
        self.spans(begun.elapsed())
    }

    /// True if a length of time is within one hold, likewise.
    pub fn spans(self, length: Duration) -> bool {
        length < self.0 / 10 * 9
    }
}
