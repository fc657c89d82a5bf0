//! Who may ask: pages of the console itself, and nobody else's; and the headers of every answer.

use axum::extract::Request;
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, HOST, ORIGIN, REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS,
    X_FRAME_OPTIONS,
};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};

use super::layout;

/// Nothing but what this process embeds: no script or style within a page, nothing from elsewhere, no frames.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; \
                      form-action 'self'; frame-ancestors 'none'; base-uri 'none'";

/// Of every answer.
const HEADERS: [(HeaderName, &str); 5] = [
    (CONTENT_SECURITY_POLICY, POLICY),
    (X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (X_FRAME_OPTIONS, "DENY"),
    (REFERRER_POLICY, "same-origin"),
    (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
];

/// Answers 403 to what another page sends. That `Host` is loopback is seen to where the port is listened on
/// (`local::ports`); what pages `nagare up --cors` lets at the API it does not let in here.
pub(super) async fn protect(request: Request, next: Next) -> Response {
    let mut response = match is_own(request.headers()) {
        true => next.run(request).await,
        false => {
            let why = "The console is for its own pages: Origin has to be the address that it is opened at.";
            (StatusCode::FORBIDDEN, layout::bare("Forbidden", why)).into_response()
        }
    };
    let headers = response.headers_mut();
    for (name, value) in HEADERS {
        headers.insert(name, HeaderValue::from_static(value));
    }
    headers.entry(CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
    response
}

/// A request of a page of this very address, or of no page at all.
fn is_own(headers: &HeaderMap) -> bool {
    let host = headers.get(HOST).and_then(|host| host.to_str().ok());
    let own = |origin: &HeaderValue| {
        let origin = origin.to_str().ok().and_then(|origin| origin.strip_prefix("http://"));
        origin.is_some() && origin == host
    };
    // `none` is a person who typed the address or followed a bookmark; `cross-site` a link or a form elsewhere. A link
    // leads somewhere and changes nothing, so it may.
    headers.get_all(ORIGIN).iter().all(own)
}
