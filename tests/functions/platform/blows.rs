//! A function dies at one of its calls, or the call goes wrong.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use aws_smithy_runtime_api::client::http::{
    HttpConnector, HttpConnectorFuture, SharedHttpConnector,
};
use aws_smithy_runtime_api::client::orchestrator::HttpRequest;
use nagare_local::faults::{Fault, inject};
use tokio::sync::Notify;

/// What happens at one step.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Blow {
    /// The function dies before the call.
    DiesBefore,
    /// The function dies after the call was done.
    DiesAfter,
    /// It lives, and the call goes wrong.
    Fails(Fault),
}

/// Counts the calls, and strikes one of them.
#[derive(Debug, Clone, Default)]
pub(crate) struct Steps {
    taken: Arc<AtomicUsize>,
    blow: Option<(usize, Blow)>,
    down: Arc<AtomicBool>,
    died: Arc<Notify>,
}

#[derive(Debug)]
struct Stepwise {
    inside: SharedHttpConnector,
    steps: Steps,
}

impl HttpConnector for Stepwise {
    fn call(&self, request: HttpRequest) -> HttpConnectorFuture {
        let (inside, steps) = (self.inside.clone(), self.steps.clone());
        let step = steps.taken.fetch_add(1, Ordering::SeqCst);
        let blow = steps.blow.filter(|(at, _)| *at == step).map(|(_, blow)| blow);
        let down = steps.down.load(Ordering::SeqCst).then_some(Fault::ServerError);
        HttpConnectorFuture::new(async move {
            match blow {
                Some(Blow::DiesBefore) => steps.die().await,
                Some(Blow::DiesAfter) => {
                    let _ = inject(None, request, &inside).await;
                    steps.die().await
                }
                Some(Blow::Fails(fault)) => inject(Some(fault), request, &inside).await,
                None => inject(down, request, &inside).await,
            }
        })
    }
}

impl Steps {
    /// With what happens at which call, if anything does.
    pub(crate) fn with(blow: Option<(usize, Blow)>) -> Self {
        Self { blow, ..Self::default() }
    }

    /// A connector that counts and strikes the calls of another.
    pub(crate) fn before(&self, inside: SharedHttpConnector) -> SharedHttpConnector {
        SharedHttpConnector::new(Stepwise { inside, steps: self.clone() })
    }

    /// How many calls there were.
    pub(crate) fn taken(&self) -> usize {
        self.taken.load(Ordering::SeqCst)
    }

    /// Has every other call fail, or not any more.
    pub(crate) fn set_down(&self, down: bool) {
        self.down.store(down, Ordering::SeqCst);
    }

    /// Returns when the function has died.
    pub(crate) async fn died(&self) {
        self.died.notified().await;
    }

    async fn die<T>(&self) -> T {
        self.died.notify_one();
        std::future::pending().await
    }
}
