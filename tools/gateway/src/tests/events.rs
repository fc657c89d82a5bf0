//! The event that the handler gets.

use axum::body::Body;
use axum::extract::Request;
use serde_json::{Value, json};

use super::{Authorization, Limits, NOW, echo, get, send};
use crate::Answerer;

/// Sends the request and compares members of the event, each named by a JSON pointer; `null` stands for
/// absent.
async fn check<const N: usize>(request: Request, expected: [(&str, Value); N]) {
    let what = format!("{} {}", request.method(), request.uri());
    let answer = send(&echo(Authorization::Open, Limits::default()), request).await;
    assert_eq!(answer.status, 200, "{what}");
    let event = answer.json();
    for (pointer, expected) in expected {
        let actual = event.pointer(pointer).unwrap_or(&Value::Null);
        assert_eq!(*actual, expected, "{what}: {pointer}");
    }
}

async fn check_route(method: &str, path: &str, viewer_id: Option<&str>) {
    let route = viewer_id.map_or("$default", |_| "GET /v1/timelines/{viewer_id}");
    let request = Request::builder().method(method).uri(path).body(Body::empty()).unwrap();
    let expected = [
        ("/routeKey", json!(route)),
        ("/requestContext/routeKey", json!(route)),
        ("/rawPath", json!(path)),
        ("/requestContext/http/path", json!(path)),
        ("/requestContext/http/method", json!(method)),
        ("/pathParameters/viewer_id", json!(viewer_id)),
    ];
    check(request, expected).await;
}

#[tokio::test]
async fn routes() {
    check_route("GET", "/v1/timelines/bob", Some("bob")).await;
    check_route("GET", "/v1/timelines/a:b@c.d_e-F", Some("a:b@c.d_e-F")).await;
    check_route("GET", "/v1/timelines/%62ob%40x", Some("bob@x")).await;
    check_route("GET", "/v1/timelines/a%2Fb", Some("a/b")).await;
    check_route("GET", "/v1/timelines/a%2520b", Some("a%20b")).await;
    check_route("GET", "/v1/timelines/a+b", Some("a+b")).await;
    check_route("GET", "/v1/timelines/e%CC%81", Some("e\u{301}")).await;
    check_route("GET", "/v1/timelines/%FF", Some("\u{fffd}")).await;
    check_route("GET", "/v1/timelines/100%", Some("100%")).await;
    check_route("GET", "/v1/timelines/..", Some("..")).await;

    check_route("GET", "/v1/timelines/bob/", None).await;
    check_route("GET", "/v1/timelines//", None).await;
    check_route("GET", "/v1/timelines/", None).await;
    check_route("GET", "/v1/timelines", None).await;
    check_route("GET", "/V1/timelines/bob", None).await;
    check_route("GET", "//v1/timelines/bob", None).await;
    check_route("GET", "/v1%2Ftimelines/bob", None).await;
    check_route("GET", "/", None).await;
    check_route("GET", "/elsewhere", None).await;
    for method in ["POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "BREW"] {
        check_route(method, "/v1/timelines/bob", None).await;
    }
}

/// Which function a request reaches, by its route.
#[tokio::test]
async fn all_that_is_about_tenants_reaches_the_functions_of_history() {
    let any = "ANY /v1/tenants/{proxy+}";
    for (method, path, route, proxy, answerer) in [
        (
            "GET",
            "/v1/timelines/bob",
            "GET /v1/timelines/{viewer_id}",
            None,
            Answerer::TimelineReader,
        ),
        ("GET", "/v1/tenants", "$default", None, Answerer::TimelineReader),
        ("GET", "/v1/tenants/", "$default", None, Answerer::TimelineReader),
        (
            "GET",
            "/v1/tenants/acme/alerts",
            "GET /v1/tenants/{tenant_id}/alerts",
            None,
            Answerer::HistoryReader,
        ),
        ("PUT", "/v1/tenants/acme/alerts", any, Some("acme/alerts"), Answerer::HistoryReader),
        ("GET", "/v1/tenants/acme/elsewhere", any, Some("acme/elsewhere"), Answerer::HistoryReader),
        ("GET", "/v1/tenants/acme/events", any, Some("acme/events"), Answerer::HistoryReader),
        (
            "POST",
            "/v1/tenants/acme/events",
            "POST /v1/tenants/{tenant_id}/events",
            None,
            Answerer::EventIntake,
        ),
    ] {
        let request = Request::builder().method(method).uri(path).body(Body::empty()).unwrap();
        let answer = send(&echo(Authorization::Open, Limits::default()), request).await.json();
        assert_eq!(answer["routeKey"], route, "{method} {path}");
        assert_eq!(answer["pathParameters"]["proxy"], json!(proxy), "{method} {path}");
        let event = serde_json::from_value(answer).unwrap();
        assert_eq!(Answerer::of(&event), answerer, "{method} {path}");
    }
}

