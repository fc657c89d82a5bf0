//! What goes wrong before a service has given an answer.

use std::error::Error;
use std::iter;

use aws_smithy_runtime_api::client::result::ConnectorError;

use crate::platform::runtime::deadline::DeadlineExceeded;

/// A call has no answer that can be read.
#[derive(Debug, thiserror::Error)]
pub enum SignedError {
    /// No answer, or half of one. The call may or may not have happened.
    #[error("{0}")]
    Unavailable(String),
    #[error("{0}")]
    Denied(String),
    #[error("request not built: {0}")]
    NotBuilt(String),
    #[error(transparent)]
    DeadlineExceeded(#[from] DeadlineExceeded),
}

impl SignedError {
    /// An answer that ends early, or is none of this service.
    pub fn unreadable() -> Self {
        Self::Unavailable("the answer could not be read".to_owned())
    }

    pub(super) fn not_built(why: &str) -> Self {
        Self::NotBuilt(why.to_owned())
    }

    pub(super) fn not_reached(error: &ConnectorError) -> Self {
        let error: &dyn Error = error;
        let chain = iter::successors(Some(error), |&error| error.source());
        Self::Unavailable(chain.map(ToString::to_string).collect::<Vec<_>>().join(": "))
    }
}
