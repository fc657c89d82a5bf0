//! One activity: what it is, who likes it as far as a page tells, and who is tagged in it.

use std::sync::Arc;

use axum::Router;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use maud::{Markup, html};
use nagare_client::failure::Failure;
use serde_json::Value;

use super::fields::Fields;
use super::layout::{self, Place};
use super::looking::LooksAs;
use super::suggestions::{self, Suggestions};
use super::{Console, Mode, named, payload};

/// Why it costs what it does.
const TAGS: &str = "50";

pub(super) fn routes() -> Router<Arc<Console>> {
    Router::new().route("/console/activity", get(view))
}

async fn view(
    State(console): State<Arc<Console>>,
    LooksAs(looks): LooksAs,
    fields: Fields,
) -> Response {
    let Some(id) = fields.get("id") else {
        let suggested = Suggestions::of(&console).await;
        let content = html! {
            p { "What was published, who likes it and who is tagged in it." }
            (layout::chooser("activity", "an activity", ("id", "Activity"), None, "Show"))
            (suggestions::things(&suggested.activities, "activity"))
        };
        return layout::page(&console, Place::Activities, "Activities", content).into_response();
    };
    let content = html! {
        (super::commands::news(&console, &fields).await)
        (layout::or_problem(shown(&console, id, looks.as_deref()).await))
        (actions(&console, id, looks.as_deref()))
        p {
            a href=(layout::address("tables", &[("what", "an activity: its id, record and fan-out"), ("id", id)])) { "What is stored of it" }
            " · " a href=(layout::address("log", &[("about", id)])) { "What the functions said of it" }
            " · " a href=(layout::address("audit", &[("activity", id)])) { "Audit it" }
        }
    };
    layout::page(&console, Place::Activities, id, content).into_response()
}

async fn shown(console: &Console, id: &str, looks: Option<&str>) -> Result<Markup, Failure> {
    let query: Vec<_> = looks.map(|viewer| ("viewer", viewer)).into_iter().collect();
    let (of_activity, of_tags) = (["v1", "activities", id], ["v1", "activities", id, "tags"]);
    let (found, tags) = futures::join!(
        console.reads.find(&console.remote, &of_activity, &query),
        console.reads.find(&console.remote, &of_tags, &[("limit", TAGS)]),
    );
    let Some(found) = found? else {
        return Ok(
            html! { p role="status" class="warning" { "There is no such activity: it was not published yet, or was deleted. A like of it counts for nothing until it is there." } },
        );
    };
    let tags = tags?.map(|read| read.body).unwrap_or_default();
    let body = &found.body;
    let text = |name: &str| body[name].as_str().unwrap_or_default();
    Ok(html! {
        section class="card" aria-label="Activity" {
            div class="entry-head" {
                (named::person(text("actor_id")))
                span class={ "tag kind-" (text("kind")) } { (text("kind")) }
                (named::when(text("published_at")))
            }
            (payload::shown(&body["payload"]))
            p {
                (layout::counted(body["likes"]["count"].as_u64().unwrap_or(0), "like", "likes"))
                @if body["likes"]["liked"] == true { ", one of them of " (looks.unwrap_or_default()) }
            }
        }
        section class="card" aria-label="Tags" {
            h2 { "Tagged" }
            @let tagged = tags["items"].as_array().map(Vec::as_slice).unwrap_or_default();
            @if tagged.is_empty() { p class="quiet" { "Nobody." } }
            ul class="talk" { @for tag in tagged { li { (named::person(tag["tagged_id"].as_str().unwrap_or_default())) } } }
        }
    })
}

/// Like it, or tag somebody, as somebody.
fn actions(console: &Console, id: &str, looks: Option<&str>) -> Markup {
    html! {
        @if console.mode == Mode::Write {
            form method="post" action="send" class="row" aria-label="Like" {
                (layout::token(console))
                input type="hidden" name="back" value=(layout::address("activity", &[("id", id)]));
                input type="hidden" name="f.activity_id" value=(id);
                (layout::input("f.viewer_id", "As", looks, true))
                button type="submit" name="type" value="like.created" { "Like" }
                button type="submit" name="type" value="like.deleted" class="second" { "Unlike" }
            }
            form method="post" action="send" class="row" aria-label="Tag" {
                (layout::token(console))
                input type="hidden" name="back" value=(layout::address("activity", &[("id", id)]));
                input type="hidden" name="f.activity_id" value=(id);
                (layout::input("f.tagged_id", "Who is in it", None, true))
                button type="submit" name="type" value="tag.created" class="second" { "Tag" }
                button type="submit" name="type" value="tag.deleted" class="second" { "Untag" }
            }
        }
    }
}

/// One of several, in a line.
pub(super) fn row(item: &Value) -> Markup {
    let text = |name: &str| item[name].as_str().unwrap_or_default();
    html! {
        li {
            (named::person(text("actor_id"))) " "
            a href=(named::of("activity", text("activity_id"))) { (title(item)) }
            " " span class={ "tag kind-" (text("kind")) } { (text("kind")) } " "
            span class="quiet" { (named::when(text("published_at"))) }
        }
    }
}

/// What it is called: its title, or its id where the payload has nothing to read.
pub(super) fn title(item: &Value) -> String {
    let line = payload::line(&item["payload"]);
    if line.is_empty() { item["activity_id"].as_str().unwrap_or_default().to_owned() } else { line }
}
