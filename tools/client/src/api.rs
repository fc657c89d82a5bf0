//! The HTTP API, as every reading command asks it.
//!
//! # Who the caller is
//!
//! `NAGARE_AUTHORIZATION` says what the API demands. `nagare up` prints it, and the output `Environment` of a
//! stack on AWS has it.
//!
//! - `iam`: each request is [signed](super::signer) with the AWS credentials of whoever runs the command.
//! - `jwt`: the token in `NAGARE_TOKEN`, or one made with the key of a local stack ([`super::token`]).
//! - `open`: nothing is needed. A token that is there is sent anyway.
//! - Not set: a token if there is one. Without a token the first 403 means `iam`, because an API that
//!   demands tokens answers 401; that request is sent again with a signature, and so are all after it.
//!
//! # Addresses
//!
//! Every character of a path or a query is escaped unless it means itself everywhere (RFC 3986,
//! "unreserved"). What is sent is then exactly what is signed, byte by byte.

use std::fmt::Display;
use std::time::Duration;

use function_http::Authorization;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use reqwest::header::{CONTENT_TYPE, RETRY_AFTER};
use reqwest::{Response, StatusCode, Url};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use shared::platform::runtime::clock::Clock;
use shared::platform::runtime::env;
use shared::platform::values::TenantId;

use super::signer::Signer;
use super::target::Target;
use super::token;
use super::{aws, proxy};
use crate::call_timeout::unanswered;
use crate::failure::Failure;

