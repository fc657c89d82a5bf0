//! Hidden actors: whose entries a viewer is not shown, although they may be in the timeline.
//!
//! One small item for each viewer, among what is about that person alone. A page reads it instead of an edge
//! for each actor: an entry is in a timeline only if its actor was followed once, so it is shown unless this
//! item hides the actor. It hides whom the viewer has left, and whom a follow is bringing in, until all of
//! it is there. So a follow shows all that it brings in, or nothing.
//!
//! # Why it is right at every moment
//!
//! **Hide, then change the edge; show only what is complete.** *Marks* say why an actor is hidden: the viewer
//! has left at some instant, the latest of which stays, or a follow of some instant is bringing the actor in, or both.
//!
//! 1. A command that will change an edge writes its mark first, unless it is there already. Fan-outs go by edges,
//!    so no entry can be missing because of an unfollow, nor be there because of a follow, unless the actor is
//!    hidden by then. A page may have read who is hidden just before, so a [hold](crate::runtime::hold) passes before an
//!    edge lets entries in, and before entries are taken out. A viewer who follows already, with all entries
//!    there, is not hidden for a later follow.
//! 2. The mark is written under the condition that the item has not changed since it was read, and the edge
//!    is read in between. So a late command cannot hide what a later one has completed meanwhile: that one
//!    has changed the item, and be it only its version, once its edge was on record. The late one finds the later edge
//!    when it reads again. If its mark came before, it is taken off as any mark of an earlier unfollow is.
//! 3. A mark is taken off by whoever has made the timeline complete for a follow that the edge says, and never
//!    that of a later unfollow. That of a later follow it takes off only if the edge still says its own, and nobody has
//!    changed the item since before the edge was read: then no unfollow came in between, and the timeline is complete for the
//!    later follow, too. That one puts its edge only over the edge that it has seen when it marked; if that has changed, it begins
//!    again with its mark. If the edge says the later follow by then, the timeline is made complete for that.
//! 4. The mark of a follow that an unfollow has overtaken is taken off by whoever finds the unfollow on record, and not
//!    before: no follow up to that instant is ever in force again, and the unfollow hides the actor.
//! 5. A command that dies in between is delivered again and goes on; if it is given up, its actor stays
//!    hidden, which is what the query says without that follow or with that unfollow, or until it is redriven.
//!
//! # How large it gets
//!
//! The item has [`MOST_BYTES`] of marks at most, whatever is sent: every page of the viewer reads it. A mark is needed
//! until retention has passed. That of an unfollow: a fan-out that died may have left an entry, which
//! only a later delivery takes out. That of a follow: what was published before it has expired by then, and fan-outs
//! have brought the rest.
//!
//! Where there is no room for one more, an instant takes the place of all marks of unfollows:
//! [`HiddenActors::asks_edges`], up to which pages ask for edges as well. An unfollow is hidden by its edge then. A follow
//! for which there is still no room puts its mark [into the edge](super::EdgeState): the put that lets
//! entries in hides them as well.
//!
//! The item is written as a whole, with the attributes that this version does not know, so no expression grows
//! with the number of marks.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use super::{EdgeState, FollowChange};
use crate::dynamo::DynamoError;
use crate::dynamo::item::{Item, Row, number, text};
use crate::ledger::FORGET_AT;
use crate::values::{ActorId, Retention, Timestamp};

/// The marks of the item, in bytes: with its key and what else it says less than two read units.
pub(super) const MOST_BYTES: usize = 6_000;
/// Marks stay a little longer than the entries that they hide: clocks differ.
const SLACK: Duration = Duration::from_secs(86_400);
/// How the names of the attributes begin that are marks.
const LEFT: &str = "left#";
const JOINING: &str = "joining#";
/// Until when pages ask for edges, in unix seconds.
const EDGES_UNTIL: &str = "edges_until";
/// How often an actor was shown again.
pub(super) const SHOWS: &str = "shows";
/// When a mark was noted that does not say so: writers of an earlier version leave such.
const UNKNOWN: i64 = i64::MAX;

/// Why an actor is hidden, and since when.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Mark {
    /// The `at` of the command.
    at: Timestamp,
    /// When it was processed, in unix seconds.
    noted_at: i64,
}

/// The actors whose entries a viewer is not shown.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct HiddenActors {
    left: HashMap<ActorId, Mark>,
    joining: HashMap<ActorId, Mark>,
    edges_until: Option<i64>,
    /// How often an actor was shown again.
    shows: i64,
    /// Another text after each change; nothing before the first.
    pub(super) at: Option<String>,
}

