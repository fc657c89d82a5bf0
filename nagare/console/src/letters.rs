//! Queues, and the commands that gave up: how many there are, why, and what can be done.

use std::collections::{BTreeMap, VecDeque};
use std::pin::pin;
use std::sync::{Arc, PoisonError};

use aws_sdk_sqs::types::QueueAttributeName as Name;
use axum::Router;
use axum::extract::State;
use axum::response::{Html, IntoResponse, Redirect, Response};
use axum::routing::{get, post};
use futures::{StreamExt, TryStreamExt, stream};
use http::StatusCode;
use maud::{Markup, html};
use nagare_client::failure::Failure;
use nagare_operator::letters::redrive;
use shared::dead_letters::DeadLetter;
use shared::runtime::clock::Clock;
use shared::runtime::env;
use shared::values::{Timestamp, is_message_id};

use super::fields::{Fields, Posted};
use super::layout::{self, Place};
use super::{Console, Mode, named};

/// Letters that are listed: the latest.
const LISTED: usize = 100;
/// Letters at work at once. A letter may be a megabyte.
const AT_ONCE: usize = 16;
/// Depths that are remembered: an hour, where they are asked for each second.
pub(super) const REMEMBERED: usize = 3_600;
/// Size of the plot, in its own units.
const PLOT: (usize, usize) = (600, 60);

/// How many messages the queues had.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Depth {
    at: Timestamp,
    /// Ready to be received, being processed, and delayed.
    commands: [u64; 3],
    dead_letters: [u64; 3],
}

/// What was seen of the queues while somebody looked.
pub(super) type Depths = VecDeque<Depth>;

pub(super) fn routes() -> Router<Arc<Console>> {
    Router::new()
        .route("/console/queues", get(view))
        .route("/console/depths", get(now))
        .route("/console/letter", get(letter))
        .route("/console/redrive", post(again))
        .route("/console/drop", post(remove))
}

async fn view(State(console): State<Arc<Console>>, fields: Fields) -> Response {
    let content = html! {
        section class="card" aria-label="Depths" { (depths(&console).await) }
        h2 { "Stored dead letters" }
        p class="quiet" { "Commands that gave up, kept byte for byte until somebody resends or drops them." }
        (layout::or_problem(letters(&console, fields.get("reason")).await))
    };
    layout::page(&console, Place::Queues, "Queues and dead letters", content).into_response()
}

async fn now(State(console): State<Arc<Console>>) -> Response {
    Html(depths(&console).await.into_string()).into_response()
}

