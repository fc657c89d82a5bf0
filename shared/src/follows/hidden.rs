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
//! has left at some instant, the latest of which stays, or a follow is bringing the actor in, or both.
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
//!    that of a later unfollow. Whoever changes the edge to one has marked before. That another follow is
//!    bringing the actor in as well is no reason to stay hidden.
//! 4. A command that dies in between is delivered again and goes on; if it is given up, its actor stays
//!    hidden, which is what the query says without that follow or with that unfollow, or until it is redriven.
//!
//! # How large it gets
//!
//! The mark of an unfollow stays until retention has passed: a fan-out that died may have left an entry, which
//! only a later delivery takes out. Who leaves more than [`MOST`] actors in that time has the marks replaced
//! by one instant, [`HiddenActors::asks_edges`], up to which their pages ask for edges instead: an unfollow
//! is hidden by its edge then.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use super::{FollowChange, FollowState, Follows, keys};
use crate::dynamo::item::{Row, number, text, truth};
use crate::dynamo::{DynamoError, Update};
use crate::ledger::FORGET_AT;
use crate::runtime::deadline::Deadline;
use crate::values::{ActorId, Retention, Timestamp, ViewerId};

/// Actors that a viewer has left, of whom the item holds a mark each: about three read units.
pub(super) const MOST: usize = 200;
/// Marks stay a little longer than the entries that they hide: clocks differ.
const SLACK: Duration = Duration::from_secs(86_400);
/// How the names of the attributes begin that are marks.
const LEFT: &str = "left#";
const JOINING: &str = "joining#";
/// Until when pages ask for edges, in unix seconds.
const EDGES_UNTIL: &str = "edges_until";

/// That the viewer has left an actor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Left {
    /// The `at` of the unfollow.
    at: Timestamp,
    /// When it was processed, in unix seconds.
    noted_at: i64,
}

/// The actors whose entries a viewer is not shown.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct HiddenActors {
    left: HashMap<ActorId, Left>,
    joining: HashSet<ActorId>,
    edges_until: Option<i64>,
    /// Another text after each change; nothing before the first.
    at: Option<String>,
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
        let (mut left, mut joining) = (HashMap::new(), HashSet::new());
        for name in row.item.keys() {
            if let Some(actor) = name.strip_prefix(LEFT) {
                let mark = Left::parse(row.text(name)?);
                let mark = mark.ok_or_else(|| row.corrupt(name, "since when, and when noted"))?;
                left.insert(named(name, actor)?, mark);
            } else if let Some(actor) = name.strip_prefix(JOINING) {
                joining.insert(named(name, actor)?);
            }
        }
        Ok(Self {
            left,
            joining,
            edges_until: until.transpose()?,
            at: row.optional_text("at")?.map(ToOwned::to_owned),
        })
    }

    /// True if entries of the actor are not to be shown.
    #[must_use]
    pub fn hides(&self, actor: &ActorId) -> bool {
        self.left.contains_key(actor) || self.joining.contains(actor)
    }

    /// True if edges have to be asked for as well.
    #[must_use]
    pub fn asks_edges(&self, now: Timestamp) -> bool {
        self.edges_until.is_some_and(|until| now.unix_millis() / 1000 < until)
    }

    /// True if nothing was changed between two readings.
    #[must_use]
    pub fn is_same_as(&self, other: &Self) -> bool {
        self.at == other.at
    }

    /// How the item is changed before an edge that says `edge` is; nothing if it may stay as it is.
    fn change(
        &self,
        FollowChange { followee_id: actor, state, .. }: &FollowChange,
        edge: Option<FollowState>,
        now: Timestamp,
        retention: Retention,
    ) -> Option<Change> {
        if state.following {
            // A mark of an unfollow alone would not do: it may go when there are too many, or when it is old.
            let is_complete = edge.is_some_and(|edge| edge.following) && !self.hides(actor);
            let is_joining = self.joining.contains(actor);
            return (!is_complete && !is_joining).then(|| Change::Join(actor.clone()));
        }
        if self.left.get(actor).is_some_and(|left| left.at >= state.changed_at) {
            return None;
        }
        let seconds = now.unix_millis() / 1000;
        let kept = i64::try_from((retention.as_duration() + SLACK).as_secs()).unwrap_or(i64::MAX);
        let (mut old, mut young) = (Vec::new(), Vec::new());
        for (actor, left) in &self.left {
            let is_old = left.noted_at + kept < seconds;
            (if is_old { &mut old } else { &mut young }).push(actor.clone());
        }
        if young.len() >= MOST || self.asks_edges(now) {
            let removed = old.into_iter().chain(young).collect();
            return Some(Change::AskEdges { until: seconds + kept, removed });
        }
        let left = Left { at: state.changed_at, noted_at: seconds };
        old.retain(|old| old != actor);
        Some(Change::Leave { actor: actor.clone(), left, removed: old })
    }
}

