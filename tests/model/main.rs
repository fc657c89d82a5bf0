//! Whatever happens, in whatever order: when it is quiet again, every timeline is what the query of
//! docs/openapi.yaml answers, and until then no reader is shown what they must not see.
//!
//! ```text
//! history    commands, chosen by a seed
//! features   what the features beside the timeline send and answer
//! repeaters  somebody who repeats one command
//! reference  what they mean: maps and sets, and no code of the project
//! scheduler  the edge below the SDK: each call of a handler waits there for its turn
//! fault_plan what goes wrong with calls
//! shrunk     what tables take: less than DynamoDB's
//! run        one history against the real handlers: deliveries, crashes, time, readers between
//! delivery   messages on their way
//! stream     changes of facts: delivered in batches, again, and in shards that end
//! letters    commands that give up: kept, and redriven
//! usage      how often each thing was done to the handlers; `--show-output` prints it
//! readers    several of them, frozen and thawed, with clocks apart
//! observed   which commands have begun and which are in effect, in the order in which it happened
//! walk       what a reader may be shown at any time
//! feed       what clients that poll are shown: each activity once
//! moment     whether a page is what the query answers at one moment
//! check      what readers must be shown in the end
//! stored     whether all that is stored is within the bound of its kind
//! ```
//!
//! A seed decides everything, so a failure comes back:
//!
//! ```sh
//! NAGARE_MODEL_SEED=17 cargo test -p tests --test model            # one seed, reported in detail
//! NAGARE_MODEL_SEEDS=1000..2000 cargo test --release -p tests --test model
//! ```
//!
//! A seed that fails is run again with commands left out, as long as it goes on failing, and what is
//! left is printed.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "tests fail by panicking"
)]

mod check;
mod delivery;
mod fault_plan;
mod features;
mod feed;
mod history;
mod letters;
mod moment;
mod observed;
mod readers;
mod reference;
mod repeaters;
mod run;
mod scheduler;
mod shrunk;
mod stored;
mod stream;
mod usage;
mod walk;

use std::num::NonZero;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::{self, available_parallelism};

use history::Sent;

/// Much of a run's time goes into small allocations.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// The seeds that a run without instructions tries. At night there are ten times as many (`.github/workflows/nightly.yml`).
const SEEDS: Range<u64> = 0..50;
/// Commands in a history.
const COMMANDS: usize = 200;

#[test]
fn timelines_equal_the_query_whatever_happens() {
    let (seeds, next) = (seeds(), AtomicU64::new(0));
    let failure = Mutex::new(None);
    let work = || {
        while failure.lock().unwrap().is_none() {
            let seed = seeds.start + next.fetch_add(1, Ordering::SeqCst);
            if seed >= seeds.end {
                return;
            }
            let history = history::of(seed, COMMANDS);
            if let Err(problem) = attempt(seed, &history) {
                failure.lock().unwrap().get_or_insert((seed, history, problem));
            }
        }
    };
    let threads = available_parallelism().map_or(1, NonZero::get);
    thread::scope(|scope| (0..threads).for_each(|_| drop(scope.spawn(work))));
    println!("{} histories of {COMMANDS} commands\n{}", seeds.end - seeds.start, usage::table());
    if let Some((seed, history, problem)) = failure.into_inner().unwrap() {
        eprintln!("seed {seed}: {problem}; leaving out commands as long as it fails");
        let (least, problem) = shrink(seed, history, problem);
        let commands: Vec<_> = least.iter().map(ToString::to_string).collect();
        let commands = commands.join("\n  ");
        panic!("NAGARE_MODEL_SEED={seed}: {problem}\nwith these commands left:\n  {commands}");
    }
}

fn seeds() -> Range<u64> {
    let number = |text: &str| text.parse().expect("a seed is a number");
    let [one, many] = ["NAGARE_MODEL_SEED", "NAGARE_MODEL_SEEDS"].map(variable);
    match (one, many) {
        (Some(seed), _) => number(&seed)..number(&seed) + 1,
        (None, Some(range)) => {
            let (first, end) = range.split_once("..").expect("seeds are given as FIRST..END");
            number(first)..number(end)
        }
        (None, None) => SEEDS,
    }
}

#[allow(clippy::disallowed_methods, reason = "how to choose a run from the command line")]
fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

/// Runs a history. Returns what went wrong, if something did.
fn attempt(seed: u64, history: &[Sent]) -> Result<(), String> {
    let run = AssertUnwindSafe(|| run::run(seed, history));
    catch_unwind(run).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().cloned();
        let text = text.or_else(|| panic.downcast_ref::<&str>().map(ToString::to_string));
        Err(format!("a panic: {}", text.unwrap_or_default()))
    })
}

/// Leaves out more and more of a history, in ever smaller pieces, as long as it goes on failing.
fn shrink(seed: u64, mut history: Vec<Sent>, mut problem: String) -> (Vec<Sent>, String) {
    let mut piece = history.len() / 2;
    while piece > 0 {
        let mut start = 0;
        while start < history.len() {
            let mut less = history.clone();
            less.drain(start..(start + piece).min(history.len()));
            match attempt(seed, &less) {
                Err(found) => (history, problem) = (less, found),
                Ok(()) => start += piece,
            }
        }
        piece /= 2;
    }
    (history, problem)
}
