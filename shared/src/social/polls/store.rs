//! Records and reads polls: their definitions, ends and votes.

use futures::future::try_join3;

use super::ballot::RECORDED_AT;
use super::{PollClosed, PollDefinition, PollRules, PollTally, VoteHistory, VoteQueues, keys};
use crate::platform::dynamo::item::{Row, text};
use crate::platform::dynamo::{DynamoError, Update};
use crate::platform::facts::{Claim, Facts};
use crate::platform::projection::caller_part::{ATTEMPTS, is_in_doubt};
use crate::platform::projection::{Own, View, Views};
use crate::platform::values::{ActorId, Choice, PollId, Timestamp, ViewerId};

/// A poll, as readers are shown it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Poll {
    pub definition: PollDefinition,
    /// The first instant at which votes no longer count.
    pub end: Timestamp,
    /// How many votes each choice has, in the order of the choices.
    pub votes: Vec<u64>,
    /// The vote of the viewer that was asked for.
    pub vote: Option<Choice>,
}

/// The polls. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Polls {
    pub(super) facts: Facts,
    views: Views,
    pub(super) queues: VoteQueues,
}

impl Polls {
    /// Those among these facts and views.
    pub fn new(facts: &Facts, views: &Views) -> Self {
        Self { facts: facts.clone(), views: views.clone(), queues: VoteQueues::default() }
    }

    /// These polls with votes that wait in these queues.
    #[must_use]
    pub fn queueing(self, queues: &VoteQueues) -> Self {
        Self { queues: queues.clone(), ..self }
    }

    /// Records a poll, unless its id belongs to another one.
    ///
    /// # Errors
    /// [`DynamoError`]; it may have been recorded.
    pub async fn open(
        &self,
        poll: &PollId,
        definition: &PollDefinition,
    ) -> Result<Claim, DynamoError> {
        let is_same = |there: &Row<'_>| Ok(PollDefinition::read(there)? == *definition);
        self.facts.claim(keys::opened(poll), definition.write(), is_same).await
    }

    /// Records that an actor ended a poll, unless they ended it earlier.
    ///
    /// # Errors
    /// [`DynamoError`]; it may have been recorded.
    pub async fn close(&self, closed: &PollClosed) -> Result<(), DynamoError> {
        let key = keys::end(&closed.poll_id, &closed.actor_id).into_item();
        let earlier = Update {
            expression: "SET #at = :at",
            condition: Some("attribute_not_exists(#at) OR #at > :at"),
            names: vec![("#at", "at")],
            values: vec![(":at", text(closed.at.to_string()))],
        };
        self.facts.table().update(key, earlier).await.map(|_| ())
    }

    /// A poll with the vote of a viewer: three parallel reads, and one more if that vote may not be counted yet.
    pub async fn poll(
        &self,
        poll: &PollId,
        viewer: Option<&ViewerId>,
        now: Timestamp,
    ) -> Result<Option<Poll>, DynamoError> {
        let own = async {
            match viewer {
                Some(viewer) => self.row(viewer, poll).await,
                None => Ok(None),
            }
        };
        let opened = self.facts.unerased(keys::opened(poll));
        let (opened, row, mut view) = try_join3(opened, own, self.view(poll)).await?;
        let Some(opened) = opened else { return Ok(None) };
        let definition = PollDefinition::read(&opened)?;
        let own = row.as_ref().map(VoteHistory::read).transpose()?.unwrap_or_default();
        let mut counted = Own::Unknown;
        if let Some(viewer) = viewer {
            let recorded_at = row.map(|row| row.optional(RECORDED_AT, "an instant")).transpose()?;
            let is_in_doubt = is_in_doubt(recorded_at.flatten(), now);
            for _ in 0..ATTEMPTS {
                counted = view.state.recent().own(viewer);
                if counted != Own::Noted || !is_in_doubt {
                    break;
                }
                let key = view.state.recent().note_of(&keys::view(poll), viewer);
                let notes = self.views.notes(vec![key.clone()]).await?;
                let version = view.version().unsigned_abs();
                match view.state.recent().noted(notes.get(&key), version) {
                    Some(noted) => {
                        counted = noted;
                        break;
                    }
                    None => view = self.view(poll).await?,
                }
            }
        }
        let rules = &definition.rules;
        // A poll that is not folded yet has no votes.
        let end = view.state.end().unwrap_or(rules.closes_at);
        let choices = rules.choices.len();
        let (votes, vote) = match viewer {
            Some(_) => view.state.votes_with(&own, counted, choices),
            None => (view.state.votes(choices), None),
        };
        Ok(Some(Poll { definition, end, votes, vote }))
    }

    /// The definition of a poll, if it was opened.
    pub async fn definition(&self, poll: &PollId) -> Result<Option<PollDefinition>, DynamoError> {
        let row = self.facts.unerased(keys::opened(poll)).await?;
        row.as_ref().map(PollDefinition::read).transpose()
    }

    /// The actor and the end of a poll that its own actor has closed early.
    pub async fn closed_early(
        &self,
        poll: &PollId,
    ) -> Result<Option<(ActorId, Timestamp)>, DynamoError> {
        let Some(definition) = self.definition(poll).await? else { return Ok(None) };
        let PollRules { actor_id, closes_at, .. } = definition.rules;
        let end = self.ended(poll, &actor_id).await?;
        Ok(end.filter(|end| *end < closes_at).map(|end| (actor_id, end)))
    }

    /// When an actor ended a poll, if they did.
    pub async fn ended(
        &self,
        poll: &PollId,
        actor: &ActorId,
    ) -> Result<Option<Timestamp>, DynamoError> {
        let row = self.facts.table().get(keys::end(poll, actor).into_item()).await?;
        row.map(|row| row.parsed("at", "an instant")).transpose()
    }

    /// All votes of a viewer in a poll, whether they count or not.
    pub async fn history(
        &self,
        viewer: &ViewerId,
        poll: &PollId,
    ) -> Result<VoteHistory, DynamoError> {
        let row = self.row(viewer, poll).await?;
        Ok(row.as_ref().map(VoteHistory::read).transpose()?.unwrap_or_default())
    }

    async fn row(&self, viewer: &ViewerId, poll: &PollId) -> Result<Option<Row<'_>>, DynamoError> {
        self.facts.table().get(keys::vote(viewer, poll).into_item()).await
    }

    async fn view(&self, poll: &PollId) -> Result<View<PollTally>, DynamoError> {
        self.views.read(keys::view(poll), View::<PollTally>::read_from).await
    }
}
