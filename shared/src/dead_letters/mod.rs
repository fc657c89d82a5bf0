//! Dead letters: commands that gave up, kept byte for byte until somebody redrives or drops them. Changes of facts
//! that could not be folded are kept like them.
//!
//! ```text
//! attributes   what travels with a command on its way here
//! evidence     what shows where it comes from
//! store        the table of letters
//! listing      all of them, page by page
//! spare        parts of bodies that no letter needs
//! stream_batch what Lambda sends in place of changes that it gave up
//! ```

mod attributes;
mod evidence;
mod listing;
mod spare;
mod store;
mod stream_batch;

pub use attributes::{
    DETAIL, MAX_DETAIL_BYTES, MAX_RECEIVES, ORIGIN, REASON, REASONS, RECEIVES, RECEIVES_EXHAUSTED,
    SENT, STREAM_BATCH, UNFOLDABLE, cut, fits, is_of_a_producer, is_reason, known_reason,
};
pub use evidence::{Evidence, LetterSeal, SEAL, SOURCE};
pub use spare::SparePart;
pub use store::{DeadLetter, Head};
pub use stream_batch::StreamBatch;

use crate::dynamo::Table;

/// The dead letters. Cheap to clone.
#[derive(Debug, Clone)]
pub struct DeadLetters {
    table: Table,
}

impl DeadLetters {
    /// The letters in this table.
    #[must_use]
    pub fn new(table: Table) -> Self {
        Self { table }
    }
}
