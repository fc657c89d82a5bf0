//! Calls between which others go on: for two handlers at once.

use std::sync::{Arc, Mutex};

use aws_smithy_runtime_api::client::http::{
    HttpConnector, HttpConnectorFuture, SharedHttpConnector,
};
use aws_smithy_runtime_api::client::orchestrator::HttpRequest;
use fastrand::Rng;

/// Before and after each call, somebody else may go on for a while.
#[derive(Debug)]
pub(crate) struct Yielding {
    pub(crate) inside: SharedHttpConnector,
    pub(crate) random: Arc<Mutex<Rng>>,
}

impl HttpConnector for Yielding {
    fn call(&self, request: HttpRequest) -> HttpConnectorFuture {
        let (inside, random) = (self.inside.clone(), Arc::clone(&self.random));
        HttpConnectorFuture::new(async move {
            let turns = || random.lock().unwrap().u32(0..4);
            for _ in 0..turns() {
                tokio::task::yield_now().await;
            }
            let answer = inside.call(request).await;
            for _ in 0..turns() {
                tokio::task::yield_now().await;
            }
            answer
        })
    }
}
