//! Somebody: who they are, what they see, publish and like, what they are told, whom they follow and who follows them,
//! and what they are tagged in. Each is what the API answers, one section a request.

use std::sync::Arc;

use axum::Router;
use axum::extract::State;
use axum::response::{Html, IntoResponse, Redirect, Response};
use axum::routing::{get, post};
use http::HeaderValue;
use http::header::SET_COOKIE;
use maud::{Markup, html};
use nagare_client::failure::Failure;
use serde_json::Value;

use super::fields::{Fields, Wanted};
use super::layout::{self, Place};
use super::looking::{self, LooksAs};
use super::suggestions::{self, Suggestions};
use super::{Console, Mode, activity, named, payload};

/// What is shown of a person: what the address says, and what it is called.
const SECTIONS: [(&str, &str); 7] = [
    ("", "Profile"),
    ("published", "Published"),
    ("likes", "Likes"),
    ("notifications", "Notifications"),
    ("tagged", "Tagged in"),
    ("following", "Following"),
    ("followers", "Followers"),
];
/// Of a list.
const LIMIT: &str = "20";

pub(super) fn routes() -> Router<Arc<Console>> {
    Router::new()
        .route("/console/people", get(choose))
        .route("/console/person", get(view))
        .route("/console/bell", get(bell))
        .route("/console/look-as", post(look_as))
}

async fn choose(State(console): State<Arc<Console>>) -> Response {
    let suggested = Suggestions::of(&console).await;
    let content = html! {
        p { "Who they are, what they see and are told, whom they follow and who follows them." }
        (chooser(None))
        (suggestions::people("Followed by others: ", &suggested.people, "person", "id"))
        (suggestions::people("Following others: ", &suggested.followers, "person", "id"))
    };
    layout::page(&console, Place::People, "People", content).into_response()
}

fn chooser(id: Option<&str>) -> Markup {
    layout::chooser("person", "a person", ("id", "Person"), id, "Show")
}

async fn view(
    State(console): State<Arc<Console>>,
    LooksAs(looks): LooksAs,
    fields: Fields,
) -> Response {
    let Some(id) = fields.get("id") else { return choose(State(console)).await };
    let section = fields.get("show").unwrap_or_default();
    let shown = match section {
        "" => profile(&console, id).await,
        _ => list(&console, id, section, &fields).await,
    };
    let content = html! {
        (super::commands::news(&console, &fields).await)
        nav aria-label="Of this person" {
            ul class="chips tabs" {
                li { a href=(layout::address("timeline", &[("viewer", id)])) { "Timeline" } }
                @for (name, label) in SECTIONS {
                    li { a href=(address(id, name)) aria-current=[(name == section).then_some("true")] { (label) } }
                }
            }
        }
        (layout::or_problem(shown))
        @if console.mode == Mode::Write { (follow(&console, id, looks.as_deref(), section)) }
        (looking::offer(&console, id, looks.as_deref()))
    };
    layout::page(&console, Place::People, id, content).into_response()
}

fn address(id: &str, section: &str) -> String {
    match section {
        "" => layout::address("person", &[("id", id)]),
        _ => layout::address("person", &[("id", id), ("show", section)]),
    }
}

async fn profile(console: &Console, id: &str) -> Result<Markup, Failure> {
    let read = async |path: &[&str], query: &[(&str, &str)]| {
        console.reads.find(&console.remote, path, query).await
    };
    let few = [("limit", "5"), ("viewer", id)];
    let of_profile = ["v1", "profiles", id];
    let of_published = ["v1", "actors", id, "activities"];
    let of_told = ["v1", "notifications", id];
    let (profile, published, told) = futures::join!(
        read(&of_profile, &[]),
        read(&of_published, &few),
        read(&of_told, &few[..1]),
    );
    let (profile, published, told) = (profile?, published?, told?);
    let items = |read: &Option<super::reads::Read>| {
        read.as_ref().and_then(|read| read.body["items"].as_array().cloned()).unwrap_or_default()
    };
    let unread = told.as_ref().and_then(|read| read.body["unread_count"].as_u64()).unwrap_or(0);
    Ok(html! {
        section class="card" aria-label="Profile" {
            p class="who" { (named::initial(id)) strong { (id) } }
            @match &profile {
                Some(read) => {
                    (payload::shown(&read.body["payload"]))
                    p class="quiet" { "Updated " (named::when(read.body["updated_at"].as_str().unwrap_or_default())) }
                }
                None => p class="quiet" { "No profile yet." },
            }
            p { a href=(address(id, "notifications")) { (layout::counted(unread, "unread notification", "unread notifications")) } }
        }
        section class="card" aria-label="Published last" {
            h2 { "Published last" }
            @let published = items(&published);
            @if published.is_empty() { p class="quiet" { "Nothing yet." } }
            ul class="talk" { @for item in &published { (activity::row(item)) } }
        }
    })
}

