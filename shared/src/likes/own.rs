//! Whether a view counts a viewer among those who like an activity.

use crate::projection::Own;

/// What is counted of a viewer who likes it, or no longer does.
#[must_use]
pub fn counted(liked: bool) -> Own {
    Own::Counted(if liked { vec![1] } else { Vec::new() })
}
