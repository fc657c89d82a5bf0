//! Likes: of the commands on one viewer and activity the latest counts, on a tie the undo; an activity has as many
//! likes as viewers who like it.
//!
//! The count may be of any moment until everything is projected; then it is a recount. What a viewer likes is on
//! record as soon as the command is acknowledged.

use std::collections::{BTreeMap, BTreeSet};

use fastrand::Rng;
use serde_json::{Value, json};

use super::{Commands, Feature, each_by_itself};
use crate::history::{changed_at, instant, viewers};
use crate::reference::Reference;

pub(super) const FEATURE: Feature = Feature { command, paths, judge, whole: each_by_itself };

/// Activities that are liked: those of every tenth command, if it publishes one.
fn activities() -> impl Iterator<Item = String> {
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

/// What the commands of one viewer and activity may say.
#[derive(Default)]
struct Pair {
    /// When, and whether it is an undo: of the latest that is done.
    done: Option<(String, bool)>,
    /// All that were started.
    started: BTreeSet<(String, bool)>,
}

impl Pair {
    /// What may be on record: the latest that is done, or what was started and is later.
    fn may_be(&self) -> impl Iterator<Item = Option<&(String, bool)>> {
        let later = self.started.iter().map(Some).filter(|change| *change > self.done.as_ref());
        later.chain([self.done.as_ref()])
    }

    /// Whether the viewer may like the activity, or may not like it.
    fn may_like(&self, liked: bool) -> bool {
        self.may_be().any(|change| change.is_some_and(|(_, undone)| !undone) == liked)
    }
}

/// By viewer and activity.
fn pairs(commands: &Commands<'_>) -> BTreeMap<(String, String), Pair> {
    let mut pairs: BTreeMap<_, Pair> = BTreeMap::new();
    let changes = |reference: &Reference| -> Vec<_> {
        let likes = reference.features.iter().filter_map(|command| {
            let undone = match command["type"].as_str()? {
                "like.created" => false,
                "like.deleted" => true,
                _ => return None,
            };
            let text = |name: &str| command[name].as_str().unwrap().to_owned();
            Some(((text("viewer_id"), text("activity_id")), (text("at"), undone)))
        });
        likes.collect()
    };
    for (pair, change) in changes(commands.started) {
        pairs.entry(pair).or_default().started.insert(change);
    }
    for (pair, change) in changes(commands.done) {
        let done = &mut pairs.entry(pair).or_default().done;
        *done = done.take().max(Some(change));
    }
    pairs
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
    let pairs = pairs(commands);
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
    if !pair.map_or(!liked, |pair| pair.may_like(liked)) {
        return Some("they do not say so".to_owned());
    }
    let of_it = || pairs.iter().filter(|((_, of), _)| of == activity).map(|(_, pair)| pair);
    let count = answer["likes"]["count"].as_u64().unwrap();
    let least = of_it().filter(|pair| !pair.may_like(false)).count() as u64;
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
            (None, Some(pair)) => may_show(&activity, commands, false) || pair.may_like(false),
        };
        if !fits {
            return Some(activity);
        }
    }
    None
}
