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
//! leaving    a person who is erased at any time
//! letters    commands that give up: kept, and redriven
//! usage      how often each thing was done to the handlers; `--show-output` prints it
//! readers    several of them, frozen and thawed, with clocks apart
//! observed   which commands have begun and which are in effect, in the order in which it happened
//! walk       what a reader may be shown at any time
//! feed       what clients that poll are shown: each activity once
//! moment     whether a page is what the query answers at one moment
//! moving     lists whose rows move, read with slow calls
//! check      what readers must be shown in the end
//! seeds      tried on all processors; what fails is made smaller
//! periods    a model of its own: events, while periods end, are archived and dropped
//! tenants    a model of its own: summaries, rules, scores and alerts, over weeks and months
//! stored     whether all that is stored is within the bound of its kind
//! ```
//!
//! A seed decides everything, so a failure comes back:
//!
//! ```sh
//! NAGARE_MODEL_SEED=17 cargo test -p tests --test model timelines  # one seed, reported in detail
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
mod leaving;
mod letters;
mod moment;
mod moving;
mod observed;
mod periods;
mod readers;
mod reference;
mod repeaters;
mod run;
mod scheduler;
mod seeds;
mod shrunk;
mod stored;
mod stream;
mod tenants;
mod usage;
mod walk;

use seeds::Model;

/// Much of a run's time goes into small allocations.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Commands in a history.
const COMMANDS: usize = 200;

#[test]
fn timelines_equal_the_query_whatever_happens() {
    let history = |seed| history::of(seed, COMMANDS);
    Model { seeds: 0..50, history, run: run::run }.check();
}