/// API Gateway, as signatures name it.
const SERVICE: &str = "execute-api";
const JSON: &str = "application/json";
/// What is escaped in paths and queries.
const ESCAPED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// The parameters of a query, by name.
pub type Query = Vec<(&'static str, String)>;

/// The API, on behalf of one viewer.
pub struct Api {
    client: reqwest::Client,
    base: Url,
    caller: Caller,
}

/// What a request carries to say who sends it.
enum Caller {
    /// Nothing. `may_sign`: the API may turn out to demand a signature.
    Nobody {
        may_sign: bool,
    },
    Bearer(String),
    Signer(Signer),
}

/// The result of a POST.
pub enum Posted {
    /// It was accepted.
    Taken,
    /// It was refused as wrong. The answer says how.
    Refused(Vec<u8>),
    /// It has to be sent again after this time. If it is not, the result is this failure.
    Later(Duration, Failure),
}

/// An error's body: Nagare's own (RFC 9457), or API Gateway's.
#[derive(Deserialize)]
struct Problem {
    #[serde(alias = "message")]
    detail: String,
}

impl Api {
    /// The API of the stack that the environment names, or else of the one that runs, with the caller that
    /// it demands.
    ///
    /// # Errors
    /// [`Failure::Usage`] if there is no such stack, if the environment does not name an API, or `NAGARE_AUTHORIZATION` no mode.
    pub async fn on_behalf_of(viewer: &str) -> Result<Self, Failure> {
        Self::with_token(|target| token::for_reading(target, viewer)).await
    }

    /// The same, on behalf of a tenant.
    ///
    /// # Errors
    /// As those of [`Api::on_behalf_of`].
    pub async fn for_tenant(tenant: &TenantId) -> Result<Self, Failure> {
        Self::with_token(|target| token::for_tenant(target, tenant)).await
    }

    async fn with_token(own: impl FnOnce(&Target) -> Option<String>) -> Result<Self, Failure> {
        let target = Target::find()?;
        let base = base_address(target.required(env::API_URL)?)?;
        let caller = Caller::find(&target, own).await?;
        let client = proxy::http_client()?;
        Ok(Self { client, base, caller })
    }

    /// Sends JSON to a path.
    ///
    /// # Errors
    /// [`Failure::No`] if the API does not let the caller, and [`Failure::Unreachable`] if it does not answer.
    pub async fn post(&mut self, path: &[&str], body: &[u8]) -> Result<Posted, Failure> {
        let url = address(&self.base, path, &Query::new())?;
        let answer = self.answer(&url, Some(body)).await?;
        let status = answer.status();
        let later = answer.headers().get(RETRY_AFTER).and_then(|value| value.to_str().ok());
        let later = later.and_then(|seconds| seconds.parse().ok()).unwrap_or(1);
        let body = answer.bytes().await.map_err(|e| self.unreachable(e))?;
        match status {
            _ if status.is_success() => Ok(Posted::Taken),
            StatusCode::BAD_REQUEST => Ok(Posted::Refused(body.into())),
            StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE => {
                Ok(Posted::Later(Duration::from_secs(later), self.refusal(status, &body)))
            }
            _ => Err(self.refusal(status, &body)),
        }
    }

    /// Asks for what is at a path, given by its segments.
    ///
    /// # Errors
    /// [`Failure::Usage`] for what the API calls bad input, [`Failure::No`] for what it refuses, and
    /// [`Failure::Unreachable`] if it does not answer, or not as it should.
    pub async fn get<T: DeserializeOwned>(
        &mut self,
        path: &[&str],
        query: &Query,
    ) -> Result<T, Failure> {
        let (status, body) = self.ask(path, query).await?;
        if status != StatusCode::OK {
            return Err(self.refusal(status, &body));
        }
        parsed(&body)
    }

    /// Like [`Api::get`], for what may not exist: `None` if the API has found nothing.
    ///
    /// # Errors
    /// As those of [`Api::get`].
    pub async fn find<T: DeserializeOwned>(
        &mut self,
        path: &[&str],
        query: &Query,
    ) -> Result<Option<T>, Failure> {
        match self.ask(path, query).await? {
            (StatusCode::OK, body) => parsed(&body).map(Some),
            (StatusCode::NOT_FOUND, _) => Ok(None),
            (status, body) => Err(self.refusal(status, &body)),
        }
    }

    /// The status of what the API answers for a path.
    ///
    /// # Errors
    /// [`Failure::Unreachable`] if it does not answer.
    pub async fn status_of(&mut self, path: &[&str]) -> Result<u16, Failure> {
        Ok(self.ask(path, &Query::new()).await?.0.as_u16())
    }

    async fn ask(
        &mut self,
        path: &[&str],
        query: &Query,
    ) -> Result<(StatusCode, Vec<u8>), Failure> {
        let url = address(&self.base, path, query)?;
        let answer = self.answer(&url, None).await?;
        let status = answer.status();
        let body = answer.bytes().await.map_err(|e| self.unreachable(e))?;
        Ok((status, body.into()))
    }

    /// The answer to a request. If the API turns out to demand a signature, the request is signed and sent again.
    async fn answer(&mut self, url: &Url, body: Option<&[u8]>) -> Result<Response, Failure> {
        let answer = self.send(url, body).await?;
        let demands_signature = answer.status() == StatusCode::FORBIDDEN
            && matches!(self.caller, Caller::Nobody { may_sign: true });
        if !demands_signature {
            return Ok(answer);
        }
        self.caller = Caller::signing().await?;
        self.send(url, body).await
    }

    async fn send(&self, url: &Url, body: Option<&[u8]>) -> Result<Response, Failure> {
        let (method, request) = match body {
            None => ("GET", self.client.get(url.clone())),
            Some(body) => {
                let request = self.client.post(url.clone()).header(CONTENT_TYPE, JSON);
                ("POST", request.body(body.to_vec()))
            }
        };
        let request = match &self.caller {
            Caller::Nobody { .. } => request,
            Caller::Bearer(token) => request.bearer_auth(token),
            Caller::Signer(signer) => {
                let now = Clock::system().now();
                let signed = signer.headers(method, url, &[], body.unwrap_or_default(), now);
                request.headers(signed.await.map_err(unsigned)?)
            }
        };
        request.send().await.map_err(|e| self.unreachable(e))
    }

    fn unreachable(&self, error: reqwest::Error) -> Failure {
        let host = self.base.origin().ascii_serialization();
        Failure::Unreachable(format!("the API at {host} does not answer: {}", unanswered(error)))
    }

    /// The failure for a problem that the API answered.
    fn refusal(&self, status: StatusCode, body: &[u8]) -> Failure {
        let problem = serde_json::from_slice::<Problem>(body).map(|problem| problem.detail);
        let reason = problem.unwrap_or_else(|_| "no reason given".to_owned());
        let sentence = format!("{status}: {reason}");
        match status {
            StatusCode::BAD_REQUEST => Failure::Usage(sentence),
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => {
                Failure::No(format!("{sentence} ({})", self.caller.is_called()))
            }
            _ if status.is_server_error() || status == StatusCode::TOO_MANY_REQUESTS => {
                Failure::Unreachable(sentence)
            }
            _ => Failure::No(sentence),
        }
    }
}

impl Caller {
    async fn find(
        target: &Target,
        own: impl FnOnce(&Target) -> Option<String>,
    ) -> Result<Self, Failure> {
        let mode = target.authorization()?;
        if mode == Some(Authorization::Iam) {
            return Self::signing().await;
        }
        let token = env::optional(env::TOKEN).or_else(|| own(target));
        let nobody = Self::Nobody { may_sign: mode.is_none() };
        Ok(token.map_or(nobody, Self::Bearer))
    }

    async fn signing() -> Result<Self, Failure> {
        let config = aws::config().await.map_err(unsigned)?;
        Signer::new(&config, SERVICE).map(Self::Signer).map_err(unsigned)
    }

    /// What the request carried, to explain why the API refused it.
    fn is_called(&self) -> &'static str {
        match self {
            Self::Nobody { .. } => "sent without a token: NAGARE_TOKEN takes one",
            Self::Bearer(_) => "sent with a token: NAGARE_TOKEN, or one made with NAGARE_JWT_KEY",
            Self::Signer(_) => "signed with the AWS credentials of the environment",
        }
    }
}

