//! Polls and battles.

use std::cmp::Reverse;

use shared::platform::values::{BattleId, Choice, PollId};
use shared::social::battles::{self, BattleHit, BattleOpened, Hit, HitState};
use shared::social::polls::{self, Cast, PollClosed, PollOpened, Vote};

use super::{CommandStatus, Effects, Looked};

impl Effects {
    /// An opening: it is on record. Another one under the same id makes it a dead letter.
    pub(super) async fn poll_opened(&self, opened: &PollOpened) -> Looked {
        let (poll, definition): (PollId, polls::PollDefinition) = opened.clone().into();
        let there = self.polls.definition(&poll).await?;
        Ok(CommandStatus::applied_if(there == Some(definition)))
    }

    /// An end: it is on record, or an earlier one.
    pub(super) async fn poll_closed(&self, closed: &PollClosed) -> Looked {
        let PollClosed { poll_id, actor_id, at } = closed;
        if let Some(there) = self.polls.definition(poll_id).await?
            && there.rules.actor_id != *actor_id
        {
            return Ok(CommandStatus::overtaken("the poll is another actor's"));
        }
        let there = self.polls.ended(poll_id, actor_id).await?;
        Ok(CommandStatus::of_record(there.map(Reverse), Reverse(*at), |Reverse(there)| {
            format!("it was closed at {there} before")
        }))
    }

    /// A vote or a withdrawal: it is on record. Which of a viewer's votes counts is decided later; one that is outside the
    /// poll's time, or for no choice of it, never does. An end only comes forward, so what is after it stays without effect.
    pub(super) async fn voted(&self, vote: &Vote) -> Looked {
        let Vote { poll_id, viewer_id, choice, at } = vote;
        let history = self.polls.history(viewer_id, poll_id).await?;
        if !history.has(*at, &Cast::new(choice.clone())) {
            return Ok(CommandStatus::Pending);
        }
        let Some(there) = self.polls.definition(poll_id).await? else {
            return Ok(CommandStatus::but(
                "there is no such poll yet: the vote counts once it is opened",
            ));
        };
        let rules = there.rules;
        let closed = self.polls.ended(poll_id, &rules.actor_id).await?;
        let end = closed.map_or(rules.closes_at, |closed| closed.min(rules.closes_at));
        let is_choice = choice.as_ref().is_none_or(|choice| rules.choices.contains(choice));
        Ok(if *at < rules.opens_at {
            CommandStatus::overtaken(format!("the poll opens at {}", rules.opens_at))
        } else if *at >= end {
            CommandStatus::overtaken(format!("the poll was closed at {end}"))
        } else if !is_choice {
            let choices: Vec<_> = rules.choices.iter().map(Choice::as_str).collect();
            let choices = choices.join(", ");
            CommandStatus::overtaken(format!("that is no choice of the poll; it has {choices}"))
        } else {
            CommandStatus::applied()
        })
    }

    /// An opening: it is on record. Another one under the same id makes it a dead letter.
    pub(super) async fn battle_opened(&self, opened: &BattleOpened) -> Looked {
        let (battle, definition): (BattleId, battles::BattleDefinition) = opened.clone().into();
        let there = self.battles.definition(&battle).await?;
        Ok(CommandStatus::applied_if(there == Some(definition)))
    }

    /// A hit: it is on record, and has landed or come too late, which is decided once. Without the battle it waits.
    pub(super) async fn hit(&self, hit: &BattleHit) -> Looked {
        let (battle, hit): (BattleId, Hit) = hit.clone().into();
        let there = self.battles.hit_state(&battle, &hit.hit_id).await?;
        let Some((_, state)) = there.filter(|(there, _)| *there == hit) else {
            return Ok(CommandStatus::Pending);
        };
        Ok(match state {
            HitState::Landed => CommandStatus::applied(),
            HitState::Late => CommandStatus::overtaken("the boss was defeated before this hit"),
            HitState::Pending => match self.battles.definition(&battle).await? {
                Some(_) => CommandStatus::Pending,
                None => CommandStatus::but("there is no such battle yet: the hit waits for it"),
            },
        })
    }
}
