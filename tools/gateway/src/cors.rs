//! Which web pages may call the API from a browser: CORS, as API Gateway implements it for an HTTP API on which it is configured
//! (`CorsOrigins` in template.yaml).
//!
//! - A preflight is answered with 204, before authorizer and handler: a browser sends no token with it.
//! - Every other answer to a listed page carries the headers that let the page read it, refusals too.
//! - Whatever the handler says about CORS itself is dropped.
//! - A page that is not listed is never named in an answer.
//!
//! Credentials (cookies) are not allowed. A token goes into the `Authorization` header, which a page may send even if any page is
//! allowed (`*`), because the header is named.

use std::fmt;
use std::str::FromStr;

use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use http::header::{
    ACCESS_CONTROL_ALLOW_CREDENTIALS, ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS,
    ACCESS_CONTROL_ALLOW_ORIGIN, ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_MAX_AGE,
    ACCESS_CONTROL_REQUEST_METHOD, ORIGIN, VARY,
};
use http::uri::Authority;
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode};

/// `AllowMethods` of the template.
pub const METHODS: &str = "GET";
/// `AllowHeaders` of the template.
pub const HEADERS: &str = "authorization,x-amz-content-sha256,x-amz-date,x-amz-security-token";
/// `ExposeHeaders` of the template.
pub const EXPOSED: &str = "apigw-requestid,retry-after,www-authenticate";
/// `MaxAge` of the template.
pub const SECONDS: &str = "3600";

/// The headers that are the API's alone to set.
const OURS: [HeaderName; 6] = [
    ACCESS_CONTROL_ALLOW_CREDENTIALS,
    ACCESS_CONTROL_ALLOW_HEADERS,
    ACCESS_CONTROL_ALLOW_METHODS,
    ACCESS_CONTROL_ALLOW_ORIGIN,
    ACCESS_CONTROL_EXPOSE_HEADERS,
    ACCESS_CONTROL_MAX_AGE,
];

/// The pages that may call the API. None by default.
#[derive(Debug, Clone, Default)]
pub struct Cors(Vec<Origin>);

/// Where pages come from, as a browser says it in `Origin`; or everywhere (`*`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Origin(String);

/// The text is no origin.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "expected scheme, host and port of the page and nothing after them, in small letters, such as \
     https://app.example.com or http://localhost:5173; or * for every page"
)]
pub struct OriginError;

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for Origin {
    type Err = OriginError;

    fn from_str(text: &str) -> Result<Self, OriginError> {
        let rest = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://"));
        let is_page = rest.is_some_and(|rest| {
            rest.parse::<Authority>().is_ok_and(|authority| !authority.host().is_empty())
                && rest.bytes().all(is_plain)
        });
        (text == Self::ANY || is_page).then(|| Self(text.to_owned())).ok_or(OriginError)
    }
}

/// Small letters, digits, and what is between the parts of an address.
fn is_plain(byte: u8) -> bool {
    byte.is_ascii_lowercase() || byte.is_ascii_digit() || b".-:[]".contains(&byte)
}

impl Origin {
    const ANY: &'static str = "*";
}

impl Cors {
    /// For pages of these origins.
    pub fn for_origins(origins: Vec<Origin>) -> Self {
        Self(origins)
    }

    /// True if there is any such page.
    pub(super) fn is_on(&self) -> bool {
        !self.0.is_empty()
    }

    /// What `Access-Control-Allow-Origin` says to a page; `None` if it is not listed.
    pub(super) fn allowed(&self, page: &HeaderValue) -> Option<HeaderValue> {
        if self.is_for_any() {
            return Some(HeaderValue::from_static(Origin::ANY));
        }
        let is_listed = self.0.iter().any(|origin| origin.0.as_bytes() == page.as_bytes());
        is_listed.then(|| page.clone())
    }

    fn is_for_any(&self) -> bool {
        self.0.iter().any(|origin| origin.0 == Origin::ANY)
    }
}

/// Answers preflights, and adds the headers to all other answers.
pub(super) async fn apply(State(cors): State<Cors>, request: Request, next: Next) -> Response {
    let page = request.headers().get(ORIGIN).and_then(|page| cors.allowed(page));
    let is_preflight = is_preflight(&request);
    let mut response = match is_preflight {
        true => StatusCode::NO_CONTENT.into_response(),
        false => next.run(request).await,
    };
    let headers = response.headers_mut();
    for name in OURS {
        headers.remove(name);
    }
    if !cors.is_for_any() {
        headers.append(VARY, HeaderValue::from_static("origin"));
    }
    if let Some(page) = page {
        headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, page);
        allow(headers, is_preflight);
    }
    response
}

fn is_preflight(request: &Request) -> bool {
    let headers = request.headers();
    request.method() == Method::OPTIONS
        && headers.contains_key(ORIGIN)
        && headers.contains_key(ACCESS_CONTROL_REQUEST_METHOD)
}

fn allow(headers: &mut HeaderMap, is_preflight: bool) {
    let mut set = |name, value| headers.insert(name, HeaderValue::from_static(value));
    if is_preflight {
        set(ACCESS_CONTROL_ALLOW_METHODS, METHODS);
        set(ACCESS_CONTROL_ALLOW_HEADERS, HEADERS);
        set(ACCESS_CONTROL_MAX_AGE, SECONDS);
    } else {
        set(ACCESS_CONTROL_EXPOSE_HEADERS, EXPOSED);
    }
}
