//! The common part of the functions of the HTTP API: callers, paths, problems, and the sampling of logs.
//!
//! ```text
//! auth       authentication and authorization of callers
//! path       paths with parameters in them; the path that events are sent to
//! problem    errors, as RFC 9457 problem details
//! response   answers in JSON
//! encoding   compression of bodies
//! preflight  CORS preflight requests
//! sampling   which successful requests have a log line
//! ```
//!
//! Functions never import each other, and `shared` does not know HTTP. Rules that the reader and the intake share are here, above all the
//! tenant of a caller.

pub mod auth;
pub mod encoding;
pub mod path;
pub mod preflight;
pub mod problem;
pub mod response;
pub mod sampling;

pub use auth::{
    Authorization, AuthorizationError, Caller, ClaimName, ClaimNameError, Claims, ClaimsError,
};
pub use path::{EVENTS_ROUTE, Path, Route};
pub use problem::Problem;
pub use response::Answer;
pub use sampling::LogSampling;
