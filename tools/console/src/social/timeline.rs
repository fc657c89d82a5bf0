//! A timeline as its viewer reads it: pages both ways, what comes in by itself, and what a page cost.
//!
//! The page asks each second for what is newer than what it shows, with the `newer_cursor` of the answer before, as
//! an app would. What comes is put on top; an answer that brings nothing changes nothing.

use crate::commands;
use crate::prelude::*;
use crate::reads::Read;
use crate::suggested::Suggestions;
use crate::suggestions;

const LIMIT: &str = "20";
/// What the API takes, and this view hands on.
const PARAMETERS: [&str; 4] = ["cursor", "order", "from", "to"];

pub(crate) async fn view(State(console): Here, fields: Fields) -> Page {
    let (title, content) = match fields.get("viewer") {
        None => {
            let followers = Suggestions::read(&console).await.followers;
            let content = html! {
                p { "What somebody sees who follows others: choose a viewer." }
                (chooser(None))
                (suggestions::people("Try: ", &followers, "timeline", "viewer"))
            };
            ("Timeline".to_owned(), content)
        }
        Some(viewer) => (format!("Timeline of {viewer}"), read(&console, viewer, &fields).await),
    };
    layout::page(&console, Place::Timeline, &title, content)
}

async fn read(console: &Console, viewer: &str, fields: &Fields) -> Markup {
    let mut query = fields.limited(&PARAMETERS, LIMIT);
    if fields.get("cursor").is_none() {
        query.push(("include", "likes"));
    }
    query.push(("viewer", viewer));
    // A viewer's own likes are told to whom the reader takes for them.
    let Read { body, cost: paid } = match read_page(console, viewer, &query).await {
        Ok(read) => read,
        Err(failure) => return html! { (chooser(Some(viewer))) (layout::problem(&failure)) },
    };
    let is_oldest = fields.get("order") == Some("oldest");
    let is_first = fields.get("cursor").is_none() && !is_oldest;
    let here = here(viewer);
    let with = |name, value| named::address("timeline", &[("viewer", viewer), (name, value)]);
    html! {
        (chooser(Some(viewer)))
        (commands::news(console, fields).await)
        (cost::shown(&paid, cost::OF_TIMELINE))
        (follow(console, viewer, &here))
        (entries(console, viewer, &body, is_first))
        nav class="row" aria-label="Pages" {
            @if let Some(cursor) = body["next_cursor"].as_str() {
                a rel="next" href=(with("cursor", cursor)) { @if is_oldest { "Newer" } @else { "Older" } }
            }
            @if !is_first { a href=(here) { "To the newest" } }
            @if is_oldest { a href=(here) { "Newest first" } } @else { a href=(with("order", "oldest")) { "Oldest first" } }
        }
        p class="quiet" { "Shown is what is retained from " (named::when(body["retained_from"].as_str().unwrap_or("…"))) " on." }
    }
}

fn here(viewer: &str) -> String {
    named::address("timeline", &[("viewer", viewer)])
}

async fn read_page(
    console: &Console,
    viewer: &str,
    query: &[(&str, &str)],
) -> Result<Read, Failure> {
    console.reads.get(&["v1", "timelines", viewer], query).await
}

/// The first activities of a viewer's timeline, which move by themselves.
pub(crate) async fn live(console: &Console, viewer: &str) -> Markup {
    let query = [("limit", "3"), ("include", "likes"), ("viewer", viewer)];
    layout::or_problem(read_page(console, viewer, &query).await.map(|Read { body, cost: paid }| {
        html! { (cost::shown(&paid, cost::OF_TIMELINE)) (entries(console, viewer, &body, true)) }
    }))
}

/// The activities of a page, and on a first page what asks for newer ones.
fn entries(console: &Console, viewer: &str, page: &Value, is_first: bool) -> Markup {
    html! {
        @if is_first { (poller(viewer, text(page, "newer_cursor"))) }
        ol #entries class="entries" aria-label=(format!("Activities for {viewer}")) aria-live="polite" {
            @for item in items(page) { (entry(console, viewer, item)) }
        }
        // There in any case: what comes in later hides it.
        p #empty hidden[!items(page).is_empty()] { "Nothing here yet: " (viewer) " follows nobody who has published, or has come to the end." }
    }
}

/// What has come in since: on top of what is shown.
pub(crate) async fn newer(State(console): Here, fields: Fields) -> Page {
    let [viewer, cursor] = ["viewer", "cursor"].map(|name| fields.get(name).unwrap_or_default());
    let content = match read_page(&console, viewer, &[("cursor", cursor), ("limit", "100")]).await {
        Ok(Read { body, .. }) => html! {
            (poller(viewer, body["newer_cursor"].as_str().unwrap_or(cursor)))
            @if !items(&body).is_empty() {
                div hx-swap-oob="afterbegin:#entries" {
                    @for item in items(&body).iter().rev() { (entry(&console, viewer, item)) }
                }
                p #empty hx-swap-oob="true" hidden {}
            }
        },
        Err(failure) => html! { (poller(viewer, cursor)) p role="status" { (failure) } },
    };
    layout::region(content)
}

/// Asks again in a second.
fn poller(viewer: &str, cursor: &str) -> Markup {
    let address = named::address("newer", &[("viewer", viewer), ("cursor", cursor)]);
    html! { div #newer hx-get=(address) hx-trigger="load delay:1s" hx-swap="outerHTML" {} }
}

fn chooser(viewer: Option<&str>) -> Markup {
    layout::chooser("timeline", "a viewer", ("viewer", "Viewer"), viewer, "Read")
}

/// Follow and unfollow, on behalf of the viewer.
fn follow(console: &Console, viewer: &str, back: &str) -> Markup {
    let asked = html! {
        (layout::blank("followee", "f.followee_id", "Somebody to follow"))
        button type="submit" name="type" value="follow.created" { "Follow" }
        button type="submit" name="type" value="follow.deleted" class="second" { "Unfollow" }
    };
    let given = [("back", back), ("f.follower_id", viewer)];
    layout::command(console, (Some("row"), Some("Follow")), &given, asked)
}

fn entry(console: &Console, viewer: &str, item: &Value) -> Markup {
    let (activity, back) = (text(item, "activity_id"), here(viewer));
    let (command, label) = match item["likes"]["liked"] == true {
        true => ("like.deleted", "Unlike"),
        false => ("like.created", "Like"),
    };
    let given = [("back", back.as_str()), ("f.viewer_id", viewer), ("f.activity_id", activity)];
    let button = html! { button type="submit" class="second" name="type" value=(command) aria-label={ (label) " " (activity) } { (label) } };
    html! {
        li class="entry" {
            (layout::entry_head(item))
            (payload::shown(&item["payload"]))
            div class="row quiet" {
                a href=(named::path_of("activity", activity)) { (activity) }
                @if let Some(count) = item["likes"]["count"].as_u64() { span { (layout::counted(count, "like", "likes")) } }
                (layout::command(console, (None, None), &given, button))
            }
        }
    }
}
