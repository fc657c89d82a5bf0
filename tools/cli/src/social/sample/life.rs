//! The part of the sample that goes on for as long as the stack runs: people publish, like, follow, vote, hit and talk, and the
//! customers of tenants do what customers do, about as fast as people do.
//!
//! # What bounds it
//!
//! All choices come from a fixed seed, at most one of each kind a second. The latest [`ALIVE`] activities and [`SAID`] messages that
//! it published stay; with each further one, a command deletes the oldest. One poll and one battle are open. Ended polls and battles,
//! votes, hits, events and tombstones stay, since nothing in Nagare forgets what was stated. So after [`LIVELY`] commands, some four
//! hours, only one second in [`SLOW`] brings anything: some 6,000 commands a day. After [`MOST`] commands, five days later, people
//! only like and follow. That replaces what they did before, so nothing is added any more.

use std::collections::VecDeque;
use std::time::Duration;

use fastrand::Rng;
use nagare_telemetry::playing::Scene;
use shared::command::Command;
use shared::history::switch::HistorySwitch;
use shared::platform::register::Register;
use shared::platform::values::{ActivityId, ActorId, Kind, MessageId, RoomId, Timestamp, ViewerId};
use shared::social::activities::{Delete, Publish};
use shared::social::follows::FollowChange;
use shared::social::likes::LikeChange;
use shared::social::rooms::{MessageDeleted, MessageKey, MessagePosted};

use super::{ACTORS, Arena, payload, tenants, viewers};
use crate::Failure;

/// How often something may be sent.
pub(crate) const TICK: Duration = Duration::from_secs(1);
/// Where people talk.
pub(crate) const ROOM: &str = "lounge";
/// Activities that are published and not deleted, beside those that were loaded.
const ALIVE: usize = 60;
/// Messages that are not deleted.
const SAID: usize = 200;
/// Commands at the full pace.
const LIVELY: usize = 30_000;
/// Beyond them, one second in so many.
const SLOW: usize = 20;
/// Commands after which nothing is added.
const MOST: usize = 60_000;
/// Likes are of so many of the latest activities.
const LATEST: usize = 8;
/// What chance is drawn from.
const SEED: u64 = 12;
/// One second in so many has an activity, a like, a vote, a hit, a message, somebody who follows or leaves.
const PUBLISHES: usize = 25;
const LIKES: usize = 3;
const VOTES: usize = 3;
const HITS: usize = 2;
const TALKS: usize = 4;
const FOLLOWS: usize = 40;
/// Likewise, in which a customer of a tenant does something.
const CUSTOMERS: usize = 8;

const TITLES: [&str; 8] = [
    "One more round",
    "Questions and answers",
    "The last level",
    "Tea and a chat",
    "Practice, slowly",
    "Finishing what I began",
    "Your requests",
    "A first try",
];

const LINES: [&str; 10] = [
    "go go go",
    "mind the tail",
    "almost",
    "gg",
    "who has the shield?",
    "one more",
    "hello everybody",
    "what is next?",
    "I missed the start",
    "that was close",
];

/// Everybody, and what they have done lately.
#[derive(Debug)]
pub(crate) struct Life {
    arena: Arena,
    room: RoomId,
    viewers: Vec<ViewerId>,
    random: Rng,
    /// The latest last.
    alive: VecDeque<(ActorId, ActivityId)>,
    said: VecDeque<MessageKey>,
    /// Unlike any other start's: what a directory has kept is not said again.
    start: i64,
    history: HistorySwitch,
    /// Ticks and commands so far.
    ticks: usize,
    sent: usize,
}

impl Life {
    /// As of now.
    ///
    /// # Errors
    /// [`Failure`]; nothing of this has one.
    pub(crate) fn new(now: Timestamp, history: HistorySwitch) -> Result<Self, Failure> {
        Ok(Self {
            arena: Arena::new(now)?,
            room: RoomId::new(ROOM)?,
            viewers: viewers().collect(),
            random: Rng::with_seed(SEED),
            alive: VecDeque::new(),
            said: VecDeque::new(),
            start: now.unix_millis() / 1_000,
            history,
            ticks: 0,
            sent: 0,
        })
    }

    /// The poll and the battle that are open.
    pub(crate) fn arena(&self) -> &Arena {
        &self.arena
    }

    /// What there is to look at.
    pub(crate) fn scene(&self) -> Scene {
        Scene {
            poll: Some(self.arena.poll().to_string()),
            battle: Some(self.arena.battle().to_string()),
            room: Some(self.room.to_string()),
            viewer: Some(super::VIEWER.to_owned()),
        }
    }