/// One of the lists, page by page.
async fn list(
    console: &Console,
    id: &str,
    section: &str,
    fields: &Fields,
) -> Result<Markup, Failure> {
    let path: &[&str] = match section {
        "published" => &["v1", "actors", id, "activities"],
        "likes" => &["v1", "viewers", id, "likes"],
        "notifications" => &["v1", "notifications", id],
        "tagged" => &["v1", "viewers", id, "tagged"],
        "following" => &["v1", "viewers", id, "following"],
        "followers" => &["v1", "actors", id, "followers"],
        _ => return Err(Failure::Usage("There is no such section.".to_owned())),
    };
    let mut query = fields.of(&["cursor"]);
    query.push(("limit", LIMIT));
    let page = console.reads.get(&console.remote, path, &query).await?.body;
    let items = page["items"].as_array().map(Vec::as_slice).unwrap_or_default();
    let next = page["next_cursor"].as_str();
    Ok(html! {
        section class="card" aria-label=(section) {
            @if section == "notifications" { (marks(console, id, page["unread_count"].as_u64().unwrap_or(0))) }
            @if items.is_empty() { p class="quiet" { "Nothing here yet." } }
            ul class="talk" {
                @for item in items {
                    @match section {
                        "notifications" => (notification(item)),
                        "following" | "followers" => (somebody(item)),
                        _ => (activity::row(item)),
                    }
                }
            }
            @if let Some(cursor) = next {
                nav aria-label="Pages" { a rel="next" href=(layout::address("person", &[("id", id), ("show", section), ("cursor", cursor)])) { "More" } }
            }
        }
    })
}

/// How many are unread, and what marks them as read.
fn marks(console: &Console, id: &str, unread: u64) -> Markup {
    html! {
        p { strong { (layout::counted(unread, "unread", "unread")) } }
        @if unread > 0 && console.mode == Mode::Write {
            form method="post" action="send" aria-label="Mark as read" {
                (layout::token(console))
                input type="hidden" name="type" value="notifications.read";
                input type="hidden" name="f.viewer_id" value=(id);
                input type="hidden" name="f.all" value="true";
                input type="hidden" name="back" value=(address(id, "notifications"));
                button type="submit" class="second" { "Mark all as read" }
            }
        }
    }
}

fn notification(item: &Value) -> Markup {
    let text = |name: &str| item[name].as_str().unwrap_or_default();
    let names: Vec<_> =
        item["viewers"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let others = item["count"].as_u64().unwrap_or(0).saturating_sub(names.len() as u64);
    html! {
        li {
            @for name in &names { (named::person(name)) " " }
            @if others > 0 { "and " (layout::counted(others, "other", "others")) " " }
            "liked " a href=(named::of("activity", text("activity_id"))) { (text("activity_id")) } " "
            span class="quiet" { (named::when(text("last_at"))) }
            @if text("state") == "unread" { " " span class="tag unread" { "unread" } }
        }
    }
}

fn somebody(item: &Value) -> Markup {
    let text = |name: &str| item[name].as_str().unwrap_or_default();
    html! {
        li {
            (named::person(text("viewer_id")))
            @if !item["profile"].is_null() { " " (payload::line(&item["profile"])) }
            " " span class="quiet" { "since " (named::when(text("since"))) }
        }
    }
}

/// Follow them, as somebody.
fn follow(console: &Console, id: &str, looks: Option<&str>, section: &str) -> Markup {
    html! {
        form method="post" action="send" class="row" aria-label="Follow" {
            (layout::token(console))
            input type="hidden" name="back" value=(address(id, section));
            input type="hidden" name="f.followee_id" value=(id);
            (layout::input("f.follower_id", "As", looks.filter(|it| *it != id), true))
            button type="submit" name="type" value="follow.created" { "Follow " (id) }
            button type="submit" name="type" value="follow.deleted" class="second" { "Unfollow" }
        }
    }
}

/// Whom one looks as, and how much is unread there: what the header asks for.
async fn bell(State(console): State<Arc<Console>>, LooksAs(looks): LooksAs) -> Response {
    let shown = match &looks {
        None => looking::bell(None, None),
        Some(id) => {
            let path = ["v1", "notifications", id.as_str()];
            let read = console.reads.get(&console.remote, &path, &[("limit", "1")]).await;
            looking::bell(Some(id), read.ok().and_then(|read| read.body["unread_count"].as_u64()))
        }
    };
    Html(shown.into_string()).into_response()
}

/// Looks as somebody from now on: a cookie of this browser, and nothing that is stored in the stack.
async fn look_as(State(_): State<Arc<Console>>, wanted: Wanted) -> Response {
    let id = wanted.fields.get("id");
    let to = match id {
        Some(id) => named::of("person", id),
        None => format!("{}people", super::PATH),
    };
    let mut answer = Redirect::to(&to).into_response();
    if let Ok(cookie) = HeaderValue::try_from(looking::cookie(id)) {
        answer.headers_mut().append(SET_COOKIE, cookie);
    }
    answer
}
