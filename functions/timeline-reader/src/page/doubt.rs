//! What may have changed while a page was read, and where the page has to end because of that.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use shared::platform::runtime::hold::Hold;
use shared::platform::values::ActorId;
use shared::social::follows::EdgeState;
use shared::social::timelines::{Hydration, VisibilitySnapshot};

use super::rows::Target;

/// The part of a page that is in doubt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Doubt {
    /// Nothing.
    None,
    /// Everything from the n-th row that was read.
    From(usize),
}

impl Doubt {
    /// What one of the two puts in doubt.
    pub(super) fn or(self, other: Self) -> Self {
        match (self, other) {
            (Self::From(one), Self::From(other)) => Self::From(one.min(other)),
            (Self::None, doubt) | (doubt, Self::None) => doubt,
        }
    }
}

/// One reading of the rows of a page, between two views.
pub(super) struct Between<'a> {
    /// Read before the rows.
    pub(super) view: &'a VisibilitySnapshot,
    /// Read after them.
    pub(super) later: &'a VisibilitySnapshot,
    /// From the request of the first view to the answer with the rows.
    pub(super) took: Duration,
    /// The rows of the reading before; `None` if they may have been read after the first view.
    pub(super) rows_before: Option<&'a [Target]>,
    pub(super) rows: &'a [Target],
    /// The edges as they were before the rows were read.
    pub(super) edges_before: &'a HashMap<ActorId, Option<EdgeState>>,
    pub(super) hydration: &'a Hydration,
    pub(super) hold: Hold,
}

impl Between<'_> {
    /// The actors who have begun to join since the first view; or from which row on it is in doubt whose rows are shown.
    pub(super) fn joining(&self) -> Result<HashSet<ActorId>, Doubt> {
        let Some(change) = self.later.hidden_since(self.view) else { return Err(Doubt::From(0)) };
        if !self.edges_hold() {
            return Err(Doubt::From(0));
        }
        let is_in_time = self.hold.long().spans(self.took);
        let names = |rows: &[Target], left: &ActorId| rows.iter().any(|(_, actor)| actor == left);
        let was_there = |left: &ActorId| self.rows_before.is_some_and(|rows| names(rows, left));
        // An actor without rows is shown nowhere, however that changes.
        let is_doubtful = |(_, actor): &Target| match is_in_time {
            true => change.left.contains(actor) && !was_there(actor),
            false => change.is_about(actor),
        };
        match self.rows.iter().position(is_doubtful) {
            Some(row) => Err(Doubt::From(row)),
            None => Ok(change.joining),
        }
    }

    /// True if the edges that were read are the same before the rows and after them.
    fn edges_hold(&self) -> bool {
        let mut now = self.hydration.edges().iter();
        now.all(|(actor, edge)| self.edges_before.get(actor) == Some(edge))
    }

    /// The part of the page whose content is in doubt.
    pub(super) fn content(&self) -> Doubt {
        let changed = self.later.changes_since(self.view);
        let is_doubtful = |(key, actor): &Target| {
            !self.hydration.hides(actor) && self.hydration.is_doubtful(key, actor, changed)
        };
        self.rows.iter().position(is_doubtful).map_or(Doubt::None, Doubt::From)
    }
}