    /// What there is from the start: a poll, a battle, and a few words.
    ///
    /// # Errors
    /// [`Failure`]; nothing of this has one.
    pub(crate) fn opening(&mut self, now: Timestamp) -> Result<Vec<Command>, Failure> {
        let mut commands = self.arena.opening().to_vec();
        for ago in [40, 25, 10] {
            commands.extend(self.talk(now.plus_millis(-ago * 1_000))?);
        }
        Ok(commands)
    }

    /// What happens in one tick.
    ///
    /// # Errors
    /// [`Failure`]; nothing of this has one.
    pub(crate) fn next(&mut self, now: Timestamp) -> Result<Vec<Command>, Failure> {
        self.ticks += 1;
        if self.sent >= LIVELY && !self.ticks.is_multiple_of(SLOW) {
            return Ok(Vec::new());
        }
        let adds = self.sent < MOST;
        let mut commands = if adds { self.arena.open_next(now)? } else { Vec::new() };
        if adds && self.is_drawn(PUBLISHES) {
            commands.extend(self.publish(now)?);
        }
        if self.is_drawn(LIKES) {
            commands.extend(self.like(now));
        }
        if adds && self.is_drawn(VOTES) {
            let viewer = self.somebody();
            commands.extend(viewer.and_then(|it| self.arena.vote(&mut self.random, it, now)));
        }
        if adds
            && self.is_drawn(HITS)
            && let Some(viewer) = self.somebody()
        {
            commands.extend(self.arena.hit(&mut self.random, viewer, now)?);
        }
        if adds && self.is_drawn(TALKS) {
            commands.extend(self.talk(now)?);
        }
        if self.is_drawn(FOLLOWS) {
            commands.extend(self.follow(now)?);
        }
        if adds && self.history.is_on() && self.is_drawn(CUSTOMERS) {
            let id = format!("e-{}-{}", self.start, self.ticks);
            commands.extend(tenants::happens(&mut self.random, &id, now));
        }
        self.sent += commands.len();
        Ok(commands)
    }

    fn is_drawn(&mut self, one_in: usize) -> bool {
        self.random.usize(..one_in) == 0
    }

    fn somebody(&mut self) -> Option<ViewerId> {
        self.random.choice(&self.viewers).cloned()
    }

    fn publish(&mut self, now: Timestamp) -> Result<Vec<Command>, Failure> {
        let (name, _) = ACTORS[self.random.usize(..ACTORS.len())];
        let actor_id = ActorId::new(name)?;
        let activity_id = ActivityId::new(format!("{name}-{}", now.unix_millis() / 1_000))?;
        let kind = if self.random.bool() { "live" } else { "post" };
        let title = TITLES[self.random.usize(..TITLES.len())];
        self.alive.push_back((actor_id.clone(), activity_id.clone()));
        let mut commands = vec![Command::Publish(Publish {
            activity_id,
            actor_id,
            published_at: now,
            kind: Kind::new(kind).map_err(|e| Failure::Usage(e.to_string()))?,
            payload: payload("title", title)?,
        })];
        if self.alive.len() > ALIVE
            && let Some((actor_id, activity_id)) = self.alive.pop_front()
        {
            commands.push(Command::Delete(Delete { activity_id, actor_id }));
        }
        Ok(commands)
    }

    fn like(&mut self, now: Timestamp) -> Option<Command> {
        let latest: Vec<_> = self.alive.iter().rev().take(LATEST).collect();
        let (_, activity_id) = self.random.choice(latest).cloned()?;
        let state = Register { on: self.random.usize(..6) > 0, changed_at: now };
        Some(Command::Like(LikeChange { viewer_id: self.somebody()?, activity_id, state }))
    }

    fn talk(&mut self, at: Timestamp) -> Result<Vec<Command>, Failure> {
        let Some(author_id) = self.somebody() else { return Ok(Vec::new()) };
        let line = LINES[self.random.usize(..LINES.len())];
        let key = MessageKey {
            room_id: self.room.clone(),
            message_id: MessageId::new(format!("m-{}-{}", self.start, at.unix_millis()))?,
            author_id,
        };
        self.said.push_back(key.clone());
        let payload = payload("text", line)?;
        let mut commands = vec![Command::Post(MessagePosted { key, at, payload, private: false })];
        if self.said.len() > SAID
            && let Some(key) = self.said.pop_front()
        {
            commands.push(Command::DeleteMessage(MessageDeleted { key }));
        }
        Ok(commands)
    }

