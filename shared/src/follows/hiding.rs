//! Changes of [hidden actors](super::HiddenActors), which are made together with the edge.

use aws_sdk_dynamodb::types::AttributeValue;

use super::hidden::{Marked, SHOWS};
use super::{EdgeState, FollowChange, FollowState, Follows, HiddenActors, keys, marks_of};
use crate::dynamo::item::{Item, number, text, truth};
use crate::dynamo::{Changed, Condition, DynamoError, Put, Update};
use crate::runtime::deadline::Deadline;
use crate::runtime::retry::Backoff;
use crate::values::{ActorId, Retention, Timestamp, ViewerId};

/// What came of hiding an actor.
pub(super) struct Hiding {
    pub(super) outcome: Outcome,
    /// True if a follow up to the command's instant has left its mark.
    pub(super) has_marks: bool,
    /// What the edge said meanwhile.
    pub(super) edge: Option<EdgeState>,
}

/// What the command has to do next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Outcome {
    /// The actor is hidden, or will be by the edge.
    Hidden(Marked),
    /// The item may stay as it is.
    NotNeeded,
    /// The edge says this, which is the same state or a later one: it is not to be changed.
    Overtaken(EdgeState),
}

impl Follows {
    /// The actors hidden from a viewer.
    pub async fn hidden(
        &self,
        viewer: &ViewerId,
        deadline: Deadline,
    ) -> Result<HiddenActors, DynamoError> {
        let row = self.ledger.get(keys::hidden(viewer), deadline).await?;
        row.as_ref().map_or(Ok(HiddenActors::default()), HiddenActors::read)
    }

    /// Hides the actor from the follower if the change of the edge asks for that. Of several commands of one viewer at a
    /// time one gets through, and the others begin again after a pause that grows with every try: until the deadline.
    pub(super) async fn hide(
        &self,
        change: &FollowChange,
        now: Timestamp,
        retention: Retention,
        deadline: Deadline,
    ) -> Result<Hiding, DynamoError> {
        let FollowChange { follower_id: viewer, followee_id: actor, state } = change;
        let mut backoff = Backoff::default();
        loop {
            // In this order: see the documentation of hidden actors.
            let row = self.ledger.get(keys::hidden(viewer), deadline).await?;
            let hidden = row.as_ref().map_or(Ok(HiddenActors::default()), HiddenActors::read)?;
            let edge = self.edge_state(viewer, actor, deadline).await?;
            let has_marks = hidden.is_joining_up_to(actor, state.changed_at);
            let done = |outcome| Ok(Hiding { outcome, has_marks, edge });
            if let Some(edge) = edge.filter(|edge| edge.state >= *state) {
                return done(Outcome::Overtaken(edge));
            }
            let Some((next, marked)) = hidden.hiding(change, edge, now, retention) else {
                return done(Outcome::NotNeeded);
            };
            let there = row.map(|row| row.item).unwrap_or_default();
            if self.replace_hidden(viewer, there, next, hidden.at.as_deref(), deadline).await? {
                return done(Outcome::Hidden(marked));
            }
            backoff.wait(deadline).await?;
        }
    }

    /// Writes the item, unless somebody has changed it since it was read: false.
    async fn replace_hidden(
        &self,
        viewer: &ViewerId,
        there: Item,
        next: HiddenActors,
        seen: Option<&str>,
        deadline: Deadline,
    ) -> Result<bool, DynamoError> {
        let unchanged = match seen {
            None => Condition::new("attribute_not_exists(#at)"),
            Some(seen) => Condition::new("#at = :seen").value(":seen", text(seen)),
        };
        let (item, unchanged) = (next.into_item(there, unique()), unchanged.name("#at", "at"));
        Ok(self.ledger.put_if(keys::hidden(viewer), item, unchanged, deadline).await? == Put::Done)
    }

