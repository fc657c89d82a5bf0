//! What the functions behind the HTTP API have in common: who the caller is, which path is asked for, how a problem is
//! answered, and which requests are logged.
//!
//! ```text
//! auth       who the caller is, and what they may read and write
//! path       paths with parameters in them; the path that events are sent to
//! problem    what is answered instead
//! response   answers in JSON
//! encoding   bodies compressed, for those who accept it
//! preflight  what browsers ask first
//! sampling   which requests that went well have a log line
//! ```
//!
//! Functions never import each other, and `shared` does not know HTTP. What the reader and the intake must decide alike is
//! here, above all for which tenant a caller speaks.

pub mod auth;
pub mod encoding;
pub mod path;
pub mod preflight;
pub mod problem;
pub mod response;
pub mod sampling;

pub use auth::{Authorization, AuthorizationError, Caller, TenantClaim, TenantClaimError};
pub use path::{EVENTS_ROUTE, Path, Route};
pub use problem::Problem;
pub use response::Answer;
pub use sampling::LogSampling;