    fn follow(&mut self, now: Timestamp) -> Result<Option<Command>, Failure> {
        let (name, _) = ACTORS[self.random.usize(..ACTORS.len())];
        let state = Register { on: self.random.usize(..3) > 0, changed_at: now };
        // The one whose timeline is shown first goes on following everybody.
        let follower_id = self.somebody().filter(|it| it.as_str() != super::VIEWER);
        let followee_id = ActorId::new(name)?;
        Ok(follower_id
            .map(|follower_id| Command::Follow(FollowChange { follower_id, followee_id, state })))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::collections::{BTreeMap, BTreeSet};

    use super::*;

    /// What was sent in so many seconds.
    fn lived(seconds: i64) -> (Life, Vec<(i64, Command)>) {
        let begun = Timestamp::from_unix_millis(1_795_000_000_000);
        let mut life = Life::new(begun, HistorySwitch::On).unwrap();
        let mut all: Vec<_> = life.opening(begun).unwrap().into_iter().map(|it| (0, it)).collect();
        for second in 1..=seconds {
            let commands = life.next(begun.plus_millis(second * 1_000)).unwrap();
            all.extend(commands.into_iter().map(|it| (second, it)));
        }
        (life, all)
    }

    #[test]
    fn everything_goes_on_and_is_what_a_producer_may_send() {
        let (_, all) = lived(3_600);
        let mut kinds: BTreeMap<_, usize> = BTreeMap::new();
        let end = Timestamp::from_unix_millis(1_795_000_000_000 + 3_600_000);
        for (_, command) in &all {
            assert_eq!(Command::parse(&command.to_body(), end).as_ref(), Ok(command));
            *kinds.entry(command.type_name()).or_default() += 1;
        }
        for (kind, least) in [
            ("activity.published", 100),
            ("like.created", 700),
            ("like.deleted", 100),
            ("vote.cast", 900),
            ("battle.hit", 1_200),
            ("message.posted", 700),
            ("follow.created", 30),
            ("poll.opened", 10),
            ("battle.opened", 8),
            ("event.recorded", 300),
        ] {
            assert!(kinds.get(kind).is_some_and(|n| *n >= least), "{kind}: {kinds:?}");
        }
        assert!(all.len() < 3 * 3_600, "{}", all.len());
    }

    #[test]
    fn no_vote_is_late_and_no_hit_meets_a_boss_that_is_defeated() {
        let (mut closes, mut left) = (BTreeMap::new(), BTreeMap::new());
        for (_, command) in lived(3_600).1 {
            match command {
                Command::OpenPoll(poll) => _ = closes.insert(poll.poll_id, poll.closes_at),
                Command::OpenBattle(battle) => _ = left.insert(battle.battle_id, battle.hp as i64),
                Command::Vote(vote) => assert!(vote.at < closes[&vote.poll_id]),
                Command::Hit(hit) => {
                    let left = left.get_mut(&hit.battle_id).unwrap();
                    assert!(*left > 0, "{hit:?}");
                    *left -= hit.damage as i64;
                }
                _ => {}
            }
        }
    }

    #[test]
    fn what_is_alive_is_bounded_and_the_pace_slows_after_some_hours() {
        let (life, all) = lived(3 * 86_400);
        let (mut activities, mut messages) = (BTreeSet::new(), BTreeSet::new());
        for (_, command) in &all {
            match command {
                Command::Publish(it) => _ = activities.insert(it.activity_id.clone()),
                Command::Delete(it) => assert!(activities.remove(&it.activity_id)),
                Command::Post(it) => assert!(messages.insert(it.key.clone())),
                Command::DeleteMessage(it) => assert!(messages.remove(&it.key)),
                _ => {}
            }
            assert!(activities.len() <= ALIVE + 1 && messages.len() <= SAID + 1);
        }
        assert_eq!((activities.len(), messages.len()), (ALIVE, SAID));
        let last_day = all.iter().filter(|(second, _)| *second > 2 * 86_400).count();
        assert!((3_000..10_000).contains(&last_day), "{last_day}");
        assert!(life.sent < LIVELY + 30_000, "{}", life.sent);
    }

    #[test]
    fn in_the_end_nothing_is_added() {
        let (_, all) = lived(8 * 86_400);
        let last = &all[MOST + 100..];
        assert!(last.len() > 100, "{}", last.len());
        for (_, command) in last {
            assert!(matches!(command, Command::Like(_) | Command::Follow(_)), "{command:?}");
        }
    }
}
