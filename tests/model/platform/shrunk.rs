//! Limits of DynamoDB, shrunk: a few rows get to each of them.
//!
//! Rows keep their size: a repeater fills a smaller row of votes, and is refused as documented. Single commands fit, so whatever is refused was gathered by the code beyond what it was told.

use fastrand::Rng;
use shared::platform::dynamo::Limits;

/// Limits of a run: in half of them DynamoDB's.
pub(crate) fn limits(random: &mut Rng) -> Limits {
    let mut limits = Limits::DYNAMODB;
    if random.bool() {
        return limits;
    }
    let shrinks: [fn(&mut Limits); 7] = [
        |limits| limits.page_bytes = 4_096,
        |limits| limits.page_bytes = 1_024,
        |limits| limits.transaction_items = 8,
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
