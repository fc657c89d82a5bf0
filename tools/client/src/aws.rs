//! Checks that there are a region and credentials before a command calls AWS.
//!
//! A client without credentials finds that out at its first call, and takes it for a transient failure. So commands check first, and
//! say what is missing. Credentials that the machine itself provides come at once. Those of a profile, made by a program or a
//! service, may take their time.

use std::path::Path;
use std::time::Duration;

use aws_config::SdkConfig;
use aws_credential_types::provider::ProvideCredentials;
use shared::platform::runtime::env;
use tokio::time::timeout;

use super::proxy;
use crate::failure::Failure;

/// How long to wait for credentials that are at hand.
const AT_HAND: Duration = Duration::from_millis(1_700);
/// How long to wait for credentials that a program or a service makes.
const MADE: Duration = Duration::from_secs(30);
/// What the configuration file contains if a profile has its credentials made.
const MAKERS: [&str; 4] = ["credential_process", "sso_", "role_arn", "login_session"];

/// The configuration of clients, after a check that there are a region and credentials.
///
/// # Errors
/// [`Failure::Usage`]: there is no region, or there are no credentials.
pub async fn config() -> Result<SdkConfig, Failure> {
    let patience = if are_made() { MADE } else { AT_HAND };
    let found = timeout(patience, async {
        let config = proxy::sdk_config().await?;
        if config.region().is_none() {
            return Err(missing("a region", "AWS_REGION"));
        }
        let provider = config.credentials_provider().ok_or_else(no_credentials)?;
        provider.provide_credentials().await.map_err(|_| no_credentials())?;
        Ok(config)
    });
    found.await.unwrap_or_else(|_| Err(no_credentials()))
}

fn no_credentials() -> Failure {
    missing("credentials", "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE,")
}

fn missing(what: &str, variables: &str) -> Failure {
    Failure::Usage(format!(
        "calls of AWS need {what}: set {variables} first (for tables on this machine any text \
         will do, and `eval \"$(nagare env)\"` sets all that the local stack needs)"
    ))
}

/// True if some profile has its credentials made.
fn are_made() -> bool {
    let home = env::optional("HOME").unwrap_or_default();
    let file = env::optional("AWS_CONFIG_FILE")
        .map_or_else(|| Path::new(&home).join(".aws/config"), Into::into);
    // A file that is not there, or cannot be read, has no profile.
    std::fs::read_to_string(file).is_ok_and(|text| MAKERS.iter().any(|maker| text.contains(maker)))
}
