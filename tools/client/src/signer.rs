//! Signature Version 4 for single requests: to API Gateway, and to services for which no SDK is built in.
//!
//! The signer of the tables' calls (`shared::platform::dynamo`) signs one POST over and over, and does not support queries. Here paths and
//! queries have to be brought into their canonical form, which `aws-sigv4` does.

use std::time::{Duration, SystemTime};

use aws_config::SdkConfig;
use aws_credential_types::Credentials;
use aws_credential_types::provider::{ProvideCredentials, SharedCredentialsProvider};
use aws_sigv4::http_request::{SignableBody, SignableRequest, SigningSettings, sign};
use aws_sigv4::sign::v4::SigningParams;
use http::{HeaderMap, HeaderName, HeaderValue};
use reqwest::Url;
use shared::platform::values::Timestamp;
use tokio::sync::Mutex;

/// Credentials that expire within this time are fetched again.
const MARGIN: Duration = Duration::from_secs(60);

/// A request cannot be signed. Trying again does not help; what is missing has to be provided.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("this request cannot be signed: {0}")]
pub struct Unsigned(String);

/// Signs for one service, with the credentials that every AWS SDK would find: environment, profile, role.
#[derive(Debug)]
pub struct Signer {
    provider: SharedCredentialsProvider,
    /// Cached between requests, because some providers call another service each time.
    credentials: Mutex<Option<Credentials>>,
    region: String,
    service: &'static str,
}

impl Signer {
    /// A signer for a service, by its name in signatures.
    ///
    /// # Errors
    /// [`Unsigned`] if there is no region, or nothing that could provide credentials.
    pub fn new(config: &SdkConfig, service: &'static str) -> Result<Self, Unsigned> {
        let missing = |what: &str| Unsigned(what.to_owned());
        let region = config.region().map(ToString::to_string);
        let region = region.ok_or_else(|| missing("AWS_REGION is not set"))?;
        let provider = config.credentials_provider();
        let provider = provider.ok_or_else(|| missing("there are no AWS credentials"))?;
        Ok(Self { provider, credentials: Mutex::default(), region, service })
    }

    /// The headers that sign a request with these headers and this body.
    ///
    /// # Errors
    /// [`Unsigned`] if there are no credentials, or they cannot be had.
    pub async fn headers(
        &self,
        method: &str,
        url: &Url,
        headers: &[(&str, &str)],
        body: &[u8],
        now: Timestamp,
    ) -> Result<HeaderMap, Unsigned> {
        let now = now.into();
        let credentials = self.credentials(now).await?;
        let body = SignableBody::Bytes(body);
        let request = SignableRequest::new(method, url.as_str(), headers.iter().copied(), body);
        let request = request.map_err(|e| Unsigned(e.to_string()))?;
        self.signed(request, credentials, now).map_err(Unsigned)
    }

    async fn credentials(&self, now: SystemTime) -> Result<Credentials, Unsigned> {
        let mut kept = self.credentials.lock().await;
        match &*kept {
            Some(credentials) if credentials.expiry().is_none_or(|end| now + MARGIN < end) => {
                Ok(credentials.clone())
            }
            _ => {
                let missing = |e| Unsigned(format!("there are no AWS credentials: {e}"));
                let found = self.provider.provide_credentials().await.map_err(missing)?;
                Ok(kept.insert(found).clone())
            }
        }
    }

    /// The headers, or what is wrong with the request.
    fn signed(
        &self,
        request: SignableRequest<'_>,
        credentials: Credentials,
        now: SystemTime,
    ) -> Result<HeaderMap, String> {
        let identity = credentials.into();
        let params = SigningParams::builder()
            .identity(&identity)
            .region(&self.region)
            .name(self.service)
            .time(now)
            .settings(SigningSettings::default())
            .build()
            .map_err(|e| e.to_string())?;
        let signed = sign(request, &params.into()).map_err(|e| e.to_string())?;
        let (instructions, _signature) = signed.into_parts();
        instructions.headers().map(|(name, value)| header(name, value)).collect()
    }
}

fn header(name: &str, value: &str) -> Result<(HeaderName, HeaderValue), String> {
    let name = HeaderName::try_from(name).map_err(|e| e.to_string())?;
    let mut value = HeaderValue::try_from(value).map_err(|e| e.to_string())?;
    value.set_sensitive(true);
    Ok((name, value))
}
