//! Over a real connection.

use std::net::SocketAddr;

use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;

use super::{Authorization, Limits, echo};

/// Reads one answer, leaving the connection where the next begins.
async fn read_answer(connection: &mut BufReader<TcpStream>) -> (String, Vec<u8>) {
    let (mut head, mut length) = (String::new(), 0);
    loop {
        let mut line = String::new();
        connection.read_line(&mut line).await.unwrap();
        if let Some(value) = line.to_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().unwrap();
        }
        head.push_str(&line);
        if line == "\r\n" {
            break;
        }
    }
    let mut body = vec![0; length];
    connection.read_exact(&mut body).await.unwrap();
    (head, body)
}

#[tokio::test]
async fn one_connection_carries_many_requests_until_the_shutdown() {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let address = listener.local_addr().unwrap();
    let api = echo(Authorization::Open, Limits::default());
    let (stop, stopped) = oneshot::channel::<()>();
    let service = api.into_make_service_with_connect_info::<SocketAddr>();
    let server = axum::serve(listener, service).with_graceful_shutdown(async {
        let _ = stopped.await;
    });
    let server = tokio::spawn(server.into_future());

    let mut connection = BufReader::new(TcpStream::connect(address).await.unwrap());
    for viewer in ["anna", "bob"] {
        let request = format!("GET /v1/timelines/{viewer} HTTP/1.1\r\nHost: localhost\r\n\r\n");
        connection.write_all(request.as_bytes()).await.unwrap();
        let (head, body) = read_answer(&mut connection).await;
        assert!(head.starts_with("HTTP/1.1 200 OK\r\n"), "{head}");
        let event: serde_json::Value = serde_json::from_slice(&body).unwrap();
        assert_eq!(event["pathParameters"]["viewer_id"], viewer);
        assert_eq!(event["requestContext"]["http"]["sourceIp"], "127.0.0.1");
    }

    // The caller sends all of a body that nobody reads before it looks for the answer.
    let request = "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1500000\r\n\r\n";
    connection.write_all(request.as_bytes()).await.unwrap();
    connection.write_all(&[0; 1_500_000]).await.unwrap();
    let (head, _) = read_answer(&mut connection).await;
    assert!(head.starts_with("HTTP/1.1 200 "), "{head}");

    stop.send(()).unwrap();
    server.await.unwrap().unwrap();
}
