//! Calls of the engine, and the errors of requests that it cannot parse.

use dynoxide::DynoxideError;
use futures::FutureExt;

/// Runs a future of the engine, which is written for asynchronous storage. Over SQLite it never waits.
pub(crate) fn run<T>(
    operation: impl Future<Output = Result<T, DynoxideError>>,
) -> Result<T, DynoxideError> {
    let waited = || DynoxideError::InternalServerError("the engine waited".to_owned());
    operation.now_or_never().unwrap_or_else(|| Err(waited()))
}

/// The error of a request that cannot be parsed. The engine reports its own rules through serde, behind a marker and before the
/// position.
pub(super) fn refused(error: &serde_json::Error) -> DynoxideError {
    let message = error.to_string();
    let Some(rule) = message.strip_prefix("VALIDATION:") else {
        return DynoxideError::SerializationException(message);
    };
    let rule = rule.rsplit_once(" at line ").map_or(rule, |(rule, _)| rule);
    DynoxideError::ValidationException(rule.to_owned())
}
