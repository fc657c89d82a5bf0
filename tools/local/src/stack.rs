//! A running stack: listeners, servers and pollers.

use std::time::Duration;

use shared::platform::runtime::clock::Clock;
use tokio::sync::watch;
use tokio::task::{JoinHandle, JoinSet};

use super::calendar::Calendar;
use super::data_dir::DataDir;
use super::engine::Engine;
use super::function_threads::FunctionThreads;
use super::set_clock;

/// How often expired entries are dropped.
const SWEEP: Duration = Duration::from_secs(300);
/// How long connections may take to end when the stack stops.
const GRACE: Duration = Duration::from_secs(2);

/// A running stack.
#[derive(Debug)]
pub struct Stack {
    pub(super) environment: Vec<(&'static str, String)>,
    pub(super) port: u16,
    pub(super) open_paths: Vec<&'static str>,
    pub(super) stop: watch::Sender<bool>,
    pub(super) pollers: Vec<JoinHandle<()>>,
    /// Where the pollers run.
    pub(super) threads: FunctionThreads,
    pub(super) servers: JoinSet<()>,
    /// What is done at intervals, and is given up in between when the stack stops.
    pub(super) chores: JoinSet<()>,
    pub(super) clock: Clock,
    pub(super) data_dir: Option<DataDir>,
}

impl Stack {
    /// What a shell has to export for SDKs, the `aws` CLI and `nagare` to find this stack.
    pub fn environment(&self) -> &[(&'static str, String)] {
        &self.environment
    }

    /// The port of the HTTP API.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The paths at the API's port that are answered without a token. The API itself demands one
    /// under `--auth`.
    pub fn open_paths(&self) -> &[&'static str] {
        &self.open_paths
    }

    /// One variable of the environment.
    pub fn variable(&self, name: &str) -> Option<&str> {
        let found = self.environment.iter().find(|(other, _)| *other == name);
        found.map(|(_, value)| value.as_str())
    }

    /// Stops polling, lets the invocations in flight end, and closes the connections.
    pub async fn shut_down(mut self) {
        let _ = self.stop.send(true);
        self.chores.shutdown().await;
        for poller in self.pollers {
            let _ = poller.await;
        }
        drop(self.threads);
        let _ = tokio::time::timeout(GRACE, async {
            while self.servers.join_next().await.is_some() {}
        })
        .await;
        self.servers.shutdown().await;
        if let Some(dir) = self.data_dir.filter(|_| self.clock.is_set()) {
            set_clock::note_last(&self.clock, &dir);
        }
    }

    /// What time it is in the stack.
    pub fn clock(&self) -> &Clock {
        &self.clock
    }
}

/// Drops what has expired, at intervals, and stores the time.
pub(super) async fn sweep(engine: Engine, calendar: Calendar, data_dir: Option<DataDir>) {
    let mut ticks = tokio::time::interval(SWEEP);
    loop {
        ticks.tick().await;
        let (engine, data_dir, now) = (engine.clone(), data_dir.clone(), calendar.expiry());
        let work = move || {
            if let Err(failure) = engine.sweep(now) {
                tracing::warn!("expired entries were not dropped: {failure}");
            }
            if let Some(Err(failure)) = data_dir.map(|dir| dir.note_time(now)) {
                tracing::warn!("{failure}");
            }
        };
        let _ = tokio::task::spawn_blocking(work).await;
    }
}
