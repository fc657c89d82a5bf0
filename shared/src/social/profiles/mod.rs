//! Profiles of people. The latest update wins.
//!
//! ```text
//! command   profile.updated
//! store     profiles in the ledger
//! ```

mod command;
mod store;

pub use command::ProfileUpdate;
pub use store::{Profile, Profiles};
