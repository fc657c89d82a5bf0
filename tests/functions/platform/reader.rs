//! The timeline reader: pages, cursors, and every problem of the contract.

use std::time::Duration;

use aws_smithy_runtime_api::client::http::SharedHttpConnector;
use function_http::Authorization;
use nagare_client::tables::TableNames;
use nagare_local::faults::Faulty;
use serde_json::{Value, json};
use tests::{World, api_event, follow, publish, soon};

/// A world in which bob's timeline holds `a0`..`a9`, a minute apart.
async fn with_ten() -> World {
    let world = World::new();
    world.done(&[follow("bob", "anna", "2026-11-20T10:00:00Z")]).await;
    for n in 0..10 {
        let at = format!("2026-11-20T11:0{n}:00.000Z");
        world.done(&[publish("anna", &format!("a{n}"), &at)]).await;
    }
    world
}

/// All ids of a walk, page by page.
async fn walk(world: &World, query: &str, limit: usize) -> Vec<String> {
    let (mut ids, mut query) = (Vec::new(), format!("{query}&limit={limit}"));
    loop {
        let (status, _, page) = world.get("/v1/timelines/bob", &query).await;
        assert_eq!(status, 200, "{page}");
        let items = page["items"].as_array().unwrap();
        ids.extend(items.iter().map(|item| item["activity_id"].as_str().unwrap().to_owned()));
        match &page["next_cursor"] {
            Value::String(cursor) => {
                assert_eq!(items.len(), limit, "a short page that is not the last");
                query = format!("cursor={cursor}&limit={limit}");
            }
            _ => return ids,
        }
    }
}

#[tokio::test]
async fn walks_both_ways_in_pages_of_any_length() {
    let world = with_ten().await;
    let up: Vec<_> = (0..10).map(|n| format!("a{n}")).collect();
    let down: Vec<_> = up.iter().rev().cloned().collect();
    for limit in [1, 2, 3, 9, 10, 11, 100] {
        assert_eq!(walk(&world, "order=oldest", limit).await, up, "{limit}");
        assert_eq!(walk(&world, "order=newest", limit).await, down, "{limit}");
    }
}

#[tokio::test]
async fn an_answer_has_one_cache_control_header() {
    let mut world = with_ten().await;
    for (seconds, expected) in [(0, "private, no-store"), (7, "public, max-age=7")] {
        world.reader.public_cache_seconds = seconds;
        let (status, headers, _) = world.get("/v1/actors/anna/activities", "").await;
        assert_eq!(status, 200);
        assert!(headers.contains(&("cache-control".into(), expected.into())), "{headers:?}");
        let (_, headers, _) = world.get("/v1/timelines/bob", "").await;
        assert!(headers.contains(&("cache-control".into(), "private, no-store".into())));
    }
}

#[tokio::test]
async fn keeps_a_range() {
    let world = with_ten().await;
    let check = async |range: &str, expected: &[&str]| {
        assert_eq!(walk(&world, &format!("order=oldest&{range}"), 2).await, expected, "{range}");
    };
    check("from=2026-11-20T11:07:00Z", &["a7", "a8", "a9"]).await;
    check("from=2026-11-20T11:07:00.001Z", &["a8", "a9"]).await;
    check("to=2026-11-20T11:01:00Z", &["a0"]).await;
    check("from=2026-11-20T20:03:00%2B09:00&to=2026-11-20T11:05:00Z", &["a3", "a4"]).await;
    check("from=2026-11-21", &[]).await;
    check("from=2026-11-20T11:05:00Z&to=2026-11-20T11:05:00Z", &[]).await;
    assert_eq!(walk(&world, "from=2026-11-20&to=2026-11-20", 3).await.len(), 10);
    assert_eq!(walk(&world, "from=0000-01-01&to=9999-12-31", 3).await.len(), 10);
}

#[tokio::test]
async fn newer_goes_on_without_a_gap() {
    let world = with_ten().await;
    let (_, _, page) = world.get("/v1/timelines/bob", "limit=3").await;
    let newer = |page: &Value| format!("limit=2&cursor={}", page["newer_cursor"].as_str().unwrap());
    let (_, _, empty) = world.get("/v1/timelines/bob", &newer(&page)).await;
    assert_eq!(empty["items"], serde_json::json!([]));
    assert_eq!(empty["next_cursor"], Value::Null);
    for n in 0..5 {
        let at = format!("2026-11-20T11:1{n}:00Z");
        world.done(&[publish("anna", &format!("b{n}"), &at)]).await;
    }
    let (mut page, mut ids) = (empty, Vec::new());
    for _ in 0..4 {
        (_, _, page) = world.get("/v1/timelines/bob", &newer(&page)).await;
        let items = page["items"].as_array().unwrap().iter();
        ids.extend(items.map(|item| item["activity_id"].as_str().unwrap().to_owned()));
    }
    assert_eq!(ids, ["b0", "b1", "b2", "b3", "b4"]);
}

