//! One command overtaking another one, between any two calls of the tables.

use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, OnceLock};

use aws_smithy_runtime_api::client::http::{
    HttpConnector, HttpConnectorFuture, SharedHttpConnector,
};
use aws_smithy_runtime_api::client::orchestrator::HttpRequest;
use fanout_writer::{Delivery, Writer};
use serde_json::Value;
use shared::command::Command;
use tests::{NOW, World, soon};

/// Lets something else happen before a call of the tables.
#[derive(Debug, Clone)]
struct Interrupted {
    inside: SharedHttpConnector,
    /// Before which call, counted from 1; none if zero.
    before: Arc<AtomicUsize>,
    what: Arc<OnceLock<(Writer, Command)>>,
}

impl HttpConnector for Interrupted {
    fn call(&self, request: HttpRequest) -> HttpConnectorFuture {
        let is_due = self.before.load(SeqCst) > 0 && self.before.fetch_sub(1, SeqCst) == 1;
        let Some((writer, command)) = self.what.get().filter(|_| is_due).cloned() else {
            return self.inside.call(request);
        };
        let inside = self.inside.clone();
        HttpConnectorFuture::new(async move {
            // Box: it calls through here again.
            let applied: Pin<Box<dyn Future<Output = _> + Send>> =
                Box::pin(async move { writer.apply(command, Delivery::only(soon())).await });
            applied.await.unwrap();
            inside.call(request).await
        })
    }
}

fn command(value: &Value) -> Command {
    Command::parse(&value.to_string(), NOW.parse().unwrap()).unwrap()
}

/// After some commands, applies another one, and one more in full before its nth call. Returns what comes of that, and
/// whether there was such a call.
pub(crate) async fn overtaken(
    before: &[Value],
    first: &Value,
    second: &Value,
    nth: usize,
) -> (World, bool) {
    let (left, what) = (Arc::new(AtomicUsize::new(0)), Arc::new(OnceLock::new()));
    let (counter, other) = (Arc::clone(&left), Arc::clone(&what));
    let world = World::behind(move |inside| {
        SharedHttpConnector::new(Interrupted { inside, before: counter, what: other })
    });
    let _ = what.set((world.writer.clone(), command(second)));
    world.done(before).await;
    left.store(nth, SeqCst);
    world.done(std::slice::from_ref(first)).await;
    let was_there = left.swap(0, SeqCst) == 0;
    (world, was_there)
}
