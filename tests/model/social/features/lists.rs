//! Lists: whom a viewer follows, and who follows an actor, as of the command on each pair that is in force, with what
//! their profiles say.

use std::collections::{BTreeMap, BTreeSet};

use fastrand::Rng;
use serde_json::Value;

use super::{Commands, Feature, each_by_itself, profiles};
use crate::social::commands::viewers;
use crate::social::reference::{Reference, millis};

pub(super) const FEATURE: Feature = Feature { command, paths, judge, whole: each_by_itself };

/// Follows are what histories are made of; profiles are shown beside them.
fn command(random: &mut Rng) -> Value {
    profiles::command(random)
}

fn paths() -> Vec<String> {
    let following = viewers().map(|viewer| format!("/v1/viewers/{viewer}/following"));
    following.chain(viewers().map(|actor| format!("/v1/actors/{actor}/followers"))).collect()
}

/// Follower and followee of what a path lists, as far as it is about this other person.
fn pair(path: &str, other: &str) -> (String, String) {
    let named = |rest: &str, list: &str| rest.strip_suffix(list).unwrap().to_owned();
    match path.strip_prefix("/v1/viewers/") {
        Some(rest) => (named(rest, "/following"), other.to_owned()),
        None => {
            let actor = path.strip_prefix("/v1/actors/").unwrap();
            (other.to_owned(), named(actor, "/followers"))
        }
    }
}

fn judge(path: &str, status: i64, answer: &Value, commands: &Commands<'_>) -> Option<String> {
    if status != 200 {
        return Some(format!("answered {status}"));
    }
    if !answer["next_cursor"].is_null() {
        return Some("there is no more than that".to_owned());
    }
    let items = answer["items"].as_array().unwrap();
    let id = |item: &Value| item["viewer_id"].as_str().unwrap().to_owned();
    if path.ends_with("/following") && !items.iter().map(id).is_sorted() {
        return Some("not by id".to_owned());
    }
    let mut shown: BTreeMap<_, _> = items.iter().map(|item| (id(item), item)).collect();
    if shown.len() < items.len() {
        return Some("somebody twice".to_owned());
    }
    for other in viewers() {
        let item = shown.remove(other);
        let since = item.map(|item| millis(item["since"].as_str().unwrap()));
        if !may_follow(&pair(path, other), since, commands) {
            return Some(format!("{other} since {since:?}"));
        }
        if item.is_some_and(|item| !profiles::may_say(other, &item["profile"], commands)) {
            return Some(format!("the profile of {other}"));
        }
    }
    shown.keys().next().map(|stranger| format!("{stranger} never did anything"))
}

/// Whether one may follow the other since then, or not at all: as the latest command that is done says, or one that
/// was started and is later.
fn may_follow(pair: &(String, String), since: Option<i64>, commands: &Commands<'_>) -> bool {
    let of = |reference: &Reference| -> BTreeSet<(i64, bool)> {
        reference.follows.get(pair).cloned().unwrap_or_default()
    };
    let (done, started) = (of(commands.done), of(commands.started));
    let done = done.last();
    let may_be = started.iter().map(Some).filter(|state| *state > done).chain([done]);
    let follows = |state: Option<&(i64, bool)>| state.filter(|(_, left)| !left).map(|(at, _)| *at);
    may_be.map(follows).any(|follows| follows == since)
}
