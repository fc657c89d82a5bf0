//! One activity: what it is, who likes it as far as a page tells, and who is tagged in it.

use crate::commands;
use crate::prelude::*;
use crate::suggested::Suggestions;
use crate::suggestions;

const TAGS: &str = "50";

pub(crate) async fn view(State(console): Here, LooksAs(looks): LooksAs, fields: Fields) -> Page {
    let Some(id) = fields.get("id") else {
        let suggested = Suggestions::read(&console).await;
        let content = html! {
            p { "What was published, who likes it and who is tagged in it." }
            (layout::chooser("activity", "an activity", ("id", "Activity"), None, "Show"))
            (suggestions::things(&suggested.activities, "activity"))
        };
        return layout::page(&console, Place::Activities, "Activities", content);
    };
    let content = html! {
        (commands::news(&console, &fields).await)
        (layout::or_problem(shown(&console, id, looks.as_deref()).await))
        (actions(&console, id, looks.as_deref()))
        p {
            a href=(named::address("tables", &[("what", "an activity: its id, record and fan-out"), ("id", id)])) { "What is stored of it" }
            " · " a href=(named::address("log", &[("about", id)])) { "What the functions said of it" }
            " · " a href=(named::address("audit", &[("activity", id)])) { "Audit it" }
        }
    };
    layout::page(&console, Place::Activities, id, content)
}

async fn shown(console: &Console, id: &str, looks: Option<&str>) -> Result<Markup, Failure> {
    let query: Vec<_> = looks.map(|viewer| ("viewer", viewer)).into_iter().collect();
    let (of_activity, of_tags) = (["v1", "activities", id], ["v1", "activities", id, "tags"]);
    let (found, tags) = futures::join!(
        console.reads.find(&of_activity, &query),
        console.reads.find(&of_tags, &[("limit", TAGS)]),
    );
    let Some(found) = found? else {
        return Ok(
            html! { p role="status" class="warning" { "There is no such activity: it was not published yet, or was deleted. A like of it counts for nothing until it is there." } },
        );
    };
    let tags = tags?.map(|read| read.body).unwrap_or_default();
    let body = &found.body;
    Ok(html! {
        section class="card" aria-label="Activity" {
            (layout::entry_head(body))
            (payload::shown(&body["payload"]))
            p {
                (layout::counted(number(&body["likes"], "count"), "like", "likes"))
                @if body["likes"]["liked"] == true { ", one of them of " (looks.unwrap_or_default()) }
            }
        }
        section class="card" aria-label="Tags" {
            h2 { "Tagged" }
            @if items(&tags).is_empty() { p class="quiet" { "Nobody." } }
            ul class="talk" { @for tag in items(&tags) { li { (named::person(text(tag, "tagged_id"))) } } }
        }
    })
}

fn actions(console: &Console, id: &str, looks: Option<&str>) -> Markup {
    let back = named::address("activity", &[("id", id)]);
    let given = [("back", back.as_str()), ("f.activity_id", id)];
    let like = html! {
        (layout::input("f.viewer_id", "As", looks, true))
        button type="submit" name="type" value="like.created" { "Like" }
        button type="submit" name="type" value="like.deleted" class="second" { "Unlike" }
    };
    let tag = html! {
        (layout::input("f.tagged_id", "Who is in it", None, true))
        button type="submit" name="type" value="tag.created" class="second" { "Tag" }
        button type="submit" name="type" value="tag.deleted" class="second" { "Untag" }
    };
    html! {
        (layout::command(console, (Some("row"), Some("Like")), &given, like))
        (layout::command(console, (Some("row"), Some("Tag")), &given, tag))
    }
}

/// One of several, in a line.
pub(crate) fn row(item: &Value) -> Markup {
    html! {
        li {
            (named::person(text(item, "actor_id"))) " "
            a href=(named::path_of("activity", text(item, "activity_id"))) { (title(item)) }
            " " (layout::kind(item)) " "
            span class="quiet" { (named::when(text(item, "published_at"))) }
        }
    }
}

/// What it is called: its title, or its id where the payload has nothing to read.
fn title(item: &Value) -> String {
    let line = payload::line(&item["payload"]);
    if line.is_empty() { text(item, "activity_id").to_owned() } else { line }
}
