//! Seeds: tried one after the other on all processors, and what fails is made smaller.

use std::fmt::Display;
use std::num::NonZero;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::{self, available_parallelism};

use crate::platform::usage;

/// What is tried: how a seed becomes a history, and what goes wrong with one, if something does.
pub(crate) struct Model<T> {
    /// How many seeds a run without instructions tries.
    pub(crate) seeds: Range<u64>,
    pub(crate) history: fn(u64) -> Vec<T>,
    pub(crate) run: fn(u64, &[T]) -> Result<(), String>,
}

impl<T: Clone + Display + Send> Model<T> {
    /// Tries all seeds.
    ///
    /// # Panics
    /// If one fails: with the least of its history that still does.
    pub(crate) fn check(&self) {
        let (seeds, next) = (self.seeds(), AtomicU64::new(0));
        let failure = Mutex::new(None);
        let work = || {
            while failure.lock().unwrap().is_none() {
                let seed = seeds.start + next.fetch_add(1, Ordering::SeqCst);
                if seed >= seeds.end {
                    return;
                }
                let history = (self.history)(seed);
                if let Err(problem) = self.attempt(seed, &history) {
                    failure.lock().unwrap().get_or_insert((seed, history, problem));
                }
            }
        };
        let threads = available_parallelism().map_or(1, NonZero::get);
        thread::scope(|scope| (0..threads).for_each(|_| drop(scope.spawn(work))));
        println!("{} seeds\n{}", seeds.end - seeds.start, usage::table());
        if let Some((seed, history, problem)) = failure.into_inner().unwrap() {
            eprintln!("seed {seed}: {problem}; leaving out commands as long as it fails");
            let (least, problem) = self.shrink(seed, history, problem);
            let commands: Vec<_> = least.iter().map(ToString::to_string).collect();
            let commands = commands.join("\n  ");
            panic!("NAGARE_MODEL_SEED={seed}: {problem}\nwith these commands left:\n  {commands}");
        }
    }

    fn seeds(&self) -> Range<u64> {
        let number = |text: &str| text.parse().expect("a seed is a number");
        let [one, many] = ["NAGARE_MODEL_SEED", "NAGARE_MODEL_SEEDS"].map(variable);
        match (one, many) {
            (Some(seed), _) => number(&seed)..number(&seed) + 1,
            (None, Some(range)) => {
                let (first, end) = range.split_once("..").expect("seeds are given as FIRST..END");
                number(first)..number(end)
            }
            (None, None) => self.seeds.clone(),
        }
    }

    /// Runs a history. Returns what went wrong, if something did.
    fn attempt(&self, seed: u64, history: &[T]) -> Result<(), String> {
        let run = AssertUnwindSafe(|| (self.run)(seed, history));
        catch_unwind(run).unwrap_or_else(|panic| {
            let text = panic.downcast_ref::<String>().cloned();
            let text = text.or_else(|| panic.downcast_ref::<&str>().map(ToString::to_string));
            Err(format!("a panic: {}", text.unwrap_or_default()))
        })
    }

    /// Leaves out more and more of a history, in ever smaller pieces, as long as it goes on failing.
    fn shrink(&self, seed: u64, mut history: Vec<T>, mut problem: String) -> (Vec<T>, String) {
        let mut piece = history.len() / 2;
        while piece > 0 {
            let mut start = 0;
            while start < history.len() {
                let mut less = history.clone();
                less.drain(start..(start + piece).min(history.len()));
                match self.attempt(seed, &less) {
                    Err(found) => (history, problem) = (less, found),
                    Ok(()) => start += piece,
                }
            }
            piece /= 2;
        }
        (history, problem)
    }
}

#[allow(clippy::disallowed_methods, reason = "how to choose a run from the command line")]
pub(crate) fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok()
}
