//! Signature Version 4, as much of it as a POST with a body and without a query needs:
//! <https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html>.
//!
//! `aws-sigv4` derives the key again for each request, in software without assembly. A key is valid for
//! a day, so here it is derived once; the tests compare the signatures.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use aws_sdk_dynamodb::config::Credentials;
use aws_smithy_runtime_api::client::orchestrator::HttpRequest;
use ring::digest::{self, SHA256};
use ring::hmac::{self, HMAC_SHA256};
use time::OffsetDateTime;

use crate::platform::crypto::hash::{hex, sha256};

const ALGORITHM: &str = "AWS4-HMAC-SHA256";
const TERMINATOR: &str = "aws4_request";
/// Proxies may change it, so it is not signed.
const NOT_SIGNED: &str = "user-agent";

/// Signs POST requests to one path, for one region and service.
#[derive(Debug)]
pub(super) struct DynamoSigner {
    path: String,
    region: String,
    service: String,
    /// The latest of each operation.
    prepared: Mutex<HashMap<String, Arc<Prepared>>>,
}

/// The requests to one operation in one second, without their bodies. An access key's secret never changes.
pub(super) struct Prepared {
    /// In unix seconds.
    second: u64,
    access_key: String,
    /// What the key signs for: `20261121/eu-west-1/dynamodb/aws4_request`. It changes with the day.
    scope: String,
    key: hmac::Key,
    request: HttpRequest,
    /// Of the canonical request, all before the hash of the body.
    canonical: digest::Context,
    /// The signature, before the hash of the canonical request.
    signature: hmac::Context,
    /// The header `Authorization`, before the signature.
    authorization: String,
}

impl fmt::Debug for Prepared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Prepared").field("second", &self.second).finish_non_exhaustive()
    }
}

impl Prepared {
    /// A signed request with a body, which is still to be put into it. None if it cannot be cloned.
    pub(super) fn sign(&self, body: &[u8]) -> Option<HttpRequest> {
        let mut canonical = self.canonical.clone();
        canonical.update(sha256(body).as_bytes());
        let mut signature = self.signature.clone();
        signature.update(hex(canonical.finish().as_ref()).as_bytes());
        let signature = hex(signature.sign().as_ref());
        let mut request = self.request.try_clone()?;
        let authorization = [self.authorization.as_str(), &signature].concat();
        request.headers_mut().insert("authorization", authorization);
        Some(request)
    }
}

impl DynamoSigner {
    /// A signer for the region and service of a header `Authorization`.
    pub(super) fn like(authorization: &str, path: String) -> Option<Self> {
        let credential = authorization.strip_prefix(ALGORITHM)?.split_once("Credential=")?.1;
        let mut scope = credential.split(',').next()?.rsplit('/');
        if scope.next()? != TERMINATOR {
            return None;
        }
        let (service, region) = (scope.next()?.to_owned(), scope.next()?.to_owned());
        Some(Self { path, region, service, prepared: Mutex::default() })
    }

    /// What was prepared for an operation, if it was in this second.
    pub(super) fn prepared(&self, operation: &str, now: SystemTime) -> Option<Arc<Prepared>> {
        let prepared = self.latest(operation);
        prepared.filter(|prepared| prepared.second == unix_seconds(now))
    }

    /// Prepares the requests of this second like `common`, with date and session token. None if `common` cannot be cloned. The values of its
    /// headers have no spaces to trim, and the path needs no escaping.
    pub(super) fn prepare(
        &self,
        common: HttpRequest,
        operation: &str,
        credentials: &Credentials,
        now: SystemTime,
    ) -> Option<Arc<Prepared>> {
        let before = self.latest(operation);
        let prepared = self.prepare_after(before.as_deref(), common, credentials, now)?;
        let prepared = Arc::new(prepared);
        let mut kept = self.prepared.lock().unwrap_or_else(PoisonError::into_inner);
        kept.insert(operation.to_owned(), Arc::clone(&prepared));
        Some(prepared)
    }

    fn latest(&self, operation: &str) -> Option<Arc<Prepared>> {
        self.prepared.lock().unwrap_or_else(PoisonError::into_inner).get(operation).cloned()
    }

    fn prepare_after(
        &self,
        before: Option<&Prepared>,
        mut request: HttpRequest,
        credentials: &Credentials,
        now: SystemTime,
    ) -> Option<Prepared> {
        let second = unix_seconds(now);
        let at = OffsetDateTime::from_unix_timestamp(i64::try_from(second).ok()?);
        let (day, time) = date(at.ok()?);
        let scope = [&day, "/", &self.region, "/", &self.service, "/", TERMINATOR].concat();
        let (date, access_key) = (format!("{day}T{time}Z"), credentials.access_key_id().to_owned());
        let before = before.filter(|it| it.access_key == access_key && it.scope == scope);
        let key = before.map(|before| before.key.clone());
        let key = key.unwrap_or_else(|| self.key(credentials, &day));
        request.headers_mut().insert("x-amz-date", date.clone());
        if let Some(token) = credentials.session_token() {
            request.headers_mut().insert("x-amz-security-token", token.to_owned());
        }
        let (text, names) = self.canonical(&request);
        let mut canonical = digest::Context::new(&SHA256);
        canonical.update(text.as_bytes());
        let mut signature = hmac::Context::with_key(&key);
        signature.update(format!("{ALGORITHM}\n{date}\n{scope}\n").as_bytes());
        Some(Prepared {
            canonical,
            signature,
            authorization: format!(
                "{ALGORITHM} Credential={access_key}/{scope}, SignedHeaders={names}, Signature="
            ),
            second,
            access_key,
            scope,
            key,
            request,
        })
    }

    /// The canonical request before the hash of its body, and the names of the headers that are in it.
    fn canonical(&self, request: &HttpRequest) -> (String, String) {
        let mut headers: Vec<_> =
            request.headers().iter().filter(|(name, _)| *name != NOT_SIGNED).collect();
        headers.sort_unstable();
        let names: Vec<_> = headers.iter().map(|(name, _)| *name).collect();
        let names = names.join(";");
        let mut text = format!("POST\n{}\n\n", self.path);
        for (name, value) in headers {
            text.extend([name, ":", value, "\n"]);
        }
        text.extend(["\n", &names, "\n"]);
        (text, names)
    }

    fn key(&self, credentials: &Credentials, day: &str) -> hmac::Key {
        let secret = format!("AWS4{}", credentials.secret_access_key());
        let first = hmac::Key::new(HMAC_SHA256, secret.as_bytes());
        [day, &self.region, &self.service, TERMINATOR].iter().fold(first, |key, part| {
            hmac::Key::new(HMAC_SHA256, hmac::sign(&key, part.as_bytes()).as_ref())
        })
    }
}

fn unix_seconds(at: SystemTime) -> u64 {
    at.duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

/// An instant as signatures have it, day and time of day: `20261121` and `184410`.
fn date(at: OffsetDateTime) -> (String, String) {
    let (year, month, day) = (at.year(), u8::from(at.month()), at.day());
    let (hour, minute, second) = (at.hour(), at.minute(), at.second());
    (format!("{year:04}{month:02}{day:02}"), format!("{hour:02}{minute:02}{second:02}"))
}
