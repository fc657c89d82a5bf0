//! Any command from a form that knows the schema, and what becomes of it.

mod sending;

use nagare_client::clock;
use nagare_client::command_forms::{self, CommandKind, Form, Member, Unsaid};
use nagare_operator::effects::CommandStatus;
use nagare_operator::fanout::{self, Report};
use shared::command::Command;

use crate::prelude::*;
use crate::sent::{Known, Sent};

const FIRST: &str = "activity.published";
/// The names of members in a form begin with it.
const PREFIX: &str = "f.";
/// Views to which a form may lead back.
const BACK: [&str; 10] = [
    "?first=",
    "timeline?",
    "poll?",
    "battle?",
    "tables?",
    "person?",
    "room?",
    "activity?",
    "tenant?",
    "customer?",
];
const LISTED: usize = 20;

pub(super) async fn view(State(console): Here, fields: Fields) -> Page {
    form_page(&console, &fields, &[], html! {})
}

/// Members, and what was expected of each.
type Wrong = [(String, String)];

/// With what is wrong with single members, and with the command as a whole.
fn form_page(console: &Console, fields: &Fields, wrong: &Wrong, whole: Markup) -> Page {
    // It is said where the command was written.
    let (of_form, of_body) = match fields.get("body") {
        None => (whole, html! {}),
        Some(_) => (html! {}, whole),
    };
    let kind = command_forms::named(fields.get("type").unwrap_or(FIRST));
    let content = html! {
        p { "Every command goes onto the queue, as a producer sends it; then watch what becomes of it." }
        (types(kind))
        @match kind {
            Some(kind) => (form(console, kind, fields, wrong, of_form)),
            None => (layout::problem(&"There is no such type of command; choose one above.")),
        }
        (raw(console, fields.get("body"), of_body))
        (list(console))
    };
    layout::page(console, Place::Commands, "Publish", content)
}

fn types(chosen: Option<&CommandKind>) -> Markup {
    let is_chosen = |kind: &CommandKind| chosen.is_some_and(|chosen| chosen.name == kind.name);
    html! {
        form method="get" action="commands" class="row" aria-label="Type of command" {
            div class="field" {
                label for="type" { "Command" }
                select #type name="type" {
                    @for (about, kinds) in command_forms::groups() {
                        optgroup label=(about) {
                            @for kind in kinds { option value=(kind.name) selected[is_chosen(kind)] { (kind.name) } }
                        }
                    }
                }
            }
            button type="submit" class="second" { "Show form" }
        }
    }
}

fn form(
    console: &Console,
    kind: &CommandKind,
    fields: &Fields,
    wrong: &Wrong,
    whole: Markup,
) -> Markup {
    html! {
        form method="post" action="send" class="card" aria-label=(kind.name) {
            h2 { (kind.name) }
            p class="quiet" { (kind.meaning) }
            (whole)
            (layout::token(console))
            input type="hidden" name="type" value=(kind.name);
            @for member in &kind.members { (field(member, fields, wrong)) }
            (send_button(console, "Send"))
        }
    }
}

fn send_button(console: &Console, label: &str) -> Markup {
    html! {
        p class="row" {
            button type="submit" disabled[console.mode == Mode::ReadOnly] { (label) }
            @if console.mode == Mode::ReadOnly { span { "This console only looks: `nagare console --write` sends." } }
        }
    }
}

fn field(member: &Member, fields: &Fields, wrong: &Wrong) -> Markup {
    let name = format!("{}{}", PREFIX, member.name);
    let hint = format!("{name}-hint");
    let value = fields.get(&name);
    let problem = wrong.iter().find(|(wrong, _)| *wrong == member.name);
    let required = member.unsaid == Unsaid::Missing;
    let placeholder = match member.unsaid {
        Unsaid::Now => "now",
        Unsaid::Made => "made for you",
        _ => &member.example,
    };
    html! {
        div class="field" {
            label for=(name) { (member.name) @if !required { " " span class="quiet" { "(optional)" } } }
            @match member.form {
                Form::Json => textarea id=(name) name=(name) rows="3" required[required] placeholder=(placeholder) spellcheck="false"
                    aria-describedby=(hint) aria-invalid=[problem.map(|_| "true")] { (value.unwrap_or_default()) },
                Form::Truth => select id=(name) name=(name) aria-describedby=(hint) {
                    option value="" { "not said" } option value="true" selected[value == Some("true")] { "true" }
                },
                _ => input id=(name) name=(name) value=[value] placeholder=(placeholder) required[required]
                    inputmode=[(member.form == Form::Number).then_some("numeric")] autocomplete="off"
                    autocapitalize="none" spellcheck="false" aria-describedby=(hint) aria-invalid=[problem.map(|_| "true")];,
            }
            @if let Some((_, expected)) = problem { p role="alert" class="problem" { (expected) } }
            p id=(hint) class="hint" { (member.meaning) }
        }
    }
}

