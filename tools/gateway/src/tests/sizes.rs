//! Requests that are too large, and the largest that are not.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::{Body, Bytes, HttpBody};
use axum::extract::Request;

use super::{Authorization, Limits, echo, get, send};

/// A body that does not come.
struct Never;

impl HttpBody for Never {
    type Data = Bytes;
    type Error = std::convert::Infallible;

    fn poll_frame(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<http_body::Frame<Bytes>, Self::Error>>> {
        Poll::Pending
    }
}

#[tokio::test(start_paused = true)]
async fn bodies_are_not_waited_for() {
    let api = echo(Authorization::Open, Limits { in_flight: 1, queued: 0, ..Limits::default() });
    let before = tokio::time::Instant::now();
    for body in [Body::new(Never), Body::new(Never), Body::from(vec![0; 100_000_000])] {
        let request = Request::post("/").header("content-type", "text/plain").body(body).unwrap();
        let answer = tokio::time::timeout(Duration::from_secs(1), send(&api, request)).await;
        let answer = answer.expect("nothing is waited for");
        assert_eq!(answer.status, 200);
        assert_eq!(answer.json().get("body").filter(|body| !body.is_null()), None);
    }
    assert_eq!(before.elapsed(), Duration::ZERO);
}

const EVENTS: &str = "/v1/tenants/acme/events";

#[tokio::test]
async fn a_body_is_handed_on_where_there_is_a_route_for_it() {
    let api = echo(Authorization::Open, Limits::default());
    for (kind, coding, body, is_base64) in [
        ("application/json; charset=utf-8", None, "{}", false),
        ("text/plain", None, "ä", false),
        ("application/x-www-form-urlencoded", None, "e30=", true),
        ("application/json", Some("gzip"), "e30=", true),
    ] {
        let sent = if is_base64 { "{}" } else { body };
        let mut request = Request::post(EVENTS).header("content-type", kind);
        if let Some(coding) = coding {
            request = request.header("content-encoding", coding);
        }
        let event = send(&api, request.body(Body::from(sent)).unwrap()).await.json();
        assert_eq!(event["routeKey"], "POST /v1/tenants/{tenant_id}/events");
        assert_eq!(event["pathParameters"]["tenant_id"], "acme");
        assert_eq!((&event["body"], &event["isBase64Encoded"]), (&body.into(), &is_base64.into()));
    }
    let of_tenants = "ANY /v1/tenants/{proxy+}";
    for (method, path, route) in [
        ("PUT", EVENTS, of_tenants),
        ("GET", EVENTS, of_tenants),
        ("POST", "/v1/timelines/bob", "$default"),
    ] {
        let request = Request::builder().method(method).uri(path).body(Body::from("{}")).unwrap();
        let event = send(&api, request).await.json();
        assert_eq!(
            (&event["routeKey"], event.get("body").is_some_and(|it| !it.is_null())),
            (&route.into(), false)
        );
    }
}

#[tokio::test]
async fn a_body_that_is_too_large_is_refused() {
    let api = echo(Authorization::Open, Limits::default());
    let of = |bytes: usize| Request::post(EVENTS).body(Body::from(vec![b' '; bytes])).unwrap();
    assert_eq!(send(&api, of(event_intake::MOST_BYTES)).await.status, 200);
    send(&api, of(event_intake::MOST_BYTES + 1)).await.assert_problem(413, "without its length");
    let mut said = of(event_intake::MOST_BYTES + 1);
    said.headers_mut().insert("content-length", (event_intake::MOST_BYTES + 1).into());
    send(&api, said).await.assert_problem(413, "with its length");
}

#[tokio::test(start_paused = true)]
async fn a_body_that_does_not_come_holds_no_permit() {
    let api = echo(Authorization::Open, Limits { in_flight: 1, queued: 0, ..Limits::default() });
    let waiting = api.clone();
    let slow = tokio::spawn(async move {
        send(&waiting, Request::post(EVENTS).body(Body::new(Never)).unwrap()).await
    });
    tokio::task::yield_now().await;
    assert_eq!(send(&api, get("/")).await.status, 200);
    slow.await.unwrap().assert_problem(408, "it never came");
}

#[tokio::test]
async fn request_lines_and_headers() {
    // The two take GET / HTTP/1.1\r\n and x: \r\n besides what is counted out here.
    let (request_line, header) = (16, 5);
    for (target, value, status) in [
        (1, 10_240 - request_line - header, 200),
        (1, 10_241 - request_line - header, 431),
        (10_241 - request_line - header, 0, 200),
        (10_242 - request_line - header, 0, 431),
        (5_000, 5_000, 200),
        (6_000, 6_000, 431),
        (50_000, 0, 431),
    ] {
        let mut request = get(&format!("/{}", "x".repeat(target - 1)));
        request.headers_mut().insert("x", "v".repeat(value).parse().unwrap());
        let answer = send(&echo(Authorization::Open, Limits::default()), request).await;
        assert_eq!(answer.status, status, "{target} bytes of target, {value} of header");
    }

    let request = get(&format!("/?{}", "q".repeat(10_240)));
    send(&echo(Authorization::Open, Limits::default()), request).await.assert_problem(431, "query");
}
