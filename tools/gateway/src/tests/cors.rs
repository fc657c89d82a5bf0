//! Web pages of other origins.

use axum::Router;
use axum::body::Body;
use axum::extract::Request;
use http::{Method, StatusCode};

use super::{Answer, Authorization, Limits, echo, echo_handler, get, send};
use crate::cors::Cors;
use crate::{Gateway, JwtAuthorizer};

const PAGE: &str = "https://app.example";
const TIMELINE: &str = "/v1/timelines/bob";

/// An API that demands tokens and lets pages of these origins call.
fn api(origins: &[&str]) -> Router {
    let authorization =
        Authorization::Jwt(JwtAuthorizer::with_key("a key of thirty-two characters.."));
    let origins = origins.iter().map(|origin| origin.parse().unwrap()).collect();
    let gateway = Gateway::new(echo_handler, authorization, Limits::default());
    gateway.with_cors(Cors::for_origins(origins)).router()
}

fn from(page: &str, mut request: Request) -> Request {
    request.headers_mut().insert("origin", page.parse().unwrap());
    request
}

/// What a browser asks before it sends a token.
fn preflight(page: &str, path: &str) -> Request {
    let request = Request::builder()
        .method(Method::OPTIONS)
        .uri(path)
        .header("access-control-request-method", "GET")
        .header("access-control-request-headers", "authorization")
        .body(Body::empty());
    from(page, request.unwrap())
}

fn allowed(answer: &Answer) -> Option<&str> {
    answer.header("access-control-allow-origin")
}

/// Asserts that no header says anything about CORS.
fn assert_silent(answer: &Answer, what: &str) {
    let names = answer.headers.keys().filter(|name| name.as_str().starts_with("access-control-"));
    assert_eq!(names.count(), 0, "{what}: {:?}", answer.headers);
}

#[tokio::test]
async fn a_preflight_needs_no_token() {
    for path in [TIMELINE, "/v1/profiles/bob", "/openapi.yaml", "/v1/nothing"] {
        let answer = send(&api(&["http://localhost:5173", PAGE]), preflight(PAGE, path)).await;
        assert_eq!(answer.status, StatusCode::NO_CONTENT, "{path}");
        assert_eq!(allowed(&answer), Some(PAGE), "{path}");
        assert_eq!(answer.header("access-control-allow-methods"), Some("GET"));
        let headers = answer.header("access-control-allow-headers").unwrap();
        assert!(headers.split(',').any(|name| name == "authorization"), "{headers}");
        assert_eq!(answer.header("access-control-max-age"), Some("3600"));
        assert_eq!(answer.header("access-control-allow-credentials"), None);
        assert_eq!(answer.header("vary"), Some("origin"));
        assert!(answer.body.is_empty());
    }
}

#[tokio::test]
async fn a_page_may_read_every_answer_refusals_too() {
    let api = api(&[PAGE]);
    for (what, request, status) in [
        ("no token", get(TIMELINE), 401),
        ("too long", get(&format!("{TIMELINE}?cursor={}", "x".repeat(11_000))), 431),
        ("the description", get("/openapi.yaml"), 200),
    ] {
        let answer = send(&api, from(PAGE, request)).await;
        assert_eq!(answer.status, status, "{what}");
        assert_eq!(allowed(&answer), Some(PAGE), "{what}");
        let exposed = answer.header("access-control-expose-headers").unwrap();
        assert!(exposed.contains("retry-after"), "{what}: {exposed}");
        assert_eq!(answer.header("vary"), Some("origin"), "{what}");
    }
}

#[tokio::test]
async fn a_page_that_is_not_listed_is_never_named() {
    let api = api(&[PAGE]);
    for page in ["https://other.example", "https://app.example.other", "http://app.example", "null"]
    {
        assert_silent(&send(&api, preflight(page, TIMELINE)).await, page);
        let answer = send(&api, from(page, get(TIMELINE))).await;
        assert_silent(&answer, page);
        // A cache must not give it to a listed page.
        assert_eq!(answer.header("vary"), Some("origin"), "{page}");
    }
    assert_silent(&send(&api, get(TIMELINE)).await, "no page");
}

#[tokio::test]
async fn every_page_may_call_where_the_list_says_so() {
    let api = api(&["*"]);
    let answer = send(&api, preflight("https://any.example", TIMELINE)).await;
    assert_eq!((answer.status.as_u16(), allowed(&answer)), (204, Some("*")));
    assert!(answer.header("access-control-allow-headers").unwrap().contains("authorization"));
    assert_eq!(answer.header("access-control-allow-credentials"), None);
}

#[tokio::test]
async fn what_is_no_preflight_is_asked_for_a_token() {
    let options = Request::builder().method(Method::OPTIONS).uri(TIMELINE).body(Body::empty());
    let answer = send(&api(&[PAGE]), from(PAGE, options.unwrap())).await;
    answer.assert_problem(401, "OPTIONS without a method to ask for");
}

#[tokio::test]
async fn nothing_is_said_without_being_asked() {
    let api = echo(Authorization::Open, Limits::default());
    let answer = send(&api, preflight(PAGE, TIMELINE)).await;
    // The handler gets it, as every other request.
    assert_eq!(answer.json()["requestContext"]["http"]["method"], "OPTIONS");
    assert_silent(&answer, "off");
    assert_eq!(answer.header("vary"), None);
}

#[test]
fn origins_are_written_as_browsers_send_them() {
    use crate::cors::Origin;
    for text in ["*", PAGE, "http://localhost:5173", "http://[::1]:3000"] {
        assert!(text.parse::<Origin>().is_ok(), "{text}");
    }
    for text in [
        "",
        "null",
        "app.example",
        "https://",
        "https://app.example/",
        "https://app.example/path",
        "https://App.example",
        "https://bob@app.example",
        "ftp://app.example",
        "https://*.example",
        "https://app.example https://b.example",
    ] {
        assert!(text.parse::<Origin>().is_err(), "{text}");
    }
}
