//! Limits of DynamoDB, shrunk: a few rows get to each of them.
//!
//! Single commands fit, so whatever is refused was gathered by the code beyond what it was told.

use fastrand::Rng;
use shared::dynamo::Limits;

use crate::has;

/// Limits of a run: in half of them DynamoDB's.
pub(crate) fn limits(random: &mut Rng) -> Limits {
    let mut limits = Limits::DYNAMODB;
    if !has("shrunk") || random.bool() {
        return limits;
    }
    let shrinks: [fn(&mut Limits); 5] = [
        |limits| limits.page_bytes = 4_096,
        |limits| limits.batch_write_items = 5,
        |limits| limits.batch_get_items = 5,
        |limits| limits.expression_bytes = 300,
        |limits| limits.marks = 1,
    ];
    for shrink in shrinks {
        if random.bool() {
            shrink(&mut limits);
        }
    }
    limits
}
