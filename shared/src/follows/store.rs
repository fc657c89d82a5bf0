//! Records one edge follower → followee.

use super::hidden::Marked;
use super::hiding::{Hiding, Outcome};
use super::{FollowChange, FollowState, Follows, keys};
use crate::dynamo::item::{Item, Row, text, truth};
use crate::dynamo::{Condition, DynamoError, Put, Update};
use crate::runtime::hold::Hold;
use crate::runtime::retry::Backoff;
use crate::values::{ActorId, Retention, Timestamp, ViewerId};

impl Follows {
    /// Records a follow or an unfollow, unless a later one is on record. Returns the state in force: this one or the later one. The
    /// actor is [hidden](super::HiddenActors) from the follower before. The command that has completed the timeline for a follow
    /// [shows](Self::show) the actor again.
    ///
    /// A page may read who is hidden just before that, and entries just after the edge of a follow has let some in. So a hold passes
    /// between the two.
    ///
    /// # Errors
    /// [`DynamoError`]; it may have been recorded.
    pub async fn record(
        &self,
        change: &FollowChange,
        now: Timestamp,
        retention: Retention,
        hold: Hold,
    ) -> Result<EdgeState, DynamoError> {
        let FollowChange { follower_id: viewer, followee_id: actor, state } = change;
        let (deadline, mut backoff) = (self.ledger.table().deadline(), Backoff::default());
        let (hiding, edge) = loop {
            let hiding = self.hide(change, now, retention).await?;
            if let Some(edge) = self.put_hidden_edge(change, &hiding, hold).await? {
                break (hiding, edge);
            }
            // An unfollow has come in between, or another follow.
            backoff.wait(deadline).await?;
        };
        let in_force = edge.state;
        let has_marked = state.following && hiding.outcome == Outcome::Hidden(Marked::InItem);
        if !in_force.following && (hiding.has_marks || has_marked) {
            self.end_joining(viewer, actor, in_force.changed_at).await?;
        }
        self.list_followee(change, in_force, now).await?;
        Ok(edge)
    }

    /// Writes the edge of a hidden actor. Returns the state in force; `None` if a follow has found another edge than the one by which
    /// the actor was hidden, and has to begin again.
    async fn put_hidden_edge(
        &self,
        change: &FollowChange,
        hiding: &Hiding,
        hold: Hold,
    ) -> Result<Option<EdgeState>, DynamoError> {
        let state = change.state;
        let marked = match hiding.outcome {
            // An earlier delivery may have died between the edge and what comes after it.
            Outcome::Overtaken(edge) => return Ok(Some(edge)),
            Outcome::Hidden(marked) => Some(marked),
            Outcome::NotNeeded => None,
        };
        if !state.following {
            let edge = EdgeState::of(state);
            return self.put_edge(change, edge, later(&state)).await.map(Some);
        }
        hold.wait().await;
        let seen = match hiding.edge {
            None => Condition::new("attribute_not_exists(changed_at)"),
            Some(edge) => Condition::new("changed_at = :at AND following = :following")
                .value(":at", text(edge.state.changed_at.to_string()))
                .value(":following", truth(edge.state.following)),
        };
        let edge = EdgeState {
            state,
            is_joining: marked == Some(Marked::InEdge),
            // Nothing leaves the timeline between two follows.
            is_complete: marked.is_none() && hiding.edge.is_some_and(|edge| edge.is_complete),
        };
        let edge = self.put_edge(change, edge, seen).await?;
        if marked.is_none() {
            // Otherwise a late unfollow from before would not notice it, and would hide the actor.
            self.touch_hidden(&change.follower_id).await?;
        }
        Ok((edge.state >= state).then_some(edge))
    }

    /// Notes in the edge that the viewer's timeline agrees with this state, if the edge still has it. A repeated command then has
    /// nothing to do.
    ///
    /// # Errors
    /// [`DynamoError`]; it may have been noted.
    pub async fn note_complete(
        &self,
        viewer: &ViewerId,
        actor: &ActorId,
        state: FollowState,
    ) -> Result<(), DynamoError> {
        let complete = Update {
            expression: "SET #complete = :complete",
            condition: Some("changed_at = :at AND following = :following"),
            names: vec![("#complete", COMPLETE)],
            values: vec![
                (":complete", text(complete_for(&state))),
                (":at", text(state.changed_at.to_string())),
                (":following", truth(state.following)),
            ],
        };
        let key = keys::edge(viewer, actor).into_item();
        self.ledger.table().update(key, complete).await.map(|_| ())
    }

