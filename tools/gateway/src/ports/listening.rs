//! Listeners on loopback.

use std::io;
use std::net::Ipv4Addr;

use tokio::net::TcpListener;

/// A port is taken.
#[derive(Debug, thiserror::Error)]
#[error("port {port} on 127.0.0.1 cannot be listened on ({source}); choose another with --port")]
pub struct PortError {
    pub port: u16,
    /// The cause.
    pub source: io::Error,
}

/// Listens on a port of 127.0.0.1; 0: any that is free.
///
/// # Errors
/// [`PortError`] if it cannot be listened on.
pub async fn listen(port: u16) -> Result<TcpListener, PortError> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await;
    listener.map_err(|source| PortError { port, source })
}

/// The address of a listener, as clients write it.
pub fn url(listener: &TcpListener) -> String {
    format!("http://127.0.0.1:{}", port_of(listener))
}

pub fn port_of(listener: &TcpListener) -> u16 {
    listener.local_addr().map_or(0, |address| address.port())
}
