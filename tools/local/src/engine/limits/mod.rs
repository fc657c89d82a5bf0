//! What DynamoDB refuses by size or number.
//!
//! The engine refuses most of it in DynamoDB's own words. What the engine does not check is checked here, before a request reaches
//! it: operators of an expression, operands of `IN`, the size of an expression's names and values, names of attributes, the sum of
//! what a transaction reads.
//!
//! The limits are a value. Tests use smaller ones, so that a few rows reach each limit. Smaller limits are all checked here: what a
//! request says, before it is executed (`requests`); what an update would make of an item, by executing it on a copy (`rehearsal`);
//! the bytes of a page, by its number of items (`pages`).
//!
//! ```text
//! requests     the checks of each request
//! expressions  their size, their operators, their names and values
//! rehearsal    updates on copies of items
//! pages        pages of fewer bytes
//! ```

mod expressions;
mod pages;
mod rehearsal;
mod requests;

use dynoxide::DynoxideError;
use dynoxide::actions::transact_get_items::TransactGetItemsResponse;
use dynoxide::types::{AttributeValue, Item, item_size};
use shared::platform::dynamo::Limits;

pub(super) use self::pages::{query, scan};
pub(super) use self::rehearsal::Rehearsal;
pub(super) use self::requests::Limited;

/// The largest body of a request.
const REQUEST_BYTES: usize = 16 * 1024 * 1024;
/// The longest name of an attribute.
const NAME_BYTES: usize = 65_535;

/// The keys of the index of edges, and the most bytes of each.
const INDEX_KEYS: [(&str, &str, usize); 2] =
    [("follower_id", "hashkey", 2_048), ("followee_id", "rangekey", 1_024)];

/// Whether these are less than DynamoDB's own, which the engine knows.
fn are_shrunk(limits: &Limits) -> bool {
    *limits != Limits::DYNAMODB
}

/// Refuses a body that is too large for any request. Over HTTP it is refused before.
pub(super) fn check_body(body: &[u8]) -> Result<(), DynoxideError> {
    if body.len() <= REQUEST_BYTES {
        return Ok(());
    }
    Err(refusal("Request size exceeds the maximum allowed size of 16 MB"))
}

/// Refuses what a transaction has read if it is more than one takes.
pub(super) fn within_a_transaction(
    read: TransactGetItemsResponse,
) -> Result<TransactGetItemsResponse, DynoxideError> {
    let items = read.responses.iter().filter_map(|response| response.item.as_ref());
    if items.map(item_size).sum::<usize>() <= Limits::DYNAMODB.transaction_bytes {
        return Ok(read);
    }
    Err(refusal("The aggregate size of the items in the transaction exceeds the 4MB limit"))
}

/// Checks an item that is put.
fn check_item(item: &Item, limits: &Limits) -> Result<(), DynoxideError> {
    if are_shrunk(limits) && item_size(item) > limits.item_bytes {
        return Err(refusal("Item size has exceeded the maximum allowed size"));
    }
    for (name, role, most) in INDEX_KEYS {
        if item.get(name).is_some_and(|key| key.size() > most) {
            return Err(refusal(format!(
                "One or more parameter values were invalid: Size of {role} has exceeded the maximum size limit of{most} \
                 bytes"
            )));
        }
    }
    check_names(item)
}

/// Checks the names of attributes, at all depths.
fn check_names(item: &Item) -> Result<(), DynoxideError> {
    let fits = |(name, value): (&String, &AttributeValue)| {
        name.len() <= NAME_BYTES
            && match value {
                AttributeValue::M(map) => check_names(map).is_ok(),
                AttributeValue::L(list) => list.iter().all(|value| match value {
                    AttributeValue::M(map) => check_names(map).is_ok(),
                    _ => true,
                }),
                _ => true,
            }
    };
    if item.iter().all(fits) {
        return Ok(());
    }
    Err(refusal(
        "1 validation error detected: Attribute name is too large, must be less than 65536 bytes",
    ))
}

fn refusal(message: impl Into<String>) -> DynoxideError {
    DynoxideError::ValidationException(message.into())
}