    /// Like [`Self::record`], without hiding the actor, because nothing of the actor is shown.
    ///
    /// # Errors
    /// [`DynamoError`]; it may have been recorded.
    pub async fn record_edge(
        &self,
        change: &FollowChange,
        now: Timestamp,
    ) -> Result<FollowState, DynamoError> {
        let edge = EdgeState::of(change.state);
        let edge = self.put_edge(change, edge, later(&change.state)).await?;
        self.list_followee(change, edge.state, now).await?;
        Ok(edge.state)
    }

    /// Writes the edge under a condition. Returns the state in force.
    async fn put_edge(
        &self,
        FollowChange { follower_id, followee_id, .. }: &FollowChange,
        written: EdgeState,
        condition: Condition<'_>,
    ) -> Result<EdgeState, DynamoError> {
        let state = &written.state;
        let mut edge = Item::from([
            ("follower_id".to_owned(), text(follower_id.as_str())),
            ("followee_id".to_owned(), text(followee_id.as_str())),
            ("following".to_owned(), truth(state.following)),
            ("changed_at".to_owned(), text(state.changed_at.to_string())),
        ]);
        if written.is_joining {
            edge.insert(JOINING.to_owned(), truth(true));
        }
        if written.is_complete {
            edge.insert(COMPLETE.to_owned(), text(complete_for(state)));
        }
        let (key, owned) = (keys::edge(follower_id, followee_id), &[JOINING, COMPLETE]);
        match self.ledger.replace(key, edge, owned, Some(condition)).await? {
            Put::Done => Ok(written),
            Put::Refused(there) => EdgeState::read(&self.ledger.table().row(there)),
        }
    }

    /// The state of one edge, if there is one.
    pub async fn state(
        &self,
        follower: &ViewerId,
        followee: &ActorId,
    ) -> Result<Option<FollowState>, DynamoError> {
        let row = self.ledger.get(keys::edge(follower, followee)).await?;
        row.as_ref().map(read_state).transpose()
    }
}

/// The condition that no later state is on record. On a tie the unfollow wins.
fn later(state: &FollowState) -> Condition<'static> {
    let later = match state.following {
        true => Condition::new("attribute_not_exists(changed_at) OR changed_at < :at"),
        false => Condition::new(
            "attribute_not_exists(changed_at) OR changed_at < :at \
             OR (changed_at = :at AND following = :yes)",
        )
        .value(":yes", truth(true)),
    };
    later.value(":at", text(state.changed_at.to_string()))
}

/// The attribute of an edge whose follow is backfilling, if [hidden actors](super::HiddenActors) have no room.
const JOINING: &str = "joining";
/// The attribute of an edge that the viewer's timeline agrees with, if that took long. It names the state, because a version that
/// does not know the attribute keeps it when it changes the state.
const COMPLETE: &str = "complete_for";

/// The value of [`COMPLETE`] for a state.
fn complete_for(state: &FollowState) -> String {
    format!("{}#{}", state.changed_at, state.following)
}

/// What an edge says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EdgeState {
    pub state: FollowState,
    /// True until the backfill of the follow is complete.
    pub is_joining: bool,
    /// True if the viewer's timeline is noted to agree with the state.
    pub is_complete: bool,
}

impl EdgeState {
    fn of(state: FollowState) -> Self {
        Self { state, is_joining: false, is_complete: false }
    }

    /// Reads an edge.
    ///
    /// # Errors
    /// [`DynamoError::Corrupt`]
    pub fn read(row: &Row<'_>) -> Result<Self, DynamoError> {
        let state = read_state(row)?;
        let is_joining = row.item.contains_key(JOINING);
        let is_complete = row.optional_text(COMPLETE)?.is_some_and(|of| of == complete_for(&state));
        Ok(Self { state, is_joining, is_complete })
    }

    /// True if the viewer is shown the actor.
    #[must_use]
    pub fn shows(self) -> bool {
        self.state.following && !self.is_joining
    }
}

/// Reads an edge's state back.
///
/// # Errors
/// [`DynamoError::Corrupt`]
pub fn read_state(row: &Row<'_>) -> Result<FollowState, DynamoError> {
    let changed_at = row.parsed("changed_at", "an instant")?;
    Ok(FollowState { following: row.flag("following")?, changed_at })
}