fn unsigned(reason: impl Display) -> Failure {
    let demand = "the API takes signed requests only (NAGARE_AUTHORIZATION=iam)";
    Failure::Usage(format!("{demand}, and {reason}"))
}

fn parsed<T: DeserializeOwned>(body: &[u8]) -> Result<T, Failure> {
    let unexpected = |e| Failure::Unreachable(format!("the API's answer is unexpected: {e}"));
    serde_json::from_slice(body).map_err(unexpected)
}

/// The API's base address: a scheme and a host, and perhaps a path.
fn base_address(text: String) -> Result<Url, Failure> {
    let parsed = Url::parse(&text).ok().filter(|url| matches!(url.scheme(), "http" | "https"));
    parsed.ok_or_else(|| {
        let expected = "expected a URL such as https://ID.execute-api.REGION.amazonaws.com";
        Failure::Usage(format!("the environment variable {}: {expected}, got {text}", env::API_URL))
    })
}

/// The address of a path below a base, with a query.
fn address(base: &Url, path: &[&str], query: &Query) -> Result<Url, Failure> {
    if let Some(dots) = path.iter().find(|segment| matches!(**segment, "." | "..")) {
        // Every parser of URLs takes them for folders, escaped or not.
        return Err(Failure::Usage(format!(
            "{dots:?} cannot be asked for: in a URL it is a folder"
        )));
    }
    let path: String = path.iter().map(|segment| format!("/{}", escaped(segment))).collect();
    let query: Vec<_> =
        query.iter().map(|(name, value)| format!("{name}={}", escaped(value))).collect();
    let mut url = base.clone();
    url.set_path(&format!("{}{path}", base.path().trim_end_matches('/')));
    url.set_query((!query.is_empty()).then(|| query.join("&")).as_deref());
    url.set_fragment(None);
    Ok(url)
}

fn escaped(text: &str) -> String {
    utf8_percent_encode(text, ESCAPED).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn below(base: &str, path: &[&str], query: &Query) -> String {
        address(&base_address(base.to_owned()).unwrap(), path, query).unwrap().to_string()
    }

    #[test]
    fn whatever_has_a_meaning_in_a_url_is_escaped() {
        let query =
            vec![("from", "2026-11-20T12:00:00+09:00".to_owned()), ("cursor", "a-_~&b".to_owned())];
        let expected = "http://h:1/v1/timelines/a%3Ab%40c%2F%25?from=2026-11-20T12%3A00%3A00%2B09%3A00&cursor=a-_~%26b";
        assert_eq!(below("http://h:1", &["v1", "timelines", "a:b@c/%"], &query), expected);
    }

    #[test]
    fn a_base_may_have_a_path_and_a_slash_at_its_end() {
        for base in ["https://h/stage", "https://h/stage/", "https://h/stage?a=b#c"] {
            assert_eq!(below(base, &["v1", "x"], &vec![]), "https://h/stage/v1/x");
        }
    }

    #[test]
    fn dots_are_refused_because_urls_lose_them() {
        let base = base_address("http://h".to_owned()).unwrap();
        for dots in [".", ".."] {
            assert!(address(&base, &["v1", "timelines", dots], &vec![]).is_err());
        }
        assert_eq!(below("http://h", &["v1", "..."], &vec![]), "http://h/v1/...");
    }

    #[test]
    fn a_base_that_is_no_address_is_named() {
        for text in ["nowhere", "data:text/plain,a", "file:///etc"] {
            let failure = base_address(text.to_owned()).unwrap_err().to_string();
            assert!(failure.contains("NAGARE_API_URL") && failure.contains(text), "{failure}");
        }
    }
}
