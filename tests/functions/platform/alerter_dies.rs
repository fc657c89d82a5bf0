//! The alerter dies at every step of keeping its letters, or the step fails, with tables that work
//! afterwards or are down for the whole next delivery.
//!
//! `cargo test -p tests --test functions alerter_dies -- --show-output` prints how often each thing was
//! done.

use std::ops::AddAssign;
use std::time::Duration;

use aws_lambda_events::event::sqs::SqsMessage;
use nagare_local::faults::Fault;
use shared::platform::runtime::deadline::Deadline;
use tests::{World, event, message, publish, soon, unfinished_ids};

use crate::platform::blows::{Blow, Steps};

/// Deliveries after which everything has to be kept.
const DELIVERIES: usize = 4;
/// How long the alerter tries while the tables are down.
const PATIENCE: Duration = Duration::from_millis(500);

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
    let steps = Steps::with(blow);
    let world = World::behind(|inside| steps.before(inside));
    let (mut waiting, mut first) = (letters(), 0);
    for delivery in 0..DELIVERIES {
        let down = then_down && delivery == 1;
        steps.set_down(down);
        let deadline = if down { Deadline::after(PATIENCE) } else { soon() };
        let unfinished = tokio::select! {
            answer = world.alerter.handle(event(waiting.clone()), deadline) => {
                unfinished_ids(&answer.unwrap())
            }
            // Whoever dies acknowledges nothing.
            () = steps.died() => ids(&waiting),
        };
        if delivery == 0 {
            first = steps.taken();
        }
        steps.set_down(false);
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
        let kept = world.tables.dead_letters.get(id).await.unwrap();
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
