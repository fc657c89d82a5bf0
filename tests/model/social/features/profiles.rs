//! Profiles: of the updates of one person the latest is shown, on a tie the greatest.

use fastrand::Rng;
use serde_json::{Value, json};

use super::{Commands, Feature, each_by_itself};
use crate::platform::instants::instant;
use crate::social::commands::{changed_at, viewers};
use crate::social::reference::Reference;

pub(super) const FEATURE: Feature = Feature { command, paths, judge, whole: each_by_itself };

pub(super) fn command(random: &mut Rng) -> Value {
    let viewer = random.choice(viewers().collect::<Vec<_>>()).unwrap();
    let at = instant(changed_at(random));
    let payload = json!({"name": viewer, "says": random.u8(0..9)});
    json!({"type": "profile.updated", "viewer_id": viewer, "at": at, "payload": payload})
}

fn paths() -> Vec<String> {
    viewers().map(|viewer| format!("/v1/profiles/{viewer}")).collect()
}

/// What an update says, in the order in which one wins over another.
fn said(update: &Value) -> (String, String) {
    (update["at"].as_str().unwrap().to_owned(), update["payload"].to_string())
}

/// What the updates of somebody said, in no order.
fn updates(viewer: &str, reference: &Reference) -> Vec<(String, String)> {
    let theirs = reference
        .features
        .iter()
        .filter(|update| update["type"] == "profile.updated" && update["viewer_id"] == viewer);
    theirs.map(said).collect()
}

/// Whether the profile of somebody may say this, where null is also said of those who have none.
pub(super) fn may_say(viewer: &str, payload: &Value, commands: &Commands<'_>) -> bool {
    let least = updates(viewer, commands.done).into_iter().max();
    let payload = payload.to_string();
    let is_said = |update: (String, String)| update.1 == payload && Some(update) >= least;
    (least.is_none() && payload == "null")
        || updates(viewer, commands.started).into_iter().any(is_said)
}

fn judge(path: &str, status: i64, answer: &Value, commands: &Commands<'_>) -> Option<String> {
    let viewer = path.rsplit_once('/').unwrap().1;
    let [done, started] = [commands.done, commands.started].map(|all| updates(viewer, all));
    let shown = match status {
        404 => None,
        200 if answer["viewer_id"] == viewer => {
            let at = answer["updated_at"].as_str().unwrap().to_owned();
            Some((at, answer["payload"].to_string()))
        }
        _ => return Some(format!("answered {status}")),
    };
    let least = done.into_iter().max();
    match shown {
        None if least.is_none() => None,
        Some(shown) if !started.contains(&shown) => Some("nobody said that".to_owned()),
        shown if shown >= least => None,
        _ => Some(format!("it is older than {least:?}")),
    }
}
