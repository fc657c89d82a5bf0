//! The address of the console.

use shared::platform::runtime::env;

/// Where it is, below the address of its port.
pub const PATH: &str = "/console/";
/// The variable that says where somebody who may look opens it.
pub const URL: &str = env::CONSOLE_URL;
