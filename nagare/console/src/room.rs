//! A room as its members see it: what was said last, read again each second, and a field to say something.

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
use super::suggestions::{self, Suggestions};
use super::{Console, Mode, cost, named, payload};

/// Messages that are shown.
const SHOWN: &str = "25";
/// Why reading one costs what it does.
const OF_ROOM: &str = "A query of each shard of the room, half a unit or one for each 4 KB of what was said last; a busy room has more shards.";

pub(super) fn routes() -> Router<Arc<Console>> {
    Router::new().route("/console/room", get(view)).route("/console/said", get(said))
}

async fn view(
    State(console): State<Arc<Console>>,
    LooksAs(looks): LooksAs,
    fields: Fields,
) -> Response {
    let Some(id) = fields.get("id") else {
        let suggested = Suggestions::of(&console).await;
        let content = html! {
            p { "Where people talk. A room is there as soon as somebody says something in it; one that somebody has joined is for its members alone." }
            (layout::chooser("room", "a room", ("id", "Room"), None, "Show"))
            (suggestions::things(&suggested.rooms, "room"))
        };
        return layout::page(&console, Place::Rooms, "Rooms", content).into_response();
    };
    let viewer = fields.get("viewer").or(looks.as_deref());
    let content = html! {
        (super::commands::news(&console, &fields).await)
        @if console.mode == Mode::Write { (say(&console, id, viewer)) }
        (messages(&console, id, viewer).await)
    };
    layout::page(&console, Place::Rooms, &format!("Room {id}"), content).into_response()
}

/// What was said, as it is now.
async fn said(State(console): State<Arc<Console>>, fields: Fields) -> Response {
    let id = fields.get("id").unwrap_or_default();
    Html(messages(&console, id, fields.get("viewer")).await.into_string()).into_response()
}

async fn messages(console: &Console, id: &str, viewer: Option<&str>) -> Markup {
    let mut query = vec![("limit", SHOWN)];
    query.extend(viewer.map(|viewer| ("viewer", viewer)));
    let mut again = vec![("id", id)];
    again.extend(viewer.map(|viewer| ("viewer", viewer)));
    let read = console.reads.get(&console.remote, &["v1", "rooms", id, "messages"], &query).await;
    let shown = match read {
        Ok(read) => {
            let items = read.body["items"].as_array().map(Vec::as_slice).unwrap_or_default();
            html! {
                @if items.is_empty() { p class="quiet" { "Nobody has said anything here yet." } }
                ul class="talk" aria-label="What was said" { @for item in items { (message(item)) } }
                (cost::shown(&read.cost, OF_ROOM))
            }
        }
        Err(failure) => {
            html! { (layout::problem(&failure)) p class="quiet" { "A private room is read by its members: look as one of them." } }
        }
    };
    let again = layout::address("said", &again);
    html! { section #said class="card" aria-label="Said last" hx-get=(again) hx-trigger="load delay:1s" hx-swap="outerHTML" { (shown) } }
}

fn message(item: &Value) -> Markup {
    let text = |name: &str| item[name].as_str().unwrap_or_default();
    html! {
        li {
            (named::person(text("author_id"))) " "
            span { (payload::line(&item["payload"])) } " "
            span class="quiet" { (named::when(text("at"))) }
        }
    }
}

/// Say something, join or leave, as somebody.
fn say(console: &Console, id: &str, viewer: Option<&str>) -> Markup {
    let back = layout::address("room", &[("id", id)]);
    html! {
        form method="post" action="send" class="row" aria-label="Say something" {
            (layout::token(console))
            input type="hidden" name="back" value=(back);
            input type="hidden" name="type" value="message.posted";
            input type="hidden" name="f.room_id" value=(id);
            (layout::input("f.author_id", "As", viewer, true))
            (layout::input("text", "Message", None, true))
            button type="submit" { "Say it" }
        }
        details {
            summary { "Join or leave" }
            form method="post" action="send" class="row" aria-label="Join or leave" {
                (layout::token(console))
                input type="hidden" name="back" value=(back);
                input type="hidden" name="f.room_id" value=(id);
                (layout::input("f.viewer_id", "Who", viewer, true))
                button type="submit" class="second" name="type" value="room.joined" { "Join" }
                button type="submit" class="second" name="type" value="room.left" { "Leave" }
            }
            p class="hint" { "Once somebody has joined, only members read the room." }
        }
    }
}
