//! The metric besides those of every projector: customers for whom rules could not decide.

use serde::Serialize;
use shared::platform::runtime::metrics::{Count, MetricNames, Record};

/// Decisions that a batch could not make.
#[derive(Serialize, Default)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct Undecided {
    /// Customers on whom rules could not decide, because of what is stored of their tenants.
    pub(crate) undecided_rules: Count,
}

impl Record for Undecided {
    const BY: Option<&'static str> = None;
}

/// What is counted.
pub fn metric_names() -> MetricNames {
    let batch = function_stream::metric_names();
    let metrics = [batch.metrics, MetricNames::of::<Undecided>().metrics].concat();
    MetricNames { metrics, ..batch }
}
