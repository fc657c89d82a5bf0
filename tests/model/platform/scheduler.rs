//! The edge below the SDK, where each call waits for its turn; and the tasks that wait.

use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Wake, Waker};

use aws_lambda_events::event::sqs::SqsBatchResponse;
use aws_smithy_runtime_api::client::http::{
    HttpConnector, HttpConnectorFuture, SharedHttpConnector,
};
use aws_smithy_runtime_api::client::orchestrator::HttpRequest;
use nagare_local::faults::{Fault, inject};
use tokio::sync::oneshot;

/// A call's turn, and what goes wrong with it.
pub(crate) type Turn = Option<Fault>;

/// Calls that wait, in the order in which they came.
#[derive(Clone, Default)]
pub(crate) struct Waiting {
    calls: Arc<Mutex<Vec<oneshot::Sender<Turn>>>>,
    open: Arc<AtomicBool>,
}

impl Waiting {
    /// From now on no call waits.
    pub(crate) fn open(&self) {
        self.open.store(true, Ordering::SeqCst);
    }

    fn turn(&self) -> oneshot::Receiver<Turn> {
        let (sender, turn) = oneshot::channel();
        if self.open.load(Ordering::SeqCst) {
            let _ = sender.send(None);
        } else {
            self.calls.lock().unwrap().push(sender);
        }
        turn
    }

    /// Gives the n-th of the waiting calls its turn. The number wraps around, and the greatest is the
    /// latest.
    pub(crate) fn release(&self, n: usize, turn: Turn) {
        let mut waiting = self.calls.lock().unwrap();
        let n = if n == usize::MAX { waiting.len() - 1 } else { n % waiting.len() };
        let _ = waiting.remove(n).send(turn);
    }

    /// Whether any call waits.
    pub(crate) fn any(&self) -> bool {
        self.number() > 0
    }

    /// How many calls wait. Those of handlers that are gone do not count.
    pub(crate) fn number(&self) -> usize {
        let mut waiting = self.calls.lock().unwrap();
        waiting.retain(|call| !call.is_closed());
        waiting.len()
    }
}

/// A connector whose calls wait.
pub(crate) struct Scheduler {
    pub(crate) inside: SharedHttpConnector,
    pub(crate) waiting: Waiting,
    /// What may go wrong with a call; where something else was drawn it is done.
    pub(crate) may_befall: fn(Fault, &HttpRequest) -> bool,
}

impl HttpConnector for Scheduler {
    fn call(&self, request: HttpRequest) -> HttpConnectorFuture {
        let (turn, inside) = (self.waiting.turn(), self.inside.clone());
        let may_befall = self.may_befall;
        HttpConnectorFuture::new(async move {
            let fault = turn.await.unwrap_or(Some(Fault::LostRequest));
            let fault = fault.filter(|fault| may_befall(*fault, &request));
            inject(fault, request, &inside).await
        })
    }
}

impl std::fmt::Debug for Scheduler {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Scheduler")
    }
}

struct Woken(AtomicBool);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::SeqCst);
    }
}

/// A future that is polled by hand.
pub(crate) struct Task<'a, T> {
    future: Pin<Box<dyn Future<Output = T> + 'a>>,
    woken: Arc<Woken>,
}

impl<T> Future for Task<'_, T> {
    type Output = T;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<T> {
        self.future.as_mut().poll(cx)
    }
}

impl<'a, T> Task<'a, T> {
    pub(crate) fn new(future: impl Future<Output = T> + 'a) -> Self {
        Self { future: Box::pin(future), woken: Arc::new(Woken(AtomicBool::new(true))) }
    }

    /// Goes on with it, if it has been woken.
    pub(crate) fn go_on(&mut self) -> Poll<T> {
        while self.woken.0.swap(false, Ordering::SeqCst) {
            let waker = Waker::from(Arc::clone(&self.woken));
            let ready = self.future.as_mut().poll(&mut Context::from_waker(&waker));
            if ready.is_ready() {
                return ready;
            }
        }
        Poll::Pending
    }
}

/// A batch, and the future that works on it.
pub(crate) struct Handler<'a, T> {
    pub(crate) batch: Vec<T>,
    pub(crate) task: Task<'a, SqsBatchResponse>,
}

/// Goes on with handlers until one of them is done.
pub(crate) fn first_ready<T>(
    handlers: &mut Vec<Handler<'_, T>>,
) -> Option<(Vec<T>, SqsBatchResponse)> {
    for index in 0..handlers.len() {
        if let Poll::Ready(response) = handlers[index].task.go_on() {
            return Some((handlers.remove(index).batch, response));
        }
    }
    None
}
