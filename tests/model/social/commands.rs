//! Random histories: few viewers, actors and instants, so that everything meets everything.

use std::fmt;

use fastrand::Rng;
use serde_json::{Value, json};

use crate::platform::instants::{DAY, MINUTE, START, instant};
use crate::social::features;
use crate::social::repeaters;

pub(crate) const RETENTION: i64 = 30 * DAY;

const PEOPLE: [&str; 5] = ["ann", "Ann", "bob", "b.b", "cyd"];

/// Who reads: those who write too, so that following oneself happens.
pub(crate) fn viewers() -> impl Iterator<Item = &'static str> {
    PEOPLE.into_iter()
}

/// What a command says.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum What {
    Publish { id: String, actor: String, at: i64, kind: String, payload: Value },
    Update { id: String, actor: String, at: i64, kind: Option<String>, payload: Value },
    Delete { id: String, actor: String },
    Follow { viewer: String, actor: String, at: i64, following: bool },
    Feature(Value),
}

/// A command, and how it travels.
#[derive(Debug, Clone)]
pub(crate) struct Sent {
    /// Its number in the whole history. It stays when others are left out.
    pub(crate) number: usize,
    pub(crate) what: What,
    /// When each of its copies arrives, in commands after its turn.
    pub(crate) delays: Vec<usize>,
}

pub(crate) fn of(seed: u64, length: usize) -> Vec<Sent> {
    let mut random = Rng::with_seed(seed);
    let random = &mut random;
    let spread = random.choice([1, 5, 40, 150]).unwrap();
    let features = random.choice([10, 10, 38]).unwrap();
    let mut published = Vec::new();
    let mut history = Vec::with_capacity(length);
    for number in 0..length {
        let what = what(random, number, features, &mut published);
        let copies = match random.u8(0..10) {
            0..7 => 1,
            7..9 => 2,
            _ => 3,
        };
        let delays = (0..copies).map(|_| random.usize(0..spread)).collect();
        history.push(Sent { number, what, delays });
    }
    let authors: Vec<_> = published.into_iter().map(|(id, actor, _)| (id, actor)).collect();
    let again = repeaters::any(random, &authors);
    let begin = if again.is_empty() { 0 } else { random.usize(0..=length) };
    let again = again.into_iter().map(|what| Sent {
        number: 0,
        what,
        delays: vec![random.usize(0..spread)],
    });
    history.splice(begin..begin, again.collect::<Vec<_>>());
    (0..).zip(&mut history).for_each(|(number, sent)| sent.number = number);
    history
}

/// `features` percent of the commands are of other features.
fn what(
    random: &mut Rng,
    number: usize,
    features: u8,
    published: &mut Vec<(String, String, i64)>,
) -> What {
    let person = |random: &mut Rng| random.choice(PEOPLE).unwrap().to_owned();
    match random.u8(0..100) {
        0..35 => {
            let publish = (format!("p{number}"), person(random), published_at(random));
            published.push(publish.clone());
            said(publish)
        }
        // The id of another publish, in the name of somebody else or at another time.
        35..38 if !published.is_empty() => {
            let (id, actor, at) = random.choice(published.iter()).unwrap().clone();
            if at < START - 25 * DAY {
                return unfollow_or_follow(random);
            }
            let other = if random.bool() { (id, person(random), at) } else { (id, actor, at - 1) };
            said(other)
        }
        38..48 => {
            let (id, actor) = subject(random, number, published);
            What::Delete { id, actor }
        }
        48..60 => {
            let (id, actor) = subject(random, number, published);
            let kind = random.bool().then(|| format!("k{}", random.u8(0..4)));
            let payload = json!({"edit": random.u8(0..9)});
            What::Update { id, actor, at: changed_at(random), kind, payload }
        }
        60.. if random.u8(0..40) < features => match features::command(random) {
            Some(body) => What::Feature(body),
            None => unfollow_or_follow(random),
        },
        _ => unfollow_or_follow(random),
    }
}

fn unfollow_or_follow(random: &mut Rng) -> What {
    let [viewer, actor] = [(); 2].map(|()| random.choice(PEOPLE).unwrap().to_owned());
    What::Follow { viewer, actor, at: changed_at(random), following: random.u8(0..3) > 0 }
}

fn said((id, actor, at): (String, String, i64)) -> What {
    // One text for one publish: of two that differ the first to be processed would stay.
    let payload = json!({"of": id, "by": actor, "at": at});
    What::Publish { id, actor, at, kind: "live".to_owned(), payload }
}

/// Mostly one of the last publishes, sometimes the next, sometimes in the name of somebody else.
fn subject(
    random: &mut Rng,
    number: usize,
    published: &[(String, String, i64)],
) -> (String, String) {
    let other = random.choice(PEOPLE).unwrap().to_owned();
    if random.u8(0..5) == 0 {
        return (format!("p{}", number + random.usize(0..6)), other);
    }
    let latest = published.len().saturating_sub(12)..published.len();
    match random.choice(published[latest].iter()) {
        None => (format!("p{number}"), other),
        Some((id, _, _)) if random.u8(0..6) == 0 => (id.clone(), other),
        Some((id, actor, _)) => (id.clone(), actor.clone()),
    }
}

/// Few instants, so that ties are common; some at the very edge of retention.
fn published_at(random: &mut Rng) -> i64 {
    match random.u8(0..10) {
        0..4 => START - i64::from(random.u8(0..5)) * MINUTE,
        4..8 => START - i64::from(random.u8(0..25)) * DAY - i64::from(random.u8(0..2)),
        8 => START - RETENTION + i64::from(random.i8(-2..3)),
        _ => START - RETENTION + i64::from(random.u8(0..48)) * 60 * MINUTE,
    }
}

pub(crate) fn changed_at(random: &mut Rng) -> i64 {
    START - DAY + i64::from(random.u8(0..40)) * MINUTE
}

impl What {
    /// The message that says it.
    pub(crate) fn body(&self) -> Value {
        match self {
            Self::Publish { id, actor, at, kind, payload } => json!({
                "type": "activity.published", "activity_id": id, "actor_id": actor,
                "published_at": instant(*at), "kind": kind, "payload": payload}),
            Self::Update { id, actor, at, kind, payload } => {
                let mut body = json!({"type": "activity.updated", "activity_id": id,
                    "actor_id": actor, "at": instant(*at), "payload": payload});
                if let Some(kind) = kind {
                    body["kind"] = json!(kind);
                }
                body
            }
            Self::Delete { id, actor } => {
                json!({"type": "activity.deleted", "activity_id": id, "actor_id": actor})
            }
            Self::Follow { viewer, actor, at, following } => json!({
                "type": if *following { "follow.created" } else { "follow.deleted" },
                "follower_id": viewer, "followee_id": actor, "at": instant(*at)}),
            Self::Feature(body) => body.clone(),
        }
    }
}

impl fmt::Display for Sent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:>3} after {:?}: {}", self.number, self.delays, self.what.body())
    }
}
