//! Hidden actors: actors whose entries a viewer is not shown, although they may be in the timeline.
//!
//! There is one small item for each viewer, among the items about that person. A page reads it instead of an edge for each
//! actor: an entry is in a timeline only if its actor was followed once, so it is shown unless this item hides the actor. It
//! hides actors that the viewer has left, and actors whose backfill is not complete. So a follow shows its whole backfill, or
//! nothing.
//!
//! # Why it is right at every moment
//!
//! **Hide, then change the edge; show only what is complete.** *Marks* say why an actor is hidden: the viewer has left at some
//! instant, the latest of which stays, or a follow of some instant is backfilling, or both.
//!
//! 1. A command that will change an edge writes its mark first, unless it is there already. Fan-outs read edges, so entries can
//!    only be missing because of an unfollow, or exist because of a follow, once the actor is hidden. A page may have read who is
//!    hidden just before, so a [hold](crate::platform::runtime::hold) passes before an edge lets entries in, and before entries are deleted.
//!    If the viewer follows already and all entries exist, a later follow does not hide the actor.
//! 2. The mark is written under the condition that the item has not changed since it was read, and the edge is read in between.
//!    So a late command cannot hide what a later one has completed meanwhile: the later one has changed the item, at least its
//!    version, after its edge was on record, and the late one finds the later edge when it reads again. If its mark came before,
//!    it is removed like any mark of an earlier unfollow.
//! 3. A command that has completed the timeline for the follow in the edge removes marks, but never that of a later unfollow. It
//!    removes the mark of a later follow only if the edge still has its own follow, and nobody has changed the item since before the
//!    edge was read: then no unfollow came in between, and the timeline is complete for the later follow, too. The later follow
//!    replaces only the edge that it has seen when it marked; if that has changed, it begins again with its mark. If the edge has the
//!    later follow by then, the timeline is completed for that.
//! 4. The mark of a follow that an unfollow has overtaken is only removed by a command that finds the unfollow on record: no follow
//!    up to that instant is ever in force again, and the unfollow hides the actor.
//! 5. A command that dies in between is delivered again and continues. If it is given up, its actor stays hidden until it is
//!    redriven, as if the follow had not happened, or the unfollow had.
//!
//! # Bounds
//!
//! The item has at most [`MOST_BYTES`] of marks, whatever is sent, because every page of the viewer reads it. A mark is needed until
//! retention has passed. An unfollow needs it because a crashed fan-out may have left an entry, which only a later delivery
//! removes. A follow needs it until everything published before it has expired; fan-outs have written the rest.
//!
//! If there is no room for another mark, an instant replaces all marks of unfollows: [`HiddenActors::asks_edges`], up to which pages
//! read edges as well. An unfollow is then hidden by its edge. A follow without room even then puts its mark
//! [into the edge](super::EdgeState): the put that lets entries in also hides them.
//!
//! The item also says until when its viewer counts as reading ([`idle_viewers`](super::idle_viewers)), which marks have nothing to do with. It is
//! written as a whole, including those and unknown attributes, so no expression grows with the number of marks.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use super::{EdgeState, FollowChange, IdleState};
use crate::platform::dynamo::DynamoError;
use crate::platform::dynamo::item::{Item, Row, number, text};
use crate::platform::ledger::FORGET_AT;
use crate::platform::values::{ActorId, Retention, Timestamp};

/// The most bytes of marks. With its key and the rest, the item is less than two read units.
pub(super) const MOST_BYTES: usize = 6_000;
/// Marks stay a little longer than the entries that they hide, because clocks differ.
const SLACK: Duration = Duration::from_secs(86_400);
/// The prefix of attributes that are marks.
const LEFT: &str = "left#";
const JOINING: &str = "joining#";
/// Until when pages read edges, in unix seconds.
const EDGES_UNTIL: &str = "edges_until";
/// How often an actor was shown again.
pub(super) const SHOWS: &str = "shows";

