//! What is delivered: votes of one poll, or hits of one battle, some of them twice.

use fastrand::Rng;
use nagare::Failure;
use shared::command::Command;
use shared::platform::values::{
    ActorId, BattleId, Choice, HitId, Payload, PollId, Timestamp, ViewerId,
};
use shared::social::battles::{BattleHit, BattleOpened};
use shared::social::polls::{PollOpened, Vote};

use super::super::deliveries::{SEED, repeated};
use super::super::{ACTOR, follower};

/// What one can vote for.
const CHOICES: [&str; 4] = ["north", "east", "south", "west"];
/// The most damage of one hit.
const DAMAGE: u64 = 100;
/// A poll is open from some time before all votes to some time behind them.
const MARGIN: i64 = 3_600_000;

/// What is played.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Game {
    /// Viewers vote, each once.
    Votes,
    /// Players hit a boss, which survives.
    Hits,
}

/// Deliveries in their order.
#[derive(Debug, Clone)]
pub(super) struct VotesPlan {
    pub(super) opening: Opening,
    pub(super) deliveries: Vec<Command>,
    /// Different commands among them.
    pub(super) commands: usize,
    /// What there is to count: votes, or damage.
    pub(super) truth: u64,
}

/// What it is about.
#[derive(Debug, Clone)]
pub(super) enum Opening {
    Poll(PollOpened),
    Battle(BattleOpened),
}

impl VotesPlan {
    /// The votes of N viewers, and a share of them again.
    pub(super) fn votes(votes: usize, duplicates: f64, now: Timestamp) -> Result<Self, Failure> {
        let mut random = Rng::with_seed(SEED);
        let choices = CHOICES.map(Choice::new).into_iter().collect::<Result<Vec<_>, _>>()?;
        let opened = PollOpened {
            poll_id: PollId::new("bench-poll")?,
            actor_id: ActorId::new(ACTOR)?,
            choices,
            opens_at: now.plus_millis(-MARGIN),
            closes_at: now.plus_millis(MARGIN),
            payload: Payload::default(),
        };
        let vote = |number: usize| {
            let choice = random.choice(&opened.choices).cloned();
            let viewer_id = ViewerId::new(follower(number as u64))?;
            let poll_id = opened.poll_id.clone();
            Ok(Command::Vote(Vote { poll_id, viewer_id, choice, at: now }))
        };
        let all: Vec<_> = (0..votes).map(vote).collect::<Result<_, Failure>>()?;
        let deliveries = repeated(all, duplicates);
        let truth = votes as u64;
        Ok(Self { opening: Opening::Poll(opened), deliveries, commands: votes, truth })
    }

    /// N hits by some players in turn, and a share of them again.
    pub(super) fn hits(
        hits: usize,
        players: usize,
        duplicates: f64,
        now: Timestamp,
    ) -> Result<Self, Failure> {
        let mut random = Rng::with_seed(SEED);
        let battle_id = BattleId::new("bench-battle")?;
        let mut truth = 0;
        let hit = |number: usize| {
            let damage = random.u64(1..=DAMAGE);
            truth += damage;
            let hit_id = HitId::new(format!("hit-{number:07}"))?;
            let viewer_id = ViewerId::new(follower((number % players) as u64))?;
            let battle_id = battle_id.clone();
            Ok(Command::Hit(BattleHit { battle_id, hit_id, viewer_id, damage, at: now }))
        };
        let all: Vec<_> = (0..hits).map(hit).collect::<Result<_, Failure>>()?;
        let opened = BattleOpened {
            battle_id,
            actor_id: ActorId::new(ACTOR)?,
            // Even if every hit counted twice the boss would survive.
            hp: truth * 3,
            at: now,
            payload: Payload::default(),
        };
        let deliveries = repeated(all, duplicates);
        Ok(Self { opening: Opening::Battle(opened), deliveries, commands: hits, truth })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn every_command_is_delivered_and_some_are_twice() {
        let now = Timestamp::from_unix_millis(1_795_000_000_000);
        for plan in [
            VotesPlan::votes(5_000, 0.1, now).unwrap(),
            VotesPlan::hits(5_000, 200, 0.1, now).unwrap(),
        ] {
            let mut times: BTreeMap<String, usize> = BTreeMap::new();
            for command in &plan.deliveries {
                *times.entry(command.to_body()).or_default() += 1;
            }
            assert_eq!((times.len(), plan.commands), (5_000, 5_000));
            let twice = times.values().filter(|times| **times == 2).count();
            assert!((400..600).contains(&twice), "{twice}");
            assert_eq!(plan.deliveries.len(), 5_000 + twice);
        }
    }
}
