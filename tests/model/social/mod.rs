//! The model of timelines and of the features beside them.
//!
//! ```text
//! commands   a history of them, chosen by a seed
//! features   what the features beside the timeline send and answer
//! repeaters  somebody who repeats one command
//! reference  what they mean: maps and sets, and no code of the project
//! fault_plan what goes wrong with calls
//! run        one history against the real handlers: deliveries, crashes, time, readers between
//! delivery   messages on their way
//! leaving    a person who is erased at any time
//! readers    several of them, frozen and thawed, with clocks apart
//! observed   which commands have begun and which are in effect, in the order in which it happened
//! walk       what a reader may be shown at any time
//! feed       what clients that poll are shown: each activity once
//! moment     whether a page is what the query answers at one moment
//! moving     lists whose rows move, read with slow calls
//! check      what readers must be shown in the end
//! ```

mod check;
mod commands;
mod delivery;
mod fault_plan;
mod features;
mod feed;
mod leaving;
mod moment;
mod moving;
mod observed;
mod readers;
mod reference;
mod repeaters;
mod run;
mod walk;

use crate::platform::seeds::Model;

/// Commands in a history.
const COMMANDS: usize = 200;

#[test]
fn timelines_equal_the_query_whatever_happens() {
    let history = |seed| commands::of(seed, COMMANDS);
    Model { seeds: 0..50, history, run: run::run }.check();
}