/// A body as it is written by hand, bad ones included.
fn raw(console: &Console, body: Option<&str>, problem: Markup) -> Markup {
    html! {
        details class="card" open[body.is_some()] {
            summary { "As JSON" }
            form method="post" action="send" aria-label="As JSON" {
                (problem)
                (layout::token(console))
                div class="field" {
                    label for="body" { "Message body" }
                    textarea #body name="body" rows="6" required spellcheck="false" { (body.unwrap_or_default()) }
                }
                div class="field check" {
                    input #anyway type="checkbox" name="anyway" value="true";
                    label for="anyway" { "Send it even if it will be refused, and see it become a dead letter" }
                }
                (send_button(console, "Send as it is"))
            }
        }
    }
}

/// The text that a form has for a member. The form of a room asks for words, which are a payload.
fn given(fields: &Fields, member: &Member) -> Option<String> {
    let said = fields.get("text").filter(|_| member.form == Form::Json);
    let said = said.map(|text| serde_json::json!({ "text": text }).to_string());
    said.or_else(|| fields.get(&format!("{PREFIX}{}", member.name)).map(str::to_owned))
}

fn list(console: &Console) -> Markup {
    let sent = console.sent();
    html! {
        h2 { "Sent from here" }
        @if sent.is_empty() { p class="quiet" { "Nothing yet." } }
        ul class="entries" {
            @for sent in sent.iter().take(LISTED) {
                li class="entry" {
                    a href=(named::address("command", &[("id", &sent.message_id)])) { (sent.name) }
                    " " (named::instant(sent.at)) " " (summary(&sent.known()))
                }
            }
        }
    }
}

pub(super) async fn send(State(console): Here, Posted { fields, .. }: Posted) -> Response {
    let now = clock::clock().now();
    let body = match (fields.get("body"), fields.get("type").and_then(command_forms::named)) {
        (Some(body), _) => Ok(body.to_owned()),
        (None, Some(kind)) => command_forms::body(kind, |member| given(&fields, member), now),
        (None, None) => Err(Vec::new()),
    };
    let refused = |wrong: &[_], problem| {
        let page = form_page(&console, &fields, wrong, problem);
        (StatusCode::BAD_REQUEST, page).into_response()
    };
    let body = match body {
        Ok(body) => body,
        Err(members) => return refused(&members, html! {}),
    };
    if let Err(error) = Command::parse(&body, now)
        && fields.get("anyway").is_none()
    {
        return refused(&[], layout::problem(&error.unredacted()));
    }
    let sent = match sending::send(&console, body).await {
        Ok(sent) => sent,
        Err(failure) => return layout::failed(&console, Place::Commands, "Not sent", &failure),
    };
    let back = fields.get("back").filter(|back| BACK.iter().any(|view| back.starts_with(view)));
    // What cannot stand in a header leads nowhere.
    let back = back.filter(|back| back.bytes().all(|byte| byte.is_ascii_graphic()));
    let to = match back {
        Some(back) => format!("{PATH}{back}&sent={}", sent.message_id),
        None => named::path_of("command", &sent.message_id),
    };
    Redirect::to(&to).into_response()
}

/// One command, as it goes its way.
pub(super) async fn command(State(console): Here, fields: Fields) -> Response {
    let id = fields.get("id").unwrap_or_default();
    let Some(sent) = find(&console, id) else {
        let why = Failure::No("No such command was sent from here, or it is long ago.".to_owned());
        return layout::failed(&console, Place::Commands, "Not known", &why);
    };
    let content = html! {
        (course(&console, &sent).await)
        dl {
            dt { "Message" } dd class="code" { (sent.message_id) }
            dt { "Sent at" } dd { (named::instant(sent.at)) }
        }
        h2 { "Body" }
        pre class="code" { (sent.body) }
        @if console.telemetry.is_some() {
            p { a href=(format!("log/{}", sent.message_id)) { "What the functions said of it" } }
        }
        p { a href="commands" { "Send another" } }
    };
    layout::page(&console, Place::Commands, &sent.name, content).into_response()
}

