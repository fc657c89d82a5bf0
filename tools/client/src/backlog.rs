//! How far behind a stack is: how old its commands are, and its views.

use serde::{Deserialize, Serialize};
use shared::platform::runtime::env;

use crate::call_timeout::unanswered;
use crate::failure::Failure;
use crate::local_stack::CLOCK_PATH;
use crate::remote::Remote;
use crate::{loopback, proxy};

/// The path at which a local stack says it, below the API's address.
pub const PATH: &str = "/local/backlog";

/// How far behind a stack is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Backlog {
    /// The age of the oldest command that is visible or in flight; 0 if there is none.
    pub oldest_command_seconds: f64,
    /// Commands that were processed in the last minute, by the second.
    pub commands_per_second: f64,
    /// The age of the oldest change that is in no view yet; 0 if there is none.
    pub projection_lag_seconds: f64,
}

impl Backlog {
    /// What a local stack says.
    ///
    /// # Errors
    /// [`Failure::Unreachable`] if it does not answer, [`Failure::Usage`] if it names no address.
    pub async fn of_local(remote: &Remote) -> Result<Self, Failure> {
        let url = remote.target().required(env::CLOCK_URL)?;
        let url = url.strip_suffix(CLOCK_PATH).filter(|url| loopback::is_loopback(url));
        let url =
            url.ok_or_else(|| Failure::Usage(format!("{} names no local stack", env::CLOCK_URL)))?;
        let silent = |e| Failure::Unreachable(format!("the stack says nothing: {}", unanswered(e)));
        let answer = proxy::http_client()?.get(format!("{url}{PATH}")).send().await;
        let answer = answer.and_then(reqwest::Response::error_for_status).map_err(silent)?;
        Ok(serde_json::from_slice(&answer.bytes().await.map_err(silent)?)?)
    }
}
