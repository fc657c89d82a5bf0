//! When commands may have taken effect, and when they have to have.

use std::collections::BTreeMap;

use super::commands::{Sent, What};
use super::definitions::Definition;

/// By the number of a command, in unix milliseconds.
#[derive(Debug, Default)]
pub(super) struct Effects {
    begun: BTreeMap<usize, i64>,
    done: BTreeMap<usize, i64>,
    finished: BTreeMap<usize, i64>,
}

/// When something was so: perhaps from the first instant on, at the latest from the second.
#[derive(Debug, Clone, Copy)]
pub(super) struct Since {
    pub(super) maybe: i64,
    pub(super) surely: i64,
}

/// A definition that somebody may have recorded.
#[derive(Debug, Clone)]
pub(super) struct Stated {
    pub(super) definition: Definition,
    pub(super) recorded: Since,
    /// From when on all customers who had been folded by then were decided on.
    pub(super) finished: i64,
    /// Since when another one has won over it.
    pub(super) superseded: Since,
}

impl Stated {
    /// Whether it was in force at some moment between two instants.
    pub(super) fn may_be_in_force(&self, from: i64, to: i64) -> bool {
        self.recorded.maybe <= to && from <= self.superseded.surely
    }

    /// Whether it was in force throughout.
    pub(super) fn is_in_force(&self, from: i64, to: i64) -> bool {
        self.recorded.surely <= from && to < self.superseded.maybe
    }
}

fn note(instants: &mut BTreeMap<usize, i64>, number: usize, now: i64) {
    instants.entry(number).or_insert(now);
}

impl Effects {
    /// A writer was given it for the first time, or again.
    pub(super) fn begin(&mut self, number: usize, now: i64) {
        note(&mut self.begun, number, now);
    }

    /// It was acknowledged.
    pub(super) fn done(&mut self, number: usize, now: i64) {
        note(&mut self.done, number, now);
    }

    /// It was acknowledged, and no rest of it is left.
    pub(super) fn finished(&mut self, number: usize, now: i64) {
        note(&mut self.finished, number, now);
    }

    pub(super) fn since(&self, number: usize) -> Since {
        let at =
            |instants: &BTreeMap<usize, i64>| instants.get(&number).copied().unwrap_or(i64::MAX);
        Since { maybe: at(&self.begun), surely: at(&self.done) }
    }

    /// The definitions that were sent, each once.
    pub(super) fn stated(&self, history: &[Sent]) -> Vec<Stated> {
        let mut stated: Vec<Stated> = Vec::new();
        for sent in history {
            let What::Define(definition) = &sent.what else { continue };
            let recorded = self.since(sent.number);
            let finished = self.finished.get(&sent.number).copied().unwrap_or(i64::MAX);
            match stated.iter_mut().find(|it| it.definition == *definition) {
                Some(same) => {
                    same.recorded.maybe = same.recorded.maybe.min(recorded.maybe);
                    same.recorded.surely = same.recorded.surely.min(recorded.surely);
                    same.finished = same.finished.min(finished);
                }
                None => {
                    let superseded = Since { maybe: i64::MAX, surely: i64::MAX };
                    let definition = definition.clone();
                    stated.push(Stated { definition, recorded, finished, superseded });
                }
            }
        }
        let all = stated.clone();
        for one in &mut stated {
            let (subject, rank) = (one.definition.subject(), one.definition.rank());
            let later = all
                .iter()
                .filter(|it| it.definition.subject() == subject && it.definition.rank() > rank);
            for later in later {
                one.superseded.maybe = one.superseded.maybe.min(later.recorded.maybe);
                one.superseded.surely = one.superseded.surely.min(later.recorded.surely);
            }
        }
        stated
    }
}
