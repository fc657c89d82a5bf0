//! Records one edge follower → followee.

use super::hidden::HiddenIn;
use super::hiding::{Hiding, Outcome};
use super::{FollowChange, Follows, keys};
use crate::platform::dynamo::item::{Row, text, truth};
use crate::platform::dynamo::{Condition, DynamoError, Put, Update};
use crate::platform::ledger::FORGET_AT;
use crate::platform::register::{Register, RegisterAttributes};
use crate::platform::runtime::hold::Hold;
use crate::platform::runtime::retry::Backoff;
use crate::platform::values::{ActorId, Retention, Timestamp, ViewerId};

impl Follows {
    /// Records a follow or an unfollow, unless a later one is on record. The actor is [hidden](super::HiddenActors) from the
    /// follower before. The command that has completed the timeline for a follow [shows](Self::show) the actor again.
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
    ) -> Result<RecordedFollow, DynamoError> {
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
        let has_marked = state.on && hiding.outcome == Outcome::Hidden(HiddenIn::InItem);
        if !in_force.on && (hiding.has_marks || has_marked) {
            self.end_joining(viewer, actor, in_force.changed_at).await?;
        }
        self.list_followee(change, in_force, now).await?;
        Ok(RecordedFollow { edge, is_repeated: !matches!(hiding.outcome, Outcome::Hidden(_)) })
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
        if !state.on {
            let edge = EdgeState::of(state);
            return self.put_edge(change, edge, EDGE.wins(state)).await.map(Some);
        }
        hold.wait().await;
        let seen = EDGE.unchanged(hiding.edge.map(|edge| edge.state));
        let edge = EdgeState {
            state,
            is_joining: marked == Some(HiddenIn::InEdge),
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
    /// nothing to do. An erased edge stays as it is until it expires.
    ///
    /// # Errors
    /// [`DynamoError`]; it may have been noted.
    pub async fn note_complete(
        &self,
        viewer: &ViewerId,
        actor: &ActorId,
        state: Register,
    ) -> Result<(), DynamoError> {
        let complete = Update {
            expression: "SET #complete = :complete",
            condition: Some(
                "changed_at = :at AND following = :following AND attribute_not_exists(#forget)",
            ),
            names: vec![("#complete", COMPLETE), ("#forget", FORGET_AT)],
            values: vec![
                (":complete", text(complete_for(&state))),
                (":at", text(state.changed_at.to_string())),
                (":following", truth(state.on)),
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
    ) -> Result<Register, DynamoError> {
        let edge = EdgeState::of(change.state);
        let edge = self.put_edge(change, edge, EDGE.wins(change.state)).await?;
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
        let mut edge = EDGE.write(*state);
        edge.insert("follower_id".to_owned(), text(follower_id.as_str()));
        edge.insert("followee_id".to_owned(), text(followee_id.as_str()));
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
    ) -> Result<Option<Register>, DynamoError> {
        let row = self.ledger.get(keys::edge(follower, followee)).await?;
        row.as_ref().map(|row| EDGE.read(row)).transpose()
    }
}

/// The attributes of the state of an edge.
pub const EDGE: RegisterAttributes = RegisterAttributes { on: "following", at: "changed_at" };

/// The attribute of an edge whose follow is backfilling, if [hidden actors](super::HiddenActors) have no room.
const JOINING: &str = "joining";
/// The attribute of an edge that the viewer's timeline agrees with, if that took long. It names the state, so it is of no other one
/// if another version changes the state and keeps the attribute.
const COMPLETE: &str = "complete_for";

/// The value of [`COMPLETE`] for a state.
fn complete_for(state: &Register) -> String {
    format!("{}#{}", state.changed_at, state.on)
}

/// The result of [`Follows::record`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RecordedFollow {
    /// The state in force: that of the command, or a later one.
    pub edge: EdgeState,
    /// True if the command has found nothing to hide: the viewer follows already, or a command of its instant or a later one is on
    /// record.
    pub is_repeated: bool,
}

/// What an edge says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EdgeState {
    pub state: Register,
    /// True until the backfill of the follow is complete.
    pub is_joining: bool,
    /// True if the viewer's timeline is noted to agree with the state.
    pub is_complete: bool,
}

impl EdgeState {
    fn of(state: Register) -> Self {
        Self { state, is_joining: false, is_complete: false }
    }

    /// Reads an edge.
    ///
    /// # Errors
    /// [`DynamoError::Corrupt`]
    pub fn read(row: &Row<'_>) -> Result<Self, DynamoError> {
        let state = EDGE.read(row)?;
        let is_joining = row.item.contains_key(JOINING);
        let is_complete = row.optional_text(COMPLETE)?.is_some_and(|of| of == complete_for(&state));
        Ok(Self { state, is_joining, is_complete })
    }

    /// True if the viewer is shown the actor.
    pub fn shows(self) -> bool {
        self.state.on && !self.is_joining
    }
}