impl HiddenActors {
    /// Reads the item; where there is none, nobody is hidden.
    ///
    /// # Errors
    /// [`DynamoError::Corrupt`]
    pub fn read(row: &Row<'_>) -> Result<Self, DynamoError> {
        let until = row.item.contains_key(EDGES_UNTIL).then(|| row.number(EDGES_UNTIL));
        let named = |name: &str, actor| {
            ActorId::new(actor).map_err(|_| row.corrupt(name, "the mark of an actor"))
        };
        let (mut left, mut joining) = (HashMap::new(), HashMap::new());
        for name in row.item.keys() {
            if let Some(actor) = name.strip_prefix(LEFT) {
                left.insert(named(name, actor)?, Mark::read(row, name)?);
            } else if let Some(actor) = name.strip_prefix(JOINING) {
                joining.insert(named(name, actor)?, Mark::read(row, name)?);
            }
        }
        Ok(Self {
            left,
            joining,
            edges_until: until.transpose()?,
            shows: if row.item.contains_key(SHOWS) { row.number(SHOWS)? } else { 0 },
            at: row.optional_text("at")?.map(ToOwned::to_owned),
        })
    }

    /// True if entries of the actor are not to be shown.
    #[must_use]
    pub fn hides(&self, actor: &ActorId) -> bool {
        self.left.contains_key(actor) || self.joining.contains_key(actor)
    }

    /// True if edges have to be asked for as well.
    #[must_use]
    pub fn asks_edges(&self, now: Timestamp) -> bool {
        self.edges_until.is_some_and(|until| now.unix_millis() / 1000 < until)
    }

    /// What was changed since an earlier reading; nothing if that cannot be told.
    ///
    /// Who was hidden and is not any more was shown, once. More shows than that are of actors who were hidden and shown in
    /// between. Of edges the item says nothing.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Option<HiddenChange> {
        if self.at == earlier.at {
            return Some(HiddenChange::default());
        }
        let hidden = earlier.left.keys().chain(earlier.joining.keys());
        let shown: HashSet<_> = hidden.filter(|actor| !self.hides(actor)).collect();
        let asks_edges = self.edges_until.is_some() || earlier.edges_until.is_some();
        if asks_edges || usize::try_from(self.shows - earlier.shows) != Ok(shown.len()) {
            return None;
        }
        let new = |marks: &HashMap<ActorId, Mark>| {
            let new = marks.keys().filter(|actor| !earlier.hides(actor));
            new.cloned().collect::<HashSet<_>>()
        };
        let left = new(&self.left);
        let joining = new(&self.joining).difference(&left).cloned().collect();
        Some(HiddenChange { joining, left, shows: shown.len() })
    }

    /// True if a follow up to an instant is bringing the actor in.
    pub(super) fn is_joining_up_to(&self, actor: &ActorId, at: Timestamp) -> bool {
        self.joining.get(actor).is_some_and(|mark| mark.at <= at)
    }

    /// True if a follow after an instant is bringing the actor in.
    pub(super) fn is_joining_after(&self, actor: &ActorId, at: Timestamp) -> bool {
        self.joining.get(actor).is_some_and(|mark| mark.at > at)
    }

    /// True if the viewer has left the actor before an instant.
    pub(super) fn has_left_before(&self, actor: &ActorId, at: Timestamp) -> bool {
        self.left.get(actor).is_some_and(|mark| mark.at < at)
    }

    /// True if it says that edges are asked for, at whatever time.
    pub(super) fn has_asked_edges(&self) -> bool {
        self.edges_until.is_some()
    }

    /// What the item has to say before an edge that says `edge` is changed, and where the mark of a follow is then;
    /// nothing if it may stay as it is.
    pub(super) fn hiding(
        &self,
        FollowChange { followee_id: actor, state, .. }: &FollowChange,
        edge: Option<EdgeState>,
        now: Timestamp,
        retention: Retention,
    ) -> Option<(Self, Marked)> {
        let mark = Mark { at: state.changed_at, noted_at: now.unix_millis() / 1000 };
        let kept = i64::try_from((retention.as_duration() + SLACK).as_secs()).unwrap_or(i64::MAX);
        if state.following {
            // A mark of an unfollow alone would not do: it may go when there are too many, or when it is old.
            let is_complete = edge.is_some_and(EdgeState::shows) && !self.hides(actor);
            // Where a later follow has marked already the item is written all the same: whoever would take that mark off has to
            // learn that somebody else goes by it.
            let there = self.joining.get(actor).filter(|there| there.at >= mark.at);
            let mark = there.copied().unwrap_or(mark);
            return (!is_complete).then(|| self.joined(actor, mark, now, kept));
        }
        if self.left.get(actor).is_some_and(|left| left.at >= mark.at) {
            return None;
        }
        let mut next = self.without_old(mark.noted_at, kept);
        if !self.asks_edges(now) {
            next.left.insert(actor.clone(), mark);
            if next.bytes() <= MOST_BYTES {
                return Some((next, Marked::InItem));
            }
        }
        let next = self.without_old(mark.noted_at, kept).asking_edges(mark.noted_at + kept);
        Some((next, Marked::InEdge))
    }

    /// With the mark of a follow, here or in its edge.
    fn joined(&self, actor: &ActorId, mark: Mark, now: Timestamp, kept: i64) -> (Self, Marked) {
        let with_mark = |mut next: Self| {
            next.joining.insert(actor.clone(), mark);
            (next.bytes() <= MOST_BYTES).then_some((next, Marked::InItem))
        };
        let young = self.without_old(mark.noted_at, kept);
        if !self.asks_edges(now)
            && let Some(marked) = with_mark(young.clone())
        {
            return marked;
        }
        let asking = young.asking_edges(mark.noted_at + kept);
        with_mark(asking.clone()).unwrap_or((asking, Marked::InEdge))
    }

    /// Without the marks that nobody needs any more.
    fn without_old(&self, now: i64, kept: i64) -> Self {
        let young = |marks: &HashMap<ActorId, Mark>| {
            let young = marks.iter().filter(|(_, mark)| mark.noted_at.saturating_add(kept) >= now);
            let dated = |mark: Mark| Mark { noted_at: mark.noted_at.min(now), ..mark };
            young.map(|(actor, mark)| (actor.clone(), dated(*mark))).collect()
        };
        let edges_until = self.edges_until.filter(|until| *until > now);
        let (left, joining) = (young(&self.left), young(&self.joining));
        Self { left, joining, edges_until, shows: self.shows, at: None }
    }

    /// With edges asked for instead of marks of unfollows. What an earlier version has left beyond the bound goes, too.
    fn asking_edges(mut self, until: i64) -> Self {
        self.left.clear();
        self.edges_until = Some(until.max(self.edges_until.unwrap_or(until)));
        if self.bytes() > MOST_BYTES {
            self.joining.retain(|_, mark| mark.at != Timestamp::FIRST);
        }
        self
    }

    /// How large its marks are.
    fn bytes(&self) -> usize {
        self.marks().map(|(name, value)| name.len() + value.len()).sum()
    }

    fn marks(&self) -> impl Iterator<Item = (String, String)> {
        let left = self.left.iter().map(|(actor, mark)| (format!("{LEFT}{actor}"), mark.text()));
        let joining = self.joining.iter();
        left.chain(joining.map(|(actor, mark)| (format!("{JOINING}{actor}"), mark.text())))
    }

    /// As the item has it, with what else was read of the item.
    pub(super) fn into_item(self, mut there: Item, version: String) -> Item {
        there.retain(|name, _| !name.starts_with(LEFT) && !name.starts_with(JOINING));
        // It may be marked as expired, if the person was erased.
        for name in [FORGET_AT, EDGES_UNTIL] {
            there.remove(name);
        }
        there.extend(self.marks().map(|(name, mark)| (name, text(mark))));
        there.extend(self.edges_until.map(|until| (EDGES_UNTIL.to_owned(), number(until))));
        there.insert("at".to_owned(), text(version));
        there
    }
}

