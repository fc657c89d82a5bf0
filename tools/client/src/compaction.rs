//! Has a local stack take what was erased out of the files of its data directory.

use std::time::Duration;

use http::StatusCode;
use shared::platform::runtime::deadline::Deadline;
use shared::platform::runtime::env;

use crate::call_timeout::unanswered;
use crate::failure::Failure;
use crate::local_stack::{CLOCK_PATH, COMPACT_PATH};
use crate::target::Target;
use crate::{loopback, proxy};

/// How long to ask. A gigabyte takes some seconds.
const PATIENCE: Duration = Duration::from_secs(300);

/// Waits until nothing that was erased is in the files. Without a local stack there are none.
///
/// # Errors
/// [`Failure`]; something that was erased may still be in them.
pub async fn compact(target: &Target) -> Result<(), Failure> {
    let Some(clock) = target.optional(env::CLOCK_URL).filter(|url| loopback::is_loopback(url))
    else {
        return Ok(());
    };
    let url = clock.replace(CLOCK_PATH, COMPACT_PATH);
    let (client, deadline) = (proxy::http_client()?, Deadline::after(PATIENCE));
    let left = |why: &str| {
        format!(
            "what was erased is still in the files of the data directory: {why}; run this again"
        )
    };
    while !deadline.remaining().is_zero() {
        let request = client.post(&url).header("content-type", "application/json").body("{}");
        let answer = request.send().await;
        match answer.map_err(|e| Failure::Unreachable(left(&unanswered(e))))?.status() {
            StatusCode::OK => return Ok(()),
            // It answers this after a second.
            StatusCode::ACCEPTED => {}
            other => return Err(Failure::No(left(&other.to_string()))),
        }
    }
    Err(Failure::Unreachable(left("it takes long")))
}