/// What came of hiding an actor.
pub(super) enum Hiding {
    /// The actor is hidden.
    Done,
    /// The item may stay as it is.
    NotNeeded,
    /// The edge says this, which is the same state or a later one: it is not to be changed.
    Overtaken(FollowState),
}

/// A change of the item.
enum Change {
    /// Hides an actor whom a follow brings in.
    Join(ActorId),
    /// Hides an actor whom the viewer leaves, and removes marks that are no longer needed.
    Leave { actor: ActorId, left: Left, removed: Vec<ActorId> },
    /// Has pages ask for edges up to a second, instead of these marks.
    AskEdges { until: i64, removed: Vec<ActorId> },
}

impl Left {
    /// That of an earlier unfollow is the lesser text.
    fn text(self) -> String {
        format!("{}#{}", self.at, self.noted_at)
    }

    fn parse(text: &str) -> Option<Self> {
        let (at, noted_at) = text.split_once('#')?;
        Some(Self { at: at.parse().ok()?, noted_at: noted_at.parse().ok()? })
    }
}

impl Follows {
    /// The actors hidden from a viewer.
    ///
    /// # Errors
    /// [`DynamoError`]
    pub async fn hidden(
        &self,
        viewer: &ViewerId,
        deadline: Deadline,
    ) -> Result<HiddenActors, DynamoError> {
        let row = self.ledger.get(keys::hidden(viewer), deadline).await?;
        row.as_ref().map_or(Ok(HiddenActors::default()), HiddenActors::read)
    }

    /// Hides the actor from the follower if the change of the edge asks for that.
    pub(super) async fn hide(
        &self,
        change: &FollowChange,
        now: Timestamp,
        retention: Retention,
        deadline: Deadline,
    ) -> Result<Hiding, DynamoError> {
        let FollowChange { follower_id: viewer, followee_id: actor, state } = change;
        loop {
            // In this order: see above.
            let hidden = self.hidden(viewer, deadline).await?;
            let edge = self.state(viewer, actor, deadline).await?;
            if let Some(in_force) = edge.filter(|edge| edge >= state) {
                return Ok(Hiding::Overtaken(in_force));
            }
            let Some(change) = hidden.change(change, edge, now, retention) else {
                return Ok(Hiding::NotNeeded);
            };
            if self.change_hidden(viewer, &hidden, &change, deadline).await? {
                return Ok(Hiding::Done);
            }
        }
    }

    /// Gives the item another version, so that nobody goes by what it said before.
    pub(super) async fn touch_hidden(
        &self,
        viewer: &ViewerId,
        deadline: Deadline,
    ) -> Result<(), DynamoError> {
        let update = Update { expression: "SET #at = :at", ..Update::default() };
        self.change_item(viewer, update, deadline).await.map(|_| ())
    }

