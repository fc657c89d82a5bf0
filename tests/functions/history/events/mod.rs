//! Events: recorded once or refused, and read in the order of time over the tables of their periods.

mod bounds;
mod pages;

use fanout_writer::Disposition;
use function_http::Authorization;
use serde_json::{Value, json};
use shared::history::events::PeriodState;
use tests::{World, api_event, event, message, soon, unfinished};

/// The clock of a world shows 2026-11-20; months close a week after their end.
async fn world() -> World {
    let world = World::new();
    for period in ["2026-10", "2026-11", "2026-12"] {
        world.make_period(period).await;
    }
    world
}

fn recorded(customer: &str, id: &str, at: &str, name: &str, properties: Value) -> Value {
    json!({"type": "event.recorded", "tenant_id": "acme", "customer_id": customer, "event_id": id,
        "name": name, "at": at, "properties": properties})
}

fn login(id: &str, at: &str) -> Value {
    recorded("c-9", id, at, "login", json!({"of": id}))
}

fn batch(events: &[Value]) -> Value {
    json!({"type": "events.recorded", "events": events})
}

async fn page_of(world: &World, customer: &str, query: &str) -> Value {
    let path = format!("/v1/tenants/acme/customers/{customer}/events");
    let (status, _, body) = world.get(&path, query).await;
    assert_eq!(status, 200, "{body}");
    body
}

async fn page(world: &World, query: &str) -> Value {
    page_of(world, "c-9", query).await
}

fn ids(page: &Value) -> Vec<&str> {
    page["items"].as_array().unwrap().iter().map(|it| it["event_id"].as_str().unwrap()).collect()
}

/// The letters on the queue: body, reason and origin of each.
async fn letters(world: &World) -> Vec<(Value, String, String)> {
    let taken = world.take_dead_letters().await;
    let attribute = |letter: &aws_lambda_events::event::sqs::SqsMessage, name: &str| {
        letter.message_attributes[name].string_value.clone().unwrap()
    };
    let read = taken.iter().map(|letter| {
        let body = serde_json::from_str(letter.body.as_deref().unwrap()).unwrap();
        (body, attribute(letter, "nagare.reason"), attribute(letter, "nagare.origin"))
    });
    let mut read: Vec<_> = read.collect();
    read.sort_by(|one, other| one.2.cmp(&other.2));
    read
}

async fn reasons(world: &World) -> Vec<String> {
    letters(world).await.into_iter().map(|(_, reason, _)| reason).collect()
}

const NOON: &str = "2026-11-20T12:00:00.000Z";

#[tokio::test]
async fn an_event_is_shown_as_it_was_sent() {
    let world = world().await;
    let empty = page(&world, "").await;
    let shown = json!([
        empty["tenant_id"],
        empty["customer_id"],
        empty["items"],
        empty["next_cursor"],
        empty["archived_before"]
    ]);
    assert_eq!(shown, json!(["acme", "c-9", [], null, null]));
    let body = r#"{"type":"event.recorded","tenant_id":"acme","customer_id":"c-9","event_id":"e1","name":"login","at":"2026-11-20T21:00:00+09:00","properties":{"n":1.0,"b":2,"a":1}}"#;
    assert_eq!(world.write(&[body], 1).await, [0_usize; 0]);
    let event = json!({"type": "event.recorded", "tenant_id": "acme", "customer_id": "c-9",
        "event_id": "e2", "name": "log.out", "at": NOON});
    world.done(&[event]).await;
    let (_, _, shown) = world.get("/v1/tenants/acme/customers/c-9/events", "order=oldest").await;
    let items = json!([
        {"event_id": "e1", "name": "login", "at": NOON, "properties": {"n": 1.0, "b": 2, "a": 1}},
        {"event_id": "e2", "name": "log.out", "at": NOON, "properties": null},
    ]);
    assert_eq!(shown["items"], items);
    assert_eq!(reasons(&world).await, [""; 0]);
    // Another customer's, and another tenant's.
    assert_eq!(page_of(&world, "c", "").await["items"], json!([]));
    let (_, _, other) = world.get("/v1/tenants/other/customers/c-9/events", "").await;
    assert_eq!(other["items"], json!([]));
}

