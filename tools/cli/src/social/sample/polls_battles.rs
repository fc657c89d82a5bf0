//! A poll and a battle that are open. When one has ended, the next one opens after a short pause.
//!
//! The id of each contains the second in which it opened, so loading the sample again opens others.

use fastrand::Rng;
use shared::command::Command;
use shared::platform::values::{ActorId, BattleId, Choice, HitId, PollId, Timestamp, ViewerId};
use shared::social::battles::{BattleHit, BattleOpened};
use shared::social::polls::{PollOpened, Vote};

use super::{ACTORS, MINUTE, payload};
use crate::Failure;

/// How long a poll is open.
const LASTS: i64 = 5 * MINUTE;
/// How long what has ended is shown before the next is opened.
const PAUSE: i64 = 20_000;
/// The boss's hit points: some five minutes of hits.
const HP: u64 = 6_000;
/// The most damage of one hit.
const DAMAGE: u64 = 80;

const QUESTIONS: [&str; 4] = [
    "Who was the best this week?",
    "Whom do we visit next?",
    "Who plays the final?",
    "Who picks tomorrow's game?",
];
const BOSSES: [&str; 4] = ["Dragon", "Kraken", "Golem", "Hydra"];

/// What one can vote for, the most popular first.
const CHOICES: [&str; 4] = ["aoi", "hana", "jun", "leo"];

/// The poll and the battle of the moment.
#[derive(Debug, Clone)]
pub(crate) struct Arena {
    poll: PollOpened,
    battle: BattleOpened,
    /// Hits of this battle so far, and the damage that they do.
    hits: usize,
    damage: u64,
    defeated_at: Option<Timestamp>,
    /// How many polls and battles were opened before.
    polls: usize,
    battles: usize,
}

impl Arena {
    /// Those that begin now.
    ///
    /// # Errors
    /// [`Failure`]; nothing of this has one.
    pub(super) fn new(now: Timestamp) -> Result<Self, Failure> {
        let (poll, battle) = (poll(0, now)?, battle(0, now)?);
        let (hits, damage, polls, battles) = (0, 0, 0, 0);
        Ok(Self { poll, battle, hits, damage, defeated_at: None, polls, battles })
    }

    pub(crate) fn poll(&self) -> &PollId {
        &self.poll.poll_id
    }

    pub(crate) fn battle(&self) -> &BattleId {
        &self.battle.battle_id
    }

    /// What opens both.
    pub(super) fn opening(&self) -> [Command; 2] {
        [Command::OpenPoll(self.poll.clone()), Command::OpenBattle(self.battle.clone())]
    }

    /// What opens the next ones, where the last have ended a moment ago.
    ///
    /// # Errors
    /// [`Failure`]; nothing of this has one.
    pub(super) fn open_next(&mut self, now: Timestamp) -> Result<Vec<Command>, Failure> {
        let mut opened = Vec::new();
        if now >= self.poll.closes_at.plus_millis(PAUSE) {
            self.polls += 1;
            self.poll = poll(self.polls, now)?;
            opened.push(Command::OpenPoll(self.poll.clone()));
        }
        if self.defeated_at.is_some_and(|at| now >= at.plus_millis(PAUSE)) {
            self.battles += 1;
            self.battle = battle(self.battles, now)?;
            (self.hits, self.damage, self.defeated_at) = (0, 0, None);
            opened.push(Command::OpenBattle(self.battle.clone()));
        }
        Ok(opened)
    }

    /// A vote, while the poll is open.
    pub(super) fn vote(
        &self,
        random: &mut Rng,
        viewer_id: ViewerId,
        at: Timestamp,
    ) -> Option<Command> {
        if at >= self.poll.closes_at {
            return None;
        }
        // The smaller of two: the first choice is drawn most often.
        let mut drawn = || random.usize(..CHOICES.len());
        let choice = self.poll.choices.get(drawn().min(drawn())).cloned();
        Some(Command::Vote(Vote { poll_id: self.poll.poll_id.clone(), viewer_id, choice, at }))
    }

    /// A hit, while the boss stands.
    ///
    /// # Errors
    /// [`Failure`]; nothing of this has one.
    pub(super) fn hit(
        &mut self,
        random: &mut Rng,
        viewer_id: ViewerId,
        at: Timestamp,
    ) -> Result<Option<Command>, Failure> {
        if self.defeated_at.is_some() {
            return Ok(None);
        }
        let damage = random.u64(1..=DAMAGE);
        self.hits += 1;
        self.damage += damage;
        self.defeated_at = (self.damage >= HP).then_some(at);
        let hit_id = HitId::new(format!("hit-{}", self.hits))?;
        let battle_id = self.battle.battle_id.clone();
        Ok(Some(Command::Hit(BattleHit { battle_id, hit_id, viewer_id, damage, at })))
    }
}

fn poll(n: usize, now: Timestamp) -> Result<PollOpened, Failure> {
    Ok(PollOpened {
        poll_id: PollId::new(format!("mvp-{}", now.unix_millis() / 1_000))?,
        actor_id: host(n)?,
        choices: CHOICES.map(Choice::new).into_iter().collect::<Result<_, _>>()?,
        opens_at: now,
        closes_at: now.plus_millis(LASTS),
        payload: payload("title", QUESTIONS[n % QUESTIONS.len()])?,
    })
}

fn battle(n: usize, now: Timestamp) -> Result<BattleOpened, Failure> {
    let boss = BOSSES[n % BOSSES.len()];
    let second = now.unix_millis() / 1_000;
    Ok(BattleOpened {
        battle_id: BattleId::new(format!("{}-{second}", boss.to_lowercase()))?,
        actor_id: host(n + 1)?,
        hp: HP,
        at: now,
        payload: payload("title", boss)?,
    })
}

/// Who opens one.
fn host(n: usize) -> Result<ActorId, Failure> {
    Ok(ActorId::new(ACTORS[n % ACTORS.len()].0)?)
}