#[tokio::test]
async fn a_head_request_reaches_the_handler_too() {
    let request = Request::head("/v1/timelines/bob").body(Body::empty()).unwrap();
    let answer = send(&echo(Authorization::Open, Limits::default()), request).await;
    assert_eq!(answer.status, 200);
}

#[tokio::test]
async fn query() {
    for (query, parameters) in [
        ("limit=5", json!({ "limit": "5" })),
        ("limit=5&limit=6", json!({ "limit": "5,6" })),
        ("limit=5,6", json!({ "limit": "5,6" })),
        ("limit=6&order=newest&limit=5", json!({ "limit": "6,5", "order": "newest" })),
        ("limit=", json!({ "limit": "" })),
        ("limit", json!({ "limit": "" })),
        ("=5", json!({ "": "5" })),
        ("from=a+b", json!({ "from": "a b" })),
        ("from=a%2Bb%20c", json!({ "from": "a+b c" })),
        ("li%6Dit=%35", json!({ "limit": "5" })),
        ("limit=%D9%A1%D9%A0", json!({ "limit": "١٠" })),
        ("limit=%", json!({ "limit": "%" })),
        ("", Value::Null),
        ("&&", Value::Null),
    ] {
        let request = get(&format!("/v1/timelines/bob?{query}"));
        let expected = [
            ("/rawQueryString", json!(query)),
            ("/queryStringParameters", parameters),
            ("/rawPath", json!("/v1/timelines/bob")),
        ];
        check(request, expected).await;
    }
    check(get("/x"), [("/rawQueryString", json!("")), ("/queryStringParameters", json!(null))])
        .await;
}

#[tokio::test]
async fn headers_and_context() {
    let request = Request::get("/v1/timelines/bob")
        .header("Host", "api.local:3000")
        .header("User-Agent", "Grüße/1")
        .header("X-Twice", "one")
        .header("x-tWICE", "two, three")
        .header("Cookie", "a=1; b=2")
        .header("Cookie", "c=3")
        .body(Body::empty())
        .unwrap();
    let expected = [
        ("/version", json!("2.0")),
        ("/headers/x-twice", json!("one,two, three")),
        ("/headers/cookie", Value::Null),
        ("/cookies", json!(["a=1", "b=2", "c=3"])),
        ("/body", Value::Null),
        ("/isBase64Encoded", json!(false)),
        ("/requestContext/accountId", json!("000000000000")),
        ("/requestContext/apiId", json!("local")),
        ("/requestContext/authorizer", Value::Null),
        ("/requestContext/domainName", json!("api.local")),
        ("/requestContext/domainPrefix", json!("api")),
        ("/requestContext/stage", json!("$default")),
        ("/requestContext/time", json!("20/Nov/2026:12:00:00 +0000")),
        ("/requestContext/timeEpoch", json!(NOW * 1000)),
        ("/requestContext/http/protocol", json!("HTTP/1.1")),
        ("/requestContext/http/sourceIp", json!("127.0.0.1")),
        ("/requestContext/http/userAgent", json!("Grüße/1")),
    ];
    check(request, expected).await;
}

#[tokio::test]
async fn header_bytes_that_are_no_text_do_not_fail_a_request() {
    let latin1 = http::HeaderValue::from_bytes(b"Gr\xfc\xdfe").unwrap();
    let request = Request::get("/").header("user-agent", latin1).body(Body::empty()).unwrap();
    let replaced = json!("Gr\u{fffd}\u{fffd}e");
    check(request, [("/requestContext/http/userAgent", replaced)]).await;
}

#[tokio::test]
async fn every_request_has_an_id_of_its_own() {
    let api = echo(Authorization::Open, Limits::default());
    let (one, two) = (send(&api, get("/")).await, send(&api, get("/")).await);
    let id = |answer: &super::Answer| answer.header("apigw-requestid").unwrap().to_owned();
    assert_eq!(one.json()["requestContext"]["requestId"], id(&one));
    assert_ne!(id(&one), id(&two));
}
