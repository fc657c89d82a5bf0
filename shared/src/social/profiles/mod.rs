//! Profiles of people. The latest update wins.
//!
//! ```text
//! command   profile.updated
//! store     profiles in the ledger
//! ```

mod command;
pub(crate) mod store;

pub use command::ProfileUpdate;
pub use store::{Profile, Profiles};