#[tokio::test]
async fn newer_of_an_empty_timeline_starts_at_its_beginning() {
    let world = World::new();
    let (status, _, page) = world.get("/v1/timelines/bob", "").await;
    assert_eq!((status, &page["next_cursor"]), (200, &Value::Null));
    world.done(&[publish("anna", "a", "2026-11-20T11:00:00Z")]).await;
    world.done(&[follow("bob", "anna", "2026-11-20T11:30:00Z")]).await;
    let query = format!("cursor={}", page["newer_cursor"].as_str().unwrap());
    assert_eq!(world.ids("bob", &query).await, ["a"]);
}

#[tokio::test]
async fn names_the_parameter_that_is_wrong() {
    let world = with_ten().await;
    let (_, _, page) = world.get("/v1/timelines/bob", "limit=1").await;
    let cursor = page["next_cursor"].as_str().unwrap();
    let cut = &cursor[..cursor.len() - 1];
    let cases = [
        ("limit=0", "limit"),
        ("limit=-1", "limit"),
        ("limit=%2B1", "limit"),
        ("limit=101", "limit"),
        ("limit=9223372036854775808", "limit"),
        ("limit=%D9%A1%D9%A0", "limit"),
        ("limit=1e1", "limit"),
        ("limit=", "limit"),
        ("limit=1&limit=1", "limit"),
        ("order=sideways", "order"),
        ("from=yesterday", "from"),
        ("from=2026-11-20T12:00:00", "from"),
        ("to=2026-02-30", "to"),
        ("cursor=", "cursor"),
        ("cursor=AAAA", "cursor"),
        ("cursor=%00", "cursor"),
        (&format!("cursor={cut}"), "cursor"),
        (&format!("cursor={cursor}&order=oldest"), "order"),
        (&format!("cursor={cursor}&from=2026-11-20"), "from"),
        (&format!("cursor={cursor}&to=2026-11-20"), "to"),
        (&format!("cursor={cursor}&limit=0"), "limit"),
    ];
    for (query, parameter) in cases {
        let (status, headers, problem) = world.get("/v1/timelines/bob", query).await;
        assert_eq!(status, 400, "{query}: {problem}");
        assert!(headers.contains(&("content-type".into(), "application/problem+json".into())));
        assert_eq!(problem["parameter"], parameter, "{query}");
        assert!(problem["detail"].as_str().unwrap().starts_with(parameter), "{query}");
    }
    let (status, _, problem) = world.get("/v1/timelines/anna", &format!("cursor={cursor}")).await;
    assert_eq!((status, &problem["parameter"]), (400, &"cursor".into()));
    for viewer in ["a%23b", "%F0%9F%8E%89", "a%0Ab", "%FF", &"x".repeat(129)] {
        let (status, _, problem) = world.get(&format!("/v1/timelines/{viewer}"), "").await;
        assert_eq!((status, &problem["parameter"]), (400, &"viewer_id".into()), "{viewer}");
    }
}

#[tokio::test]
async fn knows_its_paths_and_methods() {
    let world = World::new();
    for path in
        ["/", "/v1/timelines", "/v1/timelines/", "/v1/timelines/a/b", "/v2/timelines/a", "//"]
    {
        assert_eq!(world.get(path, "").await.0, 404, "{path}");
    }
    for method in ["POST", "PUT", "DELETE", "HEAD", "OPTIONS"] {
        let (status, headers, _) = world.request(method, "/v1/timelines/bob", "", None).await;
        assert_eq!(status, 405, "{method}");
        assert!(headers.contains(&("allow".into(), "GET".into())));
    }
}

#[tokio::test]
async fn lets_in_exactly_the_owner() {
    let mut world = World::new();
    world.set_authorization(Authorization::default());
    let cases = [
        (None, 401),
        (Some(""), 401),
        (Some("bob"), 200),
        (Some("Bob"), 403),
        (Some("bob "), 403),
        (Some("b\u{43e}b"), 403),
        (Some("anna"), 403),
    ];
    for (subject, expected) in cases {
        let answer = world.request("GET", "/v1/timelines/bob", "", subject).await;
        assert_eq!(answer.0, expected, "{subject:?}");
    }
}

