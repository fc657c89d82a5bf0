//! How often each thing was done to the handlers, over all the seeds of a run.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::Mutex;

use nagare_local::faults::Fault;

static COUNTS: Mutex<BTreeMap<&str, u64>> = Mutex::new(BTreeMap::new());

pub(crate) fn count(what: &'static str) {
    *COUNTS.lock().unwrap().entry(what).or_default() += 1;
}

pub(crate) fn count_fault(fault: Fault) {
    count(match fault {
        Fault::Throttled => "call: throttled",
        Fault::Leftovers(_) => "call: part of a batch unprocessed",
        Fault::ServerError => "call: answered 500",
        Fault::LostRequest => "call: reset before it was done",
        Fault::LostAnswer => "call: done, then reset",
        Fault::CutAnswer => "call: done, answer cut in half",
        Fault::Slow(_) => "call: answer up to 8 s late",
        Fault::Hang => "call: done, never answered",
        Fault::TableMissing => "call: table missing",
        Fault::Denied => "call: access denied",
        Fault::LimitExceeded => "call: too many operations on tables",
        Fault::Creating => "call: done, table not there yet",
        Fault::InUse => "call: table in use",
        Fault::Panic => "call: panicked",
    });
}

/// A table of all that was counted.
pub(crate) fn table() -> String {
    let mut table = String::from("what was done to the handlers                 times\n");
    for (what, times) in &*COUNTS.lock().unwrap() {
        let _ = writeln!(table, "{what:<42} {times:>9}");
    }
    table
}
