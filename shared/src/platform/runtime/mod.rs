//! What surrounds the rules: time, the environment, logs and metrics, each in one place.

pub mod clock;
pub mod deadline;
pub mod env;
pub mod function;
pub mod group_commit;
pub mod hold;
pub mod invocation;
pub mod keyed;
pub mod lease;
pub mod metrics;
pub mod panics;
pub mod retry;
pub mod telemetry;
