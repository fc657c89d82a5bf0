//! What a seed chooses before a run: how long periods are, what fails, what tables take.

use fastrand::Rng;
use shared::history::events::{EventSettings, PeriodLength};
use shared::platform::dynamo::Limits;

use crate::platform::instants::DAY;
use crate::platform::shrunk;

/// A run, before it begins.
pub(super) struct Plan {
    pub(super) settings: EventSettings,
    /// Commands are sent for so long after the start.
    pub(super) span: i64,
    /// Keepers that may tick at once.
    pub(super) keepers: usize,
    /// Of a hundred calls, how many fail.
    pub(super) faults: u8,
    /// How often, of a hundred times, the latest call overtakes all others.
    pub(super) haste: u8,
    /// What tables take, and the functions are told so.
    pub(super) limits: Limits,
}

impl Plan {
    pub(super) fn of(seed: u64) -> Self {
        let random = &mut Rng::with_seed(seed ^ 0x7E4A_4715);
        let (length, days, span) = match random.u8(0..8) {
            0..4 => (PeriodLength::Day, random.u32(1..4), random.i64(4..8)),
            4..6 => (PeriodLength::Week, random.u32(1..9), random.i64(15..25)),
            _ => (PeriodLength::Month, random.u32(1..9), random.i64(35..50)),
        };
        let lateness_days = match length {
            // Days that are not shown any more are still taken.
            PeriodLength::Month if random.bool() => 430,
            PeriodLength::Month => random.u32(0..9),
            _ => random.u32(0..4),
        };
        let archive_days = random.choice([0, days + 2]).unwrap();
        let earliest = EventSettings::EARLIEST;
        Self {
            settings: EventSettings { length, lateness_days, days, archive_days, earliest },
            span: span * DAY,
            keepers: random.choice([1, 1, 2]).unwrap(),
            faults: random.choice([0, 3, 10]).unwrap(),
            haste: random.choice([0, 50, 90]).unwrap(),
            limits: limits(random),
        }
    }
}

/// In two of three runs few names and days fit into a view, and the others are in blocks beside it.
fn limits(random: &mut Rng) -> Limits {
    let limits = shrunk::limits(random);
    match random.choice([None, Some(512), Some(1_024)]).unwrap() {
        None => limits,
        Some(row_bytes) => Limits { row_bytes, block_bytes: row_bytes * 2, ..limits },
    }
}
