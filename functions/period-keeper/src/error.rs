//! The reasons for which a step is not done.

use std::fmt::Debug;

use shared::history::events::manifest::ManifestError;
use shared::platform::dynamo::DynamoError;
use shared::platform::objects::ObjectError;
use shared::platform::runtime::deadline::DeadlineExceeded;

use crate::service::ServiceError;

/// A step was not done.
#[derive(Debug, thiserror::Error)]
pub enum KeeperError {
    #[error(transparent)]
    Dynamo(#[from] DynamoError),
    #[error(transparent)]
    Object(#[from] ObjectError),
    #[error("Lambda {0}")]
    Lambda(ServiceError),
    #[error("CloudWatch {0}")]
    CloudWatch(ServiceError),
    #[error(transparent)]
    DeadlineExceeded(#[from] DeadlineExceeded),
}

impl From<ManifestError> for KeeperError {
    fn from(error: ManifestError) -> Self {
        match error {
            ManifestError::Dynamo(error) => error.into(),
            ManifestError::Object(error) => error.into(),
        }
    }
}

impl KeeperError {
    /// True if the only problem was time.
    pub fn is_out_of_time(&self) -> bool {
        matches!(
            self,
            Self::DeadlineExceeded(_)
                | Self::Dynamo(DynamoError::DeadlineExceeded(_))
                | Self::Object(ObjectError::DeadlineExceeded(_))
                | Self::Lambda(ServiceError::DeadlineExceeded(_))
                | Self::CloudWatch(ServiceError::DeadlineExceeded(_))
        )
    }
}
