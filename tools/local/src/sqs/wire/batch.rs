//! What the three batch operations have in common: every entry succeeds or fails on its own.

use serde::Serialize;

use super::fault::Fault;

/// The answer to a batch. SDKs take a missing list for an empty one.
#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct BatchReply<S> {
    #[serde(skip_serializing_if = "Vec::is_empty")]
    successful: Vec<S>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    failed: Vec<Failure>,
}

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct Failure {
    id: String,
    sender_fault: bool,
    code: String,
    message: String,
}

impl<S> BatchReply<S> {
    pub(super) fn new() -> Self {
        Self { successful: Vec::new(), failed: Vec::new() }
    }

    pub(super) fn succeed(&mut self, entry: S) {
        self.successful.push(entry);
    }

    pub(super) fn fail(&mut self, id: String, fault: impl Into<Fault>) {
        let fault = fault.into();
        let code = fault.code().to_owned();
        let (sender_fault, message) = (fault.is_senders, fault.message);
        self.failed.push(Failure { id, sender_fault, code, message });
    }
}
