//! Calls of one kind that go wrong, for as long as somebody says.

use std::sync::{Arc, Mutex};

use aws_smithy_runtime_api::client::http::{
    HttpConnector, HttpConnectorFuture, SharedHttpConnector,
};
use aws_smithy_runtime_api::client::orchestrator::HttpRequest;
use nagare_local::faults::{Fault, inject};

/// What befalls all calls of a kind.
#[derive(Debug, Clone)]
pub(super) struct Strike {
    is_struck: fn(&HttpRequest) -> bool,
    fault: Arc<Mutex<Option<Fault>>>,
}

#[derive(Debug)]
struct Striking {
    inside: SharedHttpConnector,
    strike: Strike,
}

impl Strike {
    /// Nothing goes wrong yet.
    pub(super) fn on(is_struck: fn(&HttpRequest) -> bool) -> Self {
        Self { is_struck, fault: Arc::default() }
    }

    pub(super) fn before(&self, inside: SharedHttpConnector) -> SharedHttpConnector {
        SharedHttpConnector::new(Striking { inside, strike: self.clone() })
    }

    pub(super) fn set(&self, fault: Option<Fault>) {
        *self.fault.lock().unwrap() = fault;
    }
}

impl HttpConnector for Striking {
    fn call(&self, request: HttpRequest) -> HttpConnectorFuture {
        let fault = *self.strike.fault.lock().unwrap();
        let fault = fault.filter(|_| (self.strike.is_struck)(&request));
        let inside = self.inside.clone();
        HttpConnectorFuture::new(async move { inject(fault, request, &inside).await })
    }
}
