//! Signature Version 4, as much of it as a POST with a body and without a query needs:
//! <https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html>.
//!
//! `aws-sigv4` derives the key again for each request, in software without assembly. A key is valid for
//! a day, so here it is derived once; the tests compare the signatures.

use std::sync::{Mutex, PoisonError};
use std::time::SystemTime;

use aws_sdk_dynamodb::config::Credentials;
use aws_smithy_runtime_api::client::orchestrator::HttpRequest;
use ring::hmac::{self, HMAC_SHA256};
use time::OffsetDateTime;

use crate::crypto::hash::{hex, sha256};

const ALGORITHM: &str = "AWS4-HMAC-SHA256";
const TERMINATOR: &str = "aws4_request";
/// Proxies may change it, so it is not signed.
const NOT_SIGNED: &str = "user-agent";

/// Signs POST requests to one path, for one region and service.
#[derive(Debug)]
pub(super) struct Signer {
    path: String,
    region: String,
    service: String,
    key: Mutex<Option<Key>>,
}

/// The key of a day. An access key's secret never changes.
#[derive(Debug)]
struct Key {
    access_key: String,
    day: String,
    key: hmac::Key,
}

impl Signer {
    /// A signer for the region and service of a header `Authorization`.
    pub(super) fn like(authorization: &str, path: String) -> Option<Self> {
        let credential = authorization.strip_prefix(ALGORITHM)?.split_once("Credential=")?.1;
        let mut scope = credential.split(',').next()?.rsplit('/');
        if scope.next()? != TERMINATOR {
            return None;
        }
        let (service, region) = (scope.next()?.to_owned(), scope.next()?.to_owned());
        Some(Self { path, region, service, key: Mutex::default() })
    }

    /// Adds date, session token and signature to a request. All its headers so far are signed; their values have no spaces to
    /// trim, and the path needs no escaping.
    pub(super) fn sign(
        &self,
        request: &mut HttpRequest,
        body: &[u8],
        credentials: &Credentials,
        now: SystemTime,
    ) {
        let (day, time) = date(now);
        let date = format!("{day}T{time}Z");
        let headers = request.headers_mut();
        headers.insert("x-amz-date", date.clone());
        if let Some(token) = credentials.session_token() {
            headers.insert("x-amz-security-token", token.to_owned());
        }
        let (canonical, names) = self.canonical(request, body);
        let (region, service) = (&self.region, &self.service);
        let scope = format!("{day}/{region}/{service}/{TERMINATOR}");
        let hash = sha256(canonical.as_bytes());
        let text = format!("{ALGORITHM}\n{date}\n{scope}\n{hash}");
        let signature = hex(hmac::sign(&self.key(credentials, &day), text.as_bytes()).as_ref());
        let access_key = credentials.access_key_id();
        let authorization = format!(
            "{ALGORITHM} Credential={access_key}/{scope}, SignedHeaders={names}, Signature={signature}"
        );
        request.headers_mut().insert("authorization", authorization);
    }

    /// The canonical request, and the names of the headers that are in it.
    fn canonical(&self, request: &HttpRequest, body: &[u8]) -> (String, String) {
        let mut headers: Vec<_> =
            request.headers().iter().filter(|(name, _)| *name != NOT_SIGNED).collect();
        headers.sort_unstable();
        let (mut text, mut names) = (String::with_capacity(2_048), String::with_capacity(128));
        for part in ["POST\n", &self.path, "\n\n"] {
            text.push_str(part);
        }
        for (name, value) in headers {
            for part in [name, ":", value, "\n"] {
                text.push_str(part);
            }
            if !names.is_empty() {
                names.push(';');
            }
            names.push_str(name);
        }
        for part in ["\n", &names, "\n", &sha256(body)] {
            text.push_str(part);
        }
        (text, names)
    }

    fn key(&self, credentials: &Credentials, day: &str) -> hmac::Key {
        let mut kept = self.key.lock().unwrap_or_else(PoisonError::into_inner);
        let access_key = credentials.access_key_id();
        if let Some(kept) = &*kept
            && kept.access_key == access_key
            && kept.day == day
        {
            return kept.key.clone();
        }
        let secret = format!("AWS4{}", credentials.secret_access_key());
        let first = hmac::Key::new(HMAC_SHA256, secret.as_bytes());
        let key = [day, &self.region, &self.service, TERMINATOR].iter().fold(first, |key, part| {
            hmac::Key::new(HMAC_SHA256, hmac::sign(&key, part.as_bytes()).as_ref())
        });
        let (access_key, day) = (access_key.to_owned(), day.to_owned());
        *kept = Some(Key { access_key, day, key: key.clone() });
        key
    }
}

/// An instant as signatures have it, day and time of day: `20261121` and `184410`.
fn date(instant: SystemTime) -> (String, String) {
    let at = OffsetDateTime::from(instant);
    let (year, month, day) = (at.year(), u8::from(at.month()), at.day());
    let (hour, minute, second) = (at.hour(), at.minute(), at.second());
    (format!("{year:04}{month:02}{day:02}"), format!("{hour:02}{minute:02}{second:02}"))
}
