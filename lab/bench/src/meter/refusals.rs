//! What the caller is told: throttled, or in conflict with another transaction.

use aws_smithy_runtime_api::client::http::{
    HttpConnector, HttpConnectorFuture, SharedHttpConnector,
};
use aws_smithy_runtime_api::client::orchestrator::{HttpRequest, HttpResponse};
use tokio::time::Instant;

use super::{Measured, Meter};

/// Notes what is refused.
#[derive(Debug)]
pub(super) struct Refusals {
    pub(super) inside: SharedHttpConnector,
    pub(super) meter: Meter,
}

impl HttpConnector for Refusals {
    fn call(&self, request: HttpRequest) -> HttpConnectorFuture {
        let (call, meter) = (self.inside.call(request), self.meter.clone());
        HttpConnectorFuture::new(async move {
            let answer = call.await?;
            if !answer.status().is_success() {
                meter.lock().refuse(&answer);
            }
            Ok(answer)
        })
    }
}

impl Measured {
    fn refuse(&mut self, answer: &HttpResponse) {
        let body = String::from_utf8_lossy(answer.body().bytes().unwrap_or_default());
        if body.contains("TransactionConflict") {
            self.conflicts += 1;
        }
        if body.contains("ProvisionedThroughputExceeded") || body.contains("ThrottlingError") {
            self.throttled += 1;
            self.burst.get_or_insert((Instant::now(), self.stored));
        }
    }
}