/// Why an actor is hidden, and since when.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct HiddenMark {
    /// The `at` of the command.
    at: Timestamp,
    /// When it was processed, in unix seconds.
    noted_at: i64,
}

/// The actors whose entries a viewer is not shown.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct HiddenActors {
    left: HashMap<ActorId, HiddenMark>,
    joining: HashMap<ActorId, HiddenMark>,
    edges_until: Option<i64>,
    /// How often an actor was shown again.
    shows: i64,
    idle_state: IdleState,
    /// A text that differs after each change; `None` before the first.
    pub(super) at: Option<String>,
}

impl HiddenActors {
    /// Reads the item.
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
                left.insert(named(name, actor)?, HiddenMark::read(row, name)?);
            } else if let Some(actor) = name.strip_prefix(JOINING) {
                joining.insert(named(name, actor)?, HiddenMark::read(row, name)?);
            }
        }
        Ok(Self {
            left,
            joining,
            edges_until: until.transpose()?,
            shows: if row.item.contains_key(SHOWS) { row.number(SHOWS)? } else { 0 },
            idle_state: IdleState::read(row)?,
            at: row.optional_text("at")?.map(ToOwned::to_owned),
        })
    }

    /// Until when the viewer counts as reading.
    pub fn idle_state(&self) -> &IdleState {
        &self.idle_state
    }

    /// True if entries of the actor are not to be shown.
    pub fn hides(&self, actor: &ActorId) -> bool {
        self.left.contains_key(actor) || self.joining.contains_key(actor)
    }

    /// True if edges have to be read as well.
    pub fn asks_edges(&self, now: Timestamp) -> bool {
        self.edges_until.is_some_and(|until| now.unix_millis() / 1000 < until)
    }

    /// The changes since an earlier reading; `None` if they are unknown.
    ///
    /// An actor who was hidden and no longer is was shown once. Further shows are of actors who were hidden and shown in between. The
    /// item does not tell changes of edges.
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
        let new = |marks: &HashMap<ActorId, HiddenMark>| {
            let new = marks.keys().filter(|actor| !earlier.hides(actor));
            new.cloned().collect::<HashSet<_>>()
        };
        let left = new(&self.left);
        let joining = new(&self.joining).difference(&left).cloned().collect();
        Some(HiddenChange { joining, left, shown: shown.into_iter().cloned().collect() })
    }

    /// True if a follow up to an instant is backfilling.
    pub(super) fn is_joining_up_to(&self, actor: &ActorId, at: Timestamp) -> bool {
        self.joining.get(actor).is_some_and(|mark| mark.at <= at)
    }

    /// True if a follow after an instant is backfilling.
    pub(super) fn is_joining_after(&self, actor: &ActorId, at: Timestamp) -> bool {
        self.joining.get(actor).is_some_and(|mark| mark.at > at)
    }

    /// True if the viewer has left the actor before an instant.
    pub(super) fn has_left_before(&self, actor: &ActorId, at: Timestamp) -> bool {
        self.left.get(actor).is_some_and(|mark| mark.at < at)
    }

    /// True if pages have to read edges, at any time.
    pub(super) fn has_asked_edges(&self) -> bool {
        self.edges_until.is_some()
    }

    /// The item before `edge` is changed, and where the mark of a follow then is; `None` if the item may stay as it is.
    pub(super) fn hiding(
        &self,
        FollowChange { followee_id: actor, state, .. }: &FollowChange,
        edge: Option<EdgeState>,
        now: Timestamp,
        retention: Retention,
    ) -> Option<(Self, HiddenIn)> {
        let mark = HiddenMark { at: state.changed_at, noted_at: now.unix_millis() / 1000 };
        let kept = i64::try_from((retention.as_duration() + SLACK).as_secs()).unwrap_or(i64::MAX);
        if state.on {
            // The mark of an unfollow is not enough: it may be removed if there are too many, or if it is old.
            let is_complete = edge.is_some_and(EdgeState::shows) && !self.hides(actor);
            // If a later follow has marked already, the item is written anyway: a command that would remove that mark has to notice
            // that another one relies on it.
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
                return Some((next, HiddenIn::InItem));
            }
        }
        let next = self.without_old(mark.noted_at, kept).asking_edges(mark.noted_at + kept);
        Some((next, HiddenIn::InEdge))
    }

    /// Adds the mark of a follow, here or in its edge.
    fn joined(
        &self,
        actor: &ActorId,
        mark: HiddenMark,
        now: Timestamp,
        kept: i64,
    ) -> (Self, HiddenIn) {
        let with_mark = |mut next: Self| {
            next.joining.insert(actor.clone(), mark);
            (next.bytes() <= MOST_BYTES).then_some((next, HiddenIn::InItem))
        };
        let young = self.without_old(mark.noted_at, kept);
        if !self.asks_edges(now)
            && let Some(marked) = with_mark(young.clone())
        {
            return marked;
        }
        let asking = young.asking_edges(mark.noted_at + kept);
        with_mark(asking.clone()).unwrap_or((asking, HiddenIn::InEdge))
    }

    /// Removes marks that are no longer needed.
    fn without_old(&self, now: i64, kept: i64) -> Self {
        let young = |marks: &HashMap<ActorId, HiddenMark>| {
            let young = marks.iter().filter(|(_, mark)| mark.noted_at.saturating_add(kept) >= now);
            young.map(|(actor, mark)| (actor.clone(), *mark)).collect()
        };
        let edges_until = self.edges_until.filter(|until| *until > now);
        let (left, joining) = (young(&self.left), young(&self.joining));
        let idle_state = self.idle_state.clone();
        Self { left, joining, edges_until, shows: self.shows, idle_state, at: None }
    }

    /// Replaces marks of unfollows by reading edges.
    fn asking_edges(mut self, until: i64) -> Self {
        self.left.clear();
        self.edges_until = Some(until.max(self.edges_until.unwrap_or(until)));
        self
    }

    /// The size of its marks, in bytes.
    fn bytes(&self) -> usize {
        self.marks().map(|(name, value)| name.len() + value.len()).sum()
    }

    fn marks(&self) -> impl Iterator<Item = (String, String)> {
        let left = self.left.iter().map(|(actor, mark)| (format!("{LEFT}{actor}"), mark.text()));
        let joining = self.joining.iter();
        left.chain(joining.map(|(actor, mark)| (format!("{JOINING}{actor}"), mark.text())))
    }

    /// The attributes, with unknown ones that were read.
    pub(super) fn into_item(self, mut there: Item, version: String) -> Item {
        there.retain(|name, _| !name.starts_with(LEFT) && !name.starts_with(JOINING));
        // It may be marked as expired if the person was erased.
        for name in [FORGET_AT, EDGES_UNTIL] {
            there.remove(name);
        }
        there.extend(self.marks().map(|(name, mark)| (name, text(mark))));
        there.extend(self.edges_until.map(|until| (EDGES_UNTIL.to_owned(), number(until))));
        there.insert("at".to_owned(), text(version));
        there
    }
}