/// Who is hidden by now and was not when the item was read before, and how many are shown that were hidden.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct HiddenChange {
    pub joining: HashSet<ActorId>,
    pub left: HashSet<ActorId>,
    shows: usize,
}

impl HiddenChange {
    /// True if the same actors are hidden.
    #[must_use]
    pub fn is_nothing(&self) -> bool {
        self.joining.is_empty() && self.left.is_empty() && self.shows == 0
    }
}

/// What hides an actor once the item is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Marked {
    InItem,
    /// The edge has to, as it will be written.
    InEdge,
}

impl Mark {
    /// That of an earlier command is the lesser text.
    fn text(self) -> String {
        format!("{}#{}", self.at, self.noted_at)
    }

    fn parse(text: &str) -> Option<Self> {
        let (at, noted_at) = text.split_once('#')?;
        Some(Self { at: at.parse().ok()?, noted_at: noted_at.parse().ok()? })
    }

    fn read(row: &Row<'_>, name: &str) -> Result<Self, DynamoError> {
        // A follow's, of an earlier version: any follow that is complete takes it off.
        if row.item.get(name).is_some_and(|mark| mark.as_bool().is_ok()) {
            return Ok(Self { at: Timestamp::FIRST, noted_at: UNKNOWN });
        }
        let mark = Self::parse(row.text(name)?);
        mark.ok_or_else(|| row.corrupt(name, "since when, and when noted"))
    }
}

/// The names of the attributes that hide an actor, where a viewer has them.
#[must_use]
pub fn marks_of(actor: &ActorId) -> [String; 2] {
    [LEFT, JOINING].map(|mark| format!("{mark}{actor}"))
}

#[cfg(test)]
mod tests;
