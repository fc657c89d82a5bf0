//! The part of the sample that goes on: a poll, a battle and a chat about it, with a few votes and hits and a message a
//! second for some minutes, so that there is something to watch.
//!
//! Each loading has a poll and a battle of its own, named after the second; the chat's room is named as the battle is. What is sent is drawn from a fixed
//! seed. It ends by itself, with the poll and the boss, or with the stack.

use std::time::Duration;

use fastrand::Rng;
use shared::battles::{BattleHit, BattleOpened};
use shared::command::Command;
use shared::polls::{PollOpened, Vote};
use shared::rooms::{MessageKey, MessagePosted};
use shared::values::{
    ActorId, BattleId, Choice, HitId, MessageId, Payload, PollId, RoomId, Timestamp, ViewerId,
};

use super::super::Failure;
use super::{MINUTE, VIEWERS};

/// How often something is sent.
pub(crate) const TICK: Duration = Duration::from_secs(1);
/// How long the poll is open. The boss is defeated before, on average.
const LASTS: i64 = 5 * MINUTE;
/// The boss's hit points: some four minutes of hits.
const HP: u64 = 24_000;
/// The most damage of one hit.
const DAMAGE: u64 = 80;
/// Votes and hits of one second, at most.
const AT_ONCE: usize = 4;
/// What chance is drawn from.
const SEED: u64 = 12;

/// What one says during a battle.
const LINES: [&str; 6] =
    ["go go go", "mind the tail", "almost", "gg", "who has the shield?", "one more"];

/// What one can vote for, the most popular first.
const CHOICES: [&str; 4] = ["aoi", "hana", "jun", "leo"];

/// A poll and a battle, and how far they are.
#[derive(Debug, Clone)]
pub(crate) struct Arena {
    poll: PollOpened,
    battle: BattleOpened,
    room: RoomId,
    viewers: Vec<ViewerId>,
    random: Rng,
    /// Messages so far.
    said: usize,
    /// Hits so far, and the damage that they do.
    hits: usize,
    damage: u64,
}

impl Arena {
    /// Those that begin now.
    ///
    /// # Errors
    /// [`Failure`]; nothing of this has one.
    pub(crate) fn new(now: Timestamp) -> Result<Self, Failure> {
        let second = now.unix_millis() / 1_000;
        let viewers = (1..=VIEWERS).map(|viewer| ViewerId::new(format!("viewer-{viewer:02}")));
        let poll = PollOpened {
            poll_id: PollId::new(format!("mvp-{second}"))?,
            actor_id: ActorId::new("kaede")?,
            choices: CHOICES.map(Choice::new).into_iter().collect::<Result<_, _>>()?,
            opens_at: now,
            closes_at: now.plus_millis(LASTS),
            payload: titled("Who was the best this week?")?,
        };
        let battle = BattleOpened {
            battle_id: BattleId::new(format!("dragon-{second}"))?,
            actor_id: ActorId::new("leo")?,
            hp: HP,
            at: now,
            payload: titled("Dragon")?,
        };
        let (viewers, random) = (viewers.collect::<Result<_, _>>()?, Rng::with_seed(SEED));
        let room = RoomId::new(battle.battle_id.as_str())?;
        Ok(Self { poll, battle, room, viewers, random, said: 0, hits: 0, damage: 0 })
    }

    /// The poll's id.
    pub(crate) fn poll(&self) -> &PollId {
        &self.poll.poll_id
    }

    /// The battle's id.
    pub(crate) fn battle(&self) -> &BattleId {
        &self.battle.battle_id
    }

    /// The room of the chat.
    pub(crate) fn room(&self) -> &RoomId {
        &self.room
    }

    /// What opens both.
    pub(crate) fn opening(&self) -> Vec<Command> {
        vec![Command::OpenPoll(self.poll.clone()), Command::OpenBattle(self.battle.clone())]
    }

