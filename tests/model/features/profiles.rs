//! Profiles: of the updates of one person the latest is shown, on a tie the greatest.

use fastrand::Rng;
use serde_json::{Value, json};

use super::{Commands, Feature, each_by_itself};
use crate::history::{changed_at, instant, viewers};

pub(super) const FEATURE: Feature = Feature { command, paths, judge, whole: each_by_itself };

fn command(random: &mut Rng) -> Value {
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

fn judge(path: &str, status: i64, answer: &Value, commands: &Commands<'_>) -> Option<String> {
    let viewer = path.rsplit_once('/').unwrap().1;
    let of = |updates: &[Value]| -> Vec<_> {
        let theirs = updates
            .iter()
            .filter(|update| update["type"] == "profile.updated" && update["viewer_id"] == viewer);
        theirs.map(said).collect()
    };
    let (done, started) = (of(&commands.done.features), of(&commands.started.features));
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
