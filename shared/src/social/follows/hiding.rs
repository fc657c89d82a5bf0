//! Changes [hidden actors](super::HiddenActors) together with the edge.

use aws_sdk_dynamodb::types::AttributeValue;

use super::hidden::{HiddenIn, SHOWS};
use super::{EdgeState, FollowChange, Follows, HiddenActors, keys, marks_of};
use crate::platform::dynamo::item::{Item, number, text, truth};
use crate::platform::dynamo::{Changed, Condition, DynamoError, Put, Update};
use crate::platform::register::Register;
use crate::platform::runtime::retry::Backoff;
use crate::platform::values::{ActorId, Retention, Timestamp, ViewerId};

/// The result of hiding an actor.
pub(super) struct Hiding {
    pub(super) outcome: Outcome,
    /// True if there is a mark of a follow up to the command's instant.
    pub(super) has_marks: bool,
    /// The edge that was read.
    pub(super) edge: Option<EdgeState>,
}

/// The next step of the command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Outcome {
    /// Write the edge: the actor is hidden, or will be by the edge.
    Hidden(HiddenIn),
    /// Write the edge: the item may stay as it is.
    NotNeeded,
    /// Leave the edge, which has the same state or a later one.
    Overtaken(EdgeState),
}

impl Follows {
    /// Reads the actors hidden from a viewer.
    pub async fn hidden(&self, viewer: &ViewerId) -> Result<HiddenActors, DynamoError> {
        let row = self.ledger.get(keys::hidden(viewer)).await?;
        row.as_ref().map_or(Ok(HiddenActors::default()), HiddenActors::read)
    }

    /// Hides the actor from the follower if the change of the edge requires it. Of several concurrent commands of one viewer one
    /// succeeds, and the others retry with backoff until the deadline.
    pub(super) async fn hide(
        &self,
        change: &FollowChange,
        now: Timestamp,
        retention: Retention,
    ) -> Result<Hiding, DynamoError> {
        let FollowChange { follower_id: viewer, followee_id: actor, state } = change;
        let (deadline, mut backoff) = (self.ledger.table().deadline(), Backoff::default());
        loop {
            // The order matters: see the documentation of hidden actors.
            let row = self.ledger.get(keys::hidden(viewer)).await?;
            let hidden = row.as_ref().map_or(Ok(HiddenActors::default()), HiddenActors::read)?;
            let edge = self.edge_state(viewer, actor).await?;
            let has_marks = hidden.is_joining_up_to(actor, state.changed_at);
            let done = |outcome| Ok(Hiding { outcome, has_marks, edge });
            if let Some(edge) = edge.filter(|edge| edge.state >= *state) {
                return done(Outcome::Overtaken(edge));
            }
            let Some((next, marked)) = hidden.hiding(change, edge, now, retention) else {
                return done(Outcome::NotNeeded);
            };
            let there = row.map(|row| row.item).unwrap_or_default();
            if self.replace_hidden(viewer, there, next, hidden.at.as_deref()).await? {
                return done(Outcome::Hidden(marked));
            }
            backoff.wait(deadline).await?;
        }
    }

    /// Writes the item. Returns false if somebody has changed it since it was read.
    async fn replace_hidden(
        &self,
        viewer: &ViewerId,
        there: Item,
        next: HiddenActors,
        seen: Option<&str>,
    ) -> Result<bool, DynamoError> {
        let unchanged = match seen {
            None => Condition::new("attribute_not_exists(#at)"),
            Some(seen) => Condition::new("#at = :seen").value(":seen", text(seen)),
        };
        let (item, unchanged) = (next.into_item(there, unique()), unchanged.name("#at", "at"));
        Ok(self.ledger.put_if(keys::hidden(viewer), item, unchanged).await? == Put::Done)
    }

    /// Shows an actor to a viewer whose timeline is complete for the follow in the edge, unless the viewer has left the actor later.
    /// If the edge has a later follow by now, whose mark hides the actor, returns that: the timeline has to be completed for it.
    ///
    /// # Errors
    /// [`DynamoError`]; the actor may be shown.
    pub async fn show(
        &self,
        viewer: &ViewerId,
        actor: &ActorId,
        followed_at: Timestamp,
    ) -> Result<Option<Register>, DynamoError> {
        let there = self.take_off_marks(viewer, actor, followed_at).await?;
        let hidden = HiddenActors::read(&self.ledger.table().row(there))?;
        let has_asked_edges = hidden.has_asked_edges();
        if hidden.is_joining_up_to(actor, followed_at) {
            // The viewer has left later, so no complete follow shows the actor.
            self.end_joining(viewer, actor, followed_at).await?;
        } else {
            let later = self.show_before_later(viewer, actor, followed_at, hidden).await?;
            if later.is_some() {
                return Ok(later);
            }
        }
        if has_asked_edges {
            self.show_by_edge(viewer, actor, followed_at).await?;
        }
        Ok(None)
    }

