//! Rooms: a message is shown unless its author has deleted it, in its place, and an id is one author's alone; a room that
//! somebody has joined is read by those who are in it.
//!
//! At any moment a page has what was posted before it was asked for and not deleted before it was answered. In the end it
//! is what the commands say.

use std::collections::{BTreeMap, BTreeSet};

use fastrand::Rng;
use serde_json::{Value, json};

use super::{Answers, Commands, Feature};
use crate::platform::instants::{DAY, MINUTE, START, instant};
use crate::social::commands::{changed_at, viewers};
use crate::social::reference::Reference;

pub(super) const FEATURE: Feature = Feature { command, paths, judge, whole };

/// One that nobody joins, one that some do, and one that is private by what is said there.
pub(crate) const ROOMS: [&str; 3] = ["hall", "den", "vault"];
const MESSAGES: usize = 9;

fn posted(room: &str, number: usize, author: &str) -> Value {
    // Few instants, so that ties are common.
    let at = instant(START - DAY + i64::try_from(number % 4).unwrap() * MINUTE);
    let mut posted = json!({"type": "message.posted", "room_id": room, "message_id": format!("m{number}"),
        "author_id": author, "at": at, "payload": {"of": author, "n": number}});
    // Nothing of what one id says differs in this, so whoever is refused has not closed the room alone.
    if room == ROOMS[2] && number.is_multiple_of(2) {
        posted["private"] = json!(true);
    }
    posted
}

fn command(random: &mut Rng) -> Value {
    let people: Vec<_> = viewers().collect();
    let room = random.choice(ROOMS).unwrap();
    let number = random.usize(0..MESSAGES);
    let author = match random.u8(0..8) {
        0 => random.choice(people.iter().copied()).unwrap(),
        _ => people[number % 3],
    };
    match random.u8(0..10) {
        0..5 => posted(room, number, author),
        5..7 => {
            json!({"type": "message.deleted", "room_id": room, "message_id": format!("m{number}"),
            "author_id": author})
        }
        what => {
            let what = if what < 9 { "room.joined" } else { "room.left" };
            let viewer = random.choice(people).unwrap();
            let room = if room == ROOMS[0] { ROOMS[1] } else { room };
            json!({"type": what, "room_id": room, "viewer_id": viewer,
                "at": instant(changed_at(random))})
        }
    }
}

fn paths() -> Vec<String> {
    let mut paths = Vec::new();
    for room in ROOMS {
        let path = format!("/v1/rooms/{room}/messages?limit=100");
        paths.extend(viewers().map(|viewer| format!("{path}&viewer={viewer}")));
        paths.push(format!("{path}&order=oldest"));
        paths.extend(viewers().take(3).map(|author| format!("{path}&author={author}")));
        paths.push(path);
    }
    paths
}

struct Asked<'a> {
    room: &'a str,
    viewer: Option<&'a str>,
    author: Option<&'a str>,
    oldest_first: bool,
}

impl<'a> Asked<'a> {
    fn of(path: &'a str) -> Self {
        let (path, query) = path.split_once('?').unwrap();
        let room = path.strip_prefix("/v1/rooms/").unwrap().strip_suffix("/messages").unwrap();
        let named = |name: &str| {
            query.split('&').find_map(|part| part.strip_prefix(name)?.strip_prefix('='))
        };
        let oldest_first = named("order") == Some("oldest");
        Self { room, viewer: named("viewer"), author: named("author"), oldest_first }
    }
}

/// What some commands say of a room.
#[derive(Default)]
struct RoomCommands<'a> {
    /// By id: what was posted under it.
    posts: BTreeMap<&'a str, Vec<&'a Value>>,
    /// Ids, and by whom they were deleted.
    deletes: BTreeSet<(&'a str, &'a str)>,
    /// By viewer: when, and whether they left then.
    changes: BTreeMap<&'a str, BTreeSet<(&'a str, bool)>>,
    /// Somebody has joined, or said something private.
    private: bool,
}

fn said<'a>(reference: &'a Reference, room: &str) -> RoomCommands<'a> {
    let mut said = RoomCommands::default();
    // It stays private.
    let mut erased = reference.erased.iter().filter(|command| command["room_id"] == room);
    said.private = erased.any(|it| it["type"] == "room.joined" || it["private"] == true);
    for command in reference.features.iter().filter(|command| command["room_id"] == room) {
        let text = |name: &str| command[name].as_str().unwrap_or_default();
        match text("type") {
            "message.posted" => {
                said.private |= command["private"] == true;
                let variants = said.posts.entry(text("message_id")).or_default();
                if !variants.contains(&command) {
                    variants.push(command);
                }
            }
            "message.deleted" => {
                said.deletes.insert((text("message_id"), text("author_id")));
            }
            what => {
                let left = what == "room.left";
                said.private |= !left;
                said.changes.entry(text("viewer_id")).or_default().insert((text("at"), left));
            }
        }
    }
    said
}

