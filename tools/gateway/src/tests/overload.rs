//! More requests than capacity, and handlers that do not end.

use std::convert::Infallible;
use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use aws_lambda_events::apigw::ApiGatewayV2httpResponse;
use axum::Router;
use tokio::sync::{Semaphore, mpsc};

use super::{Answer, Authorization, Gateway, Limits, get, send};

/// An API whose handlers wait at a gate until the test lets them through.
struct Gated {
    api: Router,
    gate: Arc<Semaphore>,
    started: mpsc::UnboundedReceiver<()>,
}

impl Gated {
    fn new(limits: Limits) -> Self {
        let gate = Arc::new(Semaphore::new(0));
        let (starts, started) = mpsc::unbounded_channel();
        let handler = {
            let gate = Arc::clone(&gate);
            move |_event| {
                let (gate, starts) = (Arc::clone(&gate), starts.clone());
                async move {
                    starts.send(()).unwrap();
                    gate.acquire().await.unwrap().forget();
                    let mut answer = ApiGatewayV2httpResponse::default();
                    answer.status_code = 200;
                    Ok::<_, Infallible>(answer)
                }
            }
        };
        let api = Gateway::new(handler, Authorization::Open, limits).router();
        Self { api, gate, started }
    }

    async fn send(&self) -> Answer {
        send(&self.api, get("/v1/timelines/bob")).await
    }
}

fn capacity(in_flight: usize, queued: usize) -> Limits {
    Limits { in_flight, queued, ..Limits::default() }
}

/// Polls a request once. True if it is in flight.
async fn is_pending(mut request: std::pin::Pin<&mut impl Future<Output = Answer>>) -> bool {
    poll_fn(|cx| Poll::Ready(request.as_mut().poll(cx).is_pending())).await
}

fn assert_overloaded(answer: &Answer) {
    answer.assert_problem(429, "overloaded");
    assert_eq!(answer.header("retry-after"), Some("1"));
}

#[tokio::test(start_paused = true)]
async fn beyond_capacity_and_queue_requests_are_refused_at_once() {
    let api = Gated::new(capacity(2, 1));
    let (mut one, mut two, mut three) = (pin!(api.send()), pin!(api.send()), pin!(api.send()));
    assert!(is_pending(one.as_mut()).await && is_pending(two.as_mut()).await);
    assert!(is_pending(three.as_mut()).await);

    let before = tokio::time::Instant::now();
    for _ in 0..1000 {
        assert_overloaded(&api.send().await);
    }
    assert_eq!(before.elapsed(), Duration::ZERO);

    api.gate.add_permits(3);
    let (one, two, three) = tokio::join!(one, two, three);
    assert_eq!([one.status, two.status, three.status], [200, 200, 200]);

    api.gate.add_permits(1);
    assert_eq!(api.send().await.status, 200, "it has recovered");
}

#[tokio::test]
async fn the_queue_waits_for_its_turn() {
    let mut api = Gated::new(capacity(1, 1));
    let (router, gate) = (api.api.clone(), Arc::clone(&api.gate));
    let mut first = pin!(send(&router, get("/")));
    let mut second = pin!(send(&router, get("/")));
    assert!(is_pending(first.as_mut()).await && is_pending(second.as_mut()).await);

    api.started.recv().await.unwrap();
    tokio::task::yield_now().await;
    assert!(api.started.try_recv().is_err(), "only one runs");

    gate.add_permits(2);
    let (first, second) = tokio::join!(first, second);
    assert_eq!([first.status, second.status], [200, 200]);
}

#[tokio::test(start_paused = true)]
async fn the_queue_does_not_wait_for_ever() {
    let limits = Limits { integration_timeout: Duration::from_secs(3600), ..capacity(1, 1) };
    let api = Gated::new(limits);
    let mut running = pin!(api.send());
    assert!(is_pending(running.as_mut()).await);
    assert_overloaded(&api.send().await);

    api.gate.add_permits(1);
    assert_eq!(running.await.status, 200);
}

#[tokio::test(start_paused = true)]
async fn a_handler_that_does_not_answer_in_time() {
    let api = Gated::new(capacity(1, 0));
    let before = tokio::time::Instant::now();
    for _ in 0..3 {
        let answer = api.send().await;
        answer.assert_problem(503, "timed out, and made room");
        assert_eq!(answer.header("retry-after"), Some("1"));
    }
    assert_eq!(before.elapsed().as_secs(), 90);
}

#[tokio::test]
async fn a_caller_who_hangs_up_makes_room() {
    let api = Gated::new(capacity(1, 0));
    {
        let mut hung_up = pin!(api.send());
        assert!(is_pending(hung_up.as_mut()).await);
        assert_overloaded(&api.send().await);
    }
    api.gate.add_permits(1);
    assert_eq!(api.send().await.status, 200);
}