    /// The votes and hits of one tick; nothing once the poll is closed and the boss defeated.
    ///
    /// # Errors
    /// [`Failure`]; nothing of this has one.
    pub(crate) fn next(&mut self, now: Timestamp) -> Result<Option<Vec<Command>>, Failure> {
        let (is_open, is_alive) = (now < self.poll.closes_at, self.damage < HP);
        let mut commands = Vec::new();
        if is_open {
            let votes = self.random.usize(0..=AT_ONCE);
            commands.extend((0..votes).filter_map(|_| self.vote(now)));
        }
        if is_alive {
            for _ in 0..self.random.usize(1..=AT_ONCE) {
                commands.extend(self.hit(now)?);
            }
            commands.extend(self.say(now)?);
        }
        Ok((is_open || is_alive).then_some(commands))
    }

    fn say(&mut self, at: Timestamp) -> Result<Option<Command>, Failure> {
        let Some(author_id) = self.random.choice(&self.viewers).cloned() else { return Ok(None) };
        let line = self.random.choice(LINES).unwrap_or_default();
        self.said += 1;
        let message_id = MessageId::new(format!("m-{}", self.said))?;
        let key = MessageKey { room_id: self.room.clone(), message_id, author_id };
        Ok(Some(Command::Post(MessagePosted {
            key,
            at,
            payload: payload("text", line)?,
            private: false,
        })))
    }

    fn vote(&mut self, at: Timestamp) -> Option<Command> {
        let viewer_id = self.random.choice(&self.viewers)?.clone();
        // The smaller of two: the first choice is drawn most often.
        let mut drawn = || self.random.usize(..CHOICES.len());
        let choice = self.poll.choices.get(drawn().min(drawn())).cloned();
        Some(Command::Vote(Vote { poll_id: self.poll.poll_id.clone(), viewer_id, choice, at }))
    }

    fn hit(&mut self, at: Timestamp) -> Result<Option<Command>, Failure> {
        let Some(viewer_id) = self.random.choice(&self.viewers).cloned() else { return Ok(None) };
        let damage = self.random.u64(1..=DAMAGE);
        self.hits += 1;
        self.damage += damage;
        let hit_id = HitId::new(format!("hit-{}", self.hits))?;
        let battle_id = self.battle.battle_id.clone();
        Ok(Some(Command::Hit(BattleHit { battle_id, hit_id, viewer_id, damage, at })))
    }
}

fn titled(title: &str) -> Result<Payload, Failure> {
    payload("title", title)
}

fn payload(member: &str, text: &str) -> Result<Payload, Failure> {
    let payload = Payload::parse(&format!(r#"{{"{member}":"{text}"}}"#));
    payload.map_err(|e| Failure::Usage(e.to_string()))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn it_goes_on_for_some_minutes_and_ends() {
        let begun = Timestamp::from_unix_millis(1_795_000_000_000);
        let mut arena = Arena::new(begun).unwrap();
        assert_eq!(arena.poll.payload.as_json(), r#"{"title":"Who was the best this week?"}"#);
        let (mut seconds, mut votes, mut said, mut last_hit) = (0, 0, 0, 0);
        while let Some(commands) = arena.next(begun.plus_millis(seconds * 1_000)).unwrap() {
            for command in &commands {
                assert_eq!(
                    Command::parse(&command.to_body(), begun.plus_millis(LASTS)).as_ref(),
                    Ok(command)
                );
                match command {
                    Command::Vote(vote) => {
                        assert!(vote.at < arena.poll.closes_at);
                        votes += 1;
                    }
                    Command::Hit(_) => last_hit = seconds,
                    Command::Post(_) => said += 1,
                    other => assert_eq!(other.type_name(), "vote.cast"),
                }
            }
            assert!(commands.len() <= 2 * AT_ONCE + 1);
            seconds += 1;
        }
        assert_eq!(seconds, LASTS / 1_000);
        assert!((500..700).contains(&votes), "{votes}");
        assert_eq!(said, last_hit + 1, "one for each second of the battle");
        assert!(arena.damage >= HP && (180..290).contains(&last_hit), "{last_hit}");
    }
}
