//! Queues, and the commands that gave up: how many there are, why, and what can be done.

use std::collections::BTreeMap;
use std::pin::pin;
use std::sync::PoisonError;

use aws_sdk_sqs::types::QueueAttributeName as Name;
use futures::{StreamExt, TryStreamExt, stream};
use nagare_client::clock::clock;
use nagare_operator::letters::{can_apply, redrive};
use shared::history::refusals::{LISTED_DAYS, Refusals};
use shared::platform::dead_letters::DeadLetter;
use shared::platform::runtime::clock::Clock;
use shared::platform::runtime::env;
use shared::platform::values::is_message_id;

use crate::depth::Depth;
use crate::prelude::*;

const LISTED: usize = 100;
/// Letters at work at once. A letter may be a megabyte.
const AT_ONCE: usize = 16;
/// Depths that are remembered: an hour, where they are asked for each second.
const REMEMBERED: usize = 3_600;
/// Size of the plot, in its own units.
const PLOT: (usize, usize) = (600, 60);

pub(super) async fn view(State(console): Here, fields: Fields) -> Page {
    let content = html! {
        section class="card" aria-label="Depths" { (depths(&console).await) }
        h2 { "Stored dead letters" }
        p class="quiet" { "Commands that gave up, kept byte for byte until somebody resends or drops them." }
        (layout::or_problem(letters(&console, fields.get("reason")).await))
    };
    layout::page(&console, Place::Queues, "Queues and dead letters", content)
}

pub(super) async fn now(State(console): Here) -> Page {
    layout::region(depths(&console).await)
}

/// How deep the queues are, asked again each second.
pub(super) async fn depths(console: &Console) -> Markup {
    let depth = depth(console).await;
    let shown = layout::or_problem(depth.map(|depth| table(&depth, &console.seen(depth))));
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
    let queues = [count(env::QUEUE_URL).await?, count(env::DEAD_LETTER_QUEUE_URL).await?];
    Ok(Depth { at: Clock::system().now(), queues })
}

fn table(now: &Depth, all: &[Depth]) -> Markup {
    let names = ["Commands", "Dead-letter queue, not stored yet"];
    html! {
        div {
            table class="stack" {
                caption { "Messages, as SQS counts them: approximately" }
                thead { tr {
                    th scope="col" { "Queue" } th scope="col" { "Ready" } th scope="col" { "In flight" }
                    th scope="col" { "Delayed" } th scope="col" { "Since you opened this page" }
                } }
                tbody {
                    @for (queue, (name, [ready, processed, delayed])) in names.into_iter().zip(now.queues).enumerate() {
                        tr {
                            th scope="row" { (name) }
                            td data-label="Ready" { (ready) } td data-label="In flight" { (processed) } td data-label="Delayed" { (delayed) }
                            td { (plot(name, all, queue)) }
                        }
                    }
                }
            }
        }
    }
}

fn plot(name: &str, all: &[Depth], queue: usize) -> Markup {
    let of = |depth: &Depth| depth.queues.get(queue).into_iter().flatten().sum::<u64>();
    let highest = all.iter().map(of).max().unwrap_or(0);
    let (width, height) = PLOT;
    let since_first =
        |depth: &Depth| all.first().map_or(0.0, |first| depth.at.since(first.at).as_secs_f64());
    let span = all.last().map_or(1.0, since_first).max(1.0);
    let point = |depth: &Depth| {
        let x = since_first(depth) * width as f64 / span;
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
    let refused = Refusals::new(&console.remote.ledger()?).all(clock().now()).await?;
    let mut reasons: BTreeMap<&str, usize> = BTreeMap::new();
    all.iter().for_each(|letter| *reasons.entry(&letter.reason).or_default() += 1);
    let chosen: Vec<_> = all.iter().filter(|l| reason.is_none_or(|r| r == l.reason)).collect();
    let verified = chosen.iter().filter(|letter| letter.is_verified()).count();
    Ok(html! {
        @if all.is_empty() { p class="good" { "There are none." } }
        @else {
            nav aria-label="Reasons" {
                ul class="chips" {
                    (layout::chip("queues", reason.is_none(), format!("all ({})", all.len())))
                    @for (each, count) in &reasons {
                        (layout::chip(&named::address("queues", &[("reason", each)]), reason == Some(each), format!("{each} ({count})")))
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
            p class="quiet" { "Letters that can never be applied are left out when all are resent." }
            @for (reason, count) in refused.iter().filter(|(_, count)| count.without_letter > 0) {
                p class="quiet" {
                    (reason) ": " (count.without_letter) " more of the last " (LISTED_DAYS) " days have no letter. "
                    (count.refused) " were refused."
                }
            }
            ul class="entries" {
                @for letter in chosen.iter().take(LISTED) {
                    li class="entry" {
                        a href=(named::address("letter", &[("id", &letter.id)])) { (letter.id) }
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
                        (layout::token(console)) (layout::hidden(which))
                        button type="submit" class=(class) { (label) " " (what) }
                    }
                }
            }
        }
    }
}

pub(super) async fn letter(State(console): Here, fields: Fields) -> Response {
    let id = fields.get("id").unwrap_or_default();
    let shown = async {
        let Some(letter) = stored(&console, id).await? else { return Ok(None) };
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

async fn stored(console: &Console, id: &str) -> Result<Option<DeadLetter>, Failure> {
    if !is_message_id(id) {
        return Ok(None);
    }
    Ok(console.remote.dead_letters()?.get(id).await?)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Action {
    Redrive,
    Drop,
}

pub(super) async fn again(State(console): Here, posted: Posted) -> Response {
    let posted = match posted.fields.get("all") {
        None => Ok(posted),
        Some(_) => posted.confirmed(&console, "Resend all of these commands?"),
    };
    act(&console, posted, Action::Redrive).await
}

pub(super) async fn remove(State(console): Here, posted: Posted) -> Response {
    let question = "Drop them? What is dropped cannot be brought back.";
    act(&console, posted.confirmed(&console, question), Action::Drop).await
}

/// Does something with each of the letters that a form names, unless there is a question to be answered first.
async fn act(console: &Arc<Console>, posted: Result<Posted, Response>, action: Action) -> Response {
    let fields = match posted {
        Ok(posted) => posted.fields,
        Err(question) => return question,
    };
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
    let failures = stream::iter(each).buffer_unordered(AT_ONCE);
    let failures: Vec<_> = failures.filter_map(async |done| done.err()).collect().await;
    if failures.is_empty() {
        return Redirect::to("/console/queues").into_response();
    }
    let content = html! { ul { @for failure in failures { li class="problem" { (failure) } } } p { a href="queues" { "Back" } } };
    layout::page(console, Place::Queues, failed, content).into_response()
}

/// Does something with a letter, which is read once more before. Returns why not, if it was not done. One of which nothing
/// shows where it comes from, or that can never be applied, is sent again only if it was named itself.
async fn act_on(
    console: Arc<Console>,
    id: String,
    action: Action,
    is_named: bool,
) -> Result<(), String> {
    let done = async {
        // Where it is gone somebody else was faster.
        let Some(letter) = stored(&console, &id).await? else { return Ok(()) };
        let letters = console.remote.dead_letters()?;
        match action {
            Action::Redrive
                if !is_named && (!letter.is_verified() || !can_apply(&letter, clock().now())) =>
            {
                Ok(())
            }
            Action::Redrive => redrive(&letters, &console.remote.sender()?, &letter).await,
            Action::Drop => {
                letters.remove(&letter).await?;
                Ok(())
            }
        }
    };
    done.await.map_err(|failure: Failure| format!("{id}: {failure}"))
}
