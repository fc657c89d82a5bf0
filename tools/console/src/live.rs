//! What goes on in the stack right now: the poll and the battle that are open, what is said in a room, what was published
//! last. Made again every two seconds, each with a link to its own view.
//!
//! Of the built-in sample its stack knows what is open; of any other local stack the facts tell, as for the list of
//! polls and battles. On an account it is what was opened from this console.

use nagare_telemetry::playing::Scene;

use crate::prelude::*;
use crate::social::show;
use crate::suggested::Suggestions;

const SHOWN: &str = "4";

/// What is open, as far as that is known.
async fn scene(console: &Console) -> Scene {
    if let Some(scene) = console.telemetry.as_ref().and_then(|telemetry| telemetry.playing.get()) {
        return scene;
    }
    let Suggestions { followers, rooms, polls, battles, .. } = Suggestions::read(console).await;
    let first = |all: Vec<String>| all.into_iter().next();
    Scene {
        poll: first(polls),
        battle: first(battles),
        room: first(rooms),
        viewer: first(followers),
    }
}

pub(super) async fn region(State(console): Here) -> Page {
    layout::region(shown(&console).await)
}

pub(super) async fn shown(console: &Console) -> Markup {
    let Scene { poll, battle, room, viewer } = scene(console).await;
    let [poll, battle, room, viewer] = [poll, battle, room, viewer].map(Option::unwrap_or_default);
    let of = async |id: &str, path: &[&str], query: &[(&str, &str)]| {
        if id.is_empty() {
            return Value::Null;
        }
        console.reads.find(path, query).await.ok().flatten().map_or(Value::Null, |read| read.body)
    };
    let limit = [("limit", SHOWN)];
    let timeline = [("limit", SHOWN), ("include", "likes"), ("viewer", viewer.as_str())];
    let (of_poll, of_battle) = (["v1", "polls", &poll], ["v1", "battles", &battle]);
    let (of_room, of_viewer) = (["v1", "rooms", &room, "messages"], ["v1", "timelines", &viewer]);
    let (votes, boss, said, seen) = futures::join!(
        of(&poll, &of_poll, &[]),
        of(&battle, &of_battle, &[]),
        of(&room, &of_room, &limit),
        of(&viewer, &of_viewer, &timeline),
    );
    let (said, seen) = (items(&said), items(&seen));
    let is_empty = votes.is_null() && boss.is_null() && said.is_empty() && seen.is_empty();
    html! {
        div #live hx-get="live" hx-trigger="load delay:2s" hx-swap="outerHTML" {
            @if is_empty { p class="quiet" { "Nothing goes on yet. " code { "nagare up --sample" } " starts a stack in which it does; the steps below do it by hand." } }
            @else {
                div class="scene" {
                    @if !seen.is_empty() { (published(&viewer, seen)) }
                    @if !votes.is_null() { (card("Poll", &poll, titled(&votes, show::votes(&votes)))) }
                    @if !boss.is_null() { (card("Battle", &battle, titled(&boss, show::boss(&boss)))) }
                    @if !said.is_empty() { (card("Room", &room, talk(said))) }
                }
            }
        }
    }
}

/// Something with its view, whose address is what it is.
fn card(what: &str, id: &str, content: Markup) -> Markup {
    html! {
        section class="card" aria-label=(what) {
            h3 { (what) " " a href=(named::path_of(&what.to_lowercase(), id)) { (id) } }
            (content)
        }
    }
}

/// What a poll or a battle is about.
fn titled(body: &Value, content: Markup) -> Markup {
    html! {
        @if !body["payload"].is_null() { p { strong { (payload::line(&body["payload"])) } } }
        (content)
    }
}

fn talk(messages: &[Value]) -> Markup {
    html! {
        ul class="talk" {
            @for message in messages.iter().rev() {
                li { (named::person(text(message, "author_id"))) " " (payload::line(&message["payload"])) }
            }
        }
    }
}

fn published(viewer: &str, activities: &[Value]) -> Markup {
    html! {
        section class="card" aria-label="Published" {
            h3 { "Published, as " (named::person(viewer)) " sees it" }
            ul class="talk" {
                @for item in activities {
                    li {
                        (named::person(text(item, "actor_id"))) " "
                        a href=(named::path_of("activity", text(item, "activity_id"))) { (payload::line(&item["payload"])) }
                        " " span class="quiet" {
                            (named::when(text(item, "published_at")))
                            @if let Some(count) = item["likes"]["count"].as_u64().filter(|n| *n > 0) { ", " (layout::counted(count, "like", "likes")) }
                        }
                    }
                }
            }
        }
    }
}