/// How deep the queues are, asked again each second.
pub(super) async fn depths(console: &Console) -> Markup {
    let shown = match depth(console).await {
        Ok(depth) => table(&depth, &console.seen(depth)),
        Err(failure) => layout::problem(&failure),
    };
    html! { div #depths hx-get="depths" hx-trigger="load delay:1s" hx-swap="outerHTML" { (shown) } }
}

impl Console {
    /// Remembers a depth, and answers all that are remembered.
    fn seen(&self, depth: Depth) -> Vec<Depth> {
        let mut depths = self.depths.lock().unwrap_or_else(PoisonError::into_inner);
        depths.push_back(depth);
        while depths.len() > REMEMBERED {
            depths.pop_front();
        }
        depths.iter().copied().collect()
    }
}

async fn depth(console: &Console) -> Result<Depth, Failure> {
    let count = async |variable| {
        let url = console.remote.target().required(variable)?;
        let names = [
            Name::ApproximateNumberOfMessages,
            Name::ApproximateNumberOfMessagesNotVisible,
            Name::ApproximateNumberOfMessagesDelayed,
        ];
        let call = console.remote.sqs().get_queue_attributes().queue_url(&url);
        let answer = call.set_attribute_names(Some(names.to_vec())).send().await;
        let answer = answer.map_err(|error| {
            let why = error.into_service_error();
            Failure::Unreachable(format!("the queue {url} does not say how deep it is: {why}"))
        })?;
        let found = answer.attributes.unwrap_or_default();
        Ok::<_, Failure>(
            names.map(|name| found.get(&name).and_then(|n| n.parse().ok()).unwrap_or(0)),
        )
    };
    let commands = count(env::QUEUE_URL).await?;
    let dead_letters = count(env::DEAD_LETTER_QUEUE_URL).await?;
    Ok(Depth { at: Clock::system().now(), commands, dead_letters })
}

fn table(now: &Depth, all: &[Depth]) -> Markup {
    let row = |name: &str, [ready, processed, delayed]: [u64; 3], of: &dyn Fn(&Depth) -> u64| {
        html! {
            tr {
                th scope="row" { (name) }
                td data-label="Ready" { (ready) } td data-label="In flight" { (processed) } td data-label="Delayed" { (delayed) }
                td { (plot(name, all, of)) }
            }
        }
    };
    html! {
        div {
            table class="stack" {
                caption { "Messages, as SQS counts them: approximately" }
                thead { tr {
                    th scope="col" { "Queue" } th scope="col" { "Ready" } th scope="col" { "In flight" }
                    th scope="col" { "Delayed" } th scope="col" { "Since you opened this page" }
                } }
                tbody {
                    (row("Commands", now.commands, &|depth| depth.commands.iter().sum()))
                    (row("Dead-letter queue, not stored yet", now.dead_letters, &|depth| depth.dead_letters.iter().sum()))
                }
            }
        }
    }
}

fn plot(name: &str, all: &[Depth], of: &dyn Fn(&Depth) -> u64) -> Markup {
    let highest = all.iter().map(of).max().unwrap_or(0);
    let (width, height) = PLOT;
    let (first, last) = (all.first().map(|d| d.at), all.last().map(|d| d.at));
    let span =
        first.zip(last).map_or(1.0, |(first, last)| last.since(first).as_secs_f64()).max(1.0);
    let point = |depth: &Depth| {
        let x =
            first.map_or(0.0, |first| depth.at.since(first).as_secs_f64()) * width as f64 / span;
        let y =
            height as f64 - of(depth) as f64 * (height as f64 - 2.0) / highest.max(1) as f64 - 1.0;
        format!("{x:.1},{y:.1}")
    };
    let points: Vec<_> = all.iter().map(point).collect();
    html! {
        svg class="plot" role="img" viewBox=(format!("0 0 {width} {height}")) preserveAspectRatio="none"
            aria-label=(format!("{name}: at most {highest} in {span:.0} s")) {
            polyline points=(points.join(" ")) {}
        }
    }
}

async fn all(console: &Console) -> Result<Vec<DeadLetter>, Failure> {
    let letters = console.remote.dead_letters()?;
    let mut listed = Vec::new();
    let mut all = pin!(letters.all());
    while let Some(letter) = all.try_next().await? {
        listed.push(letter);
    }
    listed.sort_by(|a, b| (b.stored_at, &b.id).cmp(&(a.stored_at, &a.id)));
    Ok(listed)
}

async fn letters(console: &Console, reason: Option<&str>) -> Result<Markup, Failure> {
    let all = all(console).await?;
    let mut reasons: BTreeMap<&str, usize> = BTreeMap::new();
    all.iter().for_each(|letter| *reasons.entry(&letter.reason).or_default() += 1);
    let chosen: Vec<_> = all.iter().filter(|l| reason.is_none_or(|r| r == l.reason)).collect();
    let verified = chosen.iter().filter(|letter| letter.is_verified()).count();
    Ok(html! {
        @if all.is_empty() { p class="good" { "There are none." } }
        @else {
            nav aria-label="Reasons" {
                ul class="chips" {
                    li { a href="queues" aria-current=[reason.is_none().then_some("true")] { "all (" (all.len()) ")" } }
                    @for (each, count) in &reasons {
                        li { a href=(layout::address("queues", &[("reason", each)])) aria-current=[(reason == Some(each)).then_some("true")] { (each) " (" (count) ")" } }
                    }
                }
            }
            (buttons(console, &[("reason", reason.unwrap_or("")), ("all", "true")], [verified, chosen.len()].map(|n| if n == 1 { "this one".to_owned() } else { format!("these {n}") })))
            @if verified < chosen.len() {
                p class="quiet" {
                    (layout::counted((chosen.len() - verified) as u64, "letter is", "letters are"))
                    " unverified: nothing shows that they come from the command queue or the functions. They are left out when all are resent. Look at each: its page sends it."
                }
            }
            ul class="entries" {
                @for letter in chosen.iter().take(LISTED) {
                    li class="entry" {
                        a href=(layout::address("letter", &[("id", &letter.id)])) { (letter.id) }
                        " " span class="tag" { (letter.reason) } " " (named::instant(letter.stored_at))
                        p { @if !letter.is_verified() { "(unverified) " } (letter.detail) }
                    }
                }
            }
            @if chosen.len() > LISTED { p class="quiet" { "The latest " (LISTED) " of " (chosen.len()) "." } }
        }
    })
}

/// Redrive and drop, each with what it is done to; dropping is asked for once more.
fn buttons(console: &Console, which: &[(&str, &str)], [sent, dropped]: [String; 2]) -> Markup {
    let actions = [("redrive", "Resend", "", sent), ("drop", "Drop", "second", dropped)];
    html! {
        @if console.mode == Mode::Write {
            div class="row" {
                @for (action, label, class, what) in &actions {
                    form method="post" action=(action) {
                        (layout::token(console))
                        @for (name, value) in which { input type="hidden" name=(name) value=(value); }
                        button type="submit" class=(class) { (label) " " (what) }
                    }
                }
            }
        }
    }
}

async fn letter(State(console): State<Arc<Console>>, fields: Fields) -> Response {
    let id = fields.get("id").unwrap_or_default();
    let shown = async {
        let letter = match is_message_id(id) {
            true => console.remote.dead_letters()?.get(id).await?,
            false => None,
        };
        let Some(letter) = letter else { return Ok(None) };
        Ok::<_, Failure>(Some(html! {
            p class="problem" { strong { (letter.reason) } ": " @if !letter.is_verified() { "(unverified) " } (letter.detail) }
            (buttons(&console, &[("id", &letter.id)], ["this letter", "this letter"].map(ToOwned::to_owned)))
            @if !letter.is_verified() {
                p class="problem" { "Unverified: nothing shows that it comes from the command queue or the functions. Whoever wrote it speaks for anybody once it is resent, so read its body first." }
            }
            dl {
                dt { "Letter" } dd class="code" { (letter.id) }
                dt { "Sent at" } dd { (named::instant(letter.sent_at)) }
                dt { "Stored at" } dd { (named::instant(letter.stored_at)) }
                dt { "Received" } dd { (letter.receive_count) @if letter.receive_count == 1 { " time" } @else { " times" } }
                @if let Some(group) = &letter.group { dt { "Group" } dd class="code" { (group) } }
            }
            h2 { "Body" }
            pre class="code" { (letter.body) }
            p { a href="queues" { "All dead letters" } }
        }))
    };
    let (status, content) = match shown.await.transpose() {
        Some(shown) => (StatusCode::OK, layout::or_problem(shown)),
        None => (
            StatusCode::NOT_FOUND,
            html! { p role="status" { "There is no such dead letter: it was resent or dropped." } },
        ),
    };
    (status, layout::page(&console, Place::Queues, "Dead letter", content)).into_response()
}

/// What can be done about a letter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Action {
    Redrive,
    Drop,
}

