//! What goes wrong with calls, and how often, in one run.

use std::time::Duration;

use fastrand::Rng;
use nagare_local::faults::{Fault, Rates};
use shared::platform::dynamo::Limits;
use shared::platform::paging::INLINE;
use shared::platform::runtime::hold::Hold;
use shared::social::follows::IdleViewers;

use crate::platform::shrunk;
use crate::social::readers::READERS_KEPT;

/// How much earlier readers treat a viewer as idle than writers do: more than their clocks differ.
const SLACK: Duration = Duration::from_secs(300);

/// The faults of one run.
pub(crate) struct FaultPlan {
    /// Of a hundred calls, how many fail.
    calls: u8,
    /// Whether tables go missing and access is denied too.
    broken: bool,
    /// Whether every fan-out to more than two is cut into segments.
    pub(crate) small_segments: bool,
    /// Writes a second that each table takes, where it is slow and nothing else is wrong with it.
    pub(crate) slow: Option<f64>,
    /// How often, of a hundred times, the latest call overtakes all others: then the others wait while
    /// much happens.
    pub(crate) haste: u8,
    /// What writers wait, and readers count on. Without it, pages are read in the order that needs no clock.
    pub(crate) hold: Hold,
    /// The readers, by how many milliseconds the clock of each is ahead of that of the writers.
    pub(crate) readers_ahead: Vec<i64>,
    /// How much of what was shown cursors hold. With little, the rest is stored.
    pub(crate) inline: usize,
    /// Whether each call takes longer than a hold.
    pub(crate) is_far: bool,
    /// What tables take, and the code is told that they do.
    pub(crate) limits: Limits,
    /// Entries that a command which is repeated may write again.
    pub(crate) repeated: usize,
    /// Whether viewers are idle after ten minutes, or after an hour.
    pub(crate) idle_viewers: IdleViewers,
}

impl FaultPlan {
    pub(crate) fn any(random: &mut Rng) -> Self {
        let fault_plan = Self {
            calls: random.choice([3, 3, 8, 25]).unwrap(),
            broken: random.u8(0..4) == 0,
            small_segments: random.u8(0..3) == 0,
            slow: random.choice([None, None, None, Some(8.0), Some(25.0)]).unwrap(),
            haste: random.choice([0, 50, 90]).unwrap(),
            hold: random.choice([Hold::default(), Hold::NONE]).unwrap(),
            readers_ahead: readers_ahead(random),
            inline: random.choice([1, 4, INLINE]).unwrap(),
            is_far: random.bool(),
            limits: shrunk::limits(random),
            repeated: random.choice([0, 2, 100]).unwrap(),
            idle_viewers: idle_viewers(random),
        };
        match fault_plan.slow {
            // Far away, a call that others overtake for long is one that hangs.
            Some(_) => Self { calls: 0, is_far: false, ..fault_plan },
            None => fault_plan,
        }
    }

    /// The same beside an erasure, which writes more than a slow table takes. Mostly there are idle viewers.
    pub(crate) fn beside_an_erasure(self, random: &mut Rng) -> Self {
        let minutes = random.choice([0, 10, 10, 60]).unwrap();
        Self { slow: None, idle_viewers: idle_after(minutes), ..self }
    }

    /// Makes calls fail for nothing but what passes, so that what takes thousands of them comes to its end.
    pub(crate) fn is_mended(&mut self) {
        self.broken = false;
    }

    /// The rates of the tables.
    pub(crate) fn rates(&self) -> Rates {
        Rates { writes: self.slow, ..Rates::default() }
    }

    /// The fault of the next call.
    pub(crate) fn fault(&self, random: &mut Rng) -> Option<Fault> {
        if random.u8(0..100) >= self.calls {
            return None;
        }
        Some(match random.u8(0..24) {
            0..3 => Fault::Throttled,
            3..6 => Fault::Leftovers(random.usize(0..4)),
            6..9 => Fault::ServerError,
            9..12 => Fault::LostRequest,
            12..17 => Fault::LostAnswer,
            17..20 => Fault::CutAnswer,
            20 => Fault::Slow(Duration::from_millis(random.u64(0..8_000))),
            21 => Fault::Hang,
            22 if self.broken => Fault::TableMissing,
            23 if self.broken => Fault::Denied,
            _ => Fault::LostAnswer,
        })
    }
}

fn idle_viewers(random: &mut Rng) -> IdleViewers {
    idle_after(random.choice([0, 0, 10, 60]).unwrap())
}

fn idle_after(minutes: u64) -> IdleViewers {
    match minutes {
        0 => IdleViewers::off(),
        minutes => IdleViewers::after(Duration::from_secs(minutes * 60)).with_slack(SLACK),
    }
}

/// In half of the runs one reader, in the others several, whose clocks may differ.
fn readers_ahead(random: &mut Rng) -> Vec<i64> {
    if random.bool() {
        return vec![0];
    }
    let apart = random.choice([0, 3, 30_000]).unwrap();
    (0..READERS_KEPT).map(|_| random.i64(-apart..=apart)).collect()
}
