//! Any command, request or change: delivery, failures, letters, answers, bounds.

pub(crate) mod alerter;
pub(crate) mod alerter_dies;
pub(crate) mod answers;
pub(crate) mod blows;
pub(crate) mod bounded;
pub(crate) mod bounds;
pub(crate) mod checkpoints;
pub(crate) mod constants;
pub(crate) mod erasing;
pub(crate) mod event_source;
pub(crate) mod forgetting;
pub(crate) mod groups;
pub(crate) mod metrics;
pub(crate) mod outbound;
pub(crate) mod overtaking;
pub(crate) mod patience;
pub(crate) mod poisonous;
pub(crate) mod projecting;
#[allow(clippy::panic, reason = "a property fails by panicking")]
pub(crate) mod properties;
pub(crate) mod queue_calls;
pub(crate) mod reader;
pub(crate) mod reasons;
pub(crate) mod receipts;
pub(crate) mod redaction;
pub(crate) mod redrive;
pub(crate) mod refused;
pub(crate) mod repeated;
pub(crate) mod request_logs;
pub(crate) mod requests;
pub(crate) mod rollback;
pub(crate) mod stream_source;
pub(crate) mod unfoldable;
pub(crate) mod units;
pub(crate) mod writer;
pub(crate) mod yielding;

/// The most bytes of a kind of item, by its name.
pub(crate) fn most_bytes(kind: &str) -> usize {
    let mut kinds = shared::stored::all();
    kinds.find(|it| it.to_string() == kind).unwrap().most_bytes
}
