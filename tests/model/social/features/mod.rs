//! The features beside the timeline: what each of them sends, and what it answers.
//!
//! A feature computes its answers from the commands alone. While everything goes on it is told which commands
//! some handler was given and which of them are acknowledged; an answer has to be what the latter and some of
//! the former mean. In the end all commands are both.

pub(crate) mod battles;
pub(crate) mod events;
pub(crate) mod likes;
mod lists;
pub(crate) mod notifications;
mod pages;
mod pairs;
mod polls;
mod profiles;
pub(crate) mod rooms;
mod tags;

use std::cell::RefCell;
use std::collections::BTreeMap;

use fastrand::Rng;
use serde_json::Value;
use tests::World;

use crate::social::observed::Observed;
use crate::social::readers::KeptReader;
use crate::social::reference::Reference;

pub(crate) struct Feature {
    /// Some command of it, as a message body.
    pub(crate) command: fn(&mut Rng) -> Value,
    pub(crate) paths: fn() -> Vec<String>,
    /// What is wrong with an answer of this status to a path, if something is.
    pub(crate) judge: fn(&str, i64, &Value, &Commands<'_>) -> Option<String>,
    /// What is wrong with all answers together, now that it is quiet, if something is.
    pub(crate) whole: fn(&Answers, &Commands<'_>) -> Option<String>,
}

/// Answers by path.
pub(crate) type Answers = BTreeMap<String, Value>;

/// The commands of all features.
pub(crate) struct Commands<'a> {
    /// Those that were acknowledged before the question.
    pub(crate) done: &'a Reference,
    /// Those that some handler was given before the answer.
    pub(crate) started: &'a Reference,
    /// True if it is quiet: all that was started is done, and projected.
    pub(crate) quiet: bool,
    /// What the same question was answered before it was asked this time.
    pub(crate) before: Option<&'a Value>,
}

const FEATURES: &[Feature] = &[
    likes::FEATURE,
    notifications::FEATURE,
    profiles::FEATURE,
    lists::FEATURE,
    polls::FEATURE,
    battles::FEATURE,
    pages::FEATURE,
    tags::FEATURE,
    rooms::FEATURE,
    events::FEATURE,
];
/// Those whose commands depend on each other the most.
const OFTEN: &[Feature] = &[
    likes::FEATURE,
    likes::FEATURE,
    polls::FEATURE,
    battles::FEATURE,
    tags::FEATURE,
    tags::FEATURE,
    rooms::FEATURE,
    events::FEATURE,
    events::FEATURE,
];

/// A command of any of them.
pub(crate) fn command(random: &mut Rng) -> Option<Value> {
    let features = if random.u8(0..3) > 0 { OFTEN } else { FEATURES };
    random.choice(features).map(|feature| (feature.command)(random))
}

/// Asks one of them while everything goes on.
pub(crate) async fn ask(
    reader: &KeptReader,
    observed: &RefCell<Observed>,
    mut random: Rng,
) -> Result<(), String> {
    let Some(feature) = random.choice(FEATURES) else { return Ok(()) };
    let Some(path) = random.choice((feature.paths)()) else { return Ok(()) };
    let is_about = |person: &str| path.split(['/', '?', '=', '&']).any(|it| it == person);
    if observed.borrow().away.is_some_and(is_about) {
        return Ok(());
    }
    let done = observed.borrow().done.clone();
    let before = observed.borrow().answers.get(&path).cloned();
    let get = async |path: &str, query: &str| {
        let (status, _, answer) = reader.get(path, query).await;
        (status, answer)
    };
    let (status, answer) = answer(get, &path).await;
    if matches!(status, 429 | 503) {
        return Ok(());
    }
    let (started, is_erasing) = (observed.borrow().started.clone(), observed.borrow().is_erasing);
    let before = before.as_ref();
    let commands = Commands { done: &done, started: &started, quiet: false, before };
    if !is_erasing && let Some(problem) = (feature.judge)(&path, status, &answer, &commands) {
        return Err(format!("{path}: {problem}: {answer}"));
    }
    if let Some(mark) = notifications::mark_of(&path, &answer, &mut random) {
        observed.borrow_mut().to_send.push(mark);
    }
    if status == 200 && !is_erasing {
        observed.borrow_mut().answers.insert(path, answer);
    }
    Ok(())
}

/// Marks all but the last like of each notification as read. Returns the commands.
pub(crate) async fn mark_in_part(world: &World) -> Vec<Value> {
    let mut marks = Vec::new();
    for path in notifications::paths() {
        let (status, _, answer) = world.get(path_of(&path), query_of(&path)).await;
        assert_eq!(status, 200, "{answer}");
        marks.extend(notifications::marks_in_part(&path, &answer));
    }
    world.done(&marks).await;
    marks
}

/// Asks all of them everything, now that it is quiet. `before` are answers from before.
pub(crate) async fn in_the_end(
    world: &World,
    commands: &Reference,
    before: &Answers,
) -> Result<(), String> {
    for feature in FEATURES {
        let mut answers = Answers::new();
        for path in (feature.paths)() {
            let get = async |path: &str, query: &str| {
                let (status, _, answer) = world.get(path, query).await;
                (status, answer)
            };
            let (status, answer) = answer(get, &path).await;
            let before = before.get(&path);
            let commands = Commands { done: commands, started: commands, quiet: true, before };
            if let Some(problem) = (feature.judge)(&path, status, &answer, &commands) {
                return Err(format!("in the end {path}: {problem}: {answer}"));
            }
            answers.insert(path, answer);
        }
        let commands = Commands { done: commands, started: commands, quiet: true, before: None };
        if let Some(problem) = (feature.whole)(&answers, &commands) {
            return Err(format!("in the end: {problem}"));
        }
    }
    Ok(())
}

/// Pages of what there is in a run, at most.
pub(crate) const PAGES: usize = 2_000;

/// What a path is answered. A page that is short, and has a `next_cursor`, is gone on with: what is of some moments
/// together is judged as what is of one of them.
async fn answer(get: impl AsyncFn(&str, &str) -> (i64, Value), path: &str) -> (i64, Value) {
    let (path, query) = (path_of(path), query_of(path));
    let ((status, mut whole), mut pages) = (get(path, query).await, 1);
    let named =
        |name: &str| query.split('&').find_map(|it| it.strip_prefix(name)?.strip_prefix('='));
    let limit = named("limit").map_or(20, |limit| limit.parse().unwrap());
    let viewer = named("viewer").map(|viewer| format!("&viewer={viewer}")).unwrap_or_default();
    while let (Some(items), Some(next)) = (whole["items"].as_array(), whole["next_cursor"].as_str())
        && items.len() < limit
    {
        let query = format!("limit={}&cursor={next}{viewer}", limit - items.len());
        let (status, page) = get(path, &query).await;
        if status != 200 {
            return (status, page);
        }
        pages += 1;
        assert!(pages < PAGES, "{path}?{query} goes on without end");
        let more = page["items"].as_array().unwrap().clone();
        whole["items"].as_array_mut().unwrap().extend(more);
        whole["next_cursor"] = page["next_cursor"].clone();
    }
    (status, whole)
}

/// For features of which each answer is judged by itself.
fn each_by_itself(_: &Answers, _: &Commands<'_>) -> Option<String> {
    None
}

fn path_of(path: &str) -> &str {
    path.split('?').next().unwrap_or_default()
}

fn query_of(path: &str) -> &str {
    path.split_once('?').map_or("", |(_, query)| query)
}