    /// Shows an actor to a viewer whose timeline is complete for a follow that the edge says, unless the viewer has
    /// left the actor later than that. Returns the later follow that the edge says by now, if its mark hides the actor: the
    /// timeline has to be made complete for that one.
    ///
    /// # Errors
    /// [`DynamoError`]; the actor may be shown.
    pub async fn show(
        &self,
        viewer: &ViewerId,
        actor: &ActorId,
        followed_at: Timestamp,
        deadline: Deadline,
    ) -> Result<Option<FollowState>, DynamoError> {
        let there = self.take_off_marks(viewer, actor, followed_at, deadline).await?;
        let hidden = HiddenActors::read(&self.ledger.table().row(there))?;
        let has_asked_edges = hidden.has_asked_edges();
        if hidden.is_joining_up_to(actor, followed_at) {
            // Left later: no follow that is complete brings anybody in any more.
            self.end_joining(viewer, actor, followed_at, deadline).await?;
        } else {
            let later =
                self.show_before_later(viewer, actor, followed_at, hidden, deadline).await?;
            if later.is_some() {
                return Ok(later);
            }
        }
        if has_asked_edges {
            self.show_by_edge(viewer, actor, followed_at, deadline).await?;
        }
        Ok(None)
    }

    /// Takes off the mark of a later follow as long as the edge says the one that is complete: what the later one will
    /// bring in is there. The later one puts its edge only over the one that it has seen, so it marks again if the viewer leaves
    /// in between. Of several changes of the item one gets through, and the others read it again: until the deadline.
    async fn show_before_later(
        &self,
        viewer: &ViewerId,
        actor: &ActorId,
        followed_at: Timestamp,
        mut hidden: HiddenActors,
        deadline: Deadline,
    ) -> Result<Option<FollowState>, DynamoError> {
        let mut backoff = Backoff::default();
        while hidden.is_joining_after(actor, followed_at) {
            match self.state(viewer, actor, deadline).await?.filter(|edge| edge.following) {
                None => return Ok(None),
                Some(edge) if edge.changed_at != followed_at => return Ok(Some(edge)),
                Some(_) => {}
            }
            let seen = hidden.at.clone().unwrap_or_default();
            match self.take_off_all_marks(viewer, actor, followed_at, seen, deadline).await? {
                Changed::Done(_) => return Ok(None),
                Changed::Refused(there) => {
                    let now = HiddenActors::read(&self.ledger.table().row(there))?;
                    if now.at == hidden.at {
                        // Left later.
                        return Ok(None);
                    }
                    hidden = now;
                }
            }
            backoff.wait(deadline).await?;
        }
        Ok(None)
    }

    async fn take_off_all_marks(
        &self,
        viewer: &ViewerId,
        actor: &ActorId,
        followed_at: Timestamp,
        seen: String,
        deadline: Deadline,
    ) -> Result<Changed, DynamoError> {
        let marks = marks_of(actor);
        let condition = "#at = :seen AND (attribute_not_exists(#left) OR #left < :followed)";
        let all = taking_off(&marks, followed_at, condition, [(":seen", text(seen))]);
        self.change_item(viewer, all, deadline).await
    }

    /// Takes off the marks that a follow outdoes, if these are all that there are. Returns the item as it is then.
    async fn take_off_marks(
        &self,
        viewer: &ViewerId,
        actor: &ActorId,
        followed_at: Timestamp,
        deadline: Deadline,
    ) -> Result<Item, DynamoError> {
        let marks = marks_of(actor);
        // The mark of an unfollow at that very instant is the greater: it wins over the follow.
        let condition = "(#joining < :up_to OR #joining = :earlier_version) \
                         AND (attribute_not_exists(#left) OR #left < :followed) \
                         OR attribute_not_exists(#joining) AND #left < :followed";
        let values = [(":up_to", text(up_to(followed_at))), (":earlier_version", truth(true))];
        let both = taking_off(&marks, followed_at, condition, values);
        match self.change_item(viewer, both, deadline).await? {
            Changed::Done(there) | Changed::Refused(there) => Ok(there),
        }
    }