/// Whether somebody may be in a room, or may not be.
fn may_be_in(
    viewer: &str,
    done: &RoomCommands<'_>,
    started: &RoomCommands<'_>,
    present: bool,
) -> bool {
    let sure = done.changes.get(viewer).and_then(BTreeSet::last);
    let started = started.changes.get(viewer).into_iter().flatten();
    let later = started.map(Some).filter(|change| *change > sure);
    let mut may_be = later.chain([sure]);
    may_be.any(|change| change.is_some_and(|(_, left)| !left) == present)
}

fn judge(path: &str, status: i64, answer: &Value, commands: &Commands<'_>) -> Option<String> {
    let asked = Asked::of(path);
    let done = said(commands.done, asked.room);
    let started = said(commands.started, asked.room);
    let may = match (asked.viewer, status) {
        (None, 200) => !done.private,
        (None, 403) => started.private,
        (Some(viewer), 200) => !done.private || may_be_in(viewer, &done, &started, true),
        (Some(viewer), 403) => started.private && may_be_in(viewer, &done, &started, false),
        _ => false,
    };
    match status {
        _ if !may => Some(format!("answered {status}")),
        200 => judge_privacy(&asked, answer, &done, &started)
            .or_else(|| judge_page(&asked, answer, &done, &started)),
        _ => None,
    }
}

/// What said that it is private is read by nobody but a present member, at any moment.
fn judge_privacy(
    asked: &Asked<'_>,
    answer: &Value,
    done: &RoomCommands<'_>,
    started: &RoomCommands<'_>,
) -> Option<String> {
    let is_private = |item: &&Value| {
        let posts = started.posts.get(item["message_id"].as_str().unwrap());
        posts.into_iter().flatten().any(|post| post["private"] == true)
    };
    let item = answer["items"].as_array().unwrap().iter().find(is_private)?;
    let may_read = asked.viewer.is_some_and(|viewer| may_be_in(viewer, done, started, true));
    (!may_read).then(|| format!("a stranger reads {item}"))
}

fn judge_page(
    asked: &Asked<'_>,
    answer: &Value,
    done: &RoomCommands<'_>,
    started: &RoomCommands<'_>,
) -> Option<String> {
    let items = answer["items"].as_array().unwrap();
    let place =
        |item: &Value| ["at", "message_id"].map(|name| item[name].as_str().unwrap().to_owned());
    let mut places: Vec<_> = items.iter().map(place).collect();
    if !asked.oldest_first {
        places.reverse();
    }
    if !places.is_sorted() || places.windows(2).any(|two| two[0] == two[1]) {
        return Some("not in order, or one of them twice".to_owned());
    }
    if asked.author.is_some_and(|author| items.iter().any(|item| item["author_id"] != author)) {
        return Some("another author's".to_owned());
    }
    let is = |item: &Value, post: &Value| {
        ["message_id", "author_id", "at", "payload"].iter().all(|name| item[name] == post[name])
    };
    for item in items {
        let id = item["message_id"].as_str().unwrap();
        let posts = started.posts.get(id).into_iter().flatten();
        let was_said = posts.filter(|post| is(item, post)).count() > 0;
        let author = item["author_id"].as_str().unwrap();
        if !was_said || done.deletes.contains(&(id, author)) {
            return Some(format!("{id} of {author}"));
        }
    }
    // Of several posts under one id one owns it, and nobody knows yet which.
    let certain =
        done.posts.iter().filter(|(id, posts)| posts.len() == 1 && started.posts[*id].len() == 1);
    for (id, posts) in certain {
        let author = posts[0]["author_id"].as_str().unwrap();
        let is_asked = asked.author.is_none_or(|asked| asked == author);
        let may_be_gone = started.deletes.contains(&(id, author));
        if is_asked && !may_be_gone && !items.iter().any(|item| is(item, posts[0])) {
            return Some(format!("{id} of {author} is missing"));
        }
    }
    None
}

/// Of the posts under one id all but one were refused.
fn whole(_: &Answers, commands: &Commands<'_>) -> Option<String> {
    ROOMS.iter().find_map(|room| {
        let said = said(commands.done, room);
        let several = said.posts.iter().find(|(_, posts)| posts.len() != 1)?;
        Some(format!("{room}: under {} there are {:?}", several.0, several.1))
    })
}
