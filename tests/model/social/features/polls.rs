//! Polls: of a viewer's votes the latest within the poll's time counts, on a tie the greater one, and a withdrawal over
//! any; the actor may bring the end forward.
//!
//! The sums may be of any moment until everything is projected: those of some votes that were cast. Then they are a
//! recount.

use std::collections::{BTreeMap, BTreeSet};

use fastrand::Rng;
use serde_json::{Value, json};

use super::{Commands, Feature, each_by_itself};
use crate::platform::instants::{DAY, MINUTE, START, instant};
use crate::social::commands::{changed_at, viewers};
use crate::social::reference::Reference;

pub(super) const FEATURE: Feature = Feature { command, paths, judge, whole: each_by_itself };

const POLLS: [&str; 2] = ["q0", "q1"];
const ACTOR: &str = "ann";
/// What stands for a withdrawal: greater than any choice.
const WITHDRAWN: &str = "~";

fn choices(poll: &str) -> &'static [&'static str] {
    if poll == POLLS[0] { &["red", "blue", "sky"] } else { &["no", "yes"] }
}

/// When a poll opens and closes: some votes lie before it and some behind.
fn time(poll: &str) -> (String, String) {
    let begin = if poll == POLLS[0] { 5 } else { 12 };
    let at = |minute: i64| instant(START - DAY + minute * MINUTE);
    (at(begin), at(33))
}

fn command(random: &mut Rng) -> Value {
    let poll = random.choice(POLLS).unwrap();
    let viewer = random.choice(viewers().collect::<Vec<_>>()).unwrap();
    let at = instant(changed_at(random));
    match random.u8(0..12) {
        0..2 => {
            let (opens_at, closes_at) = time(poll);
            json!({"type": "poll.opened", "poll_id": poll, "actor_id": ACTOR, "choices": choices(poll),
                "opens_at": opens_at, "closes_at": closes_at, "payload": {"of": poll}})
        }
        2 => json!({"type": "poll.closed", "poll_id": poll, "actor_id": ACTOR, "at": at}),
        3 => json!({"type": "poll.closed", "poll_id": poll, "actor_id": "bob", "at": at}),
        4..6 => json!({"type": "vote.withdrawn", "poll_id": poll, "viewer_id": viewer, "at": at}),
        _ => {
            let choice = match random.u8(0..8) {
                0 => "green",
                _ => random.choice(choices(poll)).unwrap(),
            };
            json!({"type": "vote.cast", "poll_id": poll, "viewer_id": viewer, "choice": choice, "at": at})
        }
    }
}

fn paths() -> Vec<String> {
    let of = |poll| viewers().map(move |viewer| format!("/v1/polls/{poll}?viewer={viewer}"));
    POLLS.into_iter().flat_map(of).collect()
}

/// What some commands say of one poll.
struct PollCommands<'a> {
    opened: bool,
    /// The ends that its actor asked for.
    ends: BTreeSet<&'a str>,
    votes: BTreeMap<&'a str, BTreeSet<(&'a str, &'a str)>>,
}

impl<'a> PollCommands<'a> {
    fn of(reference: &'a Reference, poll: &str) -> Self {
        let mut said = Self { opened: false, ends: BTreeSet::new(), votes: BTreeMap::new() };
        for command in reference.features.iter().filter(|command| command["poll_id"] == poll) {
            let text = |name: &str| command[name].as_str().unwrap_or(WITHDRAWN);
            match text("type") {
                "poll.opened" => said.opened = true,
                "poll.closed" if text("actor_id") == ACTOR => {
                    said.ends.insert(text("at"));
                }
                "vote.cast" | "vote.withdrawn" => {
                    let votes = said.votes.entry(text("viewer_id")).or_default();
                    votes.insert((text("at"), text("choice")));
                }
                _ => {}
            }
        }
        said
    }