async fn again(State(console): State<Arc<Console>>, posted: Posted) -> Response {
    let posted = match posted.fields.get("all") {
        None => posted,
        Some(_) => match posted.confirmed(&console, "Resend all of these commands?") {
            Ok(posted) => posted,
            Err(question) => return question,
        },
    };
    act(&console, &posted.fields, Action::Redrive).await
}

async fn remove(State(console): State<Arc<Console>>, posted: Posted) -> Response {
    let question = "Drop them? What is dropped cannot be brought back.";
    match posted.confirmed(&console, question) {
        Ok(posted) => act(&console, &posted.fields, Action::Drop).await,
        Err(question) => question,
    }
}

/// Does something with each of the letters that a form names.
async fn act(console: &Arc<Console>, fields: &Fields, action: Action) -> Response {
    let failed = match action {
        Action::Redrive => "Not all were resent",
        Action::Drop => "Not all were dropped",
    };
    let named = fields.get("id");
    let ids: Vec<String> = match named {
        Some(id) => vec![id.to_owned()],
        None => match all(console).await {
            Err(failure) => return layout::failed(console, Place::Queues, failed, &failure),
            Ok(all) => {
                let reason = fields.get("reason");
                let chosen = all.into_iter().filter(|l| reason.is_none_or(|r| r == l.reason));
                chosen.map(|letter| letter.id).collect()
            }
        },
    };
    let is_named = named.is_some();
    let each = ids.into_iter().map(|id| act_on(Arc::clone(console), id, action, is_named));
    let failures: Vec<String> = stream::iter(each)
        .buffer_unordered(AT_ONCE)
        .filter_map(async |failed| failed)
        .collect()
        .await;
    match failures.as_slice() {
        [] => Redirect::to("/console/queues").into_response(),
        some => {
            let content = html! { ul { @for failure in some { li class="problem" { (failure) } } } p { a href="queues" { "Back" } } };
            layout::page(console, Place::Queues, failed, content).into_response()
        }
    }
}

/// Does something with a letter, which is read once more before. Returns why not, if it was not done. One of which nothing
/// shows where it comes from is sent again only if it was named itself.
async fn act_on(
    console: Arc<Console>,
    id: String,
    action: Action,
    is_named: bool,
) -> Option<String> {
    let done = async {
        let letters = console.remote.dead_letters()?;
        let found = if is_message_id(&id) { letters.get(&id).await? } else { None };
        // Where it is gone somebody else was faster.
        let Some(letter) = found else { return Ok(()) };
        match action {
            Action::Redrive if !is_named && !letter.is_verified() => Ok(()),
            Action::Redrive => redrive(&letters, &console.remote.sender()?, &letter).await,
            Action::Drop => {
                letters.remove(&letter).await?;
                Ok(())
            }
        }
    };
    let done: Result<(), Failure> = done.await;
    done.err().map(|failure| format!("{id}: {failure}"))
}
