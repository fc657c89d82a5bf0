//! Tests over real connections.
#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)]

use std::net::SocketAddr;
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::routing::any;
use futures::StreamExt;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

use super::intake::{Intake, Refused};
use super::{Bounds, Pages, serve};
use crate::cors::Cors;

/// A port whose router answers with the length of the body.
struct Port {
    address: SocketAddr,
    _stop: watch::Sender<bool>,
}

impl Port {
    async fn open(bounds: Bounds, intake: Intake) -> Self {
        Self::open_to(bounds, intake, Cors::default()).await
    }

    async fn open_to(bounds: Bounds, intake: Intake, pages: Cors) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let address = listener.local_addr().unwrap();
        let (stop, stopped) = watch::channel(false);
        let router = Router::new().fallback(any(length)).with_state(intake);
        let pages = Pages::listed(pages);
        tokio::spawn(serve(listener, router, bounds, pages, stopped));
        Self { address, _stop: stop }
    }

    async fn ordinary() -> Self {
        Self::open(Bounds::with_connections(16), Intake::up_to(1_000)).await
    }

    async fn connect(&self) -> TcpStream {
        TcpStream::connect(self.address).await.unwrap()
    }

    /// Sends these lines as a request, and returns all that comes until the connection ends.
    async fn send(&self, lines: &[&str]) -> String {
        let head = lines.join("\r\n");
        let mut connection = self.connect().await;
        let request = format!("{head}\r\nConnection: close\r\n\r\n");
        connection.write_all(request.as_bytes()).await.unwrap();
        to_the_end(connection).await
    }

    async fn status(&self, lines: &[&str]) -> u16 {
        let answer = self.send(lines).await;
        answer.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or_default()
    }
}

async fn length(State(intake): State<Intake>, body: Body) -> Result<String, Refused> {
    Ok(intake.read(body).await?.bytes.len().to_string())
}

/// Everything that arrives until the connection ends, which has to be long before the stack's limits.
async fn to_the_end(mut connection: TcpStream) -> String {
    let mut answer = Vec::new();
    let read = connection.read_to_end(&mut answer);
    let _reset = tokio::time::timeout(Duration::from_secs(8), read).await.expect("it ends");
    String::from_utf8(answer).unwrap()
}

#[tokio::test]
async fn only_loopback_names_are_answered() {
    let port = Port::ordinary().await;
    let own = port.address.to_string();
    for host in [own.as_str(), "127.0.0.1", "localhost", "LocalHost:8000", "[::1]:3000", "[::1]"] {
        let host = format!("Host: {host}");
        assert_eq!(port.status(&["GET / HTTP/1.1", &host]).await, 200, "{host}");
    }
    for host in [
        "rebound.example",
        "rebound.example:3000",
        "127.0.0.1.nip.io",
        "localhost.example",
        "localhost.",
        "127.0.0.1@rebound.example",
        "rebound.example@127.0.0.1",
        "127.0.0.2",
        "0.0.0.0",
        "[::]",
        "2130706433",
        "",
    ] {
        let host = format!("Host: {host}");
        assert_eq!(port.status(&["GET / HTTP/1.1", &host]).await, 403, "{host}");
    }
    assert_eq!(port.status(&["GET / HTTP/1.1"]).await, 403, "no host");
    let twice = ["GET / HTTP/1.1", "Host: 127.0.0.1", "Host: rebound.example"];
    assert_eq!(port.status(&twice).await, 403);
    let absolute = ["GET http://rebound.example/ HTTP/1.1", "Host: 127.0.0.1"];
    assert_eq!(port.status(&absolute).await, 403);
}

#[tokio::test]
async fn only_pages_of_this_machine_are_answered() {
    let port = Port::ordinary().await;
    let own = port.address.to_string();
    for (origin, status) in [
        ("http://localhost:5173", 200),
        ("https://127.0.0.1", 200),
        ("http://[::1]:3000", 200),
        ("http://rebound.example", 403),
        ("https://localhost.example:3000", 403),
        ("http://localhost@rebound.example", 403),
        ("file://", 403),
        ("null", 403),
        ("localhost", 403),
        ("", 403),
    ] {
        let lines = ["POST / HTTP/1.1", &format!("Host: {own}"), &format!("Origin: {origin}")];
        assert_eq!(port.status(&lines).await, status, "{origin}");
    }
}

