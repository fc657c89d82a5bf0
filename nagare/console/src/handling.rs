//! Handlers of one type. What axum makes of a handler is compiled for every type of one.

use std::sync::Arc;

use axum::extract::Request;
use axum::handler::Handler;
use axum::response::Response;
use axum::routing::{self, MethodRouter};
use futures::future::BoxFuture;

use super::Console;

type Routed = MethodRouter<Arc<Console>>;

#[derive(Clone)]
struct Erased(Arc<dyn Fn(Request, Arc<Console>) -> BoxFuture<'static, Response> + Send + Sync>);

impl Handler<(), Arc<Console>> for Erased {
    type Future = BoxFuture<'static, Response>;

    fn call(self, request: Request, console: Arc<Console>) -> Self::Future {
        (self.0)(request, console)
    }
}

impl Erased {
    fn of<T>(handler: impl Handler<T, Arc<Console>>) -> Self {
        Self(Arc::new(move |request, console| Box::pin(handler.clone().call(request, console))))
    }
}

pub(super) fn get<T>(handler: impl Handler<T, Arc<Console>>) -> Routed {
    routing::get(Erased::of(handler))
}

pub(super) fn post<T>(handler: impl Handler<T, Arc<Console>>) -> Routed {
    routing::post(Erased::of(handler))
}

/// Reads with one handler, and changes with the other.
pub(super) fn get_and_post<T, U>(
    read: impl Handler<T, Arc<Console>>,
    change: impl Handler<U, Arc<Console>>,
) -> Routed {
    get(read).post(Erased::of(change))
}

pub(super) fn any<T>(handler: impl Handler<T, Arc<Console>>) -> Routed {
    routing::any(Erased::of(handler))
}
