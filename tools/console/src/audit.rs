//! What is stored against what it should be, computed anew from the source of truth, and repair.
//!
//! An audit reads much, so no link starts one: its address fills in the form, and a button sends it. A console that only
//! looks writes nothing for it, not even the barrier that says whether facts are folded. It then waits a while instead, and
//! says what that means for what it finds.

use std::time::Duration;

use nagare_client::remote::Remote;
use nagare_operator::audit::{
    Auditor, EventsAuditor, Folded, Found, PagesAuditor, RoomsAuditor, Sample, SummariesAuditor,
    SummaryFault, TagDifference, TagsAuditor, ViewsAuditor,
};
use nagare_operator::event_scope::EventScope;
use nagare_operator::progress;
use serde::Serialize;
use shared::history::events::Archives;
use shared::platform::dynamo::DynamoError;
use shared::platform::runtime::clock::Clock;
use shared::platform::values::{
    ActivityId, BattleId, CustomerId, IdError, PollId, RoomId, TenantId, ViewerId,
};
use tokio::runtime::Handle;
use tokio::sync::watch;

use crate::prelude::*;
use crate::suggested::Suggestions;
use crate::suggestions;

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

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Task {
    Compare(Folded),
    /// Compares, and sets right what differs.
    Repair,
}

#[derive(Debug, Default)]
struct Outcome {
    audited: usize,
    differences: Vec<(&'static str, Value)>,
    /// How many of them no repair sets right.
    lasting: usize,
    mended: usize,
    /// What changed all the time.
    busy: Vec<String>,
}

/// What is being compared, for whoever has waited too long.
type Progress = watch::Sender<String>;

pub(super) async fn view(State(console): Here, fields: Fields) -> Page {
    let shown = html! {
        @if asked(&fields).is_empty() { p class="quiet" { "Name something, or take a sample, and compare." } (suggested(&console).await) }
        @else { p class="quiet" { "Compare what is filled in." } }
    };
    shown_as_page(&console, &fields, shown)
}

/// What can be named. Following one fills in the form and starts nothing.
async fn suggested(console: &Console) -> Markup {
    let known = Suggestions::read(console).await;
    let kinds = [
        ("Viewers: ", &*known.followers, "viewer"),
        ("Activities: ", &known.activities, "activity"),
        ("Polls: ", &known.polls, "poll"),
        ("Battles: ", &known.battles, "battle"),
        ("Rooms: ", &known.rooms, "room"),
        ("Tenants: ", &known.tenants, "tenant"),
        ("A sample: ", &["10".to_owned()], "sample"),
    ];
    suggestions::few(&kinds, |field, id| named::address("audit", &[(field, id)]))
}

pub(super) async fn audit(State(console): Here, Wanted(fields): Wanted) -> Page {
    let shown = match asked(&fields).is_empty() {
        true => layout::problem(&"Name something, or take a sample."),
        false => layout::or_problem(compared(&console, &fields, None).await),
    };
    shown_as_page(&console, &fields, shown)
}

fn shown_as_page(console: &Console, fields: &Fields, shown: Markup) -> Page {
    let content = html! {
        p { "What readers are shown is computed once more from the edges, records, facts and events, and compared with what is stored." }
        (forms(console, fields))
        (shown)
    };
    layout::page(console, Place::Audit, "Audit", content)
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
                    (layout::token(console)) (layout::hidden(&asked(fields)))
                    button type="submit" { "Repair" }
                }
            }
            ul class="entries" { @for (what, difference) in &outcome.differences { (entry(what, difference)) } }
        }
        @for busy in &outcome.busy { p class="problem" { (busy) " changed all the time and was not compared; try again when it is quieter" } }
        @if let Some(viewer) = fields.get("viewer") {
            p { a href=(named::address("timeline", &[("viewer", viewer)])) { "What " (viewer) " is served" } }
        }
        @if let Some(tenant) = fields.get("tenant") {
            p { a href=(named::path_of("tenant", tenant)) { "What " (tenant) " is told" } }
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
    fields.given(&FIELDS)
}

pub(super) async fn repair(State(console): Here, posted: Posted) -> Response {
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
            shown_as_page(&console, &posted.fields, layout::or_problem(compared)).into_response()
        }
    }
}

