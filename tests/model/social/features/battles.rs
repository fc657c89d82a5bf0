//! Battles: each hit lands once or is late, in an order that the commands do not decide. So what is checked is that
//! there is one: hit points never rise, the last hit stays the last, no hit that has landed or is late is anything else
//! later; and at rest that the hits that have landed come to what is shown.

use std::collections::{BTreeMap, BTreeSet};

use fastrand::Rng;
use serde_json::{Value, json};

use super::{Answers, Commands, Feature};
use crate::platform::instants::{DAY, START, instant};
use crate::social::commands::viewers;

pub(super) const FEATURE: Feature = Feature { command, paths, judge, whole };

/// Battles and their hit points: one that ends early, one that hardly ever does.
const BATTLES: [(&str, u64); 2] = [("b0", 25), ("b1", 110)];
pub(crate) const HITS: usize = 18;

pub(crate) fn hit(battle: &str, number: usize) -> Value {
    let people: Vec<_> = viewers().collect();
    let damage = 1 + number * 7 % 11;
    json!({"type": "battle.hit", "battle_id": battle, "hit_id": format!("h{number}"),
        "viewer_id": people[number % people.len()], "damage": damage, "at": instant(START - DAY)})
}

fn command(random: &mut Rng) -> Value {
    let (battle, hp) = random.choice(BATTLES).unwrap();
    match random.u8(0..8) {
        0 => json!({"type": "battle.opened", "battle_id": battle, "actor_id": "ann", "hp": hp,
            "at": instant(START - DAY), "payload": {"of": battle}}),
        _ => hit(battle, random.usize(0..HITS)),
    }
}

fn paths() -> Vec<String> {
    let mut paths = Vec::new();
    for (battle, _) in BATTLES {
        paths.extend(viewers().map(|viewer| format!("/v1/battles/{battle}?viewer={viewer}")));
        paths.extend((0..HITS).map(|number| format!("/v1/battles/{battle}/hits/h{number}")));
    }
    paths
}

/// What some commands say of a battle: whether it is open, and its hits.
fn said<'a>(commands: &'a [Value], battle: &str) -> (bool, BTreeMap<&'a str, &'a Value>) {
    let of_it = || commands.iter().filter(|command| command["battle_id"] == battle);
    let opened = of_it().any(|command| command["type"] == "battle.opened");
    let hits = of_it().filter_map(|command| Some((command["hit_id"].as_str()?, command)));
    (opened, hits.collect())
}

fn judge(path: &str, status: i64, answer: &Value, commands: &Commands<'_>) -> Option<String> {
    let path = path.strip_prefix("/v1/battles/").unwrap();
    match path.split_once("/hits/") {
        Some((battle, hit)) => judge_hit(battle, hit, status, answer, commands),
        None => {
            let (battle, viewer) = path.split_once("?viewer=").unwrap();
            judge_battle(battle, viewer, status, answer, commands)
        }
    }
}

fn judge_hit(
    battle: &str,
    hit: &str,
    status: i64,
    answer: &Value,
    commands: &Commands<'_>,
) -> Option<String> {
    let (_, done) = said(&commands.done.features, battle);
    let (opened, started) = said(&commands.started.features, battle);
    let is_of = |command: &&Value| command["battle_id"] == battle;
    let mut erased = commands.done.erased.iter().filter(is_of);
    match (status, started.get(hit)) {
        // With its battle, whose it was may be erased or not.
        _ if erased.any(|command| command["type"] == "battle.opened") => return None,
        (404, _) if !done.contains_key(hit) => return None,
        (404, Some(said)) if said["viewer_id"].is_null() => return None,
        (200, Some(said)) => {
            let is_other = ["hit_id", "viewer_id", "damage", "at"]
                .iter()
                .any(|name| answer[name] != said[name]);
            if is_other {
                return Some("nobody hit like that".to_owned());
            }
        }
        _ => return Some(format!("answered {status}")),
    }
    let state = answer["state"].as_str().unwrap();
    let before = commands.before.map(|before| before["state"].clone()).unwrap_or(json!("pending"));
    let went_back = before != "pending" && before != state;
    let may_be = match state {
        "pending" => !commands.quiet || !opened,
        "landed" | "late" => opened,
        _ => false,
    };
    (went_back || !may_be).then(|| format!("it was {before}, and the battle is opened: {opened}"))
}

