//! What goes on in the stack right now: the poll and the battle that are open, what is said in a room, what was published
//! last. Made again every two seconds, each with a link to its own view.
//!
//! Of the built-in sample its stack knows what is open; of any other local stack the facts tell, as for the list of
//! polls and battles. On an account it is what was opened from this console.

use std::sync::Arc;

use axum::extract::State;
use axum::response::{Html, IntoResponse, Response};
use maud::{Markup, html};
use nagare_telemetry::playing::Scene;
use serde_json::Value;

use super::suggestions::Suggestions;
use super::{Console, layout, named, payload, show};

/// Messages and activities that are shown.
const SHOWN: &str = "4";

/// What is open, as far as that is known.
async fn scene(console: &Console) -> Scene {
    if let Some(scene) = console.telemetry.as_ref().and_then(|telemetry| telemetry.playing.get()) {
        return scene;
    }
    let Suggestions { followers, rooms, polls, battles, .. } = Suggestions::of(console).await;
    let first = |all: Vec<String>| all.into_iter().next();
    Scene {
        poll: first(polls),
        battle: first(battles),
        room: first(rooms),
        viewer: first(followers),
    }
}

pub(super) async fn region(State(console): State<Arc<Console>>) -> Response {
    Html(shown(&console).await.into_string()).into_response()
}

pub(super) async fn shown(console: &Console) -> Markup {
    let scene = scene(console).await;
    let read = async |path: &[&str], query: &[(&str, &str)]| {
        let read = console.reads.find(&console.remote, path, query).await;
        read.ok().flatten().map(|read| read.body)
    };
    let id = |id: &Option<String>| id.clone().unwrap_or_default();
    let [poll, battle, room, viewer] =
        [&scene.poll, &scene.battle, &scene.room, &scene.viewer].map(id);
    let of = async |is_there: bool, path: &[&str], query: &[(&str, &str)]| {
        if is_there { read(path, query).await } else { None }
    };
    let limit = [("limit", SHOWN)];
    let timeline = [("limit", SHOWN), ("include", "likes"), ("viewer", viewer.as_str())];
    let (of_poll, of_battle) = (["v1", "polls", &poll], ["v1", "battles", &battle]);
    let (of_room, of_viewer) = (["v1", "rooms", &room, "messages"], ["v1", "timelines", &viewer]);
    let (votes, boss, said, seen) = futures::join!(
        of(!poll.is_empty(), &of_poll, &[]),
        of(!battle.is_empty(), &of_battle, &[]),
        of(!room.is_empty(), &of_room, &limit),
        of(!viewer.is_empty(), &of_viewer, &timeline),
    );
    let is_empty =
        votes.is_none() && boss.is_none() && items(&said).is_empty() && items(&seen).is_empty();
    html! {
        div #live hx-get="live" hx-trigger="load delay:2s" hx-swap="outerHTML" {
            @if is_empty { p class="quiet" { "Nothing goes on yet. " code { "nagare up --sample" } " starts a stack in which it does; the steps below do it by hand." } }
            @else {
                div class="scene" {
                    @if !items(&seen).is_empty() { (published(&viewer, items(&seen))) }
                    @if let Some(poll_body) = &votes { (card("Poll", &named::of("poll", &poll), &poll, titled(poll_body, show::votes(poll_body)))) }
                    @if let Some(battle_body) = &boss { (card("Battle", &named::of("battle", &battle), &battle, titled(battle_body, show::boss(battle_body)))) }
                    @if !items(&said).is_empty() { (card("Room", &named::of("room", &room), &room, talk(items(&said)))) }
                }
            }
        }
    }
}

fn items(page: &Option<Value>) -> &[Value] {
    page.as_ref().and_then(|page| page["items"].as_array()).map(Vec::as_slice).unwrap_or_default()
}

fn card(what: &str, address: &str, id: &str, content: Markup) -> Markup {
    html! {
        section class="card" aria-label=(what) {
            h3 { (what) " " a href=(address) { (id) } }
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
                li { (named::person(message["author_id"].as_str().unwrap_or_default())) " " (payload::line(&message["payload"])) }
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
                        (named::person(item["actor_id"].as_str().unwrap_or_default())) " "
                        a href=(named::of("activity", item["activity_id"].as_str().unwrap_or_default())) { (payload::line(&item["payload"])) }
                        " " span class="quiet" {
                            (named::when(item["published_at"].as_str().unwrap_or_default()))
                            @if let Some(count) = item["likes"]["count"].as_u64().filter(|n| *n > 0) { ", " (layout::counted(count, "like", "likes")) }
                        }
                    }
                }
            }
        }
    }
}
