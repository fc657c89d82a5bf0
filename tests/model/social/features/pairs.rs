//! Commands on pairs of ids, of which the latest counts, and on a tie the one that undoes.

use std::collections::{BTreeMap, BTreeSet};

use super::Commands;
use crate::social::reference::Reference;

/// When, and whether it is an undo.
pub(super) type Change = (String, bool);

/// What the commands on one pair may say.
#[derive(Default)]
pub(super) struct Pair {
    /// The latest that is done.
    done: Option<Change>,
    pub(super) started: BTreeSet<Change>,
}

impl Pair {
    /// What may be on record: the latest that is done, or what was started and is later.
    pub(super) fn may_be(&self) -> impl Iterator<Item = Option<&Change>> {
        let later = self.started.iter().map(Some).filter(|change| *change > self.done.as_ref());
        later.chain([self.done.as_ref()])
    }

    /// Whether it may be in force, or may not be.
    pub(super) fn may_hold(&self, holds: bool) -> bool {
        self.may_be().any(|change| change.is_some_and(|(_, undone)| !undone) == holds)
    }
}

/// The pairs that commands of two types are about, the second of which undoes the first, by the ids in two members.
pub(super) fn pairs(
    commands: &Commands<'_>,
    [created, deleted]: [&str; 2],
    [one, other]: [&str; 2],
) -> BTreeMap<(String, String), Pair> {
    let mut pairs: BTreeMap<_, Pair> = BTreeMap::new();
    let changes = |reference: &Reference| -> Vec<_> {
        let changes = reference.features.iter().filter_map(|command| {
            let kind = command["type"].as_str()?;
            let text = |name: &str| command[name].as_str().unwrap().to_owned();
            [created, deleted]
                .contains(&kind)
                .then(|| ((text(one), text(other)), (text("at"), kind == deleted)))
        });
        changes.collect()
    };
    for (pair, change) in changes(commands.started) {
        pairs.entry(pair).or_default().started.insert(change);
    }
    for (pair, change) in changes(commands.done) {
        let done = &mut pairs.entry(pair).or_default().done;
        *done = done.take().max(Some(change));
    }
    pairs
}
