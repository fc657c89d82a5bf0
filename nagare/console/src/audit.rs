//! What is stored against what it should be, computed anew from the source of truth, and repair.
//!
//! An audit reads much, so no link starts one: its address fills in the form, and a button sends it. A console that only
//! looks writes nothing for it, not even the barrier that says whether facts are folded. It then waits a while instead, and
//! says what that means for what it finds.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::Router;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use maud::{Markup, html};
use nagare_client::failure::Failure;
use nagare_client::remote::Remote;
use nagare_operator::audit::{
    Auditor, EventsAuditor, Folded, Found, PagesAuditor, RoomsAuditor, Sample, SummariesAuditor,
    SummaryFault, TagsAuditor, ViewsAuditor,
};
use nagare_operator::event_scope::EventScope;
use nagare_operator::progress;
use serde::Serialize;
use serde_json::Value;
use shared::events::Archives;
use shared::runtime::clock::Clock;
use shared::values::{ActivityId, BattleId, CustomerId, PollId, RoomId, TenantId, ViewerId};
use tokio::runtime::Handle;

use super::fields::{Fields, Posted, Wanted};
use super::layout::{self, Place};
use super::suggestions::{self, Suggestions};
use super::{Console, Mode, tenants};

/// What can be named, and what is compared of it.
const NAMED: [(&str, &str, &str); 7] = [
    ("viewer", "Viewer", "timeline, follows, tags, unread"),
    ("activity", "Activity", "likes, notifications, tags, pages"),
    ("poll", "Poll", "a recount of the votes"),
    ("battle", "Battle", "fought again, hit by hit"),
    ("room", "Room", "messages, deletes, shards"),
    ("tenant", "Tenant", "events, archives, summaries, alerts"),
    ("customer", "Customer", "of that tenant, this one alone"),
];
/// The same, and the sample.
const FIELDS: [&str; 8] =
    ["viewer", "activity", "poll", "battle", "room", "tenant", "customer", "sample"];
/// How long a page may take. A view that changes while it is compared is compared again, eight times at most.
const PATIENCE: Duration = Duration::from_secs(25);
/// The largest sample: more is a matter for the command line, which shows how far it is.
const LARGEST: usize = 100;

pub(super) fn routes() -> Router<Arc<Console>> {
    Router::new()
        .route("/console/audit", get(view).post(audit))
        .route("/console/repair", post(repair))
}

/// What is audited.
#[derive(Debug, Default)]
struct Subjects {
    viewers: Vec<ViewerId>,
    sample: Sample,
    tenant: Option<EventScope>,
}

/// What is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Task {
    Compare(Folded),
    /// Compares, and sets right what differs.
    Repair,
}

/// What was found.
#[derive(Debug, Default)]
struct Outcome {
    /// What was compared, in words.
    audited: usize,
    differences: Vec<(&'static str, Value)>,
    /// How many of them no repair sets right.
    lasting: usize,
    mended: usize,
    /// What changed all the time.
    busy: Vec<String>,
}

/// What is being compared, for whoever has waited too long.
#[derive(Debug, Clone, Default)]
struct Progress(Arc<Mutex<String>>);

impl Progress {
    fn at(&self, what: impl Into<String>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = what.into();
    }