/// The actors that are hidden by now and were not when the item was read before, and those that are shown and were hidden.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct HiddenChange {
    pub joining: HashSet<ActorId>,
    pub left: HashSet<ActorId>,
    pub shown: HashSet<ActorId>,
}

impl HiddenChange {
    /// True if it is about this actor.
    pub fn is_about(&self, actor: &ActorId) -> bool {
        [&self.joining, &self.left, &self.shown].iter().any(|actors| actors.contains(actor))
    }
}

/// What hides an actor after the item is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum HiddenIn {
    InItem,
    /// The edge, when it is written.
    InEdge,
}

impl HiddenMark {
    /// The text of an earlier command is less.
    fn text(self) -> String {
        format!("{}#{}", self.at, self.noted_at)
    }

    fn parse(text: &str) -> Option<Self> {
        let (at, noted_at) = text.split_once('#')?;
        Some(Self { at: at.parse().ok()?, noted_at: noted_at.parse().ok()? })
    }

    fn read(row: &Row<'_>, name: &str) -> Result<Self, DynamoError> {
        let mark = Self::parse(row.text(name)?);
        mark.ok_or_else(|| row.corrupt(name, "since when, and when noted"))
    }
}

/// The names of the attributes that hide an actor.
pub fn marks_of(actor: &ActorId) -> [String; 2] {
    [LEFT, JOINING].map(|mark| format!("{mark}{actor}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::platform::register::Register;
    use crate::platform::values::ViewerId;

    /// The longest id that there is.
    fn actor(n: usize) -> ActorId {
        ActorId::new(format!("{n:0>128}")).unwrap()
    }

    fn at(millis: i64) -> Timestamp {
        Timestamp::from_unix_millis(1_795_000_000_000 + millis)
    }

    fn change(n: usize, following: bool, millis: i64) -> FollowChange {
        let state = Register { on: following, changed_at: at(millis) };
        FollowChange { follower_id: ViewerId::new("bob").unwrap(), followee_id: actor(n), state }
    }

    fn read(item: &Item) -> HiddenActors {
        HiddenActors::read(&Row { table: "ledger", item: item.clone() }).unwrap()
    }

    fn size(item: &Item) -> usize {
        item.iter().map(|(name, value)| name.len() + value.as_s().map_or(8, String::len)).sum()
    }

    /// No command completes and none comes again: the worst that a viewer can do.
    #[test]
    fn the_item_is_bounded_whatever_is_sent() {
        for stride in [1, 2, 3] {
            let mut item = Item::new();
            for n in 0..4_000 {
                let hidden = read(&item);
                let change = change(n % 1_500, n % stride != 1, i64::try_from(n).unwrap());
                if let Some((next, _)) = hidden.hiding(&change, None, at(0), Retention::default()) {
                    item = next.into_item(item, format!("{n}"));
                }
                assert!(size(&item) <= MOST_BYTES + 200, "{} bytes", size(&item));
                let is_by_edge = read(&item).asks_edges(at(0));
                assert!(read(&item).hides(&change.followee_id) || is_by_edge);
            }
        }
    }

    #[test]
    fn marks_go_with_retention_and_what_is_unknown_stays() {
        let month = 32 * 86_400_000;
        let mut item = Item::from([("later".to_owned(), text("unknown"))]);
        for (n, now) in [(1, 0), (2, month), (3, month + 1)] {
            let hidden = read(&item);
            let (next, marked) = hidden
                .hiding(&change(n, n == 1, now), None, at(now), Retention::default())
                .unwrap();
            assert_eq!(marked, HiddenIn::InItem);
            item = next.into_item(item, format!("{n}"));
        }
        let hidden = read(&item);
        assert_eq!([1, 2, 3].map(|n| hidden.hides(&actor(n))), [false, true, true]);
        assert_eq!(item["later"], text("unknown"));
    }

    #[test]
    fn an_earlier_follow_goes_by_the_mark_of_a_later_one_and_writes_the_item() {
        let hide = |item: &Item, change: &FollowChange| {
            read(item).hiding(change, None, at(0), Retention::default())
        };
        let (later, _) = hide(&Item::new(), &change(1, true, 3)).unwrap();
        let item = later.into_item(Item::new(), "1".to_owned());
        let (earlier, _) = hide(&item, &change(1, true, 2)).unwrap();
        assert_eq!(earlier.into_item(item.clone(), "1".to_owned()), item);
        let (latest, _) = hide(&item, &change(1, true, 4)).unwrap();
        assert!(
            !latest.is_joining_up_to(&actor(1), at(3)) && latest.is_joining_up_to(&actor(1), at(4))
        );
    }
}
