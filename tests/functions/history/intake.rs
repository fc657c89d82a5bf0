//! The intake of events: what it takes, what it refuses as a whole, and that nothing of what it refuses is queued.

use std::io::Write;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use event_intake::{MESSAGE_BYTES, MOST_BYTES, MOST_EVENTS, TenantRates};
use flate2::Compression;
use flate2::write::GzEncoder;
use function_http::{Authorization, ClaimName, Claims};
use nagare_local::faults::Fault;
use serde_json::{Value, json};
use shared::platform::runtime::deadline::Deadline;
use tests::{NOW, World, api_event, assert_single, event, soon, unfinished};

use crate::platform::queue_calls::{LASTING, PASSING, Script};
const PATH: &str = "/v1/tenants/acme/events";

struct Answer(i64, aws_lambda_events::http::HeaderMap, Value);

impl Answer {
    fn header(&self, name: &str) -> &str {
        self.1.get(name).map_or("", |value| value.to_str().unwrap())
    }

    fn member(&self, index: usize) -> (&Value, &Value) {
        let fault = &self.2["errors"][index];
        (&fault["index"], &fault["member"])
    }
}

fn request(body: impl Into<String>) -> Value {
    let mut request = api_event("POST", PATH, "", None);
    request["body"] = body.into().into();
    request
}

async fn answer_by(world: &World, request: Value, deadline: Deadline) -> Answer {
    let request = serde_json::from_value(request).unwrap();
    let response = world.intake.handle(&request, deadline).await;
    assert_single(&response.headers);
    let Some(aws_lambda_events::encodings::Body::Text(body)) = response.body else {
        unreachable!("every answer has a body")
    };
    Answer(response.status_code, response.headers, serde_json::from_str(&body).unwrap())
}

async fn answer(world: &World, request: Value) -> Answer {
    answer_by(world, request, soon()).await
}

async fn send(world: &World, events: Value) -> Answer {
    answer(world, request(json!({ "events": events }).to_string())).await
}

fn login(id: &str) -> Value {
    json!({"customer_id": "c-9", "event_id": id, "name": "login", "at": NOW, "properties": {"of": id}})
}

fn logins(number: usize) -> Value {
    (0..number).map(|n| login(&format!("e-{n}"))).collect()
}

/// The ids of the customer's events, as a reader sees them.
async fn recorded(world: &World, tenant: &str) -> Vec<String> {
    let path = format!("/v1/tenants/{tenant}/customers/c-9/events");
    let (mut ids, mut query) = (Vec::new(), "limit=100".to_owned());
    loop {
        let (status, _, page) = world.answer(api_event("GET", &path, &query, None), soon()).await;
        assert_eq!(status, 200, "{page}");
        let items = page["items"].as_array().unwrap();
        ids.extend(items.iter().map(|item| item["event_id"].as_str().unwrap().to_owned()));
        match page["next_cursor"].as_str() {
            Some(cursor) => query = format!("limit=100&cursor={cursor}"),
            None => return ids,
        }
    }
}

/// Has the writer apply what is queued. Returns how many events each message had.
async fn write(world: &World) -> Vec<usize> {
    let taken = world.take_commands().await;
    let sizes = taken.iter().map(|message| {
        let body: Value = serde_json::from_str(message.body.as_deref().unwrap()).unwrap();
        assert_eq!(body["type"], "events.recorded");
        body["events"].as_array().unwrap().len()
    });
    let mut sizes: Vec<_> = sizes.collect();
    let response = world.writer.handle(event(taken), soon()).await.unwrap();
    assert_eq!(unfinished(&response), [0_usize; 0]);
    sizes.sort_unstable();
    sizes
}

async fn world() -> World {
    let world = World::new();
    world.make_period("2026-11").await;
    world
}

#[tokio::test]
async fn what_is_accepted_is_recorded_for_the_tenant_of_the_path() {
    let world = world().await;
    let mut events = logins(250);
    events[7]["tenant_id"] = "other".into();
    events[8]["tenant_id"] = json!({"not": ["an", "id"]});
    events[9]["type"] = "event.recorded".into();
    events[9]["unknown"] = true.into();
    let answer = send(&world, events.clone()).await;
    assert_eq!((answer.0, answer.2), (202, json!({"accepted": 250})));
    assert_eq!(write(&world).await, [50, 100, 100]);
    assert_eq!(recorded(&world, "acme").await.len(), 250);
    assert_eq!(recorded(&world, "other").await.len(), 0);

    assert_eq!(send(&world, events).await.0, 202, "the whole again");
    write(&world).await;
    assert_eq!(recorded(&world, "acme").await.len(), 250, "changes nothing");
    assert_eq!(world.dead_letters().await.len(), 0);
    send(&world, json!([{"customer_id": "c-9", "event_id": "e-1", "name": "logout", "at": NOW}]))
        .await;
    write(&world).await;
    assert_eq!(world.dead_letters().await.len(), 1, "a conflict comes out later");
}

