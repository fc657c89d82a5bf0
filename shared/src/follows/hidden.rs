//! Hidden actors: whose entries a viewer is not shown, although they may be in the timeline.
//!
//! One small item for each viewer, among what is about that person alone. A page reads it instead of an edge
//! for each actor: an entry is in a timeline only if its actor was followed once, so it is shown unless this
//! item hides the actor. It hides whom the viewer has left, and whom a follow is bringing in, until all of
//! it is there. So a follow shows all that it brings in, or nothing.
//!
//! # Why it is right at every moment
//!
//! **Hide, then change the edge; show only what is complete.** A *mark* says why an actor is hidden: the viewer
//! has left at some instant, the latest of which stays, or a follow is bringing the actor in.
//!
//! 1. A command that will change an edge writes its mark first, unless the actor is hidden already. Fan-outs go
//!    by edges, so no entry can be missing because of an unfollow, nor be there because of a follow, unless the
//!    actor is hidden by then. A viewer who follows already, with all entries there, is not hidden for a later
//!    follow.
//! 2. The mark is written under the condition that the item has not changed since it was read, and the edge
//!    is read in between. So a late command cannot hide what a later one has completed meanwhile: that one
//!    would have changed the item. It finds the later edge when it reads again.
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

use std::collections::HashMap;
use std::time::Duration;

use super::{FollowChange, FollowState, Follows, keys};
use crate::dynamo::item::{Row, number, text};
use crate::dynamo::{DynamoError, Update};
use crate::ledger::FORGET_AT;
use crate::runtime::deadline::Deadline;
use crate::values::{ActorId, Retention, Timestamp, ViewerId};

/// Actors that a viewer has left, of whom the item holds a mark each: about three read units.
pub(super) const MOST: usize = 200;
/// Marks stay a little longer than the entries that they hide: clocks differ.
const SLACK: Duration = Duration::from_secs(86_400);
/// Takes a mark off.
const SHOW: &str = "SET #at = :at REMOVE #actor ADD #version :one";
/// How the names of the attributes begin that are marks.
const MARK: &str = "actor#";
/// Counts the changes of the item.
const VERSION: &str = "version";
/// Until when pages ask for edges, in unix seconds.
const EDGES_UNTIL: &str = "edges_until";

/// Why an actor is hidden.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mark {
    /// A follow is bringing the actor in.
    Joining,
    /// The viewer has left.
    Left {
        /// The `at` of the unfollow.
        at: Timestamp,
        /// When it was processed, in unix seconds.
        noted_at: i64,
    },
}

/// The actors whose entries a viewer is not shown.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct HiddenActors {
    marks: HashMap<ActorId, Mark>,
    edges_until: Option<i64>,
    /// How often the item was changed.
    version: i64,
    /// Another text after each change; nothing before the first.
    at: Option<String>,
}

impl HiddenActors {
    /// Reads the item; where there is none, nobody is hidden.
    ///
    /// # Errors
    /// [`DynamoError::Corrupt`]
    pub fn read(row: &Row<'_>) -> Result<Self, DynamoError> {
        let optional = |name| row.item.contains_key(name).then(|| row.number(name)).transpose();
        let marks = row.item.keys().filter_map(|name| Some((name, name.strip_prefix(MARK)?)));
        let marks = marks.map(|(name, actor)| -> Result<_, DynamoError> {
            let actor = ActorId::new(actor).map_err(|_| row.corrupt(name, "a mark of an actor"))?;
            let mark = Mark::parse(row.text(name)?);
            Ok((actor, mark.ok_or_else(|| row.corrupt(name, "the mark of an actor"))?))
        });
        Ok(Self {
            marks: marks.collect::<Result<_, _>>()?,
            edges_until: optional(EDGES_UNTIL)?,
            version: optional(VERSION)?.unwrap_or(0),
            at: row.optional_text("at")?.map(ToOwned::to_owned),
        })
    }

    /// True if entries of the actor are not to be shown.
    #[must_use]
    pub fn hides(&self, actor: &ActorId) -> bool {
        self.marks.contains_key(actor)
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
        let mark = self.marks.get(actor);
        if state.following {
            let is_complete = edge.is_some_and(|edge| edge.following);
            let joining =
                Change::Mark { actor: actor.clone(), mark: Mark::Joining, removed: vec![] };
            return (mark.is_none() && !is_complete).then_some(joining);
        }
        if matches!(mark, Some(Mark::Left { at, .. }) if *at >= state.changed_at) {
            return None;
        }
        let seconds = now.unix_millis() / 1000;
        let kept = i64::try_from((retention.as_duration() + SLACK).as_secs()).unwrap_or(i64::MAX);
        let left = self.marks.iter().filter_map(|(actor, mark)| match mark {
            Mark::Left { noted_at, .. } => Some((actor.clone(), *noted_at)),
            Mark::Joining => None,
        });
        let (removed, left): (Vec<_>, Vec<_>) = left.partition(|(_, at)| at + kept < seconds);
        let names = |marks: Vec<(ActorId, i64)>| marks.into_iter().map(|(actor, _)| actor);
        if left.len() >= MOST || self.asks_edges(now) {
            let removed = names(removed).chain(names(left)).collect();
            return Some(Change::AskEdges { until: seconds + kept, removed });
        }
        let mark = Mark::Left { at: state.changed_at, noted_at: seconds };
        let removed = names(removed).filter(|removed| removed != actor).collect();
        Some(Change::Mark { actor: actor.clone(), mark, removed })
    }
}

