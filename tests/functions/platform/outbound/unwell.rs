//! A bus that is slow, that does not answer, or that may not be sent to.

use std::time::Duration;

use aws_smithy_runtime_api::client::http::{
    HttpConnector, HttpConnectorFuture, SharedHttpConnector,
};
use aws_smithy_runtime_api::client::orchestrator::HttpRequest;
use nagare_local::faults::{Fault, inject};
use nagare_local::stream_source::event;
use tests::{World, message, publish, soon, unfinished};

use super::{at, hit, open_battle, sent, told};
use crate::platform::blows::Steps;
use crate::platform::projecting::records;

/// A bus that does not answer holds up its message; one that may not be sent to does so for a quarter of an hour, and then nothing.
#[tokio::test(start_paused = true)]
async fn who_takes_the_bus_away_stops_nothing_for_good() {
    let steps = Steps::with(None);
    let world = World::with_bus(|inside| {
        let inside = SharedHttpConnector::new(Denying(inside));
        steps.before(inside)
    });
    // Sent at noon, as all messages of a world are.
    let body = publish("anna", "a", &at(1)).to_string();
    world.set_clock("2026-11-20T12:14:00Z");
    assert_eq!(world.write(&[&body], 1).await, [0]);
    world.set_clock("2026-11-20T12:16:00Z");
    assert_eq!(world.write(&[&body], 2).await, [0_usize; 0]);
    assert_eq!((sent(&world).len(), world.take_dead_letters().await.len()), (0, 0));
    let counted =
        world.metrics.lines().into_iter().filter_map(|line| line["OutboundRefused"].as_u64());
    assert_eq!(counted.sum::<u64>(), 1);
    world.done(&[open_battle("b", 1), hit("b", "h", 1)]).await;
    let fold = async || {
        let batch = event("a", &records(&world)).unwrap();
        world.fold(batch, soon()).await.unwrap().batch_item_failures.len()
    };
    assert_eq!(fold().await, 1, "it comes again");
    world.set_clock("2036-11-20T12:16:00Z");
    assert_eq!(fold().await, 0);
}

/// More is to be told than the bus takes within the time of a delivery: what is left over is handed on. A bus that takes nothing is
/// another matter, and uses up receives.
#[tokio::test(start_paused = true)]
async fn a_busy_bus_uses_up_no_receives() {
    for (takes, is_busy) in [(Duration::from_millis(700), true), (Duration::from_secs(3600), false)]
    {
        let world = World::with_bus(|inside| SharedHttpConnector::new(Slow { inside, takes }));
        let bodies = (0..120).map(|n| publish("anna", &format!("post-{n}"), &at(1)).to_string());
        let bodies: Vec<_> = bodies.collect();
        let messages = bodies.iter().enumerate();
        let messages = messages.map(|(n, body)| message(&n.to_string(), body, 1));
        let answer = world.writer.handle(tests::event(messages), soon()).await.unwrap();
        let come_again = unfinished(&answer).len();
        assert_eq!(come_again, if is_busy { 0 } else { 120 });
        let mut handed_on = 0;
        loop {
            let rest = world.take_commands().await;
            if rest.is_empty() {
                break;
            }
            handed_on += rest.len();
            let answer = world.writer.handle(tests::event(rest), soon()).await.unwrap();
            assert_eq!(unfinished(&answer), [0_usize; 0]);
        }
        assert_eq!((handed_on > 0, told(&world).len()), (is_busy, if is_busy { 120 } else { 0 }));
    }
}

/// How long a caller waits between attempts is random. Whenever the last one ends, a bus that answers none is not a busy one.
#[tokio::test(start_paused = true)]
async fn a_dead_bus_is_never_taken_for_a_busy_one() {
    let takes = Duration::from_secs(3600);
    let world = World::with_bus(|inside| SharedHttpConnector::new(Slow { inside, takes }));
    for seed in 0..400 {
        fastrand::seed(seed);
        let body = publish("anna", &format!("post-{seed}"), &at(1)).to_string();
        assert_eq!(world.write(&[&body], 1).await, [0], "seed {seed}");
    }
}

/// Takes its time for what is for the bus.
#[derive(Debug)]
struct Slow {
    inside: SharedHttpConnector,
    takes: Duration,
}

impl HttpConnector for Slow {
    fn call(&self, request: HttpRequest) -> HttpConnectorFuture {
        let (inside, takes) = (self.inside.clone(), self.takes);
        HttpConnectorFuture::new(async move {
            if is_of_bus(&request) {
                tokio::time::sleep(takes).await;
            }
            inside.call(request).await
        })
    }
}

fn is_of_bus(request: &HttpRequest) -> bool {
    request.headers().get("x-amz-target").is_some_and(|it| it.starts_with("AWSEvents."))
}

/// Denies what is for the bus.
#[derive(Debug)]
struct Denying(SharedHttpConnector);

impl HttpConnector for Denying {
    fn call(&self, request: HttpRequest) -> HttpConnectorFuture {
        let inside = self.0.clone();
        HttpConnectorFuture::new(async move {
            let fault = is_of_bus(&request).then_some(Fault::Denied);
            inject(fault, request, &inside).await
        })
    }
}
