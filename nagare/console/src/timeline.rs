//! A timeline as its viewer reads it: pages both ways, what comes in by itself, and what a page cost.
//!
//! The page asks each second for what is newer than what it shows, with the `newer_cursor` of the answer before, as
//! an app would. What comes is put on top; an answer that brings nothing changes nothing.

use std::sync::Arc;

use axum::Router;
use axum::extract::State;
use axum::response::{Html, IntoResponse, Response};
use axum::routing::get;
use maud::{Markup, html};
use nagare_client::failure::Failure;
use serde_json::Value;

use super::fields::Fields;
use super::layout::{self, Place};
use super::reads::Read;
use super::{Console, Mode, cost, named, payload, suggestions};

/// Activities of a page.
const LIMIT: &str = "20";
/// What the API takes, and this view hands on.
const PARAMETERS: [&str; 5] = ["cursor", "order", "from", "to", "limit"];

pub(super) fn routes() -> Router<Arc<Console>> {
    Router::new().route("/console/timeline", get(view)).route("/console/newer", get(newer))
}

async fn view(State(console): State<Arc<Console>>, fields: Fields) -> Response {
    let viewer = fields.get("viewer");
    let (title, content) = match viewer {
        None => (
            "Timeline".to_owned(),
            html! {
                p { "What somebody sees who follows others: choose a viewer." }
                (chooser(None))
                (suggestions::people("Try: ", &suggestions::Suggestions::of(&console).await.followers, "timeline", "viewer"))
            },
        ),
        Some(viewer) => (
            format!("Timeline of {viewer}"),
            layout::or_problem(read(&console, viewer, &fields).await),
        ),
    };
    layout::page(&console, Place::Timeline, &title, content).into_response()
}

async fn read(console: &Console, viewer: &str, fields: &Fields) -> Result<Markup, Failure> {
    let mut query = fields.of(&PARAMETERS);
    if fields.get("limit").is_none() {
        query.push(("limit", LIMIT));
    }
    if fields.get("cursor").is_none() {
        query.push(("include", "likes"));
    }
    query.push(("viewer", viewer));
    // A viewer's own likes are told to whom the reader takes for them.
    let page = console.reads.get(&console.remote, &["v1", "timelines", viewer], &query).await;
    let Read { body, cost: paid } = match page {
        Ok(read) => read,
        Err(failure) => return Ok(html! { (chooser(Some(viewer))) (layout::problem(&failure)) }),
    };
    let is_first = fields.get("cursor").is_none() && fields.get("order") != Some("oldest");
    let here = layout::address("timeline", &[("viewer", viewer)]);
    let other = match fields.get("order") {
        Some("oldest") => (layout::address("timeline", &[("viewer", viewer)]), "Newest first"),
        _ => (
            layout::address("timeline", &[("viewer", viewer), ("order", "oldest")]),
            "Oldest first",
        ),
    };
    Ok(html! {
        (chooser(Some(viewer)))
        (super::commands::news(console, fields).await)
        (cost::shown(&paid, cost::OF_TIMELINE))
        (follow(console, viewer, &here))
        (entries(console, viewer, &body, is_first))
        nav class="row" aria-label="Pages" {
            @if let Some(cursor) = body["next_cursor"].as_str() {
                a rel="next" href=(layout::address("timeline", &[("viewer", viewer), ("cursor", cursor)])) {
                    @if fields.get("order") == Some("oldest") { "Newer" } @else { "Older" }
                }
            }
            @if !is_first { a href=(here) { "To the newest" } }
            a href=(other.0) { (other.1) }
        }
        p class="quiet" { "Shown is what is retained from " (named::when(body["retained_from"].as_str().unwrap_or("…"))) " on." }
    })
}

/// The first activities of a viewer's timeline, which move by themselves.
pub(super) async fn live(console: &Console, viewer: &str) -> Markup {
    let query = [("limit", "3"), ("include", "likes"), ("viewer", viewer)];
    match console.reads.get(&console.remote, &["v1", "timelines", viewer], &query).await {
        Ok(Read { body, cost: paid }) => html! {
            (cost::shown(&paid, cost::OF_TIMELINE))
            (entries(console, viewer, &body, true))
        },
        Err(failure) => layout::problem(&failure),
    }
}

