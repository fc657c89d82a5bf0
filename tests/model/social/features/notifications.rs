//! Notifications: an actor is told of each other viewer once for each activity, and what they have marked as read is
//! what the answer had told them of.
//!
//! At any moment nobody is told of a like that nobody sent. In the end it is a recount: as many as there are viewers
//! who ever liked it, of which as many are read as the greatest mark says.

use std::collections::{BTreeMap, BTreeSet};

use fastrand::Rng;
use serde_json::{Value, json};

use super::likes::may_show;
use super::{Commands, Feature, each_by_itself};
use crate::social::commands::viewers;
use crate::social::reference::Reference;

pub(super) const FEATURE: Feature = Feature { command, paths, judge, whole: each_by_itself };

/// Marks of what there is not, and now and then of all there is. Others are made of answers.
fn command(random: &mut Rng) -> Value {
    let viewer = random.choice(viewers().collect::<Vec<_>>()).unwrap();
    if random.u8(0..6) == 0 {
        return json!({"type": "notifications.read", "viewer_id": viewer, "all": true});
    }
    let id = random.choice(["", "p0", "like:0:nobody-published-it", "like:9:p10", "like:0:p20 "]);
    mark(viewer, &json!(id), random.u64(0..4))
}

/// What a command names, beside others, that marks what no answer has told of.
const BLIND: &str = "blind";

/// A mark of likes of an activity, however many there are.
pub(crate) fn blind_mark(viewer: &str, activity: &str, through: u64) -> Value {
    let read = [json!(BLIND), json!(format!("like:0:{activity}"))]
        .map(|id| json!({"notification_id": id, "through": through}));
    json!({"type": "notifications.read", "viewer_id": viewer, "read": read})
}

fn mark(viewer: &str, id: &Value, through: u64) -> Value {
    let read = json!([{"notification_id": id, "through": through}]);
    json!({"type": "notifications.read", "viewer_id": viewer, "read": read})
}

/// A mark of something that an answer has shown.
pub(super) fn mark_of(path: &str, answer: &Value, random: &mut Rng) -> Option<Value> {
    let viewer = path.strip_prefix(PATH)?.split('?').next()?;
    let item = random.choice(answer["items"].as_array()?)?;
    let through = item["through"].as_u64()?;
    // Late ones are smaller.
    let through = if random.u8(0..4) == 0 { random.u64(0..=through) } else { through };
    Some(mark(viewer, &item["notification_id"], through))
}

/// Marks of all but the last like of each that is unread.
pub(super) fn marks_in_part(path: &str, answer: &Value) -> Vec<Value> {
    let viewer = path.strip_prefix(PATH).unwrap().split('?').next().unwrap();
    let items = answer["items"].as_array().unwrap().iter();
    let unread = items.filter(|item| item["state"] == "unread" && item["count"] != 1);
    let part = |item: &Value| item["through"].as_u64().unwrap() - 1;
    unread.map(|item| mark(viewer, &item["notification_id"], part(item))).collect()
}

const PATH: &str = "/v1/notifications/";

pub(super) fn paths() -> Vec<String> {
    viewers()
        .flat_map(|viewer| {
            ["limit=100", "limit=100&state=unread"].map(|query| format!("{PATH}{viewer}?{query}"))
        })
        .collect()
}

/// What some commands say.
struct NotificationCommands {
    /// By activity and viewer: the earliest like.
    likes: BTreeMap<String, BTreeMap<String, String>>,
    /// By viewer and activity: how many likes are read, by the greatest mark.
    read: BTreeMap<(String, String), u64>,
    /// Who marked all there was, at some time.
    marked_all: BTreeSet<String>,
    /// Of which viewer and activity something was marked that no answer has told of: that marks what there is when it is
    /// processed.
    marked_blindly: BTreeSet<(String, String)>,
    /// By activity: viewers who liked it and were erased. Whether a mark was of theirs too is not known.
    erased: BTreeMap<String, BTreeSet<String>>,
}

