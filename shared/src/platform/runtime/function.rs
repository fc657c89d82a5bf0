//! The start of the process of a function: the same for all functions.

use super::{panics, telemetry};

/// Makes panics end the process, and starts logging.
pub fn start() {
    panics::end_the_process();
    telemetry::init_json();
}
