//! Polls and battles as they move: read once a second, as an audience's app would.

mod known;

pub(super) use known::latest as known;

use std::sync::Arc;

use axum::Router;
use axum::extract::State;
use axum::response::{Html, IntoResponse, Response};
use axum::routing::get;
use maud::{Markup, html};
use serde_json::Value;

use super::fields::Fields;
use super::layout::{self, Place};
use super::looking::LooksAs;
use super::{Console, Mode, cost, named, payload};

pub(super) fn routes() -> Router<Arc<Console>> {
    Router::new()
        .route("/console/show", get(choose))
        .route("/console/poll", get(poll))
        .route("/console/battle", get(battle))
        .route("/console/standing", get(standing))
}

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

    /// Why reading one costs what it does.
    fn why(self) -> &'static str {
        match self {
            Self::Poll => cost::OF_POLL,
            Self::Battle => cost::OF_BATTLE,
        }
    }

    fn folder(self) -> &'static str {
        match self {
            Self::Poll => "polls",
            Self::Battle => "battles",
        }
    }
}

async fn choose(State(console): State<Arc<Console>>) -> Response {
    let content = html! {
        p { "Votes and hits are counted exactly, however many come, and however often each is delivered." }
        (layout::or_problem(known::list(&console).await))
        @for what in [What::Poll, What::Battle] {
            form method="get" action=(what.name()) class="row" aria-label=(what.name()) {
                div class="field" {
                    label for=(what.name()) { "Id of a " (what.name()) }
                    input id=(what.name()) name="id" required autocomplete="off" autocapitalize="none" spellcheck="false";
                }
                button type="submit" { "Watch" }
            }
        }
        p { "Open one: " a href="commands?type=poll.opened" { "poll.opened" } ", " a href="commands?type=battle.opened" { "battle.opened" } }
    };
    layout::page(&console, Place::Show, "Polls and battles", content).into_response()
}

async fn poll(
    State(console): State<Arc<Console>>,
    LooksAs(looks): LooksAs,
    fields: Fields,
) -> Response {
    page(&console, What::Poll, looks.as_deref(), &fields).await
}

async fn battle(
    State(console): State<Arc<Console>>,
    LooksAs(looks): LooksAs,
    fields: Fields,
) -> Response {
    page(&console, What::Battle, looks.as_deref(), &fields).await
}

async fn page(console: &Console, what: What, looks: Option<&str>, fields: &Fields) -> Response {
    let id = fields.get("id").unwrap_or_default();
    let news = super::commands::news(console, fields).await;
    let content = html! {
        (news)
        (stands(console, what, id).await)
        @if console.mode == Mode::Write { (actions(console, what, id, looks).await) }
    };
    layout::page(console, Place::Show, &format!("The {} {id}", what.name()), content)
        .into_response()
}

async fn standing(State(console): State<Arc<Console>>, fields: Fields) -> Response {
    let what = if fields.get("what") == Some("poll") { What::Poll } else { What::Battle };
    let shown = stands(&console, what, fields.get("id").unwrap_or_default()).await;
    Html(shown.into_string()).into_response()
}

/// How it stands now, and again in a second.
async fn stands(console: &Console, what: What, id: &str) -> Markup {
    let again = layout::address("standing", &[("what", what.name()), ("id", id)]);
    let read = console.reads.find(&console.remote, &["v1", what.folder(), id], &[]).await;
    let shown = match read {
        Ok(None) => html! { p role="status" { "There is no " (what.name()) " " (id) " yet." } },
        Ok(Some(read)) => html! {
            (payload::shown_again(&read.body["payload"]))
            @match what { What::Poll => (votes(&read.body)), What::Battle => (boss(&read.body)), }
            (cost::shown(&read.cost, what.why()))
        },
        Err(failure) => layout::problem(&failure),
    };
    html! { section #standing class="card" aria-label="How it stands" hx-get=(again) hx-trigger="load delay:1s" hx-swap="outerHTML" { (shown) } }
}

pub(super) fn votes(poll: &Value) -> Markup {
    let all = poll["votes"].as_u64().unwrap_or(0);
    html! {
        p { strong { (poll["state"].as_str().unwrap_or_default()) } ", " (layout::counted(all, "vote", "votes")) @if poll["state"] == "closed" { ", closed " } @else { ", closes " } (named::when(poll["closes_at"].as_str().unwrap_or_default())) }
        @for choice in poll["choices"].as_array().into_iter().flatten() {
            (layout::bar(choice["choice"].as_str().unwrap_or_default(), choice["votes"].as_u64().unwrap_or(0), all, "votes"))
        }
    }
}

pub(super) fn boss(battle: &Value) -> Markup {
    let number = |name: &str| battle[name].as_u64().unwrap_or(0);
    let last = &battle["last_hit"];
    html! {
        p { strong { (battle["state"].as_str().unwrap_or_default()) } ", " (layout::counted(number("hits"), "hit", "hits")) }
        (layout::bar("hit points left", number("hp_left"), number("hp"), "boss"))
        @if let Some(hit) = last["hit_id"].as_str() {
            p { @if battle["state"] == "defeated" { "The last hit: " } @else { "The latest hit: " }
                (hit) " of " @match last["viewer_id"].as_str() { Some(viewer) => (named::person(viewer)), None => "somebody" } ", " (last["damage"].as_u64().unwrap_or(0)) " damage" }
        }
    }
}

/// A vote or a hit. A poll that is known offers its choices, and what is over says so before anything is sent.
async fn actions(console: &Console, what: What, id: &str, looks: Option<&str>) -> Markup {
    let (name, of, label) = match what {
        What::Poll => ("vote.cast", "f.poll_id", "Vote"),
        What::Battle => ("battle.hit", "f.battle_id", "Hit"),
    };
    let read = console.reads.find(&console.remote, &["v1", what.folder(), id], &[]).await;
    let body = read.ok().flatten().map(|read| read.body).unwrap_or_default();
    let state = body["state"].as_str().unwrap_or_default();
    let choices: Vec<_> = body["choices"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|it| it["choice"].as_str())
        .collect();
    html! {
        @match (what, state) {
            (What::Poll, "closed") => p class="warning" { "This poll is closed: a vote does not count any more." },
            (What::Poll, "upcoming") => p class="warning" { "This poll is not open yet: a vote does not count before." },
            (What::Battle, "defeated") => p class="warning" { "The boss is defeated: a hit does not count any more." },
            _ => {}
        }
        form method="post" action="send" class="row" aria-label=(label) {
            (layout::token(console))
            input type="hidden" name="type" value=(name);
            input type="hidden" name=(of) value=(id);
            input type="hidden" name="back" value=(layout::address(what.name(), &[("id", id)]));
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
        }
    }
}
