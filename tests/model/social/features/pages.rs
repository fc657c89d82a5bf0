//! Pages of what an actor published: all of it that is not deleted, of any age, or what is of some kinds.
//!
//! They are made of the publishes, the edits and the deletes of the history itself.

use std::collections::BTreeSet;

use serde_json::Value;

use super::{Commands, Feature, each_by_itself, likes};
use crate::social::commands::viewers;
use crate::social::reference::{Reference, Shown, shown};

pub(super) const FEATURE: Feature =
    Feature { command: likes::command, paths, judge, whole: each_by_itself };

fn paths() -> Vec<String> {
    let kinds = ["", "&kind=live", "&kind=k1&kind=k2", "&kind=k0&kind=live&kind=k3"];
    let orders = ["newest", "oldest"];
    let queries =
        kinds.iter().flat_map(|kinds| orders.map(|order| format!("order={order}{kinds}")));
    let queries: Vec<_> = queries.collect();
    viewers()
        .flat_map(|actor| {
            let path = format!("/v1/actors/{actor}/activities?limit=100&");
            queries.iter().map(move |query| format!("{path}{query}"))
        })
        .collect()
}

/// Of which kinds an activity may be: that of the latest edit that is done, or of one that was started and is later.
fn may_be(commands: &Commands<'_>, id: &str, actor: &str, published: &str) -> BTreeSet<String> {
    let edits = |reference: &Reference| reference.kind_edits(id, actor);
    let done = edits(commands.done).last().cloned();
    let later = edits(commands.started).into_iter().filter(|edit| Some(edit) > done.as_ref());
    let first = done.clone().map_or_else(|| published.to_owned(), |(_, kind)| kind);
    later.map(|(_, kind)| kind).chain([first]).collect()
}

fn judge(path: &str, status: i64, answer: &Value, commands: &Commands<'_>) -> Option<String> {
    if status != 200 {
        return Some(format!("answered {status}"));
    }
    let (path, query) = path.split_once('?').unwrap();
    let actor = path.strip_prefix("/v1/actors/").unwrap().strip_suffix("/activities").unwrap();
    let kinds: Vec<_> = query.split('&').filter_map(|it| it.strip_prefix("kind=")).collect();
    let items: Vec<_> = answer["items"].as_array().unwrap().iter().map(shown).collect();
    let mut in_order: Vec<_> = items.iter().map(Shown::position).collect();
    if query.contains("order=newest") {
        in_order.reverse();
    }
    if !in_order.is_sorted_by(|one, other| one < other) {
        return Some("not in order".to_owned());
    }
    let of_kinds = |kind: &str| kinds.is_empty() || kinds.contains(&kind);
    let deleted = |reference: &Reference, id: &str| {
        reference.deletes.contains(&(id.to_owned(), actor.to_owned()))
    };
    for item in &items {
        let variants = commands.started.publishes.get(&item.id);
        let Some((kind, _)) = variants.and_then(|it| it.get(&(actor.to_owned(), item.at))) else {
            return Some(format!("{} was not published so", item.id));
        };
        let fits = item.actor == actor
            && of_kinds(&item.kind)
            && may_be(commands, &item.id, actor, kind).contains(&item.kind)
            && commands.started.may_say(item)
            && !deleted(commands.done, &item.id);
        if !fits {
            return Some(format!("{} is not to be shown", item.id));
        }
    }
    for (id, variants) in &commands.done.publishes {
        // Of several publishes one was refused, and nobody knows yet which.
        let is_certain = commands.started.publishes.get(id).is_some_and(|all| all.len() == 1);
        for ((by, at), (kind, _)) in
            variants.iter().filter(|((by, _), _)| is_certain && by == actor)
        {
            let is_shown = items.iter().any(|item| item.id == *id && item.at == *at);
            let may_be_other = !may_be(commands, id, by, kind).iter().all(|kind| of_kinds(kind));
            if !is_shown && !may_be_other && !deleted(commands.started, id) {
                return Some(format!("{id} is missing"));
            }
        }
    }
    None
}
