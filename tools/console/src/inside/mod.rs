//! What goes on in a stack: what its functions say, what was counted, and what goes wrong on purpose.
//!
//! There are two sources. A console in the process of its stack has a [`LocalTelemetry`](nagare_telemetry::LocalTelemetry), which is asked at no cost. That of a stack on
//! AWS reads CloudWatch (`super::cloudwatch`). The pages are the same, but that the second are made again less often, and
//! say what a source does not have. A console of a local stack in another process has neither, and says where to look.

pub(super) mod faults;
pub(super) mod log;
pub(super) mod plots;
#[cfg(test)]
mod tests;

use nagare_client::failure::Failure;

use super::PATH;

/// What is said by a console of a local stack in another process.
pub(super) fn elsewhere() -> Failure {
    Failure::No(format!(
        "This console is not in the process of its stack, so it does not see this. The stack's own console does: \
         open the address that `nagare up` has printed, {PATH} at the port of its API."
    ))
}
