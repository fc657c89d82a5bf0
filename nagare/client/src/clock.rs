//! What time it is for a command: by the clock of the stack that it talks to.
//!
//! A local stack whose clock somebody has set (`nagare up --clock`) accepts nothing that lies ahead of that clock. So a command takes
//! the instants that it sends, and all that it compares with now, from the stack's clock. It asks for the time once, when it begins.

use std::sync::OnceLock;
use std::time::Duration;

use shared::runtime::clock::Clock;
use shared::runtime::env;

use super::local_stack::Time;
use super::target::Target;
use super::{loopback, proxy};

/// How long the stack may take to answer.
const PATIENCE: Duration = Duration::from_secs(2);

/// The clock of the stack, where it is not the system's.
static OF_STACK: OnceLock<Clock> = OnceLock::new();

/// The clock that this process goes by.
pub fn clock() -> Clock {
    OF_STACK.get().cloned().unwrap_or_default()
}

/// Goes by the clock of a stack in this process.
pub fn go_by(clock: &Clock) {
    if clock.is_set() {
        // The first stays.
        let _ = OF_STACK.set(clock.clone());
    }
}

/// Goes by the clock of the stack that the environment names, or else of the one that runs, if somebody has set it. Where it does not
/// answer, the command will say so itself.
pub async fn go_by_stack() {
    if let Some(Time { now, is_set: true }) = ask().await {
        go_by(&Clock::starting_at(now));
    }
}

async fn ask() -> Option<Time> {
    let url =
        Target::find().ok()?.optional(env::CLOCK_URL).filter(|url| loopback::is_loopback(url))?;
    let request = proxy::http_client().ok()?.get(url).timeout(PATIENCE);
    let answer = request.send().await.ok()?.error_for_status().ok()?;
    serde_json::from_slice(&answer.bytes().await.ok()?).ok()
}
