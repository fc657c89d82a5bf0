//! Somebody who repeats one command: what makes a row grow with every repetition comes to light.

use fastrand::Rng;
use serde_json::json;

use crate::platform::instants::{DAY, START, instant};
use crate::social::commands::{What, viewers};
use crate::social::features::{battles, notifications};

/// Of how many histories one has a repeater.
const ONE_IN: u8 = 4;
/// How often a command is repeated.
const TIMES: std::ops::Range<usize> = 60..240;

/// The activities that features are asked about.
const ASKED_FOR: [&str; 6] = ["p0", "p10", "p20", "p30", "p40", "p50"];

/// The commands of a repeater, in a history that has one. `published` are the ids and actors of what is published.
pub(crate) fn any(random: &mut Rng, published: &[(String, String)]) -> Vec<What> {
    if random.u8(0..ONE_IN) > 0 {
        return Vec::new();
    }
    let people: Vec<_> = viewers().collect();
    let one = random.choice(people.iter().copied()).unwrap();
    let other = random.choice(people.iter().copied()).unwrap();
    // Of those that answers are asked for.
    let asked_for = published.iter().filter(|(id, _)| ASKED_FOR.contains(&id.as_str()));
    let (activity, actor) = random
        .choice(asked_for.collect::<Vec<_>>())
        .cloned()
        .unwrap_or_else(|| ("p0".to_owned(), other.to_owned()));
    let (which, rest) = (random.u8(0..12), random.usize(2..7));
    (0..random.usize(TIMES))
        .map(|n| {
            let (at, again) = (at(n), n % rest > 0);
            match which {
                0 => follow(one, other, n, again),
                1 => feature(json!({"type": if again { "like.created" } else { "like.deleted" },
                    "viewer_id": one, "activity_id": activity, "at": at})),
                2 => vote(one, n, again),
                3 => feature(json!({"type": if again { "room.joined" } else { "room.left" },
                    "room_id": "den", "viewer_id": one, "at": at})),
                4 => edit(&activity, &actor, n),
                5 => feature(notifications::blind_mark(&actor, &activity, (n / 2) as u64)),
                6 => feature(json!({"type": if again { "tag.created" } else { "tag.deleted" },
                    "activity_id": activity, "tagged_id": one, "at": at})),
                7 => feature(json!({"type": "profile.updated", "viewer_id": one, "at": at,
                    "payload": {"says": n}})),
                8 => publish_or_delete(one, n),
                9 => feature(battles::hit("b1", n % rest)),
                10 => feature(battles::hit("b1", n % battles::HITS)),
                _ => post_or_delete(one, n),
            }
        })
        .collect()
}

fn at(n: usize) -> String {
    instant(millis(n))
}

fn millis(n: usize) -> i64 {
    START - DAY + 7_000 * i64::try_from(n).unwrap()
}

fn feature(body: serde_json::Value) -> What {
    What::Feature(body)
}

fn follow(viewer: &str, actor: &str, n: usize, following: bool) -> What {
    What::Follow { viewer: viewer.to_owned(), actor: actor.to_owned(), at: millis(n), following }
}

fn vote(viewer: &str, n: usize, casts: bool) -> What {
    let mut body =
        json!({"type": "vote.withdrawn", "poll_id": "q0", "viewer_id": viewer, "at": at(n)});
    if casts {
        body["type"] = "vote.cast".into();
        body["choice"] = ["red", "blue"][n % 2].into();
    }
    What::Feature(body)
}

fn edit(activity: &str, actor: &str, n: usize) -> What {
    What::Update {
        id: activity.to_owned(),
        actor: actor.to_owned(),
        at: millis(n),
        kind: None,
        payload: json!({"edit": n}),
    }
}

/// Publishes something, and deletes it again.
fn publish_or_delete(actor: &str, n: usize) -> What {
    let (id, at) = (format!("again-{}", n / 2), millis(n / 2));
    if n % 2 == 1 {
        return What::Delete { id, actor: actor.to_owned() };
    }
    let payload = json!({"of": id, "by": actor, "at": at});
    What::Publish { id, actor: actor.to_owned(), at, kind: "live".to_owned(), payload }
}

/// Says something in a room, and deletes it again; what comes round once more stays deleted.
fn post_or_delete(author: &str, n: usize) -> What {
    let id = format!("again-{}", n / 2 % 20);
    let mut body = json!({"type": "message.deleted", "room_id": "hall", "message_id": id, "author_id": author});
    if n.is_multiple_of(2) {
        body["type"] = "message.posted".into();
        body["at"] = instant(START - DAY).into();
        body["payload"] = json!({"of": id});
    }
    What::Feature(body)
}