/// How it stands: what the page asks for again and again.
pub(super) async fn state(State(console): Here, fields: Fields) -> Page {
    layout::region(match find(&console, fields.get("id").unwrap_or_default()) {
        None => html! { p #course role="status" { "Nothing is known of this command." } },
        Some(sent) => course(&console, &sent).await,
    })
}

/// What has become of the command that a view was led back from, for that view.
pub(super) async fn news(console: &Console, fields: &Fields) -> Markup {
    match fields.get("sent").and_then(|id| find(console, id)) {
        None => html! {},
        Some(sent) => course(console, &sent).await,
    }
}

fn find(console: &Console, message_id: &str) -> Option<Arc<Sent>> {
    console.sent().into_iter().find(|sent| sent.message_id == message_id)
}

async fn course(console: &Console, sent: &Sent) -> Markup {
    let known = sent.known();
    let again = matches!(known, Known::OnItsWay(_))
        .then(|| named::address("state", &[("id", &sent.message_id)]));
    let (written, stored, warns) = match &known {
        Known::Ended(CommandStatus::DeadLetter { .. }, _) => ("failed", "", None),
        // What is done and changes nothing, or nothing yet.
        Known::Ended(CommandStatus::Overtaken(_), _)
        | Known::Ended(CommandStatus::Applied { remark: Some(_), .. }, _) => {
            ("done", "none", Some("warning"))
        }
        Known::Ended(..) => ("done", "done", None),
        _ => ("now", "", None),
    };
    html! {
        section #course class="card" aria-label="What becomes of it"
            hx-get=[&again] hx-trigger=[again.as_ref().map(|_| "load delay:300ms")] hx-swap=[again.as_ref().map(|_| "outerHTML")] {
            ol class="steps" {
                li class="done" { "Queue: accepted" }
                li class=(written) { "Writer" }
                li class=(stored) { "Tables" }
            }
            p role="status" class=[warns] { strong { (sent.name) } ": " (summary(&known)) }
            @if let Known::Ended(CommandStatus::DeadLetter { detail, .. }, _) = &known {
                p class="problem" { (detail) }
                p { a href=(named::address("letter", &[("id", &sent.message_id)])) { "The dead letter" } }
            }
            (fan_out(console, sent).await)
        }
    }
}

fn summary(known: &Known) -> Markup {
    html! {
        @match known {
            Known::OnItsWay(None) | Known::Ended(CommandStatus::Pending, _) => "on its way",
            Known::OnItsWay(Some(failure)) => { "on its way; it could not be looked up just now: " (failure) },
            Known::GivenUp => "nothing is known of it after 15 minutes",
            Known::Ended(CommandStatus::Applied { entries, remark }, took) => {
                "applied in " (format!("{:.3}", took.as_secs_f64())) " s"
                @if let Some(entries) = entries { ", " (layout::counted(*entries, "entry", "entries")) }
                @if let Some(remark) = remark { "; " (remark) }
            },
            Known::Ended(CommandStatus::Overtaken(why), _) => { "without effect: " (why) },
            Known::Ended(CommandStatus::DeadLetter { reason, .. }, _) => { "dead letter (" (reason) ")" },
        }
    }
}

/// How far a fan-out in parts has come.
async fn fan_out(console: &Console, sent: &Sent) -> Markup {
    let Some(activity) = &sent.activity else { return html! {} };
    let report = async {
        let ledger = console.remote.ledger()?;
        Ok::<_, Failure>(fanout::report(&ledger, activity).await?)
    };
    match report.await {
        Ok(Some(Report { delivered, total, parts, parts_left, .. })) => {
            let rate = delivered as f64 / sent.begun.elapsed().as_secs_f64().max(0.001);
            html! {
                (layout::bar("timelines", delivered, total, "fan-out"))
                p class="quiet" {
                    (parts - parts_left) " of " (parts) " parts done"
                    @if parts_left > 0 { ", " (format!("{rate:.0}")) " timelines a second" }
                }
            }
        }
        Ok(None) => html! {},
        Err(failure) => layout::problem(&failure),
    }
}
