//! Likes: of the commands on one viewer and activity the latest counts, on a tie the undo; an activity has as many
//! likes as viewers who like it.
//!
//! The count may be of any moment until everything is projected; then it is a recount. What a viewer likes is on
//! record as soon as the command is acknowledged.

use std::collections::BTreeMap;

use fastrand::Rng;
use serde_json::{Value, json};

use super::pairs::{Pair, pairs};
use super::{Commands, Feature, each_by_itself};
use crate::platform::instants::instant;
use crate::social::commands::{changed_at, viewers};
use crate::social::reference::Reference;

pub(super) const FEATURE: Feature = Feature { command, paths, judge, whole: each_by_itself };

/// Activities that are liked, and in which people are tagged: those of every tenth command, if it publishes one.
pub(crate) fn activities() -> impl Iterator<Item = String> {
    (0..60).step_by(10).map(|number| format!("p{number}"))
}

pub(super) fn command(random: &mut Rng) -> Value {
    let viewer = random.choice(viewers().collect::<Vec<_>>()).unwrap();
    let activity = random.choice(activities().collect::<Vec<_>>()).unwrap();
    let what = if random.u8(0..3) > 0 { "like.created" } else { "like.deleted" };
    let at = instant(changed_at(random));
    json!({"type": what, "viewer_id": viewer, "activity_id": activity, "at": at})
}

fn paths() -> Vec<String> {
    let of_viewers = viewers().map(|viewer| format!("/v1/viewers/{viewer}/likes"));
    let of_activities = activities().flat_map(|activity| {
        viewers().map(move |viewer| format!("/v1/activities/{activity}?viewer={viewer}"))
    });
    of_viewers.chain(of_activities).collect()
}

/// Whether readers may be shown an activity, or may not.
pub(super) fn may_show(id: &str, commands: &Commands<'_>, shown: bool) -> bool {
    let variants = |reference: &Reference| reference.publishes.get(id).cloned().unwrap_or_default();
    let deleted = |reference: &Reference, actor: &str| {
        reference.deletes.contains(&(id.to_owned(), actor.to_owned()))
    };
    let (done, started) = (variants(commands.done), variants(commands.started));
    match shown {
        true => started.keys().any(|(actor, _)| !deleted(commands.done, actor)),
        // Of several publishes one was refused, and nobody knows yet which.
        false => {
            done.is_empty()
                || started.len() > 1
                || done.keys().any(|(actor, _)| deleted(commands.started, actor))
        }
    }
}

fn judge(path: &str, status: i64, answer: &Value, commands: &Commands<'_>) -> Option<String> {
    let types = ["like.created", "like.deleted"];
    let pairs = pairs(commands, types, ["viewer_id", "activity_id"]);
    match path.strip_prefix("/v1/viewers/") {
        Some(rest) => {
            let viewer = rest.strip_suffix("/likes").unwrap();
            judge_viewer(viewer, status, answer, commands, &pairs)
        }
        None => {
            let (activity, viewer) =
                path.strip_prefix("/v1/activities/").unwrap().split_once("?viewer=").unwrap();
            judge_activity((viewer, activity), status, answer, commands, &pairs)
        }
    }
}

fn judge_activity(
    (viewer, activity): (&str, &str),
    status: i64,
    answer: &Value,
    commands: &Commands<'_>,
    pairs: &BTreeMap<(String, String), Pair>,
) -> Option<String> {
    if !may_show(activity, commands, status == 200) {
        return Some(format!("answered {status}"));
    }
    if status != 200 {
        return (status != 404).then(|| format!("answered {status}"));
    }
    let liked = answer["likes"]["liked"].as_bool()?;
    let pair = pairs.get(&(viewer.to_owned(), activity.to_owned()));
    let count = answer["likes"]["count"].as_u64().unwrap();
    // Where nobody is counted yet, they are not.
    let is_early = !liked && count == 0 && !commands.quiet;
    if !is_early && !pair.map_or(!liked, |pair| pair.may_hold(liked)) {
        return Some("they do not say so".to_owned());
    }
    let of_it = || pairs.iter().filter(|((_, of), _)| of == activity).map(|(_, pair)| pair);
    if liked && count == 0 {
        return Some("they like it, and nobody does".to_owned());
    }
    let least = of_it().filter(|pair| !pair.may_hold(false)).count() as u64;
    let most = of_it().filter(|pair| pair.started.iter().any(|(_, undone)| !undone)).count() as u64;
    match commands.quiet {
        true if count != least => Some(format!("the recount is {least}")),
        false if count > most => Some(format!("no more than {most} ever liked it")),
        _ => None,
    }
}

fn judge_viewer(
    viewer: &str,
    status: i64,
    answer: &Value,
    commands: &Commands<'_>,
    pairs: &BTreeMap<(String, String), Pair>,
) -> Option<String> {
    if status != 200 {
        return Some(format!("answered {status}"));
    }
    let items: Vec<_> = answer["items"].as_array().unwrap().iter().collect();
    let text = |item: &Value, name: &str| item[name].as_str().unwrap().to_owned();
    let order = |item: &&Value| (text(item, "liked_at"), text(item, "activity_id"));
    if !items.iter().map(order).rev().is_sorted() {
        return Some("not the latest first".to_owned());
    }
    let shown: BTreeMap<_, _> =
        items.iter().map(|item| (text(item, "activity_id"), text(item, "liked_at"))).collect();
    if shown.len() < items.len() {
        return Some("one of them twice".to_owned());
    }
    for activity in activities() {
        let pair = pairs.get(&(viewer.to_owned(), activity.clone()));
        let fits = match (shown.get(&activity), pair) {
            (Some(at), Some(pair)) => {
                may_show(&activity, commands, true)
                    && pair.may_be().any(|change| change == Some(&(at.clone(), false)))
            }
            (Some(_), None) => false,
            (None, None) => true,
            (None, Some(pair)) => may_show(&activity, commands, false) || pair.may_hold(false),
        };
        if !fits {
            return Some(activity);
        }
    }
    None
}