async fn subjects(
    remote: &Remote,
    auditor: &Auditor,
    fields: &Fields,
) -> Result<(Vec<ViewerId>, Sample, Option<EventScope>), Failure> {
    if let Some(size) = fields.get("sample") {
        let size = size.parse().ok().filter(|size| (1..=LARGEST).contains(size));
        let size =
            size.ok_or_else(|| Failure::Usage(format!("sample: expected 1 to {LARGEST}")))?;
        let sample = Sample::draw(&remote.facts()?, &remote.ledger()?, size).await?;
        return Ok((auditor.sample(size).await?, sample, None));
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
    let sample = Sample {
        activities: named_by(fields, "activity", ActivityId::new)?,
        polls: named_by(fields, "poll", PollId::new)?,
        battles: named_by(fields, "battle", BattleId::new)?,
        rooms: named_by(fields, "room", RoomId::new)?,
    };
    Ok((named_by(fields, "viewer", ViewerId::new)?, sample, tenant))
}

/// The one that a field names, if it does.
fn named_by<'f, T>(
    fields: &'f Fields,
    field: &str,
    parse: impl FnOnce(&'f str) -> Result<T, IdError>,
) -> Result<Vec<T>, IdError> {
    Ok(fields.get(field).map(parse).transpose()?.into_iter().collect())
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
    let (progress, seen) = watch::channel(String::new());
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
        &*seen.borrow(),
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
    progress.send_replace("the choice of what to compare".to_owned());
    let (viewers, sample, tenant) = subjects(remote, &auditor, fields).await?;
    let Sample { activities, polls, battles, rooms } = &sample;
    let of_sample = activities.len() + polls.len() + battles.len() + rooms.len();
    let audited = viewers.len() + of_sample + usize::from(tenant.is_some());
    let mut outcome = Outcome { audited, ..Outcome::default() };
    for viewer in &viewers {
        progress.send_replace(format!("the timeline of {viewer}"));
        let found = auditor.differences(viewer).await?;
        let mend = async |found: &[_]| auditor.repair(viewer, found).await;
        outcome.settle("timeline", &found, repair, mend).await?;
        progress.send_replace(format!("whom {viewer} follows and what they are tagged in"));
        let found = auditor.following_differences(viewer).await?;
        let mend = async |found: &[_]| auditor.repair_following(found).await;
        outcome.settle("follows", &found, repair, mend).await?;
        outcome.tags(&tags, tags.of_viewer(viewer).await?, repair).await?;
    }
    for activity in activities {
        progress.send_replace(format!("the tags of {activity}"));
        outcome.tags(&tags, tags.of_activity(activity).await?, repair).await?;
    }
    progress.send_replace("pages of actors".to_owned());
    let found = pages.differences(activities).await?;
    outcome.settle("pages", &found, repair, async |found: &[_]| pages.repair(found).await).await?;
    progress.send_replace("the likes of activities".to_owned());
    outcome.add_found("likes", views.activities(activities, repair).await?)?;
    progress.send_replace("what is unread".to_owned());
    outcome.add_found("unread", views.inboxes(&viewers, repair).await?)?;
    progress.send_replace("the votes of polls".to_owned());
    outcome.add_found("poll", views.polls(polls, repair).await?)?;
    progress.send_replace("the hits of battles".to_owned());
    outcome.add_found("battle", views.battles(battles, repair).await?)?;
    progress.send_replace("what was said in rooms".to_owned());
    let auditor = RoomsAuditor::new(&ledger, clock);
    let found = auditor.differences(rooms).await?;
    outcome.settle("room", &found, repair, async |found: &[_]| auditor.repair(found).await).await?;
    if repair && !found.is_empty() {
        // What no row says any more is not there to be repaired with.
        outcome.mended -= found.len().min(auditor.differences(rooms).await?.len());
    }
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

    /// The same, after it was set right if wanted.
    async fn settle<D: Serialize>(
        &mut self,
        what: &'static str,
        found: &[D],
        repair: bool,
        mend: impl AsyncFnOnce(&[D]) -> Result<(), DynamoError>,
    ) -> Result<(), Failure> {
        if repair && !found.is_empty() {
            mend(found).await?;
            self.mended += found.len();
        }
        self.add(what, found)
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
        progress.send_replace(format!("the events and archives of {tenant}"));
        let archives = Archives::new(&remote.ledger()?);
        let auditor = EventsAuditor::new(remote.events()?, archives, remote.objects()?);
        let found = auditor.differences(scope).await?;
        self.lasting += found.differences.len();
        self.add_found("events", found)?;
        progress.send_replace(format!("the summaries and alerts of {tenant}"));
        let found = SummariesAuditor::over(remote)?.differences(scope, repair).await?;
        let alerts = found.differences.iter().filter(|it| it.difference == SummaryFault::Alert);
        self.lasting += alerts.count();
        self.add_found("summaries", found)
    }

    async fn tags(
        &mut self,
        auditor: &TagsAuditor,
        found: Vec<TagDifference>,
        repair: bool,
    ) -> Result<(), Failure> {
        self.settle("tags", &found, repair, async |found: &[_]| auditor.repair(found).await).await
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::net::TcpListener;

    use nagare_client::running::Note;
    use nagare_client::target::Target;
    use nagare_local::{Stack, StackConfig};
    use shared::platform::runtime::env;

    use super::*;

    #[tokio::test]
    async fn an_audit_without_an_end_says_what_it_was_at() {
        let stack = Stack::start(StackConfig::default()).await.unwrap();
        // Whoever listens here never answers.
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let silent = format!("http://{}", listener.local_addr().unwrap());
        let stuck = stack.environment().iter().cloned().map(|(name, value)| match name {
            env::DYNAMODB_ENDPOINT => (name, silent.clone()),
            _ => (name, value),
        });
        let stuck: Vec<_> = stuck.collect();
        let remote = async |environment: &[(&str, String)]| {
            Remote::connect(Target::Local(Note::new(stack.port(), environment))).await.unwrap()
        };
        let (remote, stuck) = (remote(stack.environment()).await, remote(&stuck).await);
        let comparing = Task::Compare(Folded::ByBarrier);
        for (query, at) in [
            ("viewer=bob", "ended with the timeline of bob"),
            ("battle=dragon", "ended with the hits of battles"),
            ("sample=1", "ended with the choice of what to compare"),
            ("tenant=acme", "ended with the events and archives of acme"),
        ] {
            let fields = Fields::parse(query.as_bytes());
            let failure = run(&stuck, &fields, comparing, Duration::ZERO).await.unwrap_err();
            assert!(failure.to_string().contains(at), "{failure}");
            assert!(run(&remote, &fields, comparing, PATIENCE).await.is_ok());
        }
        stack.shut_down().await;
    }
}
