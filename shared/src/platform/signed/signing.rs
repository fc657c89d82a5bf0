//! Signatures of requests: in headers, or in the query of an address that works for a while.
//!
//! S3 takes a path as it is sent: it is escaped once, and not brought into another form. Other services escape it twice. That is the
//! same where a path has nothing to escape, as those of Lambda's that are called here.

use std::fmt::Write as _;
use std::time::{Duration, SystemTime};

use aws_credential_types::Credentials;
use aws_credential_types::provider::{ProvideCredentials, SharedCredentialsProvider};
use aws_sigv4::http_request::{
    PayloadChecksumKind, PercentEncodingMode, SignableBody, SignableRequest, SignatureLocation,
    SigningInstructions, SigningSettings, UriPathNormalizationMode, sign,
};
use aws_sigv4::sign::v4::SigningParams;
use aws_smithy_runtime_api::client::orchestrator::HttpRequest;
use tokio::sync::Mutex;

use super::SignedError;
use crate::platform::crypto::hash::sha256;
use crate::platform::values::Timestamp;

/// Credentials that end sooner are asked for again.
const MARGIN: Duration = Duration::from_secs(60);

/// Signs for one service in one region.
#[derive(Debug)]
pub(super) struct Signer {
    service: &'static str,
    provider: Option<SharedCredentialsProvider>,
    /// Kept from request to request, because some providers ask another service each time.
    credentials: Mutex<Option<Credentials>>,
    region: String,
}

impl Signer {
    pub(super) fn new(
        service: &'static str,
        provider: Option<SharedCredentialsProvider>,
        region: &str,
    ) -> Self {
        Self { service, provider, credentials: Mutex::default(), region: region.to_owned() }
    }

    pub(super) fn service(&self) -> &'static str {
        self.service
    }

    pub(super) fn region(&self) -> &str {
        &self.region
    }

    /// Adds the headers that sign a request.
    pub(super) async fn sign(
        &self,
        request: &mut HttpRequest,
        url: &str,
        body: &[u8],
        now: Timestamp,
    ) -> Result<(), SignedError> {
        // ring is several times as fast as what signs.
        let body = SignableBody::Precomputed(sha256(body));
        let mut settings = settings(SignatureLocation::Headers);
        settings.payload_checksum_kind = PayloadChecksumKind::XAmzSha256;
        let method = request.method().to_owned();
        let headers: Vec<(String, String)> = request
            .headers()
            .iter()
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .collect();
        let named = headers.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        let signable =
            SignableRequest::new(method.as_str(), url, named, body).map_err(not_built)?;
        let instructions = self.instructions(signable, settings, now).await?;
        for (name, value) in instructions.headers() {
            request.headers_mut().insert(name.to_owned(), value.to_owned());
        }
        Ok(())
    }

    /// An address that GETs what is at this one, from `now` on.
    pub(super) async fn presigned(
        &self,
        url: &str,
        now: Timestamp,
        valid: Duration,
    ) -> Result<String, SignedError> {
        let mut settings = settings(SignatureLocation::QueryParams);
        settings.expires_in = Some(valid);
        let nothing = std::iter::empty();
        let signable = SignableRequest::new("GET", url, nothing, SignableBody::UnsignedPayload);
        let signable = signable.map_err(not_built)?;
        let instructions = self.instructions(signable, settings, now).await?;
        let mut signed = url.to_owned();
        for (nth, (name, value)) in instructions.params().iter().enumerate() {
            let mark = if nth == 0 { '?' } else { '&' };
            // Here a slash is escaped, too.
            let value = escaped(value).replace('/', "%2F");
            write!(signed, "{mark}{name}={value}").map_err(not_built)?;
        }
        Ok(signed)
    }

    async fn instructions(
        &self,
        request: SignableRequest<'_>,
        settings: SigningSettings,
        now: Timestamp,
    ) -> Result<SigningInstructions, SignedError> {
        let now = SystemTime::from(now);
        let identity = self.credentials(now).await?.into();
        let params = SigningParams::builder()
            .identity(&identity)
            .region(&self.region)
            .name(self.service)
            .time(now)
            .settings(settings)
            .build()
            .map_err(not_built)?;
        let signed = sign(request, &params.into()).map_err(not_built)?;
        Ok(signed.into_parts().0)
    }

    async fn credentials(&self, now: SystemTime) -> Result<Credentials, SignedError> {
        let mut kept = self.credentials.lock().await;
        match &*kept {
            Some(credentials) if credentials.expiry().is_none_or(|end| now + MARGIN < end) => {
                Ok(credentials.clone())
            }
            _ => {
                let none = || SignedError::Denied("there are no AWS credentials".to_owned());
                let provider = self.provider.as_ref().ok_or_else(none)?;
                let found = provider.provide_credentials().await;
                let found = found
                    .map_err(|_| SignedError::Unavailable("no AWS credentials came".to_owned()))?;
                Ok(kept.insert(found).clone())
            }
        }
    }
}

fn settings(location: SignatureLocation) -> SigningSettings {
    let mut settings = SigningSettings::default();
    settings.percent_encoding_mode = PercentEncodingMode::Single;
    settings.uri_path_normalization_mode = UriPathNormalizationMode::Disabled;
    settings.signature_location = location;
    settings
}

fn not_built(error: impl std::error::Error) -> SignedError {
    SignedError::not_built(&error.to_string())
}

/// A path as S3 signs it: everything is escaped but what RFC 3986 reserves for nothing, and slashes.
pub fn escaped(path: &str) -> String {
    let mut escaped = String::with_capacity(path.len() + 16);
    for byte in path.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' => {
                escaped.push(char::from(byte));
            }
            byte => {
                let _ = write!(escaped, "%{byte:02X}");
            }
        }
    }
    escaped
}
