//! The alerter dies at every step of keeping its letters, or the step fails, with tables that work
//! afterwards or are down for the whole next delivery.
//!
//! `cargo test -p tests --test functions alerter_dies -- --show-output` prints how often each thing was
//! done.

use std::ops::AddAssign;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use aws_lambda_events::event::sqs::SqsMessage;
use aws_smithy_runtime_api::client::http::{
    HttpConnector, HttpConnectorFuture, SharedHttpConnector,
};
use aws_smithy_runtime_api::client::orchestrator::HttpRequest;
use nagare::local::faults::{Fault, inject};
use shared::runtime::deadline::Deadline;
use tests::{World, event, message, publish, soon, unfinished_ids};
use tokio::sync::Notify;

/// Deliveries after which everything has to be kept.
const DELIVERIES: usize = 4;
/// How long the alerter tries while the tables are down.
const PATIENCE: Duration = Duration::from_millis(500);

/// What happens at one step.
#[derive(Debug, Clone, Copy)]
enum Blow {
    /// The function dies before the call.
    DiesBefore,
    /// The function dies after the call was done.
    DiesAfter,
    /// It lives, and the call goes wrong.
    Fails(Fault),
}

const BLOWS: [Blow; 11] = [
    Blow::DiesBefore,
    Blow::DiesAfter,
    Blow::Fails(Fault::Throttled),
    Blow::Fails(Fault::ServerError),
    Blow::Fails(Fault::LostRequest),
    Blow::Fails(Fault::LostAnswer),
    Blow::Fails(Fault::CutAnswer),
    Blow::Fails(Fault::Slow(Duration::from_secs(30))),
    Blow::Fails(Fault::Hang),
    Blow::Fails(Fault::TableMissing),
    Blow::Fails(Fault::Denied),
];

/// Counts the calls, and strikes one of them.
#[derive(Debug, Clone, Default)]
struct Steps {
    taken: Arc<AtomicUsize>,
    blow: Arc<Mutex<Option<(usize, Blow)>>>,
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
        let blow = steps.blow.lock().unwrap().filter(|(at, _)| *at == step).map(|(_, blow)| blow);
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
    async fn die<T>(&self) -> T {
        self.died.notify_one();
        std::future::pending().await
    }
}

/// A short letter, one in two parts, and one that was redriven before.
fn letters() -> Vec<SqsMessage> {
    let long = format!("{{\"type\":\"é{}\"", "x".repeat(60_000));
    let mut redriven = message("c", &publish("anna", "a", "2026-11-20T11:00:00Z").to_string(), 1);
    let origin = serde_json::json!({"nagare.origin": {"stringValue": "o", "dataType": "String"}});
    redriven.message_attributes = serde_json::from_value(origin).unwrap();
    vec![message("a", "not json", 1), message("b", &long, 1), redriven]
}

/// What came of one or more trials.
#[derive(Default)]
struct Count {
    trials: usize,
    /// Steps of the first delivery.
    steps: usize,
    kept: usize,
    counted: usize,
}

impl AddAssign for Count {
    fn add_assign(&mut self, other: Self) {
        self.trials += other.trials;
        self.steps += other.steps;
        self.kept += other.kept;
        self.counted += other.counted;
    }
}

/// Delivers the letters until all are acknowledged.
async fn trial(blow: Option<(usize, Blow)>, then_down: bool) -> Count {
    let steps = Steps::default();
    *steps.blow.lock().unwrap() = blow;
    let world =
        World::behind(|inside| SharedHttpConnector::new(Stepwise { inside, steps: steps.clone() }));
    let (mut waiting, mut first) = (letters(), 0);
    for delivery in 0..DELIVERIES {
        let down = then_down && delivery == 1;
        steps.down.store(down, Ordering::SeqCst);
        let deadline = if down { Deadline::after(PATIENCE) } else { soon() };
        let unfinished = tokio::select! {
            answer = world.alerter.handle(event(waiting.clone()), deadline) => {
                unfinished_ids(&answer.unwrap())
            }
            // Whoever dies acknowledges nothing.
            () = steps.died.notified() => ids(&waiting),
        };
        if delivery == 0 {
            first = steps.taken.load(Ordering::SeqCst);
        }
        steps.down.store(false, Ordering::SeqCst);
        waiting.retain(|m| unfinished.contains(m.message_id.as_ref().unwrap()));
        check_kept(&world, &waiting).await;
    }
    assert_eq!(ids(&waiting), [""; 0]);
    let kept = world.kept_letters().await;
    assert_eq!(kept.len(), 3, "each once");
    let counted = world.metrics.lines().len();
    assert!((3..=3 * DELIVERIES).contains(&counted), "{counted} counted");
    Count { trials: 1, steps: first, kept: kept.len(), counted }
}

fn ids(messages: &[SqsMessage]) -> Vec<String> {
    messages.iter().map(|message| message.message_id.clone().unwrap()).collect()
}

/// What is no longer on the queue is kept, down to its last byte.
async fn check_kept(world: &World, waiting: &[SqsMessage]) {
    for (letter, id) in letters().into_iter().zip(["a", "b", "o"]) {
        if ids(waiting).contains(letter.message_id.as_ref().unwrap()) {
            continue;
        }
        let kept = world.tables.dead_letters.get(id, soon()).await.unwrap();
        assert_eq!(kept.map(|kept| kept.body), letter.body, "{id}");
    }
}

#[tokio::test(start_paused = true)]
async fn no_letter_is_lost_or_kept_twice() {
    let calls = trial(None, false).await.steps;
    assert_eq!(calls, 5, "one for each short letter, three for the long one");
    println!("at each of {calls} calls    trials  letters  kept  counted");
    for blow in BLOWS {
        let mut count = Count::default();
        for step in 0..calls {
            for then_down in [false, true] {
                count += trial(Some((step, blow)), then_down).await;
            }
        }
        let (what, Count { trials, kept, counted, .. }) = (format!("{blow:?}"), count);
        println!("{what:<22} {trials:>9} {:>8} {kept:>5} {counted:>8}", trials * letters().len());
    }
}