#[tokio::test]
async fn a_repetition_changes_nothing_and_another_content_is_refused() {
    let world = world().await;
    world.done(&[login("e", NOON), login("e", NOON)]).await;
    assert_eq!(reasons(&world).await, [""; 0]);
    let other_name = recorded("c-9", "e", NOON, "logout", json!({"of": "e"}));
    let other_properties = recorded("c-9", "e", NOON, "login", json!({"of": "x"}));
    // The same value in other bytes.
    let other_bytes = login("e", NOON).to_string().replace(r#"{"of":"e"}"#, r#"{"of": "e"}"#);
    world.done(&[other_name, other_properties]).await;
    assert_eq!(world.write(&[&other_bytes], 1).await, [0_usize; 0]);
    assert_eq!(reasons(&world).await, ["event-conflict"; 3]);
    let shown = page(&world, "").await;
    assert_eq!(
        shown["items"],
        json!([{"event_id": "e", "name": "login", "at": NOON, "properties": {"of": "e"}}])
    );
    // Another instant, another customer: another event.
    world
        .done(&[login("e", "2026-11-20T12:00:00.001Z"), recorded("c", "e", NOON, "x", json!(1))])
        .await;
    assert_eq!(
        (
            page(&world, "").await["items"].as_array().unwrap().len(),
            world.events_in("2026-11").await
        ),
        (2, 3)
    );
}

#[tokio::test]
async fn an_event_is_taken_until_its_period_closes_and_not_at_that_instant() {
    let world = world().await;
    world.make_period("2026-09").await;
    let late = login("late", "2026-10-31T23:59:59.999Z");
    world.set_clock("2026-11-07T23:59:59.999Z");
    world.done(std::slice::from_ref(&late)).await;
    assert_eq!((world.events_in("2026-10").await, reasons(&world).await), (1, vec![]));
    world.set_clock("2026-11-08T00:00:00.000Z");
    // A repetition too, and nothing else is looked at: its table could be gone.
    world.drop_table_of("2026-10");
    world.done(&[late, login("later", "2026-10-01T00:00:00Z")]).await;
    assert_eq!(reasons(&world).await, ["event-too-late"; 2]);
    world.done(&[login("first", "2026-11-01T00:00:00Z")]).await;
    assert_eq!((world.events_in("2026-11").await, reasons(&world).await), (1, vec![]));
}

#[tokio::test]
async fn instants_before_the_deployments_earliest_are_malformed() {
    let mut world = world().await;
    world.done(&[login("old", "2014-12-31T23:59:59.999Z")]).await;
    assert_eq!(reasons(&world).await, ["malformed"]);
    world.writer.events.as_mut().unwrap().settings.earliest =
        shared::history::events::EventSettings::EARLIEST_BY_HAND;
    world.done(&[login("old", "2014-12-31T23:59:59.999Z")]).await;
    assert_eq!(reasons(&world).await, ["event-too-late"]);
    world.set_clock("2013-01-02T00:00:00Z");
    world.make_period("2013-01").await;
    world.done(&[login("old", "2013-01-01T05:00:00Z")]).await;
    assert_eq!((world.events_in("2013-01").await, reasons(&world).await), (1, vec![]));
}

/// Delivers what was handed on, a minute later and not before.
async fn handed_on(world: &World, expected: usize) {
    assert_eq!(world.take_commands().await.len(), 0);
    world.clock.set(world.clock.now().plus_millis(60_000));
    let messages = world.take_commands().await;
    assert_eq!(messages.len(), expected);
    let response = world.writer.handle(event(messages), soon()).await.unwrap();
    assert_eq!(unfinished(&response), [0_usize; 0]);
}

#[tokio::test]
async fn a_table_that_is_missing_is_waited_for() {
    let world = World::new();
    let body = login("e", NOON).to_string();
    assert_eq!(world.write(&[&body], 1).await, [0_usize; 0]);
    // Planned, and perhaps half made.
    world.period("2026-11").await;
    assert_eq!(world.write(&[&body], 5).await, [0_usize; 0]);
    world.make_period("2026-11").await;
    assert_eq!(world.events_in("2026-11").await, 0);
    handed_on(&world, 2).await;
    assert_eq!((world.events_in("2026-11").await, reasons(&world).await), (1, vec![]));
}

#[tokio::test]
async fn all_who_put_an_event_put_it_under_the_number_of_the_made_row() {
    let mut world = World::new();
    world.period("2026-11").await;
    let events: Vec<_> = (0..10).map(|n| login(&format!("e{n}"), NOON)).collect();
    let body = batch(&events).to_string();
    assert_eq!(world.write(&[&body], 1).await, [0_usize; 0]);
    world.spread_in_period("2026-11", "acme#c-9", 8).await;
    world.make_period("2026-11").await;
    assert_eq!(world.write(&[&body], 2).await, [0_usize; 0]);
    // Another process.
    let (events, ledger) = (&world.tables.events, &world.writer.ledger);
    let settings = shared::history::events::EventSettings::default();
    let events = shared::history::events::Events::new(settings, events.tables(), ledger);
    world.writer.events = Some(events);
    assert_eq!(world.write(&[&body], 1).await, [0_usize; 0]);
    assert_eq!(world.events_in("2026-11").await, 10);
}

#[tokio::test]
async fn a_sealed_table_refuses_what_a_slow_clock_would_take() {
    let world = world().await;
    let body = login("e", NOON).to_string();
    world.done(&[login("before", NOON)]).await;
    world.seal_table_of("2026-11");
    // Denied for whatever reason: somebody may set it right.
    assert_eq!(world.write(&[&body], 1).await, [0]);
    world.move_period("2026-11", PeriodState::Sealed).await;
    assert_eq!(world.write(&[&body], 2).await, [0_usize; 0]);
    assert_eq!(reasons(&world).await, ["event-too-late"]);
}

#[tokio::test]
async fn bad_events_of_several_are_dead_letters_of_their_own() {
    let world = world().await;
    world.done(&[login("taken", NOON)]).await;
    let mut sent = vec![
        login("e1", NOON),
        login("late", "2026-09-30T12:00:00Z"),
        recorded("c-9", "taken", NOON, "logout", json!(null)),
        json!({"tenant_id": "acme", "customer_id": "c-9", "x": [1.0]}),
        json!(7),
        login("e2", NOON),
    ];
    sent[0].as_object_mut().unwrap().remove("type");
    let body = batch(&sent).to_string();
    assert_eq!(world.write(&[&body], 1).await, [0_usize; 0]);
    let found = letters(&world).await;
    let of =
        |index: usize, reason: &str, body: Value| (body, reason.to_owned(), format!("0-{index}"));
    let mut third = sent[3].clone();
    third["type"] = json!("event.recorded");
    let expected = [
        of(1, "event-too-late", sent[1].clone()),
        of(2, "event-conflict", sent[2].clone()),
        of(3, "malformed", third),
        of(4, "not-json", json!(7)),
    ];
    assert_eq!(found, expected);
    assert_eq!(ids(&page(&world, "order=oldest").await), ["e1", "e2", "taken"]);
    // The message is applied: the metrics of commands count messages. Its refusals are counted for the tenant.
    let count = |name: &str| -> u64 {
        world.metrics.lines().iter().filter_map(|line| line[name].as_u64()).sum()
    };
    assert_eq!(["CommandsApplied", "CommandsRefused"].map(count), [2, 0]);
    let (_, _, refused) = world.get("/v1/tenants/acme/refusals", "").await;
    let refused = refused["items"].as_array().unwrap().iter();
    let refused: Vec<_> = refused.map(|it| json!([it["reason"], it["count"]])).collect();
    let expected =
        json!([["event-conflict", 1], ["event-too-late", 1], ["malformed", 1], ["not-json", 1]]);
    assert_eq!(json!(refused), expected);
}

#[tokio::test]
async fn a_redelivered_message_makes_the_same_letters() {
    let world = world().await;
    let body = batch(&[
        login("e1", NOON),
        login("late", "2026-09-30T12:00:00Z"),
        json!({"tenant_id": "acme"}),
    ])
    .to_string();
    for receives in 1..4 {
        assert_eq!(world.write(&[&body], receives).await, [0_usize; 0]);
        let letters = world.take_dead_letters().await;
        assert_eq!(letters.len(), 2);
        world.alerter.handle(event(letters), soon()).await.unwrap();
    }
    let kept = world.kept_letters().await;
    let mut kept: Vec<_> =
        kept.iter().map(|it| (it.id.as_str(), it.reason.as_str(), it.is_verified())).collect();
    kept.sort_unstable();
    assert_eq!(kept, [("0-1", "event-too-late", true), ("0-2", "malformed", true)]);
    // Sent again by itself, it comes back as the same.
    let letter = world.tables.dead_letters.get("0-1").await.unwrap().unwrap();
    let mut again = message("another", &letter.body, 1);
    let origin = json!({"stringValue": letter.id, "dataType": "String", "stringListValues": [], "binaryListValues": []});
    again
        .message_attributes
        .insert("nagare.origin".to_owned(), serde_json::from_value(origin).unwrap());
    let response = world.writer.handle(event([again]), soon()).await.unwrap();
    assert_eq!(unfinished(&response), [0_usize; 0]);
    world.alerter.handle(event(world.take_dead_letters().await), soon()).await.unwrap();
    assert_eq!(world.kept_letters().await.len(), 2);
}

#[tokio::test]
async fn nothing_is_given_up_while_something_is_to_be_tried_again() {
    let world = world().await;
    // December's table is missing.
    world.drop_table_of("2026-12");
    world.set_clock("2026-11-30T23:59:00Z");
    let sent = [
        login("late", "2026-09-30T12:00:00Z"),
        login("next", "2026-12-01T00:00:00Z"),
        login("e", NOON),
    ];
    let body = batch(&sent).to_string();
    // It is handed on, however often it was received, and said of it is nothing yet.
    assert_eq!(world.write(&[&body], 5).await, [0_usize; 0]);
    assert_eq!((reasons(&world).await, world.events_in("2026-11").await), (vec![], 1));
    world.make_table_of("2026-12");
    handed_on(&world, 1).await;
    assert_eq!(world.events_in("2026-12").await, 1);
    assert_eq!(reasons(&world).await, ["event-too-late"]);
}

#[tokio::test]
async fn a_message_with_none_too_many_or_two_tenants_is_one_letter() {
    let world = world().await;
    let many: Vec<_> = (0..101).map(|n| login(&format!("e{n}"), NOON)).collect();
    let mut other = login("x", NOON);
    other["tenant_id"] = json!("other");
    let refused = [
        batch(&[]),
        batch(&many),
        batch(&[login("e", NOON), other]),
        json!({"type": "events.recorded", "events": {"0": login("e", NOON)}}),
        json!({"type": "events.recorded"}),
    ];
    for body in &refused {
        world.done(std::slice::from_ref(body)).await;
        let letters = letters(&world).await;
        assert_eq!((letters.len(), &letters[0].0, letters[0].1.as_str()), (1, body, "malformed"));
    }
    assert_eq!(world.events_in("2026-11").await, 0);
    world.done(&[batch(&many[..100])]).await;
    assert_eq!(world.events_in("2026-11").await, 100);
}

#[tokio::test]
async fn of_two_with_one_identity_in_a_message_the_first_stays() {
    let world = world().await;
    let other = recorded("c-9", "e", NOON, "logout", json!({}));
    world.done(&[batch(&[login("e", NOON), other.clone(), login("e", NOON)])]).await;
    assert_eq!(letters(&world).await, [(other, "event-conflict".to_owned(), "0-1".to_owned())]);
    assert_eq!(page(&world, "").await["items"][0]["name"], "login");
}

#[tokio::test]
async fn an_event_that_is_applied_says_so() {
    let world = world().await;
    let command = shared::command::Command::parse(&login("e", NOON).to_string(), world.clock.now());
    let delivery = fanout_writer::Delivery::only(soon());
    let applied = world.writer.apply(command.unwrap(), delivery).await.unwrap();
    assert!(matches!(applied, Disposition::Applied(None)));
}

#[tokio::test]
async fn a_tenants_history_is_read_by_its_own_tokens() {
    let mut world = world().await;
    let path = "/v1/tenants/acme/customers/c-9/events";
    let status = async |world: &World, claims: Option<Value>| {
        let authorizer = claims.map(|claims| json!({"jwt": {"claims": claims}}));
        world.answer(api_event("GET", path, "", authorizer), soon()).await.0
    };
    let of = |tenant: &str| Some(json!({"sub": "bob", "tenant_id": tenant}));
    assert_eq!(status(&world, None).await, 200);
    assert_eq!(status(&world, of("other")).await, 403);
    world.set_authorization(Authorization::Jwt);
    assert_eq!(status(&world, of("acme")).await, 200);
    assert_eq!(status(&world, of("other")).await, 403);
    assert_eq!(status(&world, of("")).await, 403);
    assert_eq!(status(&world, Some(json!({"sub": "acme"}))).await, 403);
    assert_eq!(status(&world, Some(json!({"tenant_id": "acme"}))).await, 401);
    assert_eq!(status(&world, None).await, 401);
}