    /// Changes the item, unless somebody has changed it since it was read: false.
    async fn change_hidden(
        &self,
        viewer: &ViewerId,
        seen: &HiddenActors,
        change: &Change,
        deadline: Deadline,
    ) -> Result<bool, DynamoError> {
        let mut set = vec!["#at = :at".to_owned()];
        let (mut values, mut names) = (Vec::new(), Vec::new());
        let gone = match change {
            Change::Join(actor) => {
                set.push("#actor = :mark".to_owned());
                names.push(("#actor".to_owned(), format!("{JOINING}{actor}")));
                values.push((":mark", truth(true)));
                &Vec::new()
            }
            Change::Leave { actor, left, removed } => {
                set.push("#actor = :mark".to_owned());
                names.push(("#actor".to_owned(), format!("{LEFT}{actor}")));
                values.push((":mark", text(left.text())));
                removed
            }
            Change::AskEdges { until, removed } => {
                set.push(format!("{EDGES_UNTIL} = :until"));
                values.push((":until", number(until)));
                removed
            }
        };
        // It may be marked as expired, if the person was erased.
        let mut removed = vec![FORGET_AT.to_owned()];
        for (index, actor) in gone.iter().enumerate() {
            names.push((format!("#r{index}"), format!("{LEFT}{actor}")));
            removed.push(format!("#r{index}"));
        }
        let condition = match &seen.at {
            None => "attribute_not_exists(#at)",
            Some(seen) => {
                values.push((":seen", text(seen)));
                "#at = :seen"
            }
        };
        let (set, removed) = (set.join(", "), removed.join(", "));
        let update = Update {
            expression: &format!("SET {set} REMOVE {removed}"),
            condition: Some(condition),
            names: names.iter().map(|(a, b)| (a.as_str(), b.as_str())).collect(),
            values,
        };
        self.change_item(viewer, update, deadline).await
    }

    /// Shows an actor to a viewer whose timeline is complete for a follow that the edge says, unless the viewer has
    /// left the actor later than that.
    ///
    /// # Errors
    /// [`DynamoError`]; the actor may be shown.
    pub async fn show(
        &self,
        viewer: &ViewerId,
        actor: &ActorId,
        followed_at: Timestamp,
        deadline: Deadline,
    ) -> Result<(), DynamoError> {
        let [left, joining] = &marks_of(actor);
        // The mark of an unfollow at that very instant is the greater: it wins over the follow.
        let both = Update {
            expression: "SET #at = :at REMOVE #left, #joining",
            condition: Some(
                "attribute_exists(#joining) AND attribute_not_exists(#left) OR #left < :followed",
            ),
            names: vec![("#left", left), ("#joining", joining)],
            values: vec![(":followed", text(followed_at.to_string()))],
        };
        if self.change_item(viewer, both, deadline).await? {
            return Ok(());
        }
        // Left later: no follow that is complete brings anybody in any more.
        let joining = Update {
            expression: "SET #at = :at REMOVE #joining",
            condition: Some("attribute_exists(#joining)"),
            names: vec![("#joining", joining)],
            ..Update::default()
        };
        self.change_item(viewer, joining, deadline).await.map(|_| ())
    }

    /// Takes an actor's name out of what is hidden from a viewer, whatever the reason: nothing of the actor is
    /// left that could be shown.
    ///
    /// # Errors
    /// [`DynamoError`]; it may be taken out.
    pub async fn forget_hidden(
        &self,
        viewer: &ViewerId,
        actor: &ActorId,
        deadline: Deadline,
    ) -> Result<(), DynamoError> {
        let [left, joining] = &marks_of(actor);
        let both = Update {
            expression: "SET #at = :at REMOVE #left, #joining",
            condition: Some("attribute_exists(#left) OR attribute_exists(#joining)"),
            names: vec![("#left", left), ("#joining", joining)],
            ..Update::default()
        };
        self.change_item(viewer, both, deadline).await.map(|_| ())
    }

    /// Changes the item as an update says that sets `#at` to `:at`. False if its condition did not hold.
    async fn change_item(
        &self,
        viewer: &ViewerId,
        mut update: Update<'_>,
        deadline: Deadline,
    ) -> Result<bool, DynamoError> {
        update.names.push(("#at", "at"));
        update.values.push((":at", text(unique())));
        let key = keys::hidden(viewer).into_item();
        Ok(self.ledger.table().update(key, update, deadline).await?.is_some())
    }
}

/// The names of the attributes that hide an actor, where a viewer has them.
#[must_use]
pub fn marks_of(actor: &ActorId) -> [String; 2] {
    [LEFT, JOINING].map(|mark| format!("{mark}{actor}"))
}

/// What the item has in `at`: never the same text twice. Whoever changes or erases it goes by that.
fn unique() -> String {
    format!("{:016x}", fastrand::u64(..))
}