    /// The vote of a viewer that counts, if the poll ends then.
    fn vote(&self, poll: &str, viewer: &str, end: &str) -> Option<&'a str> {
        let opens_at = time(poll).0;
        let counts = |(at, choice): &&(&str, &'a str)| {
            *at >= opens_at.as_str()
                && *at < end
                && (*choice == WITHDRAWN || choices(poll).contains(choice))
        };
        let latest = self.votes.get(viewer)?.iter().rfind(counts)?;
        Some(latest.1).filter(|choice| *choice != WITHDRAWN)
    }

    /// What a viewer's vote may be at some moment: any that they cast within the time, or none.
    fn may_vote(&self, poll: &str, viewer: &str) -> Vec<Option<&'a str>> {
        let (opens_at, closes_at) = time(poll);
        let within = |(at, choice): &&(&str, &str)| {
            (opens_at.as_str()..closes_at.as_str()).contains(at) && choices(poll).contains(choice)
        };
        let votes = self.votes.get(viewer).into_iter().flatten().filter(within);
        let cast: BTreeSet<_> = votes.map(|(_, choice)| Some(*choice)).chain([None]).collect();
        cast.into_iter().collect()
    }
}

/// Whether some choice of each of these viewers comes to these sums.
fn can_be(sums: &BTreeMap<&str, i64>, viewers: &[Vec<Option<&str>>]) -> bool {
    let Some((first, others)) = viewers.split_first() else {
        return sums.values().all(|sum| *sum == 0);
    };
    first.iter().any(|vote| {
        let mut left = sums.clone();
        if let Some(sum) = vote.and_then(|vote| left.get_mut(vote)) {
            *sum -= 1;
        }
        left.values().all(|sum| *sum >= 0) && can_be(&left, others)
    })
}

fn judge(path: &str, status: i64, answer: &Value, commands: &Commands<'_>) -> Option<String> {
    let (poll, viewer) = path.strip_prefix("/v1/polls/").unwrap().split_once("?viewer=").unwrap();
    let (done, started) =
        (PollCommands::of(commands.done, poll), PollCommands::of(commands.started, poll));
    match status {
        404 if !done.opened => return None,
        200 if started.opened => {}
        _ => return Some(format!("answered {status}")),
    }
    let (opens_at, closes_at) = time(poll);
    let end = answer["closes_at"].as_str().unwrap();
    let ends = started.ends.iter().copied().filter(|at| *at < closes_at.as_str());
    let earliest = ends.clone().min().unwrap_or(&closes_at);
    let may_end = if commands.quiet {
        end == earliest
    } else {
        ends.chain([closes_at.as_str()]).any(|at| at == end)
    };
    if answer["opens_at"] != opens_at || !may_end {
        return Some(format!("it ends at {earliest}"));
    }
    let shown = answer["choices"].as_array().unwrap();
    let sums: BTreeMap<_, _> = shown
        .iter()
        .map(|it| (it["choice"].as_str().unwrap(), it["votes"].as_i64().unwrap()))
        .collect();
    if !sums.keys().eq(&choices(poll).iter().copied().collect::<BTreeSet<_>>())
        || answer["votes"].as_i64() != Some(sums.values().sum())
    {
        return Some("the choices are others, or do not add up".to_owned());
    }
    let vote = answer["vote"].as_str();
    if commands.quiet {
        let mut recount: BTreeMap<_, _> = choices(poll).iter().map(|choice| (*choice, 0)).collect();
        for vote in viewers().filter_map(|viewer| started.vote(poll, viewer, end)) {
            *recount.get_mut(vote).unwrap() += 1;
        }
        let own = started.vote(poll, viewer, end);
        return (recount != sums || own != vote)
            .then(|| format!("recounted {recount:?}, own {own:?}"));
    }
    let may_vote: Vec<_> = viewers().map(|viewer| started.may_vote(poll, viewer)).collect();
    if !can_be(&sums, &may_vote) {
        return Some("no set of votes comes to that".to_owned());
    }
    if vote.is_some() && answer["votes"] == 0 {
        return Some("they voted, and nobody did".to_owned());
    }
    let is_own = started.may_vote(poll, viewer).contains(&vote);
    (!is_own).then(|| "they never voted so".to_owned())
}
