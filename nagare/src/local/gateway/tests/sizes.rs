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
