//! The models of the event history.
//!
//! ```text
//! periods    events, while periods end, are archived and dropped
//! tenants    summaries, rules, scores and alerts, over weeks and months
//! ```

pub(crate) mod periods;
pub(crate) mod tenants;
