//! A room as its members see it: what was said last, read again each second, and a field to say something.

use crate::commands;
use crate::prelude::*;
use crate::suggested::Suggestions;
use crate::suggestions;

const SHOWN: &str = "25";
/// Why reading one costs what it does.
const OF_ROOM: &str = "A query of each shard of the room, half a unit or one for each 4 KB of what was said last; a busy room has more shards.";

pub(crate) async fn view(State(console): Here, LooksAs(looks): LooksAs, fields: Fields) -> Page {
    let Some(id) = fields.get("id") else {
        let suggested = Suggestions::read(&console).await;
        let content = html! {
            p { "Where people talk. A room is there as soon as somebody says something in it; one that somebody has joined is for its members alone." }
            (layout::chooser("room", "a room", ("id", "Room"), None, "Show"))
            (suggestions::things(&suggested.rooms, "room"))
        };
        return layout::page(&console, Place::Rooms, "Rooms", content);
    };
    let viewer = fields.get("viewer").or(looks.as_deref());
    let content = html! {
        (commands::news(&console, &fields).await)
        @if console.mode == Mode::Write { (say(&console, id, viewer)) }
        (messages(&console, id, viewer).await)
    };
    layout::page(&console, Place::Rooms, &format!("Room {id}"), content)
}

/// What was said, as it is now.
pub(crate) async fn said(State(console): Here, fields: Fields) -> Page {
    let id = fields.get("id").unwrap_or_default();
    layout::region(messages(&console, id, fields.get("viewer")).await)
}

async fn messages(console: &Console, id: &str, viewer: Option<&str>) -> Markup {
    let viewer = viewer.map(|viewer| ("viewer", viewer));
    let query: Vec<_> = [("limit", SHOWN)].into_iter().chain(viewer).collect();
    let shown = match console.reads.get(&["v1", "rooms", id, "messages"], &query).await {
        Ok(read) => html! {
            @if items(&read.body).is_empty() { p class="quiet" { "Nobody has said anything here yet." } }
            ul class="talk" aria-label="What was said" { @for item in items(&read.body) { (message(item)) } }
            (cost::shown(&read.cost, OF_ROOM))
        },
        Err(failure) => {
            html! { (layout::problem(&failure)) p class="quiet" { "A private room is read by its members: look as one of them." } }
        }
    };
    let again: Vec<_> = [("id", id)].into_iter().chain(viewer).collect();
    let again = named::address("said", &again);
    html! { section #said class="card" aria-label="Said last" hx-get=(again) hx-trigger="load delay:1s" hx-swap="outerHTML" { (shown) } }
}

fn message(item: &Value) -> Markup {
    html! {
        li {
            (named::person(text(item, "author_id"))) " "
            span { (payload::line(&item["payload"])) } " "
            span class="quiet" { (named::when(text(item, "at"))) }
        }
    }
}

/// Say something, join or leave, as somebody.
fn say(console: &Console, id: &str, viewer: Option<&str>) -> Markup {
    let back = named::address("room", &[("id", id)]);
    let [back, room] = [("back", back.as_str()), ("f.room_id", id)];
    let message = html! {
        (layout::input("f.author_id", "As", viewer, true))
        (layout::input("text", "Message", None, true))
        button type="submit" { "Say it" }
    };
    let member = html! {
        (layout::input("f.viewer_id", "Who", viewer, true))
        button type="submit" class="second" name="type" value="room.joined" { "Join" }
        button type="submit" class="second" name="type" value="room.left" { "Leave" }
    };
    html! {
        (layout::command(console, (Some("row"), Some("Say something")), &[back, ("type", "message.posted"), room], message))
        details {
            summary { "Join or leave" }
            (layout::command(console, (Some("row"), Some("Join or leave")), &[back, room], member))
            p class="hint" { "Once somebody has joined, only members read the room." }
        }
    }
}
