//! A person is erased while everything goes on: in the end nothing names them but tombstones, and
//! every answer is what the other commands mean.
//!
//! The commands that name the person come first, and all of them are in effect before the last
//! erasure begins. What follows from them is still at work then: segments, folds, pages, returns,
//! copies that are delivered again, dead letters, repairs. In one of three runs the person comes back
//! after the erasure, with new ids and later instants, and that counts.
//!
//! ```sh
//! NAGARE_MODEL_SEED=17 cargo test -p tests --test model erased_person      # one seed
//! ```

mod left;
mod repairs;

use fastrand::Rng;
use nagare_operator::erasure::{Erasure, letters};
use serde_json::Value;
use shared::platform::values::ActorId;
use tests::World;

use crate::platform::instants::{MINUTE, START, instant};
use crate::platform::seeds::Model;
use crate::social::commands;
use crate::social::commands::{Sent, What, viewers};
use crate::social::reference::{Reference, millis};
use crate::social::run;
pub(crate) use repairs::repair;

/// Commands of a history.
const COMMANDS: usize = 120;

/// Whose erasure a seed chooses, and which commands come before it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Leaving {
    pub(crate) person: &'static str,
    /// Commands with lesser numbers name the person before the erasure.
    until: usize,
    pub(crate) comes_back: bool,
}

impl Leaving {
    pub(crate) fn of(seed: u64) -> Self {
        let random = &mut Rng::with_seed(seed ^ 0x1EA5_ED00);
        let person = random.choice(viewers().collect::<Vec<_>>()).unwrap();
        let until = random.usize(COMMANDS / 6..COMMANDS * 4 / 5);
        Self { person, until, comes_back: random.u8(0..3) == 0 }
    }

    /// Whether a command is sent after the erasure.
    pub(crate) fn is_later(&self, sent: &Sent) -> bool {
        self.names(&sent.what) && sent.number >= self.until
    }

    /// Whether the erasure takes back what a command says.
    fn is_erased(&self, sent: &Sent) -> bool {
        self.names(&sent.what) && sent.number < self.until
    }

    /// Whether a command names the person.
    pub(crate) fn names(&self, what: &What) -> bool {
        let is = |id: &str| id == self.person;
        match what {
            What::Publish { actor, .. }
            | What::Update { actor, .. }
            | What::Delete { actor, .. } => is(actor),
            What::Follow { viewer, actor, .. } => is(viewer) || is(actor),
            What::Feature(body) => self.is_named(body),
        }
    }

    fn is_named(&self, body: &Value) -> bool {
        let ids = ["viewer_id", "actor_id", "tagged_id", "author_id"];
        ids.iter().any(|name| body[*name] == self.person)
    }

    /// What the erasure does to what a command shows on pages of timelines, as a command: what was
    /// published is deleted, and nobody follows. Only what the person says later wins over it.
    pub(crate) fn implied(&self, what: &What) -> Option<What> {
        match what {
            _ if !self.names(what) => None,
            What::Publish { id, actor, .. } => {
                Some(What::Delete { id: id.clone(), actor: actor.clone() })
            }
            What::Follow { viewer, actor, .. } => {
                let (viewer, actor) = (viewer.clone(), actor.clone());
                Some(What::Follow { viewer, actor, at: START, following: false })
            }
            What::Update { .. } | What::Delete { .. } | What::Feature(_) => None,
        }
    }

    /// The reference of a history without what is erased.
    pub(crate) fn reference(&self, history: &[Sent]) -> Reference {
        let mut reference = Reference::default();
        for sent in history {
            match &sent.what {
                What::Feature(body) if self.is_erased(sent) => reference.erase(body),
                What::Publish { id, .. } if self.is_erased(sent) => {
                    reference.has_erased.insert(id.clone());
                }
                _ if self.is_erased(sent) => {}
                what => reference.take(what),
            }
        }
        reference
    }

    /// Erases the person, as the command line does.
    pub(crate) async fn erase(self, world: &World) -> Result<(), String> {
        let (tables, retention) = (&world.tables, world.writer.retention);
        let (views, timelines) = ((&tables.facts, &tables.views), tables.timelines.clone());
        let (person, clock) = (ActorId::new(self.person).unwrap(), world.clock.clone());
        let erasure = Erasure::new(person, &tables.ledger, views, timelines, retention, clock);
        erasure.unwrap().run().await.map_err(|failure| failure.to_string())?;
        self.erase_letters(world).await
    }

    /// Erases dead letters that name the person.
    pub(crate) async fn erase_letters(self, world: &World) -> Result<(), String> {
        let (letters, now) = (&world.tables.dead_letters, world.clock.now());
        let person = ActorId::new(self.person).unwrap();
        let removed = letters::remove_those_of(letters, &person, now).await;
        removed.map(|_| ()).map_err(|failure| failure.to_string())
    }
}

fn history(seed: u64) -> Vec<Sent> {
    let leaving = Leaving::of(seed);
    let mut random = Rng::with_seed(seed ^ 0x1EA5_ED01);
    let mut history = commands::of(seed, COMMANDS);
    let before: Vec<_> =
        history.iter().filter(|sent| sent.number < leaving.until).cloned().collect();
    history.retain_mut(|sent| {
        if !leaving.is_later(sent) {
            // They are done soon, so that much is left to be done beside the erasure.
            if leaving.is_erased(sent) {
                sent.delays[0] = random.usize(0..4);
            }
            return true;
        }
        leaving.comes_back && is_new(sent, &before) && has_instant(&sent.what)
    });
    history
}

/// Whether nothing was said of the id of an activity before, if a command is about one.
fn is_new(sent: &Sent, before: &[Sent]) -> bool {
    let id = |what: &What| match what {
        What::Publish { id, .. } | What::Update { id, .. } | What::Delete { id, .. } => {
            Some(id.clone())
        }
        What::Follow { .. } | What::Feature(_) => None,
    };
    id(&sent.what).is_none_or(|new| before.iter().all(|sent| id(&sent.what).as_ref() != Some(&new)))
}

/// Whether a command may be sent after an erasure. Votes within the time of a poll are erased, ids of
/// hits and messages stay taken, and marks name what was shown.
fn has_instant(what: &What) -> bool {
    let What::Feature(body) = what else { return true };
    let types = [
        "like.created",
        "like.deleted",
        "tag.created",
        "tag.deleted",
        "profile.updated",
        "room.joined",
        "room.left",
    ];
    types.contains(&body["type"].as_str().unwrap())
}

/// Makes a command say that it has just happened. What was a minute after another is a second after
/// it then, because no instant may lie far ahead.
pub(crate) fn postpone(what: &mut What, now: i64) {
    let postponed = |at: i64| now + 1_000 + at.rem_euclid(60 * MINUTE) / 60;
    match what {
        What::Follow { at, .. } | What::Update { at, .. } => *at = postponed(*at),
        What::Publish { .. } | What::Delete { .. } => {}
        What::Feature(body) => {
            let at = postponed(millis(body["at"].as_str().unwrap()));
            body["at"] = instant(at).into();
        }
    }
}

#[test]
fn nothing_of_an_erased_person_is_left_and_all_else_equals_the_query() {
    let run = |seed, history: &[Sent]| run::with(seed, history, Some(Leaving::of(seed)));

    Model { seeds: 0..20, history, run }.check();
}
