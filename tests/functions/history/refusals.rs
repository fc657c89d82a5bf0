//! Refusals: what can never be applied is counted once, and the first of a day become dead letters.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use aws_lambda_events::event::sqs::SqsMessage;
use aws_smithy_runtime_api::client::http::SharedHttpConnector;
use fanout_writer::Shares;
use fastrand::Rng;
use function_http::Authorization;
use nagare_local::faults::{Faulty, Rates};
use nagare_operator::erasure::history::events::EventErasure;
use nagare_operator::erasure::history::tenant;
use nagare_operator::event_scope::EventScope;
use nagare_operator::letters::{can_apply, redrive};
use nagare_telemetry::faults::{Faults, FaultsHandle};
use serde_json::{Value, json};
use shared::history::refusals::{LISTED_DAYS, MOST_LETTERS, RefusalCount, Refusals};
use shared::platform::dynamo::{Query, to_json};
use shared::platform::runtime::deadline::Deadline;
use shared::platform::values::RefusalReason;
use tests::{World, api_event, event, message, publish, soon, unfinished_ids};

use crate::history::summaries::fold_all;

const NOON: &str = "2026-11-20T12:00:00.000Z";
const BATCH: usize = 10;

async fn world() -> World {
    let world = World::new();
    for period in ["2026-10", "2026-11", "2026-12"] {
        world.make_period(period).await;
    }
    world
}

/// Gives the writer messages with ids of their own, each once, and expects all of them to be done.
async fn deliver(world: &World, bodies: impl IntoIterator<Item = Value>) -> Vec<SqsMessage> {
    let messages: Vec<_> = bodies.into_iter().map(|body| sent(&body.to_string())).collect();
    for batch in messages.chunks(BATCH) {
        let answer = world.writer.handle(event(batch.to_vec()), soon()).await.unwrap();
        assert_eq!(unfinished_ids(&answer), [""; 0]);
    }
    messages
}

fn sent(body: &str) -> SqsMessage {
    message(&uuid::Uuid::new_v4().to_string(), body, 1)
}

/// An activity of anna, and publishes under its id by others.
async fn taken(world: &World) {
    deliver(world, [publish("anna", "taken", NOON)]).await;
}

fn conflict(actor: &str) -> Value {
    publish(actor, "taken", NOON)
}

/// How many refusals of a reason are counted, and how many of them have no letter.
async fn counted(world: &World, reason: &str) -> (u64, u64) {
    let counts = Refusals::new(&world.tables.ledger).all(world.clock.now()).await.unwrap();
    let reason = RefusalReason::parse(reason).unwrap();
    let RefusalCount { refused, without_letter } = counts.get(&reason).copied().unwrap_or_default();
    (refused, without_letter)
}

async fn refusals(world: &World, tenant: &str) -> Value {
    let (status, _, body) = world.get(&format!("/v1/tenants/{tenant}/refusals"), "").await;
    assert_eq!(status, 200, "{body}");
    body["items"].clone()
}

fn recorded(id: &str, name: &str) -> Value {
    json!({"tenant_id": "acme", "customer_id": "c-9", "event_id": id, "name": name, "at": NOON})
}

fn batch(events: impl IntoIterator<Item = Value>) -> Value {
    json!({"type": "events.recorded", "events": events.into_iter().collect::<Vec<_>>()})
}

#[tokio::test]
async fn a_subject_has_so_many_letters_of_a_reason_on_a_day_and_all_are_counted() {
    let world = world().await;
    taken(&world).await;
    let most = usize::try_from(MOST_LETTERS).unwrap();
    deliver(&world, std::iter::repeat_n(conflict("eve"), most + 25)).await;
    assert_eq!(world.take_dead_letters().await.len(), most);
    assert_eq!(counted(&world, "conflict").await, (MOST_LETTERS + 25, 25));
    // Another subject, another reason, another day.
    deliver(&world, [conflict("ben"), json!({"type": "activity.published", "actor_id": "eve"})])
        .await;
    assert_eq!(world.take_dead_letters().await.len(), 2);
    world.set_clock("2026-11-21T00:00:00.000Z");
    deliver(&world, [conflict("eve")]).await;
    assert_eq!(world.take_dead_letters().await.len(), 1);
    assert_eq!(counted(&world, "conflict").await, (MOST_LETTERS + 27, 25));
    assert_eq!(counted(&world, "malformed").await, (1, 0));
}

