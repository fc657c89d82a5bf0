//! The first page: what this is, and three steps in which somebody who has never heard of it sees it work.

use std::sync::Arc;

use axum::Router;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use http::StatusCode;
use maud::{Markup, html};

use super::fields::Fields;
use super::layout::{self, Place};
use super::{Console, Mode, commands, letters, live, timeline};

/// Whose timeline the first steps are about, and who goes live in them.
const VIEWER: &str = "visitor";
const ACTOR: &str = "anna";

pub(super) fn routes() -> Router<Arc<Console>> {
    Router::new().route("/console/", get(view)).route("/console/live", get(live::region))
}

async fn view(State(console): State<Arc<Console>>, fields: Fields) -> Response {
    let (here, all) = ("?first=steps", layout::address("timeline", &[("viewer", VIEWER)]));
    let content = html! {
        p class="lead" {
            "When somebody goes live or posts, every follower's timeline gets an entry. Reading a timeline is then one \
             cheap query, however many people one follows. Here you see it happen."
        }
        section aria-label="Right now" {
            h2 { "Right now" }
            (live::shown(&console).await)
        }
        @if console.mode == Mode::Write {
            section class="card" aria-label="First steps" {
                h2 { "Try it" }
                ol class="first" {
                    li {
                        (step(&console, "follow.created", &[("follower_id", VIEWER), ("followee_id", ACTOR)], here,
                            &format!("{VIEWER} follows {ACTOR}")))
                        " What " (ACTOR) " has published comes in."
                    }
                    li {
                        (step(&console, "activity.published",
                            &[("actor_id", ACTOR), ("kind", "live"), ("payload", r#"{"title":"Live from the console"}"#)],
                            here, &format!("{ACTOR} goes live")))
                        " An entry for each follower."
                    }
                }
                (commands::news(&console, &fields).await)
                h3 { "The timeline of " (VIEWER) ", as it is" }
                (timeline::live(&console, VIEWER).await)
                p { a href=(all) { "All of it" } }
            }
        }
        section class="card" aria-label="Queues" {
            h2 { "Queues" }
            (letters::depths(&console).await)
        }
        section class="card" aria-label="Where to go" {
            h2 { "Where to go" }
            ul {
                li { a href="people" { "People" } ": profiles, what they see and are told, whom they follow; "
                    a href="room" { "rooms" } " to talk in, and " a href="activity" { "activities" } " with their tags and likes." }
                li { a href="timeline" { "Timeline as anybody" } ": choose a viewer, page both ways, follow, like." }
                li { a href="commands" { "Publish" } ": every command from a form, and what becomes of it." }
                li { a href="show" { "Polls and battles" } ": as they move." }
                li { a href="tenants" { "Tenants" } ": what their customers do, scores and alerts; " a href="events" { "events" } ": the periods in which all of it is kept." }
                li { a href="queues" { "Queues and dead letters" } ": depths, reasons, redrive and drop." }
                li { a href="log" { "Log" } ": what the functions say; " a href="numbers" { "metrics" } " of the last hour, and their cost; "
                    a href="faults" { "faults" } ": make things go wrong, and see that nothing is lost." }
                li { a href="audit" { "Audit" } ": what is stored against what it should be." }
                li { a href="tables" { "Tables" } ": what is stored under a key." }
            }
        }
    };
    layout::page(&console, Place::Home, "Nagare", content).into_response()
}

/// A command behind one button.
fn step(
    console: &Console,
    name: &str,
    members: &[(&str, &str)],
    back: &str,
    label: &str,
) -> Markup {
    html! {
        form method="post" action="send" {
            (layout::token(console))
            input type="hidden" name="type" value=(name);
            input type="hidden" name="back" value=(back);
            @for (member, value) in members {
                input type="hidden" name=(format!("f.{member}")) value=(value);
            }
            button type="submit" { (label) }
        }
    }
}

/// There is no such page.
pub(super) async fn nowhere(State(console): State<Arc<Console>>) -> Response {
    let content = html! {
        p role="alert" class="problem" { "There is no such page." }
        p { a href="/console/" { "To the start" } }
    };
    (StatusCode::NOT_FOUND, layout::page(&console, Place::None, "Not here", content))
        .into_response()
}
