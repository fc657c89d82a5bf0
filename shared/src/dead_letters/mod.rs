//! Dead letters: commands that gave up, kept byte for byte until somebody redrives or drops them.
//!
//! ```text
//! attributes   what travels with a command on its way here
//! store        the table of letters
//! listing      all of them, page by page
//! spare        parts of bodies that no letter needs
//! ```

mod attributes;
mod listing;
mod spare;
mod store;

pub use attributes::{
    DETAIL, MAX_DETAIL_BYTES, MAX_RECEIVES, ORIGIN, REASON, REASONS, RECEIVES, RECEIVES_EXHAUSTED,
    SENT, cut, fits, is_reason, known_reason,
};
pub use spare::SparePart;
pub use store::{DeadLetter, Head};

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