/// The activities of a page, and on a first page what asks for newer ones.
fn entries(console: &Console, viewer: &str, page: &Value, is_first: bool) -> Markup {
    let items = page["items"].as_array().map(Vec::as_slice).unwrap_or_default();
    let here = layout::address("timeline", &[("viewer", viewer)]);
    html! {
        @if is_first { (poller(viewer, page["newer_cursor"].as_str().unwrap_or_default())) }
        ol #entries class="entries" aria-label=(format!("Activities for {viewer}")) aria-live="polite" {
            @for item in items { (entry(console, viewer, item, &here)) }
        }
        // There in any case: what comes in later hides it.
        p #empty hidden[!items.is_empty()] { "Nothing here yet: " (viewer) " follows nobody who has published, or has come to the end." }
    }
}

/// What has come in since: on top of what is shown.
async fn newer(State(console): State<Arc<Console>>, fields: Fields) -> Response {
    let (viewer, cursor) =
        (fields.get("viewer").unwrap_or_default(), fields.get("cursor").unwrap_or_default());
    let query = [("cursor", cursor), ("limit", "100")];
    let read = console.reads.get(&console.remote, &["v1", "timelines", viewer], &query).await;
    let content = match read {
        Ok(Read { body, .. }) => {
            let items = body["items"].as_array().map(Vec::as_slice).unwrap_or_default();
            let here = layout::address("timeline", &[("viewer", viewer)]);
            html! {
                (poller(viewer, body["newer_cursor"].as_str().unwrap_or(cursor)))
                @if !items.is_empty() {
                    div hx-swap-oob="afterbegin:#entries" {
                        @for item in items.iter().rev() { (entry(&console, viewer, item, &here)) }
                    }
                    p #empty hx-swap-oob="true" hidden {}
                }
            }
        }
        Err(failure) => html! { (poller(viewer, cursor)) p role="status" { (failure) } },
    };
    Html(content.into_string()).into_response()
}

/// Asks again in a second.
fn poller(viewer: &str, cursor: &str) -> Markup {
    let address = layout::address("newer", &[("viewer", viewer), ("cursor", cursor)]);
    html! { div #newer hx-get=(address) hx-trigger="load delay:1s" hx-swap="outerHTML" {} }
}

fn chooser(viewer: Option<&str>) -> Markup {
    layout::chooser("timeline", "a viewer", ("viewer", "Viewer"), viewer, "Read")
}

/// Follow and unfollow, on behalf of the viewer.
fn follow(console: &Console, viewer: &str, back: &str) -> Markup {
    html! {
        @if console.mode == Mode::Write {
            form method="post" action="send" class="row" aria-label="Follow" {
                (layout::token(console))
                input type="hidden" name="back" value=(back);
                input type="hidden" name="f.follower_id" value=(viewer);
                div class="field" {
                    label for="followee" { "Somebody to follow" }
                    input #followee name="f.followee_id" required autocomplete="off" autocapitalize="none" spellcheck="false";
                }
                button type="submit" name="type" value="follow.created" { "Follow" }
                button type="submit" name="type" value="follow.deleted" class="second" { "Unfollow" }
            }
        }
    }
}

/// One activity.
fn entry(console: &Console, viewer: &str, item: &Value, back: &str) -> Markup {
    let text = |name: &str| item[name].as_str().unwrap_or_default();
    let (activity, actor) = (text("activity_id"), text("actor_id"));
    let liked = item["likes"]["liked"].as_bool().unwrap_or(false);
    html! {
        li class="entry" {
            div class="entry-head" {
                (named::person(actor))
                span class={ "tag kind-" (text("kind")) } { (text("kind")) }
                (named::when(text("published_at")))
            }
            (payload::shown(&item["payload"]))
            div class="row quiet" {
                a href=(named::of("activity", activity)) { (activity) }
                @if let Some(count) = item["likes"]["count"].as_u64() { span { (layout::counted(count, "like", "likes")) } }
                @if console.mode == Mode::Write {
                    form method="post" action="send" {
                        (layout::token(console))
                        input type="hidden" name="back" value=(back);
                        input type="hidden" name="f.viewer_id" value=(viewer);
                        input type="hidden" name="f.activity_id" value=(activity);
                        @if liked {
                            button type="submit" class="second" name="type" value="like.deleted" aria-label=(format!("Unlike {activity}")) { "Unlike" }
                        } @else {
                            button type="submit" class="second" name="type" value="like.created" aria-label=(format!("Like {activity}")) { "Like" }
                        }
                    }
                }
            }
        }
    }
}