    /// Takes the mark of a follow off the edge, where edges are asked for. The item has another version before, so no
    /// unfollow that is late hides the actor afterwards; one that has done so before is undone.
    async fn show_by_edge(
        &self,
        viewer: &ViewerId,
        actor: &ActorId,
        followed_at: Timestamp,
        deadline: Deadline,
    ) -> Result<(), DynamoError> {
        let touched = self.touch_hidden(viewer, deadline).await?;
        let hidden = HiddenActors::read(&self.ledger.table().row(touched))?;
        if hidden.has_left_before(actor, followed_at) {
            self.take_off_marks(viewer, actor, followed_at, deadline).await?;
        }
        let complete = Update {
            expression: "REMOVE joining",
            condition: Some("changed_at = :followed AND following = :yes"),
            values: vec![(":followed", text(followed_at.to_string())), (":yes", truth(true))],
            ..Update::default()
        };
        let edge = keys::edge(viewer, actor).into_item();
        self.ledger.table().update(edge, complete, deadline).await.map(|_| ())
    }

    /// Takes off the mark of a follow up to an instant, which an unfollow or a later follow has overtaken.
    pub(super) async fn end_joining(
        &self,
        viewer: &ViewerId,
        actor: &ActorId,
        at: Timestamp,
        deadline: Deadline,
    ) -> Result<(), DynamoError> {
        let [_, joining] = &marks_of(actor);
        let update = Update {
            expression: "SET #at = :at REMOVE #joining",
            condition: Some("#joining < :up_to OR #joining = :earlier_version"),
            names: vec![("#joining", joining)],
            values: vec![(":up_to", text(up_to(at))), (":earlier_version", truth(true))],
        };
        self.change_item(viewer, update, deadline).await.map(|_| ())
    }

    /// Gives the item another version, so that nobody goes by what it said before. Returns the item.
    pub(super) async fn touch_hidden(
        &self,
        viewer: &ViewerId,
        deadline: Deadline,
    ) -> Result<Item, DynamoError> {
        let update = Update { expression: "SET #at = :at", ..Update::default() };
        match self.change_item(viewer, update, deadline).await? {
            Changed::Done(there) | Changed::Refused(there) => Ok(there),
        }
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

    /// Changes the item as an update says that sets `#at` to `:at`.
    async fn change_item(
        &self,
        viewer: &ViewerId,
        mut update: Update<'_>,
        deadline: Deadline,
    ) -> Result<Changed, DynamoError> {
        update.names.push(("#at", "at"));
        update.values.push((":at", text(unique())));
        let key = keys::hidden(viewer).into_item();
        self.ledger.table().change(key, update, deadline).await
    }

    /// What an edge says, and whether a follow is still bringing the actor in.
    pub async fn edge_state(
        &self,
        viewer: &ViewerId,
        actor: &ActorId,
        deadline: Deadline,
    ) -> Result<Option<EdgeState>, DynamoError> {
        let row = self.ledger.get(keys::edge(viewer, actor), deadline).await?;
        row.as_ref().map(EdgeState::read).transpose()
    }
}

/// Takes off both marks of an actor for a follow, and counts that the item shows somebody, under a condition with these
/// values and `:followed`.
fn taking_off<'a>(
    [left, joining]: &'a [String; 2],
    followed_at: Timestamp,
    condition: &'a str,
    values: impl IntoIterator<Item = (&'a str, AttributeValue)>,
) -> Update<'a> {
    let always =
        [(":none", number(0)), (":one", number(1)), (":followed", text(followed_at.to_string()))];
    Update {
        expression: "SET #at = :at, #shows = if_not_exists(#shows, :none) + :one \
                     REMOVE #left, #joining",
        condition: Some(condition),
        names: vec![("#left", left), ("#joining", joining), ("#shows", SHOWS)],
        values: always.into_iter().chain(values).collect(),
    }
}

/// What is greater than the marks of commands up to an instant, and less than those of later ones.
fn up_to(at: Timestamp) -> String {
    // `$` sorts behind the `#` of a mark.
    format!("{at}$")
}

/// What the item has in `at`: never the same text twice. Whoever changes or erases it goes by that.
fn unique() -> String {
    format!("{:016x}", fastrand::u64(..))
}
