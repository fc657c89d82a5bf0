//! Dead letters: commands that gave up, kept byte for byte until an operator redrives or drops them. Changes of facts that could not be
//! folded are kept likewise.
//!
//! ```text
//! attributes   the message attributes of a letter
//! evidence     evidence of its source
//! store        the table of letters
//! listing      lists letters page by page
//! spare        parts of bodies that no letter needs
//! stream_batch what Lambda sends for changes that it gave up
//! ```

mod attributes;
mod evidence;
mod listing;
mod spare;
pub(crate) mod store;
mod stream_batch;

pub use attributes::{
    DETAIL, MAX_DETAIL_BYTES, MAX_RECEIVES, ORIGIN, REASON, REASONS, RECEIVES, RECEIVES_EXHAUSTED,
    SENT, STREAM_BATCH, UNFOLDABLE, cut, fits, is_reason, known_reason,
};
pub use evidence::{Evidence, LetterSeal, SEAL, SOURCE};
pub use spare::SparePart;
pub use store::{DeadLetter, Head};
pub use stream_batch::StreamBatch;

use crate::platform::dynamo::Table;

/// The dead letters. Cheap to clone.
#[derive(Debug, Clone)]
pub struct DeadLetters {
    table: Table,
}

impl DeadLetters {
    pub fn new(table: Table) -> Self {
        Self { table }
    }
}
