//! The first page: what this is, and three steps in which somebody who has never heard of it sees it work.

use crate::prelude::*;
use crate::social::timeline;
use crate::{commands, letters, live};

/// Whose timeline the first steps are about, and who goes live in them.
const VIEWER: &str = "visitor";
const ACTOR: &str = "anna";

pub(super) async fn view(State(console): Here, fields: Fields) -> Page {
    let live_title = r#"{"title":"Live from the console"}"#;
    let follows = [("f.follower_id", VIEWER), ("f.followee_id", ACTOR)];
    let publishes = [("f.actor_id", ACTOR), ("f.kind", "live"), ("f.payload", live_title)];
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
                        (step(&console, "follow.created", &follows, &format!("{VIEWER} follows {ACTOR}")))
                        " What " (ACTOR) " has published comes in."
                    }
                    li {
                        (step(&console, "activity.published", &publishes, &format!("{ACTOR} goes live")))
                        " An entry for each follower."
                    }
                }
                (commands::news(&console, &fields).await)
                h3 { "The timeline of " (VIEWER) ", as it is" }
                (timeline::live(&console, VIEWER).await)
                p { a href=(named::address("timeline", &[("viewer", VIEWER)])) { "All of it" } }
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
                @if console.has_history {
                    li { a href="tenants" { "Tenants" } ": what their customers do, scores and alerts; " a href="events" { "events" } ": the periods in which all of it is kept." }
                }
                li { a href="queues" { "Queues and dead letters" } ": depths, reasons, redrive and drop." }
                li { a href="log" { "Log" } ": what the functions say; " a href="numbers" { "metrics" } " of the last hour, and their cost; "
                    a href="faults" { "faults" } ": make things go wrong, and see that nothing is lost." }
                li { a href="audit" { "Audit" } ": what is stored against what it should be." }
                li { a href="tables" { "Tables" } ": what is stored under a key." }
            }
        }
    };
    layout::page(&console, Place::Home, "Nagare", content)
}

/// A command behind one button, which leads back here.
fn step(console: &Console, name: &str, members: &[(&str, &str)], label: &str) -> Markup {
    let given = [&[("type", name), ("back", "?first=steps")], members].concat();
    let button = html! { button type="submit" { (label) } };
    layout::command(console, (None, None), &given, button)
}

pub(super) async fn nowhere(State(console): Here) -> Response {
    let content = layout::dead_end("There is no such page.");
    (StatusCode::NOT_FOUND, layout::page(&console, Place::None, "Not here", content))
        .into_response()
}
