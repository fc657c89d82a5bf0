//! Tags: of the commands on one activity and one person the latest counts, on a tie the untag; shown are those of
//! activities that are published and not deleted.

use std::collections::{BTreeMap, BTreeSet};

use fastrand::Rng;
use serde_json::{Value, json};

use super::likes::{activities, may_show};
use super::pairs::{Pair, pairs};
use super::{Commands, Feature, each_by_itself, profiles};
use crate::platform::instants::{MINUTE, START, instant};
use crate::social::commands::viewers;
use crate::social::reference::{Shown, shown};

pub(super) const FEATURE: Feature = Feature { command, paths, judge, whole: each_by_itself };

/// Activities on a short page.
const SHORT: usize = 2;

/// Few instants, so that ties are common.
fn command(random: &mut Rng) -> Value {
    let tagged = random.choice(viewers().collect::<Vec<_>>()).unwrap();
    let activity = random.choice(activities().collect::<Vec<_>>()).unwrap();
    let what = if random.u8(0..3) > 0 { "tag.created" } else { "tag.deleted" };
    let at = instant(START - i64::from(random.u8(1..6)) * MINUTE);
    json!({"type": what, "activity_id": activity, "tagged_id": tagged, "at": at})
}

fn paths() -> Vec<String> {
    let of_activities = activities().map(|activity| format!("/v1/activities/{activity}/tags"));
    let of_viewers = viewers().flat_map(|viewer| {
        ["".to_owned(), format!("?order=oldest&limit={SHORT}")]
            .map(|query| format!("/v1/viewers/{viewer}/tagged{query}"))
    });
    of_activities.chain(of_viewers).collect()
}

type Pairs = BTreeMap<(String, String), Pair>;

/// Whether an activity may be shown with somebody in it, or may not.
fn may_be_tagged(
    activity: &str,
    tagged: &str,
    holds: bool,
    commands: &Commands<'_>,
    pairs: &Pairs,
) -> bool {
    let pair = pairs.get(&(activity.to_owned(), tagged.to_owned()));
    let may_hold = |holds: bool| pair.map_or(!holds, |pair| pair.may_hold(holds));
    match holds {
        true => may_hold(true) && may_show(activity, commands, true),
        false => may_hold(false) || may_show(activity, commands, false),
    }
}

fn judge(path: &str, status: i64, answer: &Value, commands: &Commands<'_>) -> Option<String> {
    if status != 200 {
        return Some(format!("answered {status}"));
    }
    let pairs = pairs(commands, ["tag.created", "tag.deleted"], ["activity_id", "tagged_id"]);
    if let Some(rest) = path.strip_prefix("/v1/activities/") {
        let activity = rest.strip_suffix("/tags").unwrap();
        return judge_activity(activity, answer, commands, &pairs);
    }
    let (viewer, query) = path.strip_prefix("/v1/viewers/").unwrap().split_once("/tagged").unwrap();
    match query.is_empty() {
        true => judge_person(viewer, answer, commands, &pairs),
        false => judge_short(viewer, answer, commands, &pairs),
    }
}

fn judge_activity(
    activity: &str,
    answer: &Value,
    commands: &Commands<'_>,
    pairs: &Pairs,
) -> Option<String> {
    let items = answer["items"].as_array().unwrap();
    let id = |item: &Value| item["tagged_id"].as_str().unwrap().to_owned();
    let shown: BTreeMap<_, _> = items.iter().map(|item| (id(item), item)).collect();
    if !items.iter().map(id).is_sorted() || shown.len() < items.len() {
        return Some("not by id, each once".to_owned());
    }
    if !answer["next_cursor"].is_null() {
        return Some("there is no more than that".to_owned());
    }
    for tagged in viewers() {
        let item = shown.get(tagged);
        if !may_be_tagged(activity, tagged, item.is_some(), commands, pairs) {
            return Some(tagged.to_owned());
        }
        if item.is_some_and(|item| !profiles::may_say(tagged, &item["profile"], commands)) {
            return Some(format!("the profile of {tagged}"));
        }
    }
    None
}

/// All that somebody is tagged in.
fn judge_person(
    viewer: &str,
    answer: &Value,
    commands: &Commands<'_>,
    pairs: &Pairs,
) -> Option<String> {
    let items: Vec<_> = answer["items"].as_array().unwrap().iter().map(shown).collect();
    if !items.iter().map(|item| item.position()).rev().is_sorted() {
        return Some("not the newest first".to_owned());
    }
    let ids: BTreeSet<_> = items.iter().map(|item| item.id.clone()).collect();
    if ids.len() < items.len() || !answer["next_cursor"].is_null() {
        return Some("one of them twice, or more beyond it".to_owned());
    }
    let is_wrong = |id: &String| !may_be_tagged(id, viewer, ids.contains(id), commands, pairs);
    if let Some(id) = activities().find(is_wrong) {
        return Some(id);
    }
    let may_say = |item: &Shown| match commands.quiet {
        true => commands.done.activity(&item.id).as_ref() == Some(item),
        false => commands.started.may_say(item),
    };
    items.iter().find(|item| !may_say(item)).map(|item| format!("{} does not say that", item.id))
}

/// The oldest of what somebody is tagged in. Which they are is known once it is quiet.
fn judge_short(
    viewer: &str,
    answer: &Value,
    commands: &Commands<'_>,
    pairs: &Pairs,
) -> Option<String> {
    let items: Vec<_> = answer["items"].as_array().unwrap().iter().map(shown).collect();
    let may_be = |id: &str| may_be_tagged(id, viewer, true, commands, pairs);
    if let Some(item) = items.iter().find(|item| !may_be(&item.id)) {
        return Some(item.id.clone());
    }
    let all = activities().filter(|id| may_be(id)).filter_map(|id| commands.done.activity(&id));
    let all: BTreeSet<_> = all.collect();
    let expected: Vec<_> = all.iter().take(SHORT).cloned().collect();
    let has_more = !answer["next_cursor"].is_null();
    let is_right = items == expected && has_more == (all.len() > SHORT);
    (commands.quiet && !is_right).then(|| format!("the first are {expected:?}"))
}
