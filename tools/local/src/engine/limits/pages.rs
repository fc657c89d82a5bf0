//! Pages of fewer bytes than DynamoDB's: the engine is told how many items fit.

use dynoxide::DynoxideError;
use dynoxide::actions::query::{self, QueryRequest};
use dynoxide::actions::scan::{self, ScanRequest};
use dynoxide::storage::Storage;
use dynoxide::types::{Item, item_size};
use shared::platform::dynamo::Limits;

use super::super::execute::run;
use super::are_shrunk;

/// Has a query end where its page is full.
pub(in super::super) fn query(
    storage: &Storage,
    request: &mut QueryRequest,
    limits: &Limits,
) -> Result<(), DynoxideError> {
    if !are_shrunk(limits) {
        return Ok(());
    }
    let values = request.expression_attribute_values.iter().flatten();
    let keys = request.key_condition_expression.as_deref().unwrap_or_default();
    let looked_at = QueryRequest {
        table_name: request.table_name.clone(),
        key_condition_expression: request.key_condition_expression.clone(),
        // Without filter and projection some of what was given would be unused, which is refused.
        expression_attribute_names: used(request.expression_attribute_names.iter().flatten(), keys),
        expression_attribute_values: used(values, keys),
        scan_index_forward: request.scan_index_forward,
        limit: request.limit,
        exclusive_start_key: request.exclusive_start_key.clone(),
        exclusive_start_key_raw: request.exclusive_start_key_raw.clone(),
        consistent_read: request.consistent_read,
        index_name: request.index_name.clone(),
        ..QueryRequest::default()
    };
    // What fails here fails again, in the same words.
    if let Ok(page) = run(query::execute(storage, looked_at)) {
        request.limit = fitting(page.items, limits).or(request.limit);
    }
    Ok(())
}

/// The same for a scan.
pub(in super::super) fn scan(
    storage: &Storage,
    request: &mut ScanRequest,
    limits: &Limits,
) -> Result<(), DynoxideError> {
    if !are_shrunk(limits) {
        return Ok(());
    }
    let looked_at = ScanRequest {
        table_name: request.table_name.clone(),
        limit: request.limit,
        exclusive_start_key: request.exclusive_start_key.clone(),
        exclusive_start_key_raw: request.exclusive_start_key_raw.clone(),
        consistent_read: request.consistent_read,
        index_name: request.index_name.clone(),
        segment: request.segment,
        total_segments: request.total_segments,
        ..ScanRequest::default()
    };
    if let Ok(page) = run(scan::execute(storage, looked_at)) {
        request.limit = fitting(page.items, limits).or(request.limit);
    }
    Ok(())
}

/// How many of these items fit into a page, if not all do. The first always does.
fn fitting(items: Option<Vec<Item>>, limits: &Limits) -> Option<usize> {
    let mut bytes = 0;
    let items = items.unwrap_or_default();
    let beyond = items.iter().position(|item| {
        bytes += item_size(item);
        bytes > limits.page_bytes
    });
    beyond.map(|at| at.max(1)).filter(|fitting| *fitting < items.len())
}

/// What an expression names of what it is given.
fn used<'a, V: Clone + 'a>(
    given: impl Iterator<Item = (&'a String, &'a V)>,
    text: &str,
) -> Option<std::collections::HashMap<String, V>> {
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let is_used = |name: &str| {
        text.match_indices(name).any(|(at, _)| !text[at + name.len()..].starts_with(is_word))
    };
    let used: std::collections::HashMap<_, _> =
        given.filter(|(name, _)| is_used(name)).map(|(n, v)| (n.clone(), v.clone())).collect();
    (!used.is_empty()).then_some(used)
}