    fn get(&self) -> String {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

async fn view(State(console): State<Arc<Console>>, fields: Fields) -> Response {
    let named = !asked(&fields).is_empty();
    let shown = html! {
        @if named { p class="quiet" { "Compare what is filled in." } }
        @else { p class="quiet" { "Name something, or take a sample, and compare." } (suggested(&console).await) }
    };
    shown_as_page(&console, &fields, shown)
}

/// What can be named. Following one fills in the form and starts nothing.
async fn suggested(console: &Console) -> Markup {
    let known = Suggestions::of(console).await;
    let of = |field: &'static str| move |id: &str| layout::address("audit", &[(field, id)]);
    html! {
        (suggestions::few("Viewers: ", &known.followers, of("viewer")))
        (suggestions::few("Activities: ", &known.activities, of("activity")))
        (suggestions::few("Polls: ", &known.polls, of("poll")))
        (suggestions::few("Battles: ", &known.battles, of("battle")))
        (suggestions::few("Rooms: ", &known.rooms, of("room")))
        (suggestions::few("Tenants: ", &known.tenants, of("tenant")))
        (suggestions::few("A sample: ", &["10".to_owned()], of("sample")))
    }
}

async fn audit(State(console): State<Arc<Console>>, Wanted { fields }: Wanted) -> Response {
    let shown = match asked(&fields).is_empty() {
        true => html! { p role="alert" class="problem" { "Name something, or take a sample." } },
        false => layout::or_problem(compared(&console, &fields, None).await),
    };
    shown_as_page(&console, &fields, shown)
}

fn shown_as_page(console: &Console, fields: &Fields, shown: Markup) -> Response {
    let content = html! {
        p { "What readers are shown is computed once more from the edges, records, facts and events, and compared with what is stored." }
        (forms(console, fields))
        (shown)
    };
    layout::page(console, Place::Audit, "Audit", content).into_response()
}

fn forms(console: &Console, fields: &Fields) -> Markup {
    html! {
        form method="post" action="audit" class="card" aria-label="What to audit" {
            (layout::token(console))
            div class="row top" {
                @for (name, label, hint) in NAMED { (layout::hinted(name, label, hint, fields.get(name))) }
                (layout::hinted("sample", "Sample", "instead: how many of each", fields.get("sample")))
            }
            p class="row" { button type="submit" { "Compare" } }
            p class="hint" { "Counts of likes, votes and hits read through all facts, a sample through all edges, and what is said of rooms through the ledger. What there is of a tenant is compared with all of their events: tables of events are read through, and archives. On a large stack that takes a while, and costs what it reads." }
            @if folded(console) == Folded::ByTime {
                p class="hint" { "This console only looks, so it writes no barrier behind what is stated, and gives the projector two seconds instead. A difference in likes, votes or hits may then be what is not folded yet: compare again. What stays is wrong." }
            }
        }
    }
}

/// Nothing is written without `--write`.
fn folded(console: &Console) -> Folded {
    match console.mode {
        Mode::Write => Folded::ByBarrier,
        Mode::ReadOnly => Folded::ByTime,
    }
}

/// What differs after this number of repairs.
async fn compared(
    console: &Console,
    fields: &Fields,
    repaired: Option<usize>,
) -> Result<Markup, Failure> {
    let outcome = run(&console.remote, fields, Task::Compare(folded(console)), PATIENCE).await?;
    Ok(html! {
        @if let Some(mended) = repaired { p role="status" class="good" { "Repaired: " (mended) ". Compared again:" } }
        @if outcome.differences.is_empty() {
            p role="status" class="good" { "No difference: " (outcome.audited) " compared." }
        } @else {
            p role="alert" class="problem" { (layout::counted(outcome.differences.len() as u64, "difference", "differences")) " in " (outcome.audited) " compared" }
            @if outcome.lasting > 0 {
                p class="hint" { "No repair sets events, archives and alerts right: " code { "docs/OPERATIONS.md" } " says what to do." }
            }
            @if console.mode == Mode::Write && outcome.lasting < outcome.differences.len() {
                form method="post" action="repair" class="row" {
                    (layout::token(console))
                    @for (name, value) in asked(fields) { input type="hidden" name=(name) value=(value); }
                    button type="submit" { "Repair" }
                }
            }
            ul class="entries" { @for (what, difference) in &outcome.differences { (entry(what, difference)) } }
        }
        @for busy in &outcome.busy { p class="problem" { (busy) " changed all the time and was not compared; try again when it is quieter" } }
        @if let Some(viewer) = fields.get("viewer") {
            p { a href=(layout::address("timeline", &[("viewer", viewer)])) { "What " (viewer) " is served" } }
        }
        @if let Some(tenant) = fields.get("tenant") {
            p { a href=(tenants::address(tenant)) { "What " (tenant) " is told" } }
        }
    })
}

fn entry(what: &str, difference: &Value) -> Markup {
    html! {
        li class="entry" {
            strong { (what) }
            table { tbody {
                @for (name, value) in difference.as_object().into_iter().flatten() {
                    tr { th scope="row" { (name) } td class="code" { (layout::json(value)) } }
                }
            } }
        }
    }
}

fn asked(fields: &Fields) -> Vec<(&str, &str)> {
    fields.of(&FIELDS)
}

async fn repair(State(console): State<Arc<Console>>, posted: Posted) -> Response {
    let question =
        "Repair what differs? Each repair runs the writer's own code, beside any traffic.";
    let posted = match posted.confirmed(&console, question) {
        Ok(posted) => posted,
        Err(question) => return question,
    };
    match run(&console.remote, &posted.fields, Task::Repair, PATIENCE).await {
        Err(failure) => layout::failed(&console, Place::Audit, "Not repaired", &failure),
        Ok(outcome) => {
            let compared = compared(&console, &posted.fields, Some(outcome.mended)).await;
            shown_as_page(&console, &posted.fields, layout::or_problem(compared))
        }
    }
}

/// What a form names.
async fn subjects(
    remote: &Remote,
    auditor: &Auditor,
    fields: &Fields,
) -> Result<Subjects, Failure> {
    if let Some(size) = fields.get("sample") {
        let size = size.parse().ok().filter(|size| (1..=LARGEST).contains(size));
        let size =
            size.ok_or_else(|| Failure::Usage(format!("sample: expected 1 to {LARGEST}")))?;
        let sample = Sample::of(&remote.facts()?, &remote.ledger()?, size).await?;
        return Ok(Subjects { viewers: auditor.sample(size).await?, sample, tenant: None });
    }
    let tenant = match (fields.get("tenant"), fields.get("customer")) {
        (None, None) => None,
        (None, Some(_)) => {
            return Err(Failure::Usage("customer: expected the tenant as well".to_owned()));
        }
        (Some(tenant), customer) => Some(EventScope {
            tenant_id: TenantId::new(tenant)?,
            customer_id: customer.map(CustomerId::new).transpose()?,
        }),
    };
    let viewers = fields.get("viewer").map(ViewerId::new).transpose()?.into_iter().collect();
    let sample = Sample {
        activities: fields.get("activity").map(ActivityId::new).transpose()?.into_iter().collect(),
        polls: fields.get("poll").map(PollId::new).transpose()?.into_iter().collect(),
        battles: fields.get("battle").map(BattleId::new).transpose()?.into_iter().collect(),
        rooms: fields.get("room").map(RoomId::new).transpose()?.into_iter().collect(),
    };
    Ok(Subjects { viewers, sample, tenant })
}

/// Compares, and repairs if wanted: on a thread of its own, since an audit computes as much as it waits, and what it
/// awaits may not be handed from thread to thread.
async fn run(
    remote: &Remote,
    fields: &Fields,
    task: Task,
    patience: Duration,
) -> Result<Outcome, Failure> {
    let (remote, fields, runtime) = (remote.clone(), fields.clone(), Handle::current());
    let progress = Progress::default();
    let seen = progress.clone();
    let audit = move || {
        runtime.block_on(async {
            let compare = progress::unseen(compare(&remote, &fields, task, &progress));
            tokio::time::timeout(patience, compare).await
        })
    };
    let ended = tokio::task::spawn_blocking(audit).await;
    let ended = ended.map_err(|e| Failure::No(format!("the audit ended early: {e}")))?;
    ended.map_err(|_elapsed| Failure::No(format!(
        "Not compared within {} s, which ended with {}: that changes all the time, or there is much of it. `nagare audit` \
         takes the time it needs. What was repaired until now is repaired.",
        patience.as_secs(),
        seen.get(),
    )))?
}

async fn compare(
    remote: &Remote,
    fields: &Fields,
    task: Task,
    progress: &Progress,
) -> Result<Outcome, Failure> {
    let (repair, folded) = match task {
        Task::Compare(folded) => (false, folded),
        Task::Repair => (true, Folded::ByBarrier),
    };
    let (ledger, facts, clock) = (remote.ledger()?, remote.facts()?, Clock::system());
    let auditor = Auditor::new(&ledger, remote.timelines()?, remote.retention()?, clock.clone());
    let views = ViewsAuditor::new(&facts, &remote.views()?, clock.clone()).waiting(folded);
    let (tags, pages) = (TagsAuditor::new(&ledger, clock.clone()), PagesAuditor::new(&ledger));
    progress.at("the choice of what to compare");
    let Subjects { viewers, sample, tenant } = subjects(remote, &auditor, fields).await?;
    let Sample { activities, polls, battles, rooms } = &sample;
    let mut outcome = Outcome {
        audited: viewers.len()
            + activities.len()
            + polls.len()
            + battles.len()
            + rooms.len()
            + usize::from(tenant.is_some()),
        ..Outcome::default()
    };
    for viewer in &viewers {
        progress.at(format!("the timeline of {viewer}"));
        let found = auditor.differences(viewer).await?;
        if repair && !found.is_empty() {
            auditor.repair(viewer, &found).await?;
            outcome.mended += found.len();
        }
        outcome.add("timeline", &found)?;
        progress.at(format!("whom {viewer} follows and what they are tagged in"));
        let found = auditor.following_differences(viewer).await?;
        if repair && !found.is_empty() {
            auditor.repair_following(&found).await?;
            outcome.mended += found.len();
        }
        outcome.add("follows", &found)?;
        outcome.tags(&tags, tags.of_viewer(viewer).await?, repair).await?;
    }
    for activity in activities {
        progress.at(format!("the tags of {activity}"));
        outcome.tags(&tags, tags.of_activity(activity).await?, repair).await?;
    }
    progress.at("pages of actors");
    let found = pages.differences(activities).await?;
    if repair && !found.is_empty() {
        pages.repair(&found).await?;
        outcome.mended += found.len();
    }
    outcome.add("pages", &found)?;
    progress.at("the likes of activities");
    outcome.add_found("likes", views.activities(activities, repair).await?)?;
    progress.at("what is unread");
    outcome.add_found("unread", views.inboxes(&viewers, repair).await?)?;
    progress.at("the votes of polls");
    outcome.add_found("poll", views.polls(polls, repair).await?)?;
    progress.at("the hits of battles");
    outcome.add_found("battle", views.battles(battles, repair).await?)?;
    progress.at("what was said in rooms");
    let auditor = RoomsAuditor::new(&ledger, clock);
    let found = auditor.differences(rooms).await?;
    if repair && !found.is_empty() {
        auditor.repair(&found).await?;
        // What no row says any more is not there to be repaired with.
        outcome.mended += found.len().saturating_sub(auditor.differences(rooms).await?.len());
    }
    outcome.add("room", &found)?;
    if let Some(scope) = &tenant {
        outcome.tenant(remote, scope, repair, progress).await?;
    }
    Ok(outcome)
}

impl Outcome {
    fn add<D: Serialize>(&mut self, what: &'static str, found: &[D]) -> Result<(), Failure> {
        for difference in found {
            self.differences.push((what, serde_json::to_value(difference)?));
        }
        Ok(())
    }

    fn add_found<D: Serialize, I: ToString>(
        &mut self,
        what: &'static str,
        found: Found<D, I>,
    ) -> Result<(), Failure> {
        self.mended += found.mended;
        self.busy.extend(found.busy.iter().map(ToString::to_string));
        self.add(what, &found.differences)
    }

    /// Compares what there is of a tenant, and makes summaries again if wanted.
    async fn tenant(
        &mut self,
        remote: &Remote,
        scope: &EventScope,
        repair: bool,
        progress: &Progress,
    ) -> Result<(), Failure> {
        let tenant = &scope.tenant_id;
        progress.at(format!("the events and archives of {tenant}"));
        let archives = Archives::new(&remote.ledger()?);
        let auditor = EventsAuditor::new(remote.events()?, archives, remote.objects()?);
        let found = auditor.differences(scope).await?;
        self.lasting += found.differences.len();
        self.add_found("events", found)?;
        progress.at(format!("the summaries and alerts of {tenant}"));
        let found = SummariesAuditor::of(remote)?.differences(scope, repair).await?;
        let alerts = found.differences.iter().filter(|it| it.difference == SummaryFault::Alert);
        self.lasting += alerts.count();
        self.add_found("summaries", found)
    }

    async fn tags(
        &mut self,
        auditor: &TagsAuditor,
        found: Vec<nagare_operator::audit::TagDifference>,
        repair: bool,
    ) -> Result<(), Failure> {
        if repair && !found.is_empty() {
            auditor.repair(&found).await?;
            self.mended += found.len();
        }
        self.add("tags", &found)
    }
}

#[cfg(test)]
mod tests;
