//! Signature Version 4 for requests to API Gateway.
//!
//! The signer of the tables' calls (`shared::dynamo`) signs one POST over and over and knows no query. Here a
//! path and a query are brought into their canonical form, which is `aws-sigv4`'s work.

use std::time::{Duration, SystemTime};

use aws_credential_types::Credentials;
use aws_credential_types::provider::{ProvideCredentials, SharedCredentialsProvider};
use aws_sigv4::http_request::{SignableBody, SignableRequest, SigningSettings, sign};
use aws_sigv4::sign::v4::SigningParams;
use http::{HeaderMap, HeaderName, HeaderValue};
use reqwest::Url;
use shared::dynamo::sdk_config;
use shared::values::Timestamp;
use tokio::sync::Mutex;

use crate::failure::Failure;

/// API Gateway, as signatures name it.
const SERVICE: &str = "execute-api";
/// Credentials that end sooner are asked for again.
const MARGIN: Duration = Duration::from_secs(60);

/// Signs with the credentials that every AWS SDK would find: environment, profile, role.
pub(crate) struct Signer {
    provider: SharedCredentialsProvider,
    /// Kept from page to page, because some providers ask another service each time.
    credentials: Mutex<Option<Credentials>>,
    region: String,
}

impl Signer {
    /// # Errors
    /// [`Failure::Usage`] if there is no region, or nothing that could provide credentials.
    pub(crate) async fn from_environment() -> Result<Self, Failure> {
        let config = sdk_config().await;
        let region = config.region().map(ToString::to_string);
        let region = region.ok_or_else(|| unsigned("AWS_REGION is not set"))?;
        let provider = config.credentials_provider();
        let provider = provider.ok_or_else(|| unsigned("there are no AWS credentials"))?;
        let signer = Self { provider, credentials: Mutex::default(), region };
        Ok(signer)
    }

    /// The headers that sign a GET without a body.
    ///
    /// # Errors
    /// [`Failure::Usage`] if there are no credentials, or they cannot be had.
    pub(crate) async fn headers(&self, url: &Url, now: Timestamp) -> Result<HeaderMap, Failure> {
        let now = now.into();
        let credentials = self.credentials(now).await?;
        headers(url, credentials, &self.region, now).map_err(|e| unsigned(&e))
    }

    async fn credentials(&self, now: SystemTime) -> Result<Credentials, Failure> {
        let mut kept = self.credentials.lock().await;
        match &*kept {
            Some(credentials) if credentials.expiry().is_none_or(|end| now + MARGIN < end) => {
                Ok(credentials.clone())
            }
            _ => {
                let missing = |e| unsigned(&format!("there are no AWS credentials: {e}"));
                let found = self.provider.provide_credentials().await.map_err(missing)?;
                Ok(kept.insert(found).clone())
            }
        }
    }
}

/// The headers, or what is wrong with the request.
fn headers(
    url: &Url,
    credentials: Credentials,
    region: &str,
    now: SystemTime,
) -> Result<HeaderMap, String> {
    let identity = credentials.into();
    let params = SigningParams::builder()
        .identity(&identity)
        .region(region)
        .name(SERVICE)
        .time(now)
        .settings(SigningSettings::default())
        .build()
        .map_err(|e| e.to_string())?;
    let none = std::iter::empty();
    let request = SignableRequest::new("GET", url.as_str(), none, SignableBody::empty());
    let signed =
        request.and_then(|request| sign(request, &params.into())).map_err(|e| e.to_string())?;
    let (instructions, _signature) = signed.into_parts();
    instructions.headers().map(|(name, value)| header(name, value)).collect()
}

fn header(name: &str, value: &str) -> Result<(HeaderName, HeaderValue), String> {
    let name = HeaderName::try_from(name).map_err(|e| e.to_string())?;
    let mut value = HeaderValue::try_from(value).map_err(|e| e.to_string())?;
    value.set_sensitive(true);
    Ok((name, value))
}

fn unsigned(reason: &str) -> Failure {
    let demand = "the API takes signed requests only (NAGARE_AUTHORIZATION=iam)";
    Failure::Usage(format!("{demand}, and this one cannot be signed: {reason}"))
}