fn said(reference: &Reference) -> NotificationCommands {
    let mut said = NotificationCommands {
        likes: BTreeMap::new(),
        read: BTreeMap::new(),
        marked_all: BTreeSet::new(),
        marked_blindly: BTreeSet::new(),
        erased: BTreeMap::new(),
    };
    for like in reference.erased.iter().filter(|it| it["type"] == "like.created") {
        let text = |name: &str| like[name].as_str().unwrap().to_owned();
        said.erased.entry(text("activity_id")).or_default().insert(text("viewer_id"));
    }
    for command in &reference.features {
        let text = |name: &str| command[name].as_str().unwrap_or_default().to_owned();
        match text("type").as_str() {
            "like.created" => {
                let of_it = said.likes.entry(text("activity_id")).or_default();
                let first = of_it.entry(text("viewer_id")).or_insert_with(|| text("at"));
                *first = text("at").min(first.clone());
            }
            "notifications.read" if command["all"] == true => {
                said.marked_all.insert(text("viewer_id"));
            }
            "notifications.read" => {
                let marked = command["read"].as_array().unwrap();
                let is_blind = marked.iter().any(|one| one["notification_id"] == BLIND);
                for one in marked {
                    let through = one["through"].as_u64().unwrap();
                    if let Some((behind, activity)) =
                        parts(one["notification_id"].as_str().unwrap())
                    {
                        let whose = (text("viewer_id"), activity);
                        if is_blind || behind + through > viewers().count() as u64 {
                            said.marked_blindly.insert(whose);
                        } else {
                            let read = said.read.entry(whose).or_default();
                            *read = (*read).max(behind + through);
                        }
                    }
                }
            }
            _ => {}
        }
    }
    said
}

/// Behind how many likes of which activity a notification begins: what the greatest of several marks is found by.
fn parts(id: &str) -> Option<(u64, String)> {
    let (behind, activity) = id.strip_prefix("like:")?.split_once(':')?;
    // Of more no answer can ever have told.
    let behind = behind.parse().ok().filter(|behind| *behind < viewers().count() as u64)?;
    Some((behind, activity.to_owned()))
}

/// One notification of an answer.
struct Item {
    activity: String,
    unread: bool,
    behind: u64,
    count: u64,
    names: Vec<String>,
    first_at: String,
    last_at: String,
}

fn items(answer: &Value) -> Vec<Item> {
    let text = |item: &Value, name: &str| item[name].as_str().unwrap().to_owned();
    let names = |item: &Value| {
        let names = item["viewers"].as_array().unwrap().iter();
        names.map(|name| name.as_str().unwrap().to_owned()).collect()
    };
    let items = answer["items"].as_array().unwrap().iter();
    let items = items.map(|item| Item {
        activity: text(item, "activity_id"),
        unread: item["state"] == "unread",
        behind: parts(&text(item, "notification_id")).unwrap().0,
        count: item["count"].as_u64().unwrap(),
        names: names(item),
        first_at: text(item, "first_at"),
        last_at: text(item, "last_at"),
    });
    items.collect()
}

fn judge(path: &str, status: i64, answer: &Value, commands: &Commands<'_>) -> Option<String> {
    if status != 200 {
        return Some(format!("answered {status}"));
    }
    let (viewer, query) = path.strip_prefix(PATH).unwrap().split_once('?').unwrap();
    let (items, started) = (items(answer), said(commands.started));
    let unread_count = answer["unread_count"].as_u64().unwrap();
    if !items.iter().rev().is_sorted_by_key(|item| (&item.last_at, &item.activity)) {
        return Some("not the latest first".to_owned());
    }
    let only_unread = query.ends_with("unread");
    if only_unread && items.iter().any(|item| !item.unread) {
        return Some("one is read".to_owned());
    }
    if let Some(problem) =
        items.iter().find_map(|item| judge_item(item, viewer, commands, &started))
    {
        return Some(problem);
    }
    let unread: u64 = items.iter().filter(|item| item.unread).map(|item| item.count).sum();
    if unread != unread_count {
        return Some(format!("{unread} are unread"));
    }
    if !commands.quiet {
        return None;
    }
    started.likes.keys().find_map(|activity| {
        let of_it = items.iter().filter(|item| item.activity == *activity);
        judge_in_the_end(activity, viewer, of_it.collect(), commands, &started, only_unread)
    })
}

