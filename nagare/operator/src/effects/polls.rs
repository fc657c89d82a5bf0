//! Polls.

use shared::dynamo::DynamoError;
use shared::polls::{Cast, Definition, PollClosed, PollOpened, Vote};
use shared::values::{Choice, PollId};

use super::{CommandStatus, Effects};

impl Effects {
    /// An opening: it is on record. Another one under the same id makes it a dead letter.
    pub(super) async fn poll_opened(
        &self,
        opened: &PollOpened,
    ) -> Result<CommandStatus, DynamoError> {
        let (poll, definition): (PollId, Definition) = opened.clone().into();
        let there = self.polls.definition(&poll).await?;
        Ok(if there == Some(definition) {
            CommandStatus::applied()
        } else {
            CommandStatus::Pending
        })
    }

    /// An end: it is on record, or an earlier one.
    pub(super) async fn poll_closed(
        &self,
        closed: &PollClosed,
    ) -> Result<CommandStatus, DynamoError> {
        let PollClosed { poll_id, actor_id, at } = closed;
        if let Some(there) = self.polls.definition(poll_id).await?
            && there.rules.actor_id != *actor_id
        {
            return Ok(CommandStatus::Overtaken("the poll is another actor's".to_owned()));
        }
        Ok(match self.polls.ended(poll_id, actor_id).await? {
            Some(there) if there == *at => CommandStatus::applied(),
            Some(there) if there < *at => {
                CommandStatus::Overtaken(format!("it was closed at {there} before"))
            }
            _ => CommandStatus::Pending,
        })
    }

    /// A vote or a withdrawal: it is on record. Which of a viewer's votes counts is decided later; one that is outside the
    /// poll's time, or for no choice of it, never does. An end only comes forward, so what is after it stays without effect.
    pub(super) async fn voted(&self, vote: &Vote) -> Result<CommandStatus, DynamoError> {
        let Vote { poll_id, viewer_id, choice, at } = vote;
        let history = self.polls.history(viewer_id, poll_id).await?;
        if !history.has(*at, &Cast::of(choice.clone())) {
            return Ok(CommandStatus::Pending);
        }
        let Some(Definition { rules, .. }) = self.polls.definition(poll_id).await? else {
            return Ok(CommandStatus::but(
                "there is no such poll yet: the vote counts once it is opened",
            ));
        };
        let closed = self.polls.ended(poll_id, &rules.actor_id).await?;
        let end = closed.map_or(rules.closes_at, |closed| closed.min(rules.closes_at));
        let is_choice = choice.as_ref().is_none_or(|choice| rules.choices.contains(choice));
        Ok(if *at < rules.opens_at {
            CommandStatus::Overtaken(format!("the poll opens at {}", rules.opens_at))
        } else if *at >= end {
            CommandStatus::Overtaken(format!("the poll was closed at {end}"))
        } else if !is_choice {
            let choices: Vec<_> = rules.choices.iter().map(Choice::as_str).collect();
            CommandStatus::Overtaken(format!(
                "that is no choice of the poll; it has {}",
                choices.join(", ")
            ))
        } else {
            CommandStatus::applied()
        })
    }
}
