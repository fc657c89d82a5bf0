//! How the stack listens: on loopback, to programs and not to web pages, and within limits.
//!
//! ```text
//! connection ─ permit ─ head ─ origin ─ intake (tables and queue) ─ router
//!               waits    408*    403      408/413/503
//! ```
//!
//! - **Origin.** A web page in a browser on this machine can send requests to a loopback port, and with DNS rebinding under a name of
//!   its own. It cannot choose the `Host` and `Origin` headers: `origin` refuses all names but those of loopback and, at the
//!   API, those of the pages that `--cors` lists. The console looks at `Origin` itself, once it knows who asks.
//! - **Permits.** Each port has a number of connections. Further ones wait in the system's backlog until one of those ends.
//! - **Time.** A connection is closed if the head of a request does not come in time, or if it is idle (*: without an answer).
//! - **Bytes.** The bodies that a port holds share one bound, and each has a limit of size and of time ([`intake`]). The API applies
//!   this to its intake of events, and the console to its forms.

pub mod intake;
mod listening;
mod origin;
#[cfg(test)]
mod tests;

use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::ConnectInfo;
use axum::middleware;
use axum::response::Response;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::task::JoinSet;
use tower::ServiceExt;

pub use listening::{PortError, listen, port_of, url};
pub use origin::Pages;

/// How long to wait when the system has no connection left, for example because all descriptors are in use.
const EXHAUSTED: Duration = Duration::from_millis(200);

/// The limits of one port.
#[derive(Debug, Clone, Copy)]
pub struct Bounds {
    /// Connections at once.
    pub connections: usize,
    /// How long a request's head may take to come, counted from the answer before it.
    pub head: Duration,
    /// Bytes that are read ahead of each connection; a longer head is refused.
    pub read_ahead: usize,
}

impl Bounds {
    /// The defaults, with this many connections.
    pub fn with_connections(connections: usize) -> Self {
        Self { connections, head: Duration::from_secs(20), read_ahead: 64 * 1024 }
    }
}

/// Serves a port until `stop` is set, and then waits for the requests in flight. `pages` are the web pages of other machines that it
/// answers.
pub async fn serve(
    listener: TcpListener,
    router: Router,
    bounds: Bounds,
    pages: Pages,
    mut stop: watch::Receiver<bool>,
) {
    let router = router.layer(middleware::from_fn_with_state(pages, origin::refuse_foreign));
    let permits = Arc::new(Semaphore::new(bounds.connections));
    let mut connections = JoinSet::new();
    loop {
        let accepted = tokio::select! {
            _ = stop.wait_for(|stopping| *stopping) => break,
            accepted = accept(&listener, &permits) => accepted,
        };
        match accepted {
            Ok((permit, stream, peer)) => {
                let connection = Connection { router: router.clone(), peer, _permit: permit };
                connections.spawn(connection.serve(stream, bounds, stop.clone()));
            }
            Err(failure) => {
                tracing::error!("a connection could not be accepted: {failure}");
                tokio::time::sleep(EXHAUSTED).await;
            }
        }
        while connections.try_join_next().is_some() {}
    }
    drop(listener);
    while connections.join_next().await.is_some() {}
}

async fn accept(
    listener: &TcpListener,
    permits: &Arc<Semaphore>,
) -> io::Result<(OwnedSemaphorePermit, TcpStream, SocketAddr)> {
    let permit = Arc::clone(permits).acquire_owned().await.map_err(io::Error::other)?;
    let (stream, peer) = listener.accept().await?;
    Ok((permit, stream, peer))
}

struct Connection {
    router: Router,
    peer: SocketAddr,
    _permit: OwnedSemaphorePermit,
}

impl Connection {
    async fn serve(self, stream: TcpStream, bounds: Bounds, mut stop: watch::Receiver<bool>) {
        let service = service_fn(|request| self.answer(request));
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(bounds.head)
            .max_buf_size(bounds.read_ahead)
            .serve_connection(TokioIo::new(stream), service);
        let mut connection = pin!(connection);
        tokio::select! {
            _ended = connection.as_mut() => return,
            _ = stop.wait_for(|stopping| *stopping) => {}
        }
        connection.as_mut().graceful_shutdown();
        let _ = connection.await;
    }

    async fn answer(&self, request: hyper::Request<Incoming>) -> Result<Response, Infallible> {
        let mut request = request.map(Body::new);
        request.extensions_mut().insert(ConnectInfo(self.peer));
        self.router.clone().oneshot(request).await
    }
}