#[tokio::test]
async fn properties_are_recorded_as_they_were_sent() {
    let world = world().await;
    let body = r#"{"events":[{"customer_id":"c-9","event_id":"e","name":"n","at":"2026-11-20T13:00:00.0009+02:00",
        "properties":{ "b" : 1.10, "a":1e2 }}]}"#;
    assert_eq!(answer(&world, request(body)).await.0, 202);
    let taken = world.take_commands().await;
    let body = taken[0].body.as_deref().unwrap();
    assert!(body.contains(r#""properties":{ "b" : 1.10, "a":1e2 }"#), "{body}");
    assert!(body.contains(r#""at":"2026-11-20T11:00:00.000Z""#), "{body}");
    assert_eq!(taken[0].attributes["MessageGroupId"], "acme");
}

#[tokio::test]
async fn one_mistake_refuses_the_whole() {
    let world = world().await;
    for (member, wrong) in [
        ("customer_id", json!("a#b")),
        ("customer_id", json!("..")),
        ("customer_id", Value::Null),
        ("event_id", json!("")),
        ("event_id", json!("x".repeat(129))),
        ("name", json!("two words")),
        ("name", json!("n".repeat(65))),
        ("at", json!("yesterday")),
        ("at", json!("2026-11-20T12:05:00.001Z")),
        ("at", json!("2014-12-31T23:59:59.999Z")),
        ("properties", json!("x".repeat(4095))),
        ("type", json!("activity.published")),
    ] {
        let mut events = logins(3);
        events[1][member] = wrong.clone();
        let answer = send(&world, events).await;
        assert_eq!(answer.0, 400, "{member}: {wrong}");
        assert_eq!(answer.header("content-type"), "application/problem+json");
        assert_eq!(answer.member(0), (&json!(1), &json!(member)), "{}", answer.2);
        assert_eq!(answer.2["errors"].as_array().unwrap().len(), 1);
        let detail = answer.2["errors"][0]["detail"].as_str().unwrap();
        assert!(detail.contains(member), "{detail}");
    }
    for member in ["customer_id", "event_id", "name", "at"] {
        let mut events = logins(2);
        events[0].as_object_mut().unwrap().remove(member);
        assert_eq!(send(&world, events).await.member(0), (&json!(0), &json!(member)));
    }
    let several = json!([1, login("a"), [], {"customer_id": "c", "event_id": "e", "name": "n"}]);
    let answer = send(&world, several).await;
    let found: Vec<_> = (0..3).map(|n| answer.member(n)).collect();
    let (none, at) = (Value::Null, json!("at"));
    assert_eq!(found, [(&json!(0), &none), (&json!(2), &none), (&json!(3), &at)]);
    let twice = r#"{"events":[{"customer_id":"c","customer_id":"d","event_id":"e","name":"n","at":"2026-11-20T12:00:00Z"}]}"#;
    let answer = self::answer(&world, request(twice)).await;
    assert_eq!((answer.0, answer.member(0)), (400, (&json!(0), &json!("customer_id"))));
    assert_eq!(world.take_commands().await.len(), 0, "nothing was queued");
}

#[tokio::test]
async fn a_body_is_an_object_with_1_to_500_events() {
    let world = world().await;
    for events in [json!([]), logins(MOST_EVENTS + 1), json!({}), json!("x"), Value::Null] {
        let answer = send(&world, events).await;
        assert_eq!(answer.0, 400);
        assert_eq!(answer.member(0), (&Value::Null, &json!("events")), "{}", answer.2);
    }
    for body in
        ["", "[]", "nonsense", "{\"events\":[", "{}", "{\"events\":[],\"events\":[]}", "null"]
    {
        let answer = answer(&world, request(body)).await;
        assert_eq!((answer.0, &answer.2["errors"][0]["index"]), (400, &Value::Null), "{body}");
    }
    assert_eq!(world.take_commands().await.len(), 0, "nothing was queued");
    assert_eq!(send(&world, logins(MOST_EVENTS)).await.0, 202);
    assert_eq!(write(&world).await, [100; 5]);
}

#[tokio::test]
async fn large_events_are_spread_over_more_messages() {
    let world = world().await;
    let mut events = logins(MOST_EVENTS);
    for event in events.as_array_mut().unwrap() {
        event["properties"] = "x".repeat(4000).into();
    }
    assert_eq!(send(&world, events).await.0, 202);
    let taken = world.take_commands().await;
    let largest = taken.iter().map(|message| message.body.as_ref().unwrap().len()).max().unwrap();
    assert!(largest <= MESSAGE_BYTES + 64 && largest > MESSAGE_BYTES - 8192, "{largest}");
}

fn gzip(text: &str) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(text.as_bytes()).unwrap();
    encoder.finish().unwrap()
}

fn encoded(bytes: &[u8], coding: &str) -> Value {
    let mut request = request(STANDARD.encode(bytes));
    request["isBase64Encoded"] = true.into();
    request["headers"]["content-encoding"] = coding.into();
    request
}

#[tokio::test]
async fn bodies_have_a_size_and_may_be_compressed() {
    let world = world().await;
    let (text, space) = (json!({"events": [login("e")]}).to_string(), " ".repeat(MOST_BYTES));
    let fitting = format!("{text}{}", &space[text.len()..]);
    let larger = format!("{fitting} ");
    assert_eq!(answer(&world, request(fitting.as_str())).await.0, 202);
    assert_eq!(answer(&world, request(larger.as_str())).await.0, 413);
    assert_eq!(answer(&world, encoded(&gzip(&fitting), "gzip")).await.0, 202);
    assert_eq!(answer(&world, encoded(&gzip(&larger), "GZIP")).await.0, 413, "as it is read");
    assert_eq!(answer(&world, encoded(larger.as_bytes(), "identity")).await.0, 413);
    assert_eq!(answer(&world, encoded(text.as_bytes(), "identity")).await.0, 202);
    assert_eq!(answer(&world, encoded(text.as_bytes(), "gzip")).await.0, 400, "it is not");
    let cut = gzip(&text);
    assert_eq!(answer(&world, encoded(&cut[..cut.len() - 9], "gzip")).await.0, 400);
    assert_eq!(answer(&world, encoded(b"\xff", "identity")).await.0, 400);
    let unknown = answer(&world, encoded(text.as_bytes(), "br")).await;
    assert_eq!((unknown.0, unknown.header("accept-encoding")), (415, "gzip"));
    assert_eq!(answer(&world, encoded(text.as_bytes(), "gzip, gzip")).await.0, 415);
    assert_eq!(world.take_commands().await.len(), 3);
}

#[tokio::test]
async fn who_may_send() {
    let mut world = world().await;
    let status = async |world: &World, authorizer: Option<Value>| {
        let mut request = api_event("POST", PATH, "", authorizer);
        request["body"] = json!({"events": [login("e")]}).to_string().into();
        answer(world, request).await.0
    };
    let claims = |claims: Value| Some(json!({"jwt": {"claims": claims}}));
    let of = |tenant: &str| claims(json!({"sub": "bob", "tenant_id": tenant}));
    let signed = Some(json!({"iam": {"userArn": "arn:aws:iam::1:user/backend"}}));
    assert_eq!(status(&world, None).await, 202);
    assert_eq!(status(&world, of("other")).await, 403, "whoever has a token is its owner");
    world.intake.authorization = Authorization::Iam;
    assert_eq!(status(&world, None).await, 401);
    assert_eq!(status(&world, signed).await, 202);
    world.intake.authorization = Authorization::Jwt;
    for (authorizer, expected) in [
        (of("acme"), 202),
        (of("other"), 403),
        (of(""), 403),
        (of("Acme"), 403),
        (claims(json!({"sub": "acme"})), 403),
        (claims(json!({"tenant_id": "acme"})), 401),
        (None, 401),
    ] {
        assert_eq!(status(&world, authorizer.clone()).await, expected, "{authorizer:?}");
    }
    world.intake.claims = named("sub", "custom:team").unwrap();
    assert_eq!(status(&world, of("acme")).await, 403);
    assert_eq!(status(&world, claims(json!({"sub": "bob", "custom:team": "acme"}))).await, 202);
    world.intake.claims = named("email", "tenant_id").unwrap();
    assert_eq!(status(&world, of("acme")).await, 401, "no viewer");
    let of_backend = claims(json!({"email": "backend", "tenant_id": "acme"}));
    assert_eq!(status(&world, of_backend).await, 202);
}

/// The claims with these names, if they may have them.
fn named(viewer: &str, tenant: &str) -> Option<Claims> {
    let name = |text: &str| text.parse::<ClaimName>().ok();
    Claims::new(name(viewer)?, name(tenant)?).ok()
}

#[test]
fn the_claim_of_a_tenant_is_not_one_of_viewers() {
    for wrong in ["", "sub", "email", "two words", "ä", &"x".repeat(129)] {
        assert_eq!(named("email", wrong), None, "{wrong}");
    }
    for wrong in ["", "tenant_id", "two words", "ä", &"x".repeat(129)] {
        assert_eq!(named(wrong, "tenant_id"), None, "{wrong}");
    }
    assert_eq!(named("sub", "tenant_id"), Some(Claims::default()));
}

/// An identity provider may have the viewer in another claim, and ids of its own form. A list
/// arrives as `[a b]`.
#[tokio::test]
async fn the_viewer_is_whom_the_claim_names() {
    let mut world = world().await;
    world.set_authorization(Authorization::Jwt);
    world.set_claims(named("uid", "tenant_id").unwrap());
    let claims = |claims: Value| Some(json!({"jwt": {"claims": claims}}));
    let ada = "auth0|5f7c+ada";
    for path in ["/v1/timelines/auth0|5f7c+ada", "/v1/timelines/auth0%7C5f7c%2Bada"] {
        for (authorizer, expected) in [
            (claims(json!({"uid": ada})), 200),
            (claims(json!({"uid": ada, "sub": "bob"})), 200),
            (claims(json!({"uid": "bob", "sub": ada})), 403),
            (claims(json!({"uid": "[auth0|5f7c+ada]"})), 403),
            (claims(json!({"uid": "[auth0|5f7c+ada bob]"})), 403),
            (claims(json!({"uid": "auth0|5f7c ada"})), 403),
            (claims(json!({"uid": "auth0%7C5f7c%2Bada"})), 403),
            (claims(json!({"uid": ""})), 401),
            (claims(json!({"sub": ada})), 401),
            (None, 401),
        ] {
            let said = format!("{path}: {authorizer:?}");
            let (status, ..) = world.answer(api_event("GET", path, "", authorizer), soon()).await;
            assert_eq!(status, expected, "{said}");
        }
    }
}

/// A `+` of a query is a space, and the answer says so.
#[tokio::test]
async fn a_plus_in_a_query_is_encoded() {
    let world = world().await;
    let asked = async |query: &str| {
        let event = api_event("GET", "/v1/viewers/auth0|x+y/tagged", query, None);
        world.answer(event, soon()).await
    };
    assert_eq!(asked("viewer=auth0|x%2By").await.0, 200);
    let (status, _, problem) = asked("viewer=auth0|x+y").await;
    assert_eq!((status, &problem["parameter"]), (400, &json!("viewer")));
    assert!(problem["detail"].as_str().unwrap().contains("write `+` as %2B"), "{problem}");
}

#[tokio::test]
async fn the_path_takes_posts_and_ids_alone() {
    let world = world().await;
    let body = json!({"events": [login("e")]}).to_string();
    let mut request = request(body.as_str());
    request["rawPath"] = "/v1/tenants/a%23b/events".into();
    let answer = answer(&world, request.clone()).await;
    assert_eq!((answer.0, &answer.2["parameter"]), (400, &json!("tenant_id")));
    request["rawPath"] = "/v1/tenants/acme/event".into();
    assert_eq!(self::answer(&world, request.clone()).await.0, 404);
    for method in ["GET", "PUT", "DELETE", "HEAD"] {
        request["rawPath"] = PATH.into();
        request["requestContext"]["http"]["method"] = method.into();
        let answer = self::answer(&world, request.clone()).await;
        assert_eq!((answer.0, answer.header("allow")), (405, "POST"), "{method}");
        let by_reader = serde_json::from_value(request.clone()).unwrap();
        let by_reader = world.respond(&by_reader, soon()).await;
        assert_eq!(by_reader.status_code, 405, "{method}");
        assert_eq!(by_reader.headers["allow"], "POST");
    }
    assert_eq!(world.take_commands().await.len(), 0);
}

#[tokio::test(start_paused = true)]
async fn nothing_is_accepted_before_all_of_it_is_on_the_queue() {
    for fault in PASSING {
        let script = Script::default();
        let world = script.world().0;
        script.fail(2, fault);
        let answer = send(&world, logins(MOST_EVENTS)).await;
        assert_eq!((answer.0, &answer.2["accepted"]), (202, &json!(500)), "{fault:?}");
        assert!(script.calls().len() > 1, "{fault:?}: some are sent again");
        let (mut ids, taken) = (Vec::new(), world.take_commands().await);
        for message in taken {
            let body: Value = serde_json::from_str(message.body.as_deref().unwrap()).unwrap();
            let events = body["events"].as_array().unwrap().iter();
            ids.extend(events.map(|event| event["event_id"].as_str().unwrap().to_owned()));
        }
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids.len(), MOST_EVENTS, "{fault:?}");
    }
    for fault in LASTING.into_iter().chain([Fault::Throttled, Fault::Leftovers(1)]) {
        let script = Script::default();
        let world = script.world().0;
        script.fail(1_000, fault);
        let deadline = Deadline::after(Duration::from_secs(3));
        let answer =
            answer_by(&world, request(json!({"events": logins(5)}).to_string()), deadline).await;
        assert_eq!((answer.0, answer.header("retry-after")), (503, "5"), "{fault:?}");
        let counted = world.metrics.lines();
        assert_eq!(counted.last().unwrap()["RequestsUnsent"], 1, "{fault:?}");
    }
}

#[tokio::test]
async fn a_tenant_has_a_rate_of_its_own() {
    let mut world = world().await;
    world.intake.rates = TenantRates::per_second(100);
    assert_eq!(send(&world, logins(500)).await.0, 202, "any request passes at first");
    let refused = send(&world, logins(1)).await;
    assert_eq!((refused.0, refused.header("retry-after")), (429, "5"));
    let mut other = request(json!({"events": logins(1)}).to_string());
    other["rawPath"] = "/v1/tenants/other/events".into();
    assert_eq!(answer(&world, other).await.0, 202, "another tenant is not concerned");
    world.set_clock("2026-11-20T12:00:03.999Z");
    assert_eq!(send(&world, logins(1)).await.header("retry-after"), "1");
    world.set_clock("2026-11-20T12:00:04.001Z");
    assert_eq!(send(&world, logins(1)).await.0, 202, "after that time");
    world.set_clock("2026-11-20T12:01:00.000Z");
    for n in 0..10 {
        assert_eq!(send(&world, logins(10)).await.0, 202, "{n}: a second's worth at once");
    }
    assert_eq!(send(&world, logins(1)).await.0, 429);
}

/// A malformed request takes as much work as another.
#[tokio::test]
async fn a_malformed_request_is_charged() {
    let large = format!("{{\"events\":[{}1]}}", "1,".repeat(2_000_000));
    let bodies = [
        (json!({"events": vec![json!({}); 100]}).to_string(), 100),
        (json!({"events": logins(MOST_EVENTS + 1)}).to_string(), 5),
        (large, 300),
        ("{".to_owned(), 1),
        (json!({"events": []}).to_string(), 1),
    ];
    for (body, events) in bodies {
        let mut world = world().await;
        world.intake.rates = TenantRates::per_second(1_000);
        // All but one event of the allowance is used up before: what comes after is refused for as
        // long as it is paid back.
        assert_eq!(send(&world, logins(500)).await.0, 202);
        assert_eq!(send(&world, logins(499)).await.0, 202);
        assert_eq!(answer(&world, request(body.as_str())).await.0, 400, "{events}");
        assert_eq!(send(&world, logins(1)).await.0, 429, "{events}");
        world.set_clock("2026-11-20T12:00:00.002Z");
        let paid_back = send(&world, logins(1)).await.0;
        assert_eq!(paid_back, if events > 3 { 429 } else { 202 }, "{events}");
    }
}

#[tokio::test]
async fn every_route_of_a_tenant_is_for_its_tokens_alone() {
    let mut world = world().await;
    world.set_authorization(Authorization::Jwt);
    world.set_claims(named("sub", "team").unwrap());
    let claims = |claims: Value| Some(json!({"jwt": {"claims": claims}}));
    let mut routes = 0;
    for route in history_reader::ROUTES {
        routes += 1;
        let segments = route.split('/').map(|segment| match segment {
            "{tenant_id}" => "acme",
            parameter if parameter.starts_with('{') => "c-9",
            other => other,
        });
        let path = segments.collect::<Vec<_>>().join("/");
        for (authorizer, expected) in [
            (claims(json!({"sub": "bob", "team": "acme"})), &[200, 404][..]),
            (claims(json!({"sub": "bob", "team": "other"})), &[403]),
            (claims(json!({"sub": "bob", "team": "other", "tenant_id": "acme"})), &[403]),
            (claims(json!({"sub": "bob", "team": "acme acme"})), &[403]),
            (claims(json!({"sub": "acme"})), &[403]),
            (claims(json!({"team": "acme"})), &[401]),
            (None, &[401]),
        ] {
            let (status, ..) = world.answer(api_event("GET", &path, "", authorizer), soon()).await;
            assert!(expected.contains(&status), "{path}: {status}, expected {expected:?}");
        }
    }
    assert!(routes >= 2, "there are some");
}