#[tokio::test]
async fn listed_pages_are_answered_and_no_others() {
    let pages = Cors::for_origins(vec!["https://app.example".parse().unwrap()]);
    let port = Port::open_to(Bounds::with_connections(16), Intake::up_to(10), pages).await;
    for (origin, status) in [
        ("https://app.example", 200),
        ("http://localhost:5173", 200),
        ("http://app.example", 403),
        ("https://app.example:8443", 403),
        ("https://app.example.rebound.example", 403),
        ("null", 403),
    ] {
        let lines = ["GET / HTTP/1.1", "Host: 127.0.0.1", &format!("Origin: {origin}")];
        assert_eq!(port.status(&lines).await, status, "{origin}");
    }
    let rebound = ["GET / HTTP/1.1", "Host: rebound.example", "Origin: https://app.example"];
    assert_eq!(port.status(&rebound).await, 403, "a listed page reaches loopback names only");
}

#[tokio::test]
async fn a_head_that_does_not_come_ends_its_connection() {
    let bounds = Bounds { head: Duration::from_millis(50), ..Bounds::with_connections(1) };
    let port = Port::open(bounds, Intake::up_to(10)).await;
    let mut silent = port.connect().await;
    silent.write_all(b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Slow: ").await.unwrap();
    assert_eq!(to_the_end(silent).await, "");
    assert_eq!(
        port.status(&["GET / HTTP/1.1", "Host: 127.0.0.1"]).await,
        200,
        "its permit is free"
    );
}

#[tokio::test]
async fn a_connection_beyond_the_bound_waits_for_another_to_end() {
    let port = Port::open(Bounds::with_connections(1), Intake::up_to(10)).await;
    let mut first = port.connect().await;
    first.write_all(b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n").await.unwrap();
    let mut start = [0; 12];
    first.read_exact(&mut start).await.unwrap();
    assert_eq!(&start, b"HTTP/1.1 200");

    let mut second = port.connect().await;
    second
        .write_all(b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n")
        .await
        .unwrap();
    tokio::task::yield_now().await;
    let early = tokio::time::timeout(Duration::from_millis(100), second.readable()).await;
    assert!(early.is_err(), "nobody answers it yet");
    drop(first);
    assert!(to_the_end(second).await.starts_with("HTTP/1.1 200"));
}

#[tokio::test]
async fn bodies_have_a_size_and_a_time() {
    let port = Port::open(
        Bounds::with_connections(4),
        Intake::bounded(10, 100, Duration::from_millis(50)),
    )
    .await;
    let post = |length: usize, body: &str| {
        let head = format!("Host: 127.0.0.1\r\nConnection: close\r\nContent-Length: {length}");
        format!("POST / HTTP/1.1\r\n{head}\r\n\r\n{body}")
    };
    for (request, status) in [
        (post(10, "0123456789"), "200"),
        (post(11, "0123456789x"), "413"),
        (post(10, "01234"), "408"),
    ] {
        let mut connection = port.connect().await;
        connection.write_all(request.as_bytes()).await.unwrap();
        let answer = to_the_end(connection).await;
        assert!(answer.starts_with(&format!("HTTP/1.1 {status}")), "{answer}");
    }
}

/// A body that begins like this and has no end.
fn unfinished(start: &'static [u8]) -> Body {
    let start = futures::stream::iter([Ok::<_, std::io::Error>(Bytes::from_static(start))]);
    Body::from_stream(start.chain(futures::stream::pending()))
}

#[tokio::test(start_paused = true)]
async fn bodies_share_their_room_and_give_it_back() {
    let intake = Intake::bounded(10, 16, Duration::from_secs(10));
    let reading = [intake.clone(), intake.clone()];
    let held = reading.map(|intake| {
        tokio::spawn(async move { intake.read(unfinished(b"01234567")).await.err() })
    });
    tokio::task::yield_now().await;
    assert_eq!(intake.read(Body::from("x")).await.err(), Some(Refused::NoRoom));
    for held in held {
        assert_eq!(held.await.unwrap(), Some(Refused::TooSlow));
    }
    assert!(intake.read(Body::from("x")).await.is_ok());
}

#[tokio::test]
async fn a_body_keeps_its_room_as_long_as_it_is_worked_on() {
    let intake = Intake::bounded(10, 10, Duration::from_secs(10));
    let body = intake.read(Body::from("0123456789")).await.unwrap();
    assert_eq!(intake.read(Body::from("x")).await.err(), Some(Refused::NoRoom));
    drop(body);
    assert!(intake.read(Body::from("x")).await.is_ok());
}
