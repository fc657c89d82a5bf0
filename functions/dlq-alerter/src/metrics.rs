//! What is counted: dead letters. The alarm stands on this metric and not on the depth of the queue,
//! which this function keeps at zero.

use metrique::writer::Entry;
use shared::runtime::metrics::{Count, Record};

/// Dead letters that were kept.
#[derive(Entry)]
#[entry(rename_all = "PascalCase")]
pub(crate) struct Arrivals {
    pub(crate) reason: &'static str,
    pub(crate) dead_letters: Count,
}

impl Record for Arrivals {
    const BY: Option<&'static str> = Some("Reason");
}