#[tokio::test]
async fn bodies_that_name_nobody_have_one_bound_and_others_have_theirs() {
    let mut world = world().await;
    world.writer.dead_letters = world.writer.dead_letters.clone().keeping(3);
    let bodies = |body: &str, times| {
        std::iter::repeat_n(sent(body), times).map(|mut it| {
            it.message_id = Some(uuid::Uuid::new_v4().to_string());
            it
        })
    };
    let all =
        bodies("not json", 7).chain(bodies("other", 2)).chain(bodies(r#"{"viewer_id":"bob"}"#, 5));
    let messages: Vec<_> = all.collect();
    for some in messages.chunks(BATCH) {
        let answer = world.writer.handle(event(some.to_vec()), soon()).await.unwrap();
        assert_eq!(unfinished_ids(&answer), [""; 0]);
    }
    assert_eq!(world.take_dead_letters().await.len(), 3 + 3);
    assert_eq!(counted(&world, "not-json").await, (9, 6));
    assert_eq!(counted(&world, "malformed").await, (5, 2));
}

/// A row of votes has room for 655 with choices of 64 characters.
#[tokio::test]
async fn one_viewer_s_changes_of_mind_have_a_bound() {
    let world = world().await;
    let choices = ["r".repeat(64), "b".repeat(64)];
    let vote = |n: usize| {
        let at = format!("2026-11-20T11:{:02}:{:02}.{:03}Z", n / 1_000, n % 1_000 / 100, n % 100);
        json!({"type": "vote.cast", "poll_id": "mvp", "viewer_id": "bob", "choice": choices[n % 2], "at": at})
    };
    deliver(&world, (0..4_000).map(vote)).await;
    assert_eq!(world.take_dead_letters().await.len(), 1_000);
    assert_eq!(counted(&world, "too-many-votes").await, (3_345, 2_345));
    // Whoever is told of it by the metrics of the writer: all are refused commands, and a person is no reason to page.
    let count = |name: &str| -> u64 {
        world.metrics.lines().iter().filter_map(|line| line[name].as_u64()).sum()
    };
    assert_eq!((count("CommandsRefused"), count("CommandsUnreadable")), (3_345, 0));
}

#[tokio::test]
async fn a_message_counts_once_however_often_it_is_delivered_and_keeps_its_letters() {
    let mut world = world().await;
    world.writer.dead_letters = world.writer.dead_letters.clone().keeping(5);
    taken(&world).await;
    let messages = deliver(&world, std::iter::repeat_n(conflict("eve"), 9)).await;
    let origin = |letter: &SqsMessage| {
        letter.message_attributes["nagare.origin"].string_value.clone().unwrap()
    };
    let first: BTreeSet<_> = world.take_dead_letters().await.iter().map(origin).collect();
    assert_eq!(first.len(), 5);
    world.set_clock("2026-11-21T12:00:00.000Z");
    for mut again in messages {
        again.attributes.insert("ApproximateReceiveCount".to_owned(), "2".to_owned());
        world.writer.handle(event([again]), soon()).await.unwrap();
    }
    let again: BTreeSet<_> = world.take_dead_letters().await.iter().map(origin).collect();
    assert_eq!(again, first);
    assert_eq!(counted(&world, "conflict").await, (9, 4));
}

#[tokio::test]
async fn what_is_redriven_and_refused_again_is_the_letter_it_was() {
    let mut world = world().await;
    world.writer.dead_letters = world.writer.dead_letters.clone().keeping(1);
    taken(&world).await;
    deliver(&world, [conflict("eve"), conflict("eve")]).await;
    let keep = async || {
        let taken = world.take_dead_letters().await;
        world.alerter.handle(event(taken), soon()).await.unwrap();
        world.kept_letters().await
    };
    let [letter] = &keep().await[..] else { unreachable!("one letter") };
    let letters = &world.tables.dead_letters;
    // Long after what is known of its message has expired.
    world.set_clock("2026-12-02T12:00:00.000Z");
    deliver(&world, [conflict("eve")]).await;
    let full = keep().await.len();
    let read = letters.get(&letter.id).await.unwrap().unwrap();
    redrive(letters, &world.sender, &read).await.unwrap();
    let commands = world.take_commands().await;
    world.writer.handle(event(commands), soon()).await.unwrap();
    let kept = keep().await;
    assert_eq!(kept.len(), full);
    assert!(kept.iter().any(|it| it.id == letter.id));
    assert_eq!(counted(&world, "conflict").await, (3, 1));
}

#[tokio::test]
async fn a_tenant_reads_which_of_its_events_were_refused() {
    let world = world().await;
    let ids: Vec<_> = (0..30).map(|n| format!("e{n:02}")).collect();
    deliver(&world, [batch(ids.iter().map(|id| recorded(id, "login")))]).await;
    assert_eq!(refusals(&world, "acme").await, json!([]));
    deliver(&world, [batch(ids.iter().map(|id| recorded(id, "logout")))]).await;
    let late = json!({"type": "event.recorded", "tenant_id": "acme", "customer_id": "c-1", "event_id": "e", "name": "login", "at": "2026-09-01T00:00:00Z"});
    deliver(&world, [late]).await;
    world.set_clock("2026-11-21T10:00:00.000Z");
    deliver(&world, [batch([recorded("e00", "other")])]).await;
    let items = refusals(&world, "acme").await;
    let counts = items.as_array().unwrap().iter();
    let counts: Vec<_> = counts.map(|it| (&it["date"], &it["reason"], &it["count"])).collect();
    let expected = json!([
        ["2026-11-21", "event-conflict", 1],
        ["2026-11-20", "event-conflict", 30],
        ["2026-11-20", "event-too-late", 1]
    ]);
    assert_eq!(json!(counts), expected);
    let examples = items[1]["examples"].as_array().unwrap();
    assert_eq!(examples.len(), 20);
    for (id, example) in ids.iter().zip(examples) {
        assert_eq!(
            [&example["customer_id"], &example["event_id"], &example["at"]],
            ["c-9", id.as_str(), NOON]
        );
        assert!(example["detail"].as_str().unwrap().contains("was recorded before"), "{example}");
    }
    assert_eq!(items[2]["examples"][0]["customer_id"], "c-1");
    assert_eq!(refusals(&world, "other").await, json!([]));
    // Days that are over are not listed.
    world.set_clock(&format!("2026-12-{:02}T12:00:00.000Z", LISTED_DAYS - 10));
    assert_eq!(refusals(&world, "acme").await.as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn only_a_tenant_reads_its_refusals() {
    let mut world = world().await;
    world.set_authorization(Authorization::Jwt);
    let get = async |claims: Value| {
        let authorizer = json!({"jwt": {"claims": claims}});
        let request = api_event("GET", "/v1/tenants/acme/refusals", "", Some(authorizer));
        world.answer(request, soon()).await.0
    };
    assert_eq!(get(json!({"sub": "s", "tenant_id": "acme"})).await, 200);
    assert_eq!(get(json!({"sub": "s", "tenant_id": "other"})).await, 403);
    assert_eq!(get(json!({"sub": "acme"})).await, 403);
}

/// A request of 240 bytes, compressed, that was 500 letters each time it was sent.
#[tokio::test]
async fn a_request_s_refusals_are_bounded_and_page_nobody() {
    let world = world().await;
    deliver(&world, [batch([recorded("e", "login")])]).await;
    let body = json!({"events": vec![recorded("e", "logout"); 500]}).to_string();
    for _ in 0..3 {
        let mut request = api_event("POST", "/v1/tenants/acme/events", "", None);
        request["body"] = body.as_str().into();
        let request = serde_json::from_value(request).unwrap();
        assert_eq!(world.intake.handle(&request, soon()).await.status_code, 202);
        let commands = world.take_commands().await;
        let answer = world.writer.handle(event(commands), soon()).await.unwrap();
        assert_eq!(unfinished_ids(&answer), [""; 0]);
    }
    let letters = world.take_dead_letters().await;
    assert_eq!(letters.len(), 1_000);
    for some in letters.chunks(100) {
        world.alerter.handle(event(some.to_vec()), soon()).await.unwrap();
    }
    let items = refusals(&world, "acme").await;
    assert_eq!(
        [&items[0]["count"], &json!(items[0]["examples"].as_array().unwrap().len())],
        [1_500, 20]
    );
    // Both sides of the alarm's quotient are messages, and none of these is one that no tenant is the reason of.
    let lines = world.metrics.lines();
    let count = |name: &str| -> u64 { lines.iter().filter_map(|line| line[name].as_u64()).sum() };
    assert_eq!(count("CommandsApplied"), 1 + 15);
    assert_eq!(
        ["CommandsRefused", "CommandsUnreadable", "SystemDeadLetters"].map(count),
        [0, 0, 0]
    );
}

#[tokio::test]
async fn a_closed_period_is_a_mistake_of_the_request() {
    let world = world().await;
    let post = async |ats: &[&str]| {
        let events = ats
            .iter()
            .map(|at| json!({"customer_id": "c-9", "event_id": "e", "name": "login", "at": at}));
        let events: Vec<_> = events.collect();
        let mut request = api_event("POST", "/v1/tenants/acme/events", "", None);
        request["body"] = json!({ "events": events }).to_string().into();
        let request = serde_json::from_value(request).unwrap();
        let response = world.intake.handle(&request, soon()).await;
        let Some(aws_lambda_events::encodings::Body::Text(body)) = response.body else {
            unreachable!()
        };
        (response.status_code, serde_json::from_str::<Value>(&body).unwrap())
    };
    // Seven days after its end a month is closed.
    world.set_clock("2026-11-07T23:59:59.999Z");
    assert_eq!(post(&["2026-10-31T23:59:59.999Z"]).await.0, 202);
    assert_eq!(world.take_commands().await.len(), 1);
    world.set_clock("2026-11-08T00:00:00.000Z");
    let (status, body) = post(&["2026-11-01T00:00:00Z", "2026-10-31T23:59:59.999Z"]).await;
    assert_eq!(status, 400);
    let errors = body["errors"].as_array().unwrap();
    assert_eq!(errors.len(), 1);
    assert_eq!([&errors[0]["index"], &errors[0]["member"]], [&json!(1), &json!("at")]);
    assert!(errors[0]["detail"].as_str().unwrap().contains("2026-10"), "{body}");
    assert_eq!(world.take_commands().await.len(), 0, "nothing is queued");
}

#[tokio::test]
async fn what_can_never_be_applied_is_known() {
    let world = world().await;
    taken(&world).await;
    let ahead = publish("anna", "ahead", "2026-11-20T13:00:00Z");
    deliver(&world, [conflict("eve"), ahead, json!([1]), json!({"type": "x"})]).await;
    let taken = world.take_dead_letters().await;
    world.alerter.handle(event(taken), soon()).await.unwrap();
    let can = async |now: &str| {
        let mut can = BTreeMap::new();
        for listed in world.kept_letters().await {
            let letter = world.tables.dead_letters.get(&listed.id).await.unwrap().unwrap();
            can.insert(letter.reason.clone(), can_apply(&letter, now.parse().unwrap()));
        }
        can.into_iter().filter(|(_, can)| *can).map(|(reason, _)| reason).collect::<Vec<_>>()
    };
    assert_eq!(can(NOON).await, [""; 0]);
    // Its instant has come.
    assert_eq!(can("2026-11-20T13:00:00Z").await, ["malformed"]);
}

/// Erases a tenant, or one of its customers.
async fn erase(world: &World, customer: Option<&str>) {
    let (tables, objects) = world.operator(|inside| inside);
    let customer_id = customer.map(|id| id.parse().unwrap());
    let scope = EventScope { tenant_id: "acme".parse().unwrap(), customer_id };
    let (stored, clock) = ((&tables.ledger, &tables.views), world.clock.clone());
    let erasure = EventErasure::new(scope, tables.events.clone(), stored, objects, clock);
    fold_all(world, 100).await;
    tenant::erase(&erasure).await.unwrap();
}

#[tokio::test]
async fn an_erasure_removes_examples_and_that_of_a_tenant_counts() {
    let world = world().await;
    let of = |customer: &str, name: &str| {
        let mut event = recorded("e", name);
        event["customer_id"] = customer.into();
        event
    };
    deliver(&world, [batch([of("c-1", "login"), of("c-2", "login")])]).await;
    deliver(&world, [batch([of("c-1", "logout"), of("c-2", "logout")])]).await;
    erase(&world, Some("c-1")).await;
    let items = refusals(&world, "acme").await;
    assert_eq!(items[0]["count"], 2);
    let examples = items[0]["examples"].as_array().unwrap();
    assert_eq!(examples.iter().map(|it| &it["customer_id"]).collect::<Vec<_>>(), ["c-2"]);
    erase(&world, None).await;
    assert_eq!(refusals(&world, "acme").await, json!([]));
    for row in world.tables.ledger.table().all(Query::default()).await.unwrap() {
        assert!(!to_json(&row.item).to_string().contains("acme"), "{:?}", row.item);
    }
}

#[tokio::test]
async fn a_letter_keeps_the_last_cause_where_no_table_answers() {
    let handle = FaultsHandle::default();
    let faults = handle.clone();
    let world = World::behind(|inside| SharedHttpConnector::new(Faulty::by(&faults, inside)));
    handle.set(Faults { denied: 1.0, ..Faults::default() });
    let body = publish("anna", "a", NOON).to_string();
    for receives in 1..=5 {
        let message = message("first", &body, receives);
        let answer = world.writer.handle(event([message]), soon()).await.unwrap();
        assert_eq!(unfinished_ids(&answer).is_empty(), receives == 5);
    }
    let letters = world.take_dead_letters().await;
    let answer = world.alerter.handle(event(letters.clone()), soon()).await.unwrap();
    assert_eq!(unfinished_ids(&answer).len(), 1, "its table is denied too");
    handle.set(Faults::default());
    world.alerter.handle(event(letters), soon()).await.unwrap();
    let [letter] = &world.kept_letters().await[..] else { unreachable!("one letter") };
    assert_eq!((letter.reason.as_str(), letter.receive_count), ("access-denied", 5));
    assert!(letter.detail.contains("access denied"), "{}", letter.detail);
}

#[tokio::test]
async fn a_refusal_that_is_slow_to_count_uses_up_no_receive() {
    let mut slow = None;
    let world = World::behind(|inside| {
        let tables = Faulty::new(Faults::default(), inside);
        slow = Some(tables.clone());
        SharedHttpConnector::new(tables)
    });
    world.make_period("2026-10").await;
    world.set_clock("2026-11-08T00:00:00.000Z");
    let mut late = recorded("e", "login");
    (late["type"], late["at"]) = ("event.recorded".into(), "2026-10-31T23:59:59.999Z".into());
    let slow = slow.unwrap();
    slow.set_rates(Rates { writes: Some(0.001), ..Rates::default() });
    let short = Deadline::after(Duration::from_secs(2));
    // Equal messages of one batch count, too, and what is not a command.
    let messages = [&late.to_string(), &late.to_string(), "no command"].map(sent);
    let ids = messages.clone().map(|it| it.message_id);
    let answer = world.writer.handle(event(messages), short).await.unwrap();
    assert_eq!(unfinished_ids(&answer), [""; 0]);
    slow.set_rates(Rates::default());
    assert_eq!(counted(&world, "event-too-late").await, (0, 0));
    let handed_on = world.take_commands().await;
    assert_eq!(handed_on.len(), 3);
    world.writer.handle(event(handed_on), soon()).await.unwrap();
    assert_eq!(counted(&world, "event-too-late").await, (2, 0));
    assert_eq!(counted(&world, "not-json").await, (1, 0));
    assert_eq!(lettered(&world).await, BTreeSet::from(ids));
}

/// Delivers a batch and what is handed on of it, and expects so many refusals with letters; then all of it again, as after lost
/// answers, and expects no more.
async fn count_once_each(
    world: &World,
    bodies: Vec<Value>,
    later: &str,
    (reason, refused): (&str, u64),
) {
    let mut messages: Vec<_> = bodies.iter().map(|body| sent(&body.to_string())).collect();
    let mut all = messages.clone();
    for _ in 0..3 {
        for batch in messages.chunks(BATCH) {
            let answer = world.writer.handle(event(batch.to_vec()), soon()).await.unwrap();
            assert_eq!(unfinished_ids(&answer), [""; 0]);
        }
        world.set_clock(later);
        messages = world.take_commands().await;
        all.extend(messages.clone());
    }
    assert!(messages.is_empty());
    let expected = usize::try_from(refused).unwrap();
    assert_eq!(counted(world, reason).await, (refused, 0));
    let letters = lettered(world).await;
    assert_eq!(letters.len(), expected);
    for again in &mut all {
        again.attributes.insert("ApproximateReceiveCount".to_owned(), "2".to_owned());
    }
    for batch in all.chunks(BATCH) {
        let answer = world.writer.handle(event(batch.to_vec()), soon()).await.unwrap();
        assert_eq!(unfinished_ids(&answer), [""; 0]);
    }
    assert_eq!(counted(world, reason).await, (refused, 0));
}

/// The messages that letters are of.
async fn lettered(world: &World) -> BTreeSet<Option<String>> {
    let letters = world.take_dead_letters().await;
    let id = |it: &SqsMessage| it.message_attributes["nagare.origin"].string_value.clone();
    letters.iter().map(id).collect()
}

#[tokio::test]
async fn equal_messages_beyond_a_share_count_once_each() {
    let mut world = world().await;
    taken(&world).await;
    world.writer.shares = Shares::new(2);
    let others = ["one", "two"].map(|id| publish("eve", id, NOON));
    let copies = std::iter::repeat_n(conflict("eve"), 5);
    let all = others.into_iter().chain(copies).collect();
    count_once_each(&world, all, "2026-11-20T12:01:00.000Z", ("conflict", 5)).await;
}

#[tokio::test]
async fn equal_messages_that_wait_for_their_table_count_once_each() {
    let world = World::new();
    let mut early = recorded("e", "login");
    early["type"] = "event.recorded".into();
    world.set_clock("2026-12-07T23:59:59.000Z");
    count_once_each(&world, vec![early; 5], "2026-12-08T00:01:00.000Z", ("event-too-late", 5))
        .await;
}

/// A producer cannot say which message its message was first.
#[tokio::test]
async fn only_a_writer_says_what_a_message_was_first() {
    let mut world = world().await;
    taken(&world).await;
    world.writer.shares = Shares::new(0);
    deliver(&world, [conflict("eve")]).await;
    let [back] = &world.take_commands().await[..] else { unreachable!("one message") };
    let mut other = back.clone();
    other.message_id = Some("other".to_owned());
    other.body = Some(conflict("ben").to_string());
    other.attributes.insert("MessageGroupId".to_owned(), "ben".to_owned());
    let answer = world.writer.handle(event([back.clone(), other]), soon()).await.unwrap();
    assert_eq!(unfinished_ids(&answer), [""; 0]);
    assert_eq!(counted(&world, "conflict").await, (2, 0));
}

/// Refuses for a while, over calls that fail, with deliveries that are repeated and cut short, and compares with a recount.
async fn run(seed: u64) {
    let mut random = Rng::with_seed(seed);
    let handle = FaultsHandle::default();
    let faults = handle.clone();
    let mut world = World::behind(|inside| SharedHttpConnector::new(Faulty::by(&faults, inside)));
    world.make_period("2026-11").await;
    let most = random.u64(1..8);
    world.writer.dead_letters = world.writer.dead_letters.clone().keeping(most);
    let ids: Vec<_> = (0..12).map(|n| format!("e{n}")).collect();
    deliver(
        &world,
        [batch(ids.iter().map(|id| recorded(id, "login"))), publish("anna", "taken", NOON)],
    )
    .await;
    if random.bool() {
        world.writer.shares = Shares::new(random.usize(0..4));
    }
    let bodies = (0..random.usize(5..20)).map(|_| match random.u8(0..4) {
        0 => conflict(["eve", "ben"][random.usize(0..2)]),
        3 => json!({"type": "nothing"}),
        1 => {
            let mut event = recorded(&ids[random.usize(0..12)], "logout");
            event["type"] = "event.recorded".into();
            event
        }
        _ => batch(
            (0..random.usize(1..12))
                .map(|n| recorded(&ids[n], ["login", "logout"][random.usize(0..2)])),
        ),
    });
    let bodies: Vec<_> = bodies.collect();
    handle.set(Faults {
        seed,
        throttles: 0.05,
        errors: 0.05,
        resets: 0.05,
        lost_answers: 0.1,
        cuts: 0.05,
        ..Faults::default()
    });
    let mut waiting: Vec<_> = bodies.iter().map(|body| sent(&body.to_string())).collect();
    let mut done = Vec::new();
    for round in 0..200 {
        if waiting.is_empty() {
            break;
        }
        if round == 100 {
            handle.set(Faults::default());
        }
        random.shuffle(&mut waiting);
        let mut some: Vec<_> = waiting.iter().take(random.usize(1..BATCH)).cloned().collect();
        for message in &mut some {
            let receives = random.u8(1..3).to_string();
            message.attributes.insert("ApproximateReceiveCount".to_owned(), receives);
        }
        let short = Deadline::after(Duration::from_millis(random.u64(50..2_000)));
        let answer = world.writer.handle(event(some.clone()), short).await.unwrap();
        let unfinished = unfinished_ids(&answer);
        for message in some {
            let id = message.message_id.clone().unwrap();
            if !unfinished.contains(&id) {
                // Some are delivered again although they are done.
                waiting.retain(|it| it.message_id != message.message_id || random.u8(0..4) == 0);
                done.push(id);
            }
        }
        waiting.extend(world.take_commands().await);
    }
    handle.set(Faults::default());
    assert!(waiting.is_empty(), "seed {seed}: it ends");
    let (mut conflicts, mut events, mut unknown) = (BTreeMap::<String, u64>::new(), 0, 0);
    for body in &bodies {
        match body["type"].as_str().unwrap() {
            "nothing" => unknown += 1,
            "activity.published" => {
                *conflicts.entry(body["actor_id"].to_string()).or_default() += 1
            }
            "event.recorded" => events += 1,
            _ => {
                events += body["events"]
                    .as_array()
                    .unwrap()
                    .iter()
                    .filter(|it| it["name"] == "logout")
                    .count() as u64
            }
        }
    }
    let without = |refused: &u64| refused.saturating_sub(most);
    let expected = (conflicts.values().sum::<u64>(), conflicts.values().map(without).sum::<u64>());
    assert_eq!(counted(&world, "conflict").await, expected, "seed {seed}");
    assert_eq!(counted(&world, "event-conflict").await, (events, without(&events)), "seed {seed}");
    assert_eq!(counted(&world, "unknown-type").await, (unknown, without(&unknown)), "seed {seed}");
    let items = refusals(&world, "acme").await;
    let total: u64 = items.as_array().unwrap().iter().filter_map(|it| it["count"].as_u64()).sum();
    assert_eq!(total, events, "seed {seed}");
    if let Some(examples) = items[0]["examples"].as_array() {
        assert_eq!(examples.len() as u64, events.min(most).min(20), "seed {seed}");
    }
    // The letters of a day are those that there is room for, however often they were sent. What was handed on is refused in its
    // envelope, which has the id of its first message.
    let origin = |letter: &SqsMessage| {
        let body: Value = serde_json::from_str(letter.body.as_deref().unwrap()).unwrap();
        let first = body["command"]["origin"].as_str().map(ToOwned::to_owned);
        first.or(letter.message_attributes["nagare.origin"].string_value.clone())
    };
    let letters = world.take_dead_letters().await;
    let origins = letters.iter().map(origin);
    let kept = conflicts.values().map(|refused| *refused.min(&most)).sum::<u64>()
        + events.min(most)
        + unknown.min(most);
    assert_eq!(origins.collect::<BTreeSet<_>>().len() as u64, kept, "seed {seed}");
}

#[tokio::test]
async fn counts_are_a_recount_whatever_fails() {
    for seed in 0..40 {
        run(seed).await;
    }
}