    /// Removes the mark of a later follow as long as the edge has the complete one, because its backfill exists already. The later
    /// follow replaces only the edge that it has seen, so it marks again if the viewer leaves in between. Of several concurrent changes
    /// of the item one succeeds, and the others retry until the deadline.
    async fn show_before_later(
        &self,
        viewer: &ViewerId,
        actor: &ActorId,
        followed_at: Timestamp,
        mut hidden: HiddenActors,
    ) -> Result<Option<Register>, DynamoError> {
        let (deadline, mut backoff) = (self.ledger.table().deadline(), Backoff::default());
        while hidden.is_joining_after(actor, followed_at) {
            match self.state(viewer, actor).await?.filter(|edge| edge.on) {
                None => return Ok(None),
                Some(edge) if edge.changed_at != followed_at => return Ok(Some(edge)),
                Some(_) => {}
            }
            let seen = hidden.at.clone().unwrap_or_default();
            match self.take_off_all_marks(viewer, actor, followed_at, seen).await? {
                Changed::Done(_) => return Ok(None),
                Changed::Refused(there) => {
                    let now = HiddenActors::read(&self.ledger.table().row(there))?;
                    if now.at == hidden.at {
                        // The viewer has left later.
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
    ) -> Result<Changed, DynamoError> {
        let marks = marks_of(actor);
        let condition = "#at = :seen AND (attribute_not_exists(#left) OR #left < :followed)";
        let all = taking_off(&marks, followed_at, condition, [(":seen", text(seen))]);
        self.change_item(viewer, all).await
    }

    /// Removes the marks that a follow wins over, if there are no others. Returns the resulting item.
    async fn take_off_marks(
        &self,
        viewer: &ViewerId,
        actor: &ActorId,
        followed_at: Timestamp,
    ) -> Result<Item, DynamoError> {
        let marks = marks_of(actor);
        // The mark of an unfollow at the same instant is greater, and wins over the follow.
        let condition = "#joining < :up_to AND (attribute_not_exists(#left) OR #left < :followed) \
                         OR attribute_not_exists(#joining) AND #left < :followed";
        let values = [(":up_to", text(up_to(followed_at)))];
        let both = taking_off(&marks, followed_at, condition, values);
        match self.change_item(viewer, both).await? {
            Changed::Done(there) | Changed::Refused(there) => Ok(there),
        }
    }

    /// Removes the mark of a follow from the edge, if edges are read. The item has got another version before, so no late unfollow
    /// hides the actor afterwards; one that did so before is undone.
    async fn show_by_edge(
        &self,
        viewer: &ViewerId,
        actor: &ActorId,
        followed_at: Timestamp,
    ) -> Result<(), DynamoError> {
        let touched = self.touch_hidden(viewer).await?;
        let hidden = HiddenActors::read(&self.ledger.table().row(touched))?;
        if hidden.has_left_before(actor, followed_at) {
            self.take_off_marks(viewer, actor, followed_at).await?;
        }
        let complete = Update {
            expression: "REMOVE joining",
            condition: Some("changed_at = :followed AND following = :yes"),
            values: vec![(":followed", text(followed_at.to_string())), (":yes", truth(true))],
            ..Update::default()
        };
        let edge = keys::edge(viewer, actor).into_item();
        self.ledger.table().update(edge, complete).await.map(|_| ())
    }

    /// Removes the mark of a follow up to an instant that an unfollow or a later follow has overtaken.
    pub(super) async fn end_joining(
        &self,
        viewer: &ViewerId,
        actor: &ActorId,
        at: Timestamp,
    ) -> Result<(), DynamoError> {
        let [_, joining] = &marks_of(actor);
        let update = Update {
            expression: "SET #at = :at REMOVE #joining",
            condition: Some("#joining < :up_to"),
            names: vec![("#joining", joining)],
            values: vec![(":up_to", text(up_to(at)))],
        };
        self.change_item(viewer, update).await.map(|_| ())
    }

    /// Changes the version of the item, so that writes based on the version before are refused. Returns the item.
    pub(super) async fn touch_hidden(&self, viewer: &ViewerId) -> Result<Item, DynamoError> {
        let update = Update { expression: "SET #at = :at", ..Update::default() };
        match self.change_item(viewer, update).await? {
            Changed::Done(there) | Changed::Refused(there) => Ok(there),
        }
    }

    /// Removes an actor from the hidden actors of a viewer, whatever the reason, because nothing of the actor is left to be shown.
    ///
    /// # Errors
    /// [`DynamoError`]; it may be removed.
    pub async fn forget_hidden(
        &self,
        viewer: &ViewerId,
        actor: &ActorId,
    ) -> Result<(), DynamoError> {
        let [left, joining] = &marks_of(actor);
        let both = Update {
            expression: "SET #at = :at REMOVE #left, #joining",
            condition: Some("attribute_exists(#left) OR attribute_exists(#joining)"),
            names: vec![("#left", left), ("#joining", joining)],
            ..Update::default()
        };
        self.change_item(viewer, both).await.map(|_| ())
    }

    /// Applies an update of the item that also sets `#at` to `:at`.
    pub(super) async fn change_item(
        &self,
        viewer: &ViewerId,
        mut update: Update<'_>,
    ) -> Result<Changed, DynamoError> {
        update.names.push(("#at", "at"));
        update.values.push((":at", text(unique())));
        let key = keys::hidden(viewer).into_item();
        self.ledger.table().change(key, update).await
    }

    /// Reads an edge, and whether a follow is still backfilling.
    pub async fn edge_state(
        &self,
        viewer: &ViewerId,
        actor: &ActorId,
    ) -> Result<Option<EdgeState>, DynamoError> {
        let row = self.ledger.get(keys::edge(viewer, actor)).await?;
        row.as_ref().map(EdgeState::read).transpose()
    }
}

/// The update that removes both marks of an actor for a follow, and counts a show, under a condition with these values and
/// `:followed`.
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

/// A text that is greater than the marks of commands up to an instant, and less than those of later ones.
fn up_to(at: Timestamp) -> String {
    // `$` sorts after the `#` of a mark.
    format!("{at}$")
}

/// The text of `at`, which is never the same twice. Changes and erasures of the item are conditional on it.
fn unique() -> String {
    format!("{:016x}", fastrand::u64(..))
}
