//! Somebody: who they are, what they see, publish and like, what they are told, whom they follow and who follows them,
//! and what they are tagged in. Each is what the API answers, one section a request.

use http::HeaderValue;
use http::header::SET_COOKIE;

use crate::prelude::*;
use crate::social::activity;
use crate::suggested::Suggestions;
use crate::suggestions;
use crate::{commands, looking};

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
const LIMIT: &str = "20";

pub(crate) async fn choose(State(console): Here) -> Page {
    let suggested = Suggestions::read(&console).await;
    let content = html! {
        p { "Who they are, what they see and are told, whom they follow and who follows them." }
        (layout::chooser("person", "a person", ("id", "Person"), None, "Show"))
        (suggestions::people("Followed by others: ", &suggested.people, "person", "id"))
        (suggestions::people("Following others: ", &suggested.followers, "person", "id"))
    };
    layout::page(&console, Place::People, "People", content)
}

pub(crate) async fn view(State(console): Here, LooksAs(looks): LooksAs, fields: Fields) -> Page {
    let Some(id) = fields.get("id") else { return choose(State(console)).await };
    let section = fields.get("show").unwrap_or_default();
    let shown = match section {
        "" => profile(&console, id).await,
        _ => list(&console, id, section, &fields).await,
    };
    let content = html! {
        (commands::news(&console, &fields).await)
        nav aria-label="Of this person" {
            ul class="chips tabs" {
                li { a href=(named::address("timeline", &[("viewer", id)])) { "Timeline" } }
                @for (name, label) in SECTIONS { (layout::chip(&named::section("person", id, name), name == section, label)) }
            }
        }
        (layout::or_problem(shown))
        (follow(&console, id, looks.as_deref(), section))
        (looking::offer(&console, id, looks.as_deref()))
    };
    layout::page(&console, Place::People, id, content)
}

async fn profile(console: &Console, id: &str) -> Result<Markup, Failure> {
    let few = [("limit", "5"), ("viewer", id)];
    let (of_profile, of_told) = (["v1", "profiles", id], ["v1", "notifications", id]);
    let of_published = ["v1", "actors", id, "activities"];
    let (profile, published, told) = futures::join!(
        console.reads.find(&of_profile, &[]),
        console.reads.find(&of_published, &few),
        console.reads.find(&of_told, &few[..1]),
    );
    let (profile, published, told) = (profile?, published?, told?);
    let published = published.as_ref().map_or(&[][..], |read| items(&read.body));
    let unread = told.map_or(0, |read| number(&read.body, "unread_count"));
    Ok(html! {
        section class="card" aria-label="Profile" {
            p class="who" { (named::initial(id)) strong { (id) } }
            @match &profile {
                Some(read) => {
                    (payload::shown(&read.body["payload"]))
                    p class="quiet" { "Updated " (named::when(text(&read.body, "updated_at"))) }
                }
                None => p class="quiet" { "No profile yet." },
            }
            p { a href=(named::section("person", id, "notifications")) { (layout::counted(unread, "unread notification", "unread notifications")) } }
        }
        section class="card" aria-label="Published last" {
            h2 { "Published last" }
            @if published.is_empty() { p class="quiet" { "Nothing yet." } }
            ul class="talk" { @for item in published { (activity::row(item)) } }
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
    let mut query = fields.given(&["cursor"]);
    query.push(("limit", LIMIT));
    let page = console.reads.get(path, &query).await?.body;
    Ok(html! {
        section class="card" aria-label=(section) {
            @if section == "notifications" { (marks(console, id, number(&page, "unread_count"))) }
            @if items(&page).is_empty() { p class="quiet" { "Nothing here yet." } }
            ul class="talk" {
                @for item in items(&page) {
                    @match section {
                        "notifications" => (notification(item)),
                        "following" | "followers" => (somebody(item)),
                        _ => (activity::row(item)),
                    }
                }
            }
            (layout::more(&page, |cursor| named::address("person", &[("id", id), ("show", section), ("cursor", cursor)])))
        }
    })
}

/// How many are unread, and what marks them as read.
fn marks(console: &Console, id: &str, unread: u64) -> Markup {
    let back = named::section("person", id, "notifications");
    let given =
        [("type", "notifications.read"), ("f.viewer_id", id), ("f.all", "true"), ("back", &back)];
    let button = html! { button type="submit" class="second" { "Mark all as read" } };
    html! {
        p { strong { (layout::counted(unread, "unread", "unread")) } }
        @if unread > 0 { (layout::command(console, (None, Some("Mark as read")), &given, button)) }
    }
}

fn notification(item: &Value) -> Markup {
    let activity = text(item, "activity_id");
    let names: Vec<_> =
        item["viewers"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let others = number(item, "count").saturating_sub(names.len() as u64);
    html! {
        li {
            @for name in &names { (named::person(name)) " " }
            @if others > 0 { "and " (layout::counted(others, "other", "others")) " " }
            "liked " a href=(named::path_of("activity", activity)) { (activity) } " "
            span class="quiet" { (named::when(text(item, "last_at"))) }
            @if text(item, "state") == "unread" { " " span class="tag unread" { "unread" } }
        }
    }
}

fn somebody(item: &Value) -> Markup {
    html! {
        li {
            (named::person(text(item, "viewer_id")))
            @if !item["profile"].is_null() { " " (payload::line(&item["profile"])) }
            " " span class="quiet" { "since " (named::when(text(item, "since"))) }
        }
    }
}

/// Follow them, as somebody.
fn follow(console: &Console, id: &str, looks: Option<&str>, section: &str) -> Markup {
    let back = named::section("person", id, section);
    let asked = html! {
        (layout::input("f.follower_id", "As", looks.filter(|it| *it != id), true))
        button type="submit" name="type" value="follow.created" { "Follow " (id) }
        button type="submit" name="type" value="follow.deleted" class="second" { "Unfollow" }
    };
    let given = [("back", back.as_str()), ("f.followee_id", id)];
    layout::command(console, (Some("row"), Some("Follow")), &given, asked)
}

/// Whom one looks as, and how much is unread there: what the header asks for.
pub(crate) async fn bell(State(console): Here, LooksAs(looks): LooksAs) -> Page {
    let Some(id) = &looks else { return layout::region(looking::bell(None, None)) };
    let read = console.reads.get(&["v1", "notifications", id], &[("limit", "1")]).await;
    let unread = read.ok().and_then(|read| read.body["unread_count"].as_u64());
    layout::region(looking::bell(Some(id), unread))
}

/// Looks as somebody from now on: a cookie of this browser, and nothing that is stored in the stack.
pub(crate) async fn look_as(State(_): Here, Wanted(fields): Wanted) -> Response {
    let id = fields.get("id");
    let to = id.map_or_else(|| format!("{PATH}people"), |id| named::path_of("person", id));
    let mut answer = Redirect::to(&to).into_response();
    if let Ok(cookie) = HeaderValue::try_from(looking::cookie(id)) {
        answer.headers_mut().append(SET_COOKIE, cookie);
    }
    answer
}
