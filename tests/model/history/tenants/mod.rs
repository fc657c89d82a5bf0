//! Customers, rules, scores and alerts: at rest all answers equal a recount of what was taken and said, and until then no alert is shown that nothing asks for.
//!
//! ```text
//! plan        what a seed chooses: how long periods are, what fails, what tables take
//! commands    the commands of a seed
//! definitions rules and scores: which of them wins, and whether one holds
//! calendar    days, weeks and months
//! recount     what is answered at rest
//! daily       whether alerts that are decided by day are right
//! taken       the events that were taken, and when each may have been and was folded
//! effects     when commands may have been and were in effect
//! facts       these, with the ticks of keepers and with the alerts that somebody was shown
//! run         one history: messages, ticks, changes and readers, and time that passes
//!   ending    nothing fails any more, all is judged, periods are dropped, and all is judged again
//! queue       messages on their way
//! reading     what readers are shown meanwhile
//! check       all answers, when nothing is left to be done
//! erasing/    a model with a customer or a tenant who is erased beside all of this
//! announced   what the bus was told of alerts
//! ```
//!
//! Nothing here uses code of the project to count or to decide. What the model knows it sees from outside: which puts of events were done, when a batch was handed to the
//! projector and worked off, when a command was handed to a writer and acknowledged, when a tick of the keeper began and ended, and whether it had done all. Each turn of a run is a
//! millisecond, so `decided_at` says in which turn a day was decided.
//!
//! ```sh
//! NAGARE_MODEL_SEED=17 cargo test -p tests --test model tenants      # one seed
//! NAGARE_MODEL_SEEDS=1000..3000 cargo test --release -p tests --test model tenants
//! ```

mod announced;
mod calendar;
mod check;
mod commands;
mod daily;
mod definitions;
mod effects;
mod erasing;
mod facts;
mod plan;
mod queue;
mod reading;
mod recount;
mod run;
mod taken;

use crate::platform::seeds::Model;

#[test]
fn tenants_are_told_what_a_recount_says() {
    Model { seeds: 0..50, history: commands::history, run: run::run }.check();
}