fn judge_battle(
    battle: &str,
    viewer: &str,
    status: i64,
    answer: &Value,
    commands: &Commands<'_>,
) -> Option<String> {
    let (done, _) = said(&commands.done.features, battle);
    let (started, hits) = said(&commands.started.features, battle);
    match status {
        404 if !done => return None,
        200 if started => {}
        _ => return Some(format!("answered {status}")),
    }
    let number = |value: &Value| value.as_u64().unwrap();
    let (hp, left) = (number(&answer["hp"]), number(&answer["hp_left"]));
    let (landed, last) = (number(&answer["hits"]), &answer["last_hit"]);
    let mut problems = vec![
        (landed > hits.len() as u64, "more hits than there are"),
        ((landed == 0) != last.is_null(), "a last hit, and no hits"),
        ((landed == 0) != (left == hp), "hits without damage"),
        ((answer["state"] == "defeated") != (left == 0), "hit points and state disagree"),
    ];
    if let Some(id) = last["hit_id"].as_str() {
        let is_said = hits.get(id).is_some_and(|hit| hit["damage"] == last["damage"]);
        problems.push((!is_said, "nobody hit like that"));
    }
    let share = &answer["viewer"];
    let theirs = hits.values().filter(|hit| hit["viewer_id"] == viewer).count() as u64;
    problems
        .push((number(&share["hits"]) > theirs.min(landed), "more hits of theirs than there are"));
    let others = hits.len() as u64 - theirs;
    problems.push((landed > number(&share["hits"]) + others, "hits of theirs that they lack"));
    problems.push((number(&share["damage"]) > hp - left && left > 0, "more damage than was done"));
    let is_theirs = |id: &str| hits.get(id).is_some_and(|hit| hit["viewer_id"] == viewer);
    let lacks_last = last["hit_id"].as_str().is_some_and(is_theirs) && share["hits"] == 0;
    problems.push((lacks_last, "the last hit is theirs, and they have none"));
    if let Some(before) = commands.before {
        let before_left = number(&before["hp_left"]);
        problems.push((left > before_left, "hit points rose"));
        problems.push((landed < number(&before["hits"]), "hits went away"));
        let is_last =
            before_left > 0 || (*last == before["last_hit"] && landed == number(&before["hits"]));
        problems.push((!is_last, "there was another last hit"));
        problems.push((
            number(&share["hits"]) < number(&before["viewer"]["hits"]),
            "hits of theirs went away",
        ));
    }
    problems.into_iter().find(|(is_so, _)| *is_so).map(|(_, problem)| problem.to_owned())
}

/// The hits that have landed come to what is shown of their battle, and each viewer's to theirs.
fn whole(answers: &Answers, commands: &Commands<'_>) -> Option<String> {
    BATTLES.iter().find_map(|(battle, hp)| {
        let (opened, hits) = said(&commands.done.features, battle);
        if !opened {
            return None;
        }
        let of = |viewer: &str| &answers[&format!("/v1/battles/{battle}?viewer={viewer}")];
        let state = |hit: &str| &answers[&format!("/v1/battles/{battle}/hits/{hit}")]["state"];
        let is_nobodys = |hit: &&str| hits[*hit]["viewer_id"].is_null();
        let landed: BTreeSet<_> =
            hits.keys().filter(|hit| state(hit) == "landed").copied().collect();
        let damage = |hit: &str| hits[hit]["damage"].as_u64().unwrap();
        let shown = of("ann");
        let last = shown["last_hit"]["hit_id"].as_str();
        let are_right = |landed: &BTreeSet<&str>| {
            let sum: u64 = landed.iter().map(|hit| damage(hit)).sum();
            shown["hits"] == landed.len()
                && shown["hp_left"] == hp.saturating_sub(sum)
                && last.is_none_or(|last| landed.contains(last) && sum - damage(last) < *hp)
                && (sum >= *hp || landed.len() == hits.len())
        };
        // Of hits whose viewers were erased nobody is told whether they have landed.
        let nobodys: Vec<_> = hits.keys().copied().filter(is_nobodys).collect();
        let is_right = (0..1_usize << nobodys.len()).any(|chosen| {
            let chosen = (0..nobodys.len()).filter(|n| chosen >> n & 1 == 1).map(|n| nobodys[n]);
            are_right(&landed.iter().copied().chain(chosen).collect())
        });
        let shares_are_right = viewers().all(|viewer| {
            let theirs: Vec<_> = landed
                .iter()
                .filter(|hit| hits[**hit]["viewer_id"] == viewer)
                .map(|hit| damage(hit))
                .collect();
            of(viewer)["viewer"]
                == json!({"hits": theirs.len(), "damage": theirs.iter().sum::<u64>()})
        });
        (!is_right || !shares_are_right)
            .then(|| format!("{battle}: landed are {landed:?}, and shown is {shown}"))
    })
}