/// What an authorizer may have found out, and what each mode makes of it for bob's timeline.
#[tokio::test]
async fn each_mode_demands_what_its_authorizer_finds_out() {
    let claims = |claims: Value| Some(json!({"jwt": {"claims": claims}}));
    let signed = || Some(json!({"iam": {"userArn": "arn:aws:iam::123456789012:user/backend"}}));
    let both = |sub: &str| {
        let mut authorizer = signed().unwrap();
        authorizer["jwt"] = json!({"claims": {"sub": sub}});
        Some(authorizer)
    };
    let (jwt, iam, open) = (Authorization::Jwt, Authorization::Iam, Authorization::Open);
    let cases = [
        (None, [401, 401, 200]),
        (Some(json!({})), [401, 401, 200]),
        (Some(json!({"iam": {}})), [401, 401, 200]),
        (Some(json!({"iam": {"userArn": ""}})), [401, 401, 200]),
        (Some(json!({"lambda": {"userArn": "arn"}})), [401, 401, 200]),
        (signed(), [401, 200, 200]),
        (claims(json!({})), [401, 401, 401]),
        (claims(json!({"sub": ""})), [401, 401, 401]),
        (claims(json!({"sub": "bob"})), [200, 401, 200]),
        (claims(json!({"sub": "anna"})), [403, 401, 403]),
        (both("bob"), [200, 200, 200]),
        (both("anna"), [403, 403, 403]),
        (both(""), [401, 401, 401]),
    ];
    let mut world = World::new();
    for (authorizer, expected) in cases {
        for (mode, expected) in [jwt, iam, open].into_iter().zip(expected) {
            world.set_authorization(mode);
            let event = api_event("GET", "/v1/timelines/bob", "", authorizer.clone());
            let (status, _, body) = world.answer(event, soon()).await;
            assert_eq!(status, expected, "{mode:?}, {authorizer:?}: {body}");
        }
    }
}

/// API Gateway asks nobody for anything on the route of preflights, so what comes by it gets nothing but leave to ask.
#[tokio::test]
async fn a_preflight_is_answered_without_a_caller_and_says_nothing() {
    let mut world = with_ten().await;
    for mode in [Authorization::Jwt, Authorization::Iam, Authorization::Open] {
        world.set_authorization(mode);
        for (route, path) in [
            ("OPTIONS /{proxy+}", "/v1/timelines/bob"),
            ("OPTIONS /{proxy+}", "/v1/profiles/bob"),
            ("OPTIONS /{proxy+}", "/v1/nothing"),
            ("OPTIONS /v1/tenants/{proxy+}", "/v1/tenants/acme/alerts"),
        ] {
            let mut event = api_event("OPTIONS", path, "", None);
            event["routeKey"] = json!(route);
            let event = serde_json::from_value(event).unwrap();
            let answer = world.respond(&event, soon()).await;
            assert_eq!((answer.status_code, answer.body), (204, None), "{mode:?}");
            assert!(answer.headers.is_empty(), "{mode:?}");
        }
    }
    // By these routes alone, and with that method alone.
    world.set_authorization(Authorization::Jwt);
    for (route, method, status) in
        [("$default", "OPTIONS", 405), ("OPTIONS /{proxy+}", "GET", 401), ("", "OPTIONS", 405)]
    {
        let mut event = api_event(method, "/v1/timelines/bob", "", None);
        event["routeKey"] = json!(route);
        assert_eq!(world.answer(event, soon()).await.0, status, "{route} {method}");
    }
}

#[test]
fn the_mode_is_one_of_three_words() {
    let modes = ["jwt", "iam", "open"].map(|word| word.parse::<Authorization>().unwrap());
    assert_eq!(modes, [Authorization::Jwt, Authorization::Iam, Authorization::Open]);
    for word in ["", "JWT", "none", "open ", "aws_iam"] {
        assert!(word.parse::<Authorization>().is_err(), "{word}");
    }
}

#[tokio::test]
async fn tells_nothing_of_what_is_broken() {
    let tables =
        TableNames { timelines: "secret-name".to_owned(), ..nagare_local::schema::names() };
    let world = World::with_tables(&tables);
    let (status, headers, problem) = world.get("/v1/timelines/bob", "").await;
    assert_eq!(status, 503);
    assert!(headers.iter().any(|(name, _)| name == "retry-after"));
    assert!(!problem.to_string().contains("secret-name"));
}

/// What has left retention by then no writer brings in any more; a page that shows it could miss what is younger.
#[tokio::test(start_paused = true)]
async fn what_leaves_retention_while_a_page_is_read_is_not_on_it() {
    let slow = "slow=10ms".parse().unwrap();
    let world = World::behind(|inside| SharedHttpConnector::new(Faulty::new(slow, inside)));
    world.done(&[follow("bob", "anna", "2026-11-20T10:00:00Z")]).await;
    for (id, at) in [("old", "2026-11-20T11:00:00Z"), ("new", "2026-11-20T12:00:00Z")] {
        world.done(&[publish("anna", id, at)]).await;
    }
    // Thirty days later, and a moment later still.
    for (order, expected) in [("newest", ["new"]), ("oldest", ["new"])] {
        world.set_clock("2026-12-20T11:00:00.000Z");
        let query = format!("order={order}&limit=1");
        assert_eq!(world.ids("bob", "").await, ["new", "old"]);
        let leave = async {
            tokio::time::sleep(Duration::from_millis(1)).await;
            world.set_clock("2026-12-20T11:00:00.001Z");
        };
        let ((status, _, page), ()) = tokio::join!(world.get("/v1/timelines/bob", &query), leave);
        assert_eq!(status, 200, "{page}");
        let ids = page["items"].as_array().unwrap().iter().map(|item| &item["activity_id"]);
        assert_eq!(ids.collect::<Vec<_>>(), expected, "{order}");
        assert!(page["next_cursor"].is_null(), "{order}: nothing is left beyond it");
    }
}
