//! What time it is for a command: by the clock of the stack that it talks to.
//!
//! A local stack whose clock somebody has set (`nagare up --clock`) accepts nothing that lies ahead of that clock. So a command takes
//! the instants that it sends, and all that it compares with now, from the stack's clock. It asks for the time once, when it begins.

use std::sync::OnceLock;
use std::time::Duration;

use shared::platform::runtime::clock::Clock;
use shared::platform::runtime::env;

use super::call_timeout::call_timeout;
use super::local_stack::Time;
use super::target::Target;
use super::{loopback, proxy};

/// How long the stack may take to answer.
const PATIENCE: Duration = Duration::from_secs(2);

/// The clock of the stack, if it is not the system's.
static OF_STACK: OnceLock<Clock> = OnceLock::new();

/// The clock that this process uses.
pub fn clock() -> Clock {
    OF_STACK.get().cloned().unwrap_or_default()
}

/// Makes this process use the clock of a stack that runs in it.
pub fn go_by(clock: &Clock) {
    if clock.is_set() {
        // The first stays.
        let _ = OF_STACK.set(clock.clone());
    }
}

/// Makes this process use the clock of the stack that the environment names, or else of the one that runs, if somebody has set that
/// clock. If the stack does not answer, nothing happens here: the command reports it itself.
pub async fn go_by_stack() {
    if let Some(Time { now, is_set: true, .. }) = ask().await {
        go_by(&Clock::starting_at(now));
    }
}

async fn ask() -> Option<Time> {
    let url =
        Target::find().ok()?.optional(env::CLOCK_URL).filter(|url| loopback::is_loopback(url))?;
    let request = proxy::http_client().ok()?.get(url).timeout(PATIENCE.min(call_timeout()));
    let answer = request.send().await.ok()?.error_for_status().ok()?;
    serde_json::from_slice(&answer.bytes().await.ok()?).ok()
}
