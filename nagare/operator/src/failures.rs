//! How the errors of this crate end a command.

use nagare_client::failure::Failure;

use crate::audit::{AuditError, EventsAuditError};
use crate::erasure::ErasureError;
use crate::erasure::events::EventErasureError;

impl From<EventsAuditError> for Failure {
    fn from(error: EventsAuditError) -> Self {
        match error {
            EventsAuditError::Dynamo(error) => error.into(),
            EventsAuditError::Object(error) => Self::Unreachable(error.to_string()),
            EventsAuditError::Damaged(_) => Self::No(error.to_string()),
        }
    }
}

impl From<AuditError> for Failure {
    fn from(error: AuditError) -> Self {
        match error {
            AuditError::Dynamo(error) => error.into(),
            AuditError::NotProjected => Self::No(error.to_string()),
        }
    }
}

impl From<ErasureError> for Failure {
    fn from(error: ErasureError) -> Self {
        match error {
            ErasureError::Dynamo(error) => error.into(),
            ErasureError::KeepsArriving(_) | ErasureError::NotProjected(_) => {
                Self::No(error.to_string())
            }
        }
    }
}

impl From<EventErasureError> for Failure {
    fn from(error: EventErasureError) -> Self {
        match error {
            EventErasureError::Dynamo(error) => error.into(),
            EventErasureError::Object(error) => Self::Unreachable(error.to_string()),
            EventErasureError::Damaged(_)
            | EventErasureError::NotFolded(_)
            | EventErasureError::Overtaken(_) => Self::No(error.to_string()),
        }
    }
}
