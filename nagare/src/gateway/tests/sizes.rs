//! Requests that are too large, and those that just are not.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use axum::body::{Body, Bytes, HttpBody};
use axum::extract::Request;

use super::{Authorization, Limits, echo, get, send};

/// A body of unknown length, as one that comes in chunks.
struct Chunks(VecDeque<&'static [u8]>);

impl HttpBody for Chunks {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<http_body::Frame<Bytes>, Infallible>>> {
        let chunk = self.0.pop_front().map(Bytes::from_static);
        Poll::Ready(chunk.map(|chunk| Ok(http_body::Frame::data(chunk))))
    }
}

fn chunked(chunks: &[&'static [u8]]) -> Body {
    Body::new(Chunks(chunks.iter().copied().collect()))
}

async fn check_body(what: &str, body: Body, status: u16) {
    let limits = Limits { body_bytes: 10, ..Limits::default() };
    let request = Request::post("/").header("content-type", "text/plain").body(body).unwrap();
    let answer = send(&echo(Authorization::Open, limits), request).await;
    match status {
        200 => assert_eq!(answer.status, 200, "{what}"),
        status => answer.assert_problem(status, what),
    }
}

#[tokio::test]
async fn bodies() {
    check_body("at the limit", Body::from(vec![b'x'; 10]), 200).await;
    check_body("over", Body::from(vec![b'x'; 11]), 413).await;
    check_body("far over", Body::from(vec![b'x'; 1000]), 413).await;
    check_body("chunks", chunked(&[b"12345", b"67890"]), 200).await;
    check_body("chunks over", chunked(&[b"12345", b"678901"]), 413).await;
    check_body("chunks over, in the end", chunked(&[b"123456789012", b"3"]), 413).await;
    check_body("chunks far over", chunked(&[&b"1234567890"[..]; 100]), 413).await;
    check_body("empty chunks", chunked(&[b"", b"", b"1"]), 200).await;
}

#[tokio::test(start_paused = true)]
async fn a_body_that_does_not_come() {
    struct Never;
    impl HttpBody for Never {
        type Data = Bytes;
        type Error = Infallible;
        fn poll_frame(
            self: Pin<&mut Self>,
            _: &mut Context<'_>,
        ) -> Poll<Option<Result<http_body::Frame<Bytes>, Infallible>>> {
            Poll::Pending
        }
    }
    check_body("never", Body::new(Never), 408).await;
}

#[tokio::test]
async fn ten_megabytes_by_default() {
    let api = echo(Authorization::Open, Limits::default());
    let over = Request::post("/").body(Body::from(vec![0; 10 * 1024 * 1024 + 1])).unwrap();
    send(&api, over).await.assert_problem(413, "over 10 MB");
}

#[tokio::test]
async fn request_lines_and_headers() {
    // GET / HTTP/1.1\r\n and x: \r\n are what the two take beside what is counted out here.
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
