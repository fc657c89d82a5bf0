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
    signing: Mutex<Option<Signing>>,
}

/// What the requests of one second have in common. An access key's secret never changes.
#[derive(Debug, Clone)]
struct Signing {
    /// In unix seconds.
    second: i64,
    /// The same as signatures have it: `20261121T184410Z`.
    date: String,
    access_key: String,
    /// What the key signs for: `20261121/eu-west-1/dynamodb/aws4_request`. It changes with the day.
    scope: String,
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
        Some(Self { path, region, service, signing: Mutex::default() })
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
        let Signing { date, access_key, scope, key, .. } = self.signing(credentials, now);
        let headers = request.headers_mut();
        headers.insert("x-amz-date", date.clone());
        if let Some(token) = credentials.session_token() {
            headers.insert("x-amz-security-token", token.to_owned());
        }
        let (canonical, names) = self.canonical(request, body);
        let text = [ALGORITHM, "\n", &date, "\n", &scope, "\n", &sha256(canonical.as_bytes())];
        let signature = hex(hmac::sign(&key, text.concat().as_bytes()).as_ref());
        let authorization = [
            ALGORITHM,
            " Credential=",
            &access_key,
            "/",
            &scope,
            ", SignedHeaders=",
            &names,
            ", Signature=",
            &signature,
        ];
        request.headers_mut().insert("authorization", authorization.concat());
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

    fn signing(&self, credentials: &Credentials, now: SystemTime) -> Signing {
        let (now, access_key) = (OffsetDateTime::from(now), credentials.access_key_id());
        let mut kept = self.signing.lock().unwrap_or_else(PoisonError::into_inner);
        let before = kept.as_ref().filter(|kept| kept.access_key == access_key);
        if let Some(kept) = before.filter(|kept| kept.second == now.unix_timestamp()) {
            return kept.clone();
        }
        let (day, time) = date(now);
        let scope = [&day, "/", &self.region, "/", &self.service, "/", TERMINATOR].concat();
        let key = before.filter(|kept| kept.scope == scope).map(|kept| kept.key.clone());
        let key = key.unwrap_or_else(|| self.key(credentials, &day));
        let signing = Signing {
            second: now.unix_timestamp(),
            date: format!("{day}T{time}Z"),
            access_key: access_key.to_owned(),
            scope,
            key,
        };
        *kept = Some(signing.clone());
        signing
    }

    /// The key for a day.
    fn key(&self, credentials: &Credentials, day: &str) -> hmac::Key {
        let secret = format!("AWS4{}", credentials.secret_access_key());
        let first = hmac::Key::new(HMAC_SHA256, secret.as_bytes());
        [day, &self.region, &self.service, TERMINATOR].iter().fold(first, |key, part| {
            hmac::Key::new(HMAC_SHA256, hmac::sign(&key, part.as_bytes()).as_ref())
        })
    }
}

/// An instant as signatures have it, day and time of day: `20261121` and `184410`.
fn date(at: OffsetDateTime) -> (String, String) {
    let (year, month, day) = (at.year(), u8::from(at.month()), at.day());
    let (hour, minute, second) = (at.hour(), at.minute(), at.second());
    (format!("{year:04}{month:02}{day:02}"), format!("{hour:02}{minute:02}{second:02}"))
}
