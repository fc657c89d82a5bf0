//! What goes on in a stack: what its functions say, what was counted, and what goes wrong on purpose.
//!
//! A console in the process of its stack has a [`LocalTelemetry`](nagare_telemetry::LocalTelemetry), which is asked at no cost. Any other
//! names the place to look at: on AWS, CloudWatch has the same lines and numbers.

pub(super) mod faults;
pub(super) mod log;
pub(super) mod plots;
#[cfg(test)]
mod tests;

use nagare_client::failure::Failure;

use crate::account::Account;
use crate::address::PATH;
use crate::console::Console;

/// The message of a console that is not in the process of its stack.
pub(super) fn elsewhere(console: &Console) -> Failure {
    Failure::No(match &console.account {
        Some(Account { region, .. }) => format!(
            "CloudWatch has this: the dashboard of the stack, and its log groups below /aws/lambda/nagare-, in {region}."
        ),
        None => format!(
            "This console is not in the process of its stack, so it does not see this. The stack's own console does: \
             open the address that `nagare up` has printed, {PATH} at the port of its API."
        ),
    })
}
