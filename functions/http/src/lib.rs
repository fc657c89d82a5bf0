//! The common part of the functions of the HTTP API: callers, paths, problems, and everything that two readers share.
//!
//! ```text
//! reader     answers requests to the routes of a reader
//! page       pages of lists in the order of time
//! auth       authentication and authorization of callers
//! path       paths with parameters in them; the path that events are sent to
//! problem    errors, as RFC 9457 problem details
//! response   answers in JSON
//! encoding   compression of bodies
//! preflight  CORS preflight requests
//! sampling   which successful requests have a log line
//! ```
//!
//! Functions never import each other, and `shared` does not know HTTP. Rules that the readers and the intake share are here, above all
//! the tenant of a caller. No route is known here, except the paths that tell which function answers.

pub mod auth;
pub mod encoding;
pub mod page;
pub mod path;
pub mod preflight;
pub mod problem;
pub mod reader;
pub mod response;
pub mod sampling;

pub use auth::{
    Authorization, AuthorizationError, Caller, ClaimName, ClaimNameError, Claims, ClaimsError,
};
pub use path::{EVENTS_ROUTE, Path, Route, TENANTS_ROUTE};
pub use problem::Problem;
pub use response::Answer;
pub use sampling::LogSampling;

/// For [`log_request`], wherever it is used.
#[doc(hidden)]
pub use tracing;