/// A change of the item.
enum Change {
    /// Hides an actor, and removes marks that are no longer needed.
    Mark { actor: ActorId, mark: Mark, removed: Vec<ActorId> },
    /// Has pages ask for edges up to a second, instead of these marks.
    AskEdges { until: i64, removed: Vec<ActorId> },
}

impl Mark {
    /// The mark of a follow is less than that of any unfollow, and that of an earlier unfollow less than that of a
    /// later one.
    fn text(self) -> String {
        match self {
            Self::Joining => "0#joining".to_owned(),
            Self::Left { at, noted_at } => format!("{at}#left#{noted_at}"),
        }
    }

    fn parse(text: &str) -> Option<Self> {
        if text == Self::Joining.text() {
            return Some(Self::Joining);
        }
        let (at, noted_at) = text.split_once("#left#")?;
        Some(Self::Left { at: at.parse().ok()?, noted_at: noted_at.parse().ok()? })
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

    /// Hides the actor from the follower if the change of the edge asks for that. Returns what the edge says
    /// if that is this state already, or a later one: then the edge is not to be changed.
    pub(super) async fn hide(
        &self,
        change: &FollowChange,
        now: Timestamp,
        retention: Retention,
        deadline: Deadline,
    ) -> Result<Option<FollowState>, DynamoError> {
        let FollowChange { follower_id: viewer, followee_id: actor, state } = change;
        loop {
            // In this order: see above.
            let hidden = self.hidden(viewer, deadline).await?;
            let edge = self.state(viewer, actor, deadline).await?;
            if edge.is_some_and(|edge| edge >= *state) {
                return Ok(edge);
            }
            let Some(change) = hidden.change(change, edge, now, retention) else { return Ok(None) };
            if self.change_hidden(viewer, &hidden, &change, deadline).await? {
                return Ok(None);
            }
        }
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
        let mut values = vec![(":at", text(unique())), (":one", number(1))];
        let owned = |name: (&str, &str)| (name.0.to_owned(), name.1.to_owned());
        let mut names = vec![owned(("#at", "at")), owned(("#version", VERSION))];
        let gone = match change {
            Change::Mark { actor, mark, removed } => {
                set.push("#actor = :mark".to_owned());
                names.push(("#actor".to_owned(), mark_of(actor)));
                values.push((":mark", text(mark.text())));
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
            names.push((format!("#r{index}"), mark_of(actor)));
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
            expression: &format!("SET {set} REMOVE {removed} ADD #version :one"),
            condition: Some(condition),
            names: names.iter().map(|(a, b)| (a.as_str(), b.as_str())).collect(),
            values,
        };
        let table = self.ledger.table();
        Ok(table.update(keys::hidden(viewer).into_item(), update, deadline).await?.is_some())
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
        let name = mark_of(actor);
        let update = Update {
            expression: SHOW,
            // The mark of an unfollow at that very instant is the greater: it wins over the follow.
            condition: Some("#actor < :followed"),
            names: vec![("#at", "at"), ("#actor", &name), ("#version", VERSION)],
            values: vec![
                (":at", text(unique())),
                (":one", number(1)),
                (":followed", text(followed_at.to_string())),
            ],
        };
        self.ledger
            .table()
            .update(keys::hidden(viewer).into_item(), update, deadline)
            .await
            .map(|_| ())
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
        let name = mark_of(actor);
        let update = Update {
            expression: SHOW,
            condition: Some("attribute_exists(#actor)"),
            names: vec![("#at", "at"), ("#actor", &name), ("#version", VERSION)],
            values: vec![(":at", text(unique())), (":one", number(1))],
        };
        self.ledger
            .table()
            .update(keys::hidden(viewer).into_item(), update, deadline)
            .await
            .map(|_| ())
    }
}

/// The name of the attribute that hides an actor, where a viewer has one.
#[must_use]
pub fn mark_of(actor: &ActorId) -> String {
    format!("{MARK}{actor}")
}

/// What the item has in `at`: never the same text twice. Whoever changes or erases it goes by that.
fn unique() -> String {
    format!("{:016x}", fastrand::u64(..))
}