/// What is wrong with a notification at any moment.
fn judge_item(
    item: &Item,
    viewer: &str,
    commands: &Commands<'_>,
    started: &NotificationCommands,
) -> Option<String> {
    let Item { activity, count, names, first_at, last_at, .. } = item;
    let variants = commands.started.publishes.get(activity);
    if !variants.is_some_and(|some| some.keys().any(|(actor, _)| actor == viewer)) {
        return Some(format!("{activity} is not theirs"));
    }
    let likes = &started.likes[activity];
    let others = likes.keys().filter(|who| *who != viewer).count() as u64;
    let distinct: BTreeSet<_> = names.iter().collect();
    let fits = *count >= 1
        && *count <= others
        && distinct.len() as u64 == (*count).min(3)
        && names.len() == distinct.len()
        && first_at <= last_at
        && names.iter().all(|name| name != viewer && likes.contains_key(name));
    (!fits).then(|| format!("{activity} cannot have these"))
}

/// What is wrong with the notifications of an activity now that it is quiet.
fn judge_in_the_end(
    activity: &str,
    viewer: &str,
    items: Vec<&Item>,
    commands: &Commands<'_>,
    said: &NotificationCommands,
    only_unread: bool,
) -> Option<String> {
    let variants = commands.done.publishes.get(activity);
    let is_theirs = variants.is_some_and(|some| some.keys().any(|(actor, _)| actor == viewer));
    let may_be = is_theirs && may_show(activity, commands, true);
    let may_not = !is_theirs || may_show(activity, commands, false);
    if items.is_empty() && may_not {
        return None;
    }
    let likes = &said.likes[activity];
    let others: BTreeMap<_, _> = likes.iter().filter(|(who, _)| *who != viewer).collect();
    let there_are = others.len() as u64;
    if !may_be {
        return Some(format!("{activity} is not there"));
    }
    // A mark may be of more than there ever were.
    let whose = (viewer.to_owned(), activity.to_owned());
    let read = said.read.get(&whose);
    let read = read.map_or(0, |read| there_are.min(*read));
    let sum = |unread: bool| -> u64 {
        items.iter().filter(|item| item.unread == unread).map(|item| item.count).sum()
    };
    let read_through = there_are.checked_sub(sum(true));
    let is_open = said.marked_all.contains(viewer) || said.marked_blindly.contains(&whose);
    let erased = said.erased.get(activity).map_or(0, |viewers| viewers.len() as u64);
    let least = read.saturating_sub(erased);
    let fits = read_through.is_some_and(|through| through >= least && (is_open || through <= read));
    if !fits || (!only_unread && sum(true) + sum(false) != there_are) {
        return Some(format!("{activity}: {there_are} viewers, of whom {read} are read"));
    }
    // Where all are named it is known when they liked it. What was read before the last one stays as it was read.
    let last_read = items.iter().filter(|item| !item.unread).map(|item| item.behind).max();
    let told = items.iter().filter(|item| item.unread || Some(item.behind) == last_read);
    let wrong = told.into_iter().find(|item| {
        let mut ats: Vec<_> = item.names.iter().map(|name| (&others[name], name)).collect();
        let bounds = (ats.last().map(|at| at.0), ats.first().map(|at| at.0));
        let is_sorted = ats.iter().rev().is_sorted();
        ats.sort_unstable();
        let all_named = item.names.len() as u64 == item.count;
        !is_sorted || all_named && bounds != (Some(&&item.first_at), Some(&&item.last_at))
    });
    wrong.map(|item| format!("{activity}: not the first likes, {:?}", item.names))
}
