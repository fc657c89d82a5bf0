//! The deadline of each call to a stack: 10 s, or the seconds that `NAGARE_CALL_TIMEOUT` names.
//!
//! It holds from the beginning of a call to the last byte of its answer. A stack may accept a
//! connection and never answer, as a stopped process does. All clients of this crate are made with
//! it, so a command says after that time that the stack does not answer, and ends with exit code 3.
//! A call that is safe to repeat is repeated within it.

use std::sync::OnceLock;
use std::time::Duration;

use shared::platform::runtime::env;

use crate::failure::Failure;

const DEFAULT: u64 = 10;
/// The longest that the variable may name: an hour.
const LONGEST: u64 = 3_600;

static CHOSEN: OnceLock<Duration> = OnceLock::new();

/// Reads the variable, once and for all calls of this process.
///
/// # Errors
/// [`Failure::Usage`] if it is not a number of seconds from 1 to 3600.
pub fn choose() -> Result<(), Failure> {
    let Some(text) = env::optional(env::CALL_TIMEOUT) else { return Ok(()) };
    let seconds = text.parse().ok().filter(|seconds| (1..=LONGEST).contains(seconds));
    let seconds = seconds.ok_or_else(|| {
        let expected = format!("expected whole seconds from 1 to {LONGEST}");
        Failure::Usage(format!(
            "the environment variable {}: {expected}, got {text:?}",
            env::CALL_TIMEOUT
        ))
    })?;
    // The first stays.
    let _ = CHOSEN.set(Duration::from_secs(seconds));
    Ok(())
}

/// The deadline of a call.
pub fn call_timeout() -> Duration {
    CHOSEN.get().copied().unwrap_or(Duration::from_secs(DEFAULT))
}

/// Why a call has no answer: in time, or at all.
pub fn unanswered(error: reqwest::Error) -> String {
    match error.is_timeout() {
        true => late(),
        false => error.without_url().to_string(),
    }
}

/// The sentence for an answer that is not complete in time.
pub fn late() -> String {
    format!(
        "it accepts connections, and no answer is complete within {} s; its process may be stopped or overloaded ({} sets another \
         number of seconds)",
        call_timeout().as_secs(),
        env::CALL_TIMEOUT
    )
}
