//! Polls and battles as they move: read once a second, as an audience's app would.

mod known;

pub(crate) use known::{latest as known, look_through};

use crate::commands;
use crate::prelude::*;

/// What moves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum What {
    Poll,
    Battle,
}

impl What {
    fn name(self) -> &'static str {
        match self {
            Self::Poll => "poll",
            Self::Battle => "battle",
        }
    }

    /// Where all of them are in the API.
    fn folder(self) -> &'static str {
        match self {
            Self::Poll => "polls",
            Self::Battle => "battles",
        }
    }
}

pub(crate) async fn choose(State(console): Here) -> Page {
    let content = html! {
        p { "Votes and hits are counted exactly, however many come, and however often each is delivered." }
        (layout::or_problem(known::list(&console).await))
        @for what in [What::Poll, What::Battle].map(What::name) {
            form method="get" action=(what) class="row" aria-label=(what) {
                (layout::blank(what, "id", &format!("Id of a {what}")))
                button type="submit" { "Watch" }
            }
        }
        p { "Open one: " a href="commands?type=poll.opened" { "poll.opened" } ", " a href="commands?type=battle.opened" { "battle.opened" } }
    };
    layout::page(&console, Place::Show, "Polls and battles", content)
}

pub(crate) async fn poll(here: Here, looks: LooksAs, fields: Fields) -> Page {
    page(here, What::Poll, looks, fields).await
}

pub(crate) async fn battle(here: Here, looks: LooksAs, fields: Fields) -> Page {
    page(here, What::Battle, looks, fields).await
}

async fn page(State(console): Here, what: What, LooksAs(looks): LooksAs, fields: Fields) -> Page {
    let id = fields.get("id").unwrap_or_default();
    let content = html! {
        (commands::news(&console, &fields).await)
        (stands(&console, what, id).await)
        @if console.mode == Mode::Write { (actions(&console, what, id, looks.as_deref()).await) }
    };
    layout::page(&console, Place::Show, &format!("The {} {id}", what.name()), content)
}

pub(crate) async fn standing(State(console): Here, fields: Fields) -> Page {
    let what = if fields.get("what") == Some("poll") { What::Poll } else { What::Battle };
    layout::region(stands(&console, what, fields.get("id").unwrap_or_default()).await)
}

/// How it stands now, and again in a second.
async fn stands(console: &Console, what: What, id: &str) -> Markup {
    let again = named::address("standing", &[("what", what.name()), ("id", id)]);
    let shown = match console.reads.find(&["v1", what.folder(), id], &[]).await {
        Ok(None) => html! { p role="status" { "There is no " (what.name()) " " (id) " yet." } },
        Ok(Some(read)) => html! {
            (payload::shown_again(&read.body["payload"]))
            @match what {
                What::Poll => { (votes(&read.body)) (cost::shown(&read.cost, cost::OF_POLL)) },
                What::Battle => { (boss(&read.body)) (cost::shown(&read.cost, cost::OF_BATTLE)) },
            }
        },
        Err(failure) => layout::problem(&failure),
    };
    html! { section #standing class="card" aria-label="How it stands" hx-get=(again) hx-trigger="load delay:1s" hx-swap="outerHTML" { (shown) } }
}

pub(crate) fn votes(poll: &Value) -> Markup {
    let all = number(poll, "votes");
    html! {
        p { strong { (text(poll, "state")) } ", " (layout::counted(all, "vote", "votes")) @if poll["state"] == "closed" { ", closed " } @else { ", closes " } (named::when(text(poll, "closes_at"))) }
        @for choice in poll["choices"].as_array().into_iter().flatten() {
            (layout::bar(text(choice, "choice"), number(choice, "votes"), all, "votes"))
        }
    }
}

pub(crate) fn boss(battle: &Value) -> Markup {
    let last = &battle["last_hit"];
    html! {
        p { strong { (text(battle, "state")) } ", " (layout::counted(number(battle, "hits"), "hit", "hits")) }
        (layout::bar("hit points left", number(battle, "hp_left"), number(battle, "hp"), "boss"))
        @if let Some(hit) = last["hit_id"].as_str() {
            p { @if battle["state"] == "defeated" { "The last hit: " } @else { "The latest hit: " }
                (hit) " of " @match last["viewer_id"].as_str() { Some(viewer) => (named::person(viewer)), None => "somebody" } ", " (number(last, "damage")) " damage" }
        }
    }
}

/// A vote or a hit. A poll that is known offers its choices, and what is over says so before anything is sent.
async fn actions(console: &Console, what: What, id: &str, looks: Option<&str>) -> Markup {
    let (name, of, label) = match what {
        What::Poll => ("vote.cast", "f.poll_id", "Vote"),
        What::Battle => ("battle.hit", "f.battle_id", "Hit"),
    };
    let read = console.reads.find(&["v1", what.folder(), id], &[]).await;
    let body = read.ok().flatten().map(|read| read.body).unwrap_or_default();
    let choices = body["choices"].as_array().into_iter().flatten();
    let choices: Vec<_> = choices.filter_map(|it| it["choice"].as_str()).collect();
    let warning = match (what, text(&body, "state")) {
        (What::Poll, "closed") => Some("This poll is closed: a vote does not count any more."),
        (What::Poll, "upcoming") => {
            Some("This poll is not open yet: a vote does not count before.")
        }
        (What::Battle, "defeated") => Some("The boss is defeated: a hit does not count any more."),
        _ => None,
    };
    let asked = html! {
        (layout::input("f.viewer_id", "Viewer", looks, true))
        @match what {
            What::Poll if !choices.is_empty() => div class="field" {
                label for="f.choice" { "Choice" }
                select id="f.choice" name="f.choice" { @for choice in &choices { option value=(choice) { (choice) } } }
            },
            What::Poll => (layout::input("f.choice", "Choice", None, true)),
            What::Battle => (layout::input("f.damage", "Damage", None, true)),
        }
        button type="submit" { (label) }
    };
    let back = named::address(what.name(), &[("id", id)]);
    let given = [("type", name), (of, id), ("back", back.as_str())];
    html! {
        @if let Some(warning) = warning { p class="warning" { (warning) } }
        (layout::command(console, (Some("row"), Some(label)), &given, asked))
    }
}
