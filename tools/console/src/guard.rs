//! Who may ask: somebody who was [let in](crate::access), by a page of the console itself; and what every answer has.
//!
//! ```text
//! request ─ token ─ cookie ─ origin, site ─ view ─ escapes, headers
//!            303     401       403
//! ```

use std::sync::Arc;

use axum::body::{Body, to_bytes};
use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse, Redirect, Response};
use http::header::{
    CACHE_CONTROL, CONTENT_LENGTH, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HOST, ORIGIN,
    REFERRER_POLICY, SET_COOKIE, WWW_AUTHENTICATE, X_CONTENT_TYPE_OPTIONS, X_FRAME_OPTIONS,
};
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, Uri};
use nagare_client::visible::visible_html;

use crate::access::{Access, Entry};
use crate::address::PATH;
use crate::layout;

/// Nothing but what this process embeds: no script or style within a page, nothing from elsewhere, no frames.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; \
                      form-action 'self'; frame-ancestors 'none'; base-uri 'none'";

/// Of every answer.
const HEADERS: [(HeaderName, &str); 6] = [
    (CONTENT_SECURITY_POLICY, POLICY),
    (X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (X_FRAME_OPTIONS, "DENY"),
    (REFERRER_POLICY, "same-origin"),
    (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
];
/// Where a browser says whose page made it ask.
const SITE: HeaderName = HeaderName::from_static("sec-fetch-site");
/// What a caller could be let in by.
const SCHEME: &str = "NagareConsole";

/// Lets in whoever has the secret of this run, and of them the console's own pages alone. That `Host` is loopback is
/// checked where the port is listened on (`local::ports`).
pub(super) async fn protect(
    State(access): State<Arc<Access>>,
    request: Request,
    next: Next,
) -> Response {
    let answer = match access.entry(request.method(), request.uri(), request.headers()) {
        Entry::Enters(cookie) => entered(cookie),
        Entry::Unknown => unknown(request.method(), request.uri()),
        Entry::Known => match foreign(&request) {
            Some(refusal) => refusal,
            None => next.run(request).await,
        },
    };
    let mut answer = escaped(answer).await;
    let headers = answer.headers_mut();
    for (name, value) in HEADERS {
        headers.insert(name, HeaderValue::from_static(value));
    }
    headers.entry(CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
    answer
}

/// To the same page without the token.
fn entered(cookie: Option<HeaderValue>) -> Response {
    let mut answer = Redirect::to(PATH).into_response();
    answer.headers_mut().extend(cookie.map(|cookie| (SET_COOKIE, cookie)));
    answer
}

/// Asks for the address that was printed, or to open this one again: a browser that comes by a link of another site
/// keeps the cookie back.
fn unknown(method: &Method, uri: &Uri) -> Response {
    let mut answer = (StatusCode::UNAUTHORIZED, layout::door(&again(method, uri))).into_response();
    answer.headers_mut().insert(WWW_AUTHENTICATE, HeaderValue::from_static(SCHEME));
    answer
}

/// Refuses what another page sends. Whoever `nagare up --cors` lets at the API is not let in here.
fn foreign(request: &Request) -> Option<Response> {
    let headers = request.headers();
    if !is_own(headers) {
        let why =
            "The console is for its own pages: Origin has to be the address that it is opened at.";
        return Some((StatusCode::FORBIDDEN, layout::bare("Forbidden", why)).into_response());
    }
    if !headers.get_all(SITE).iter().all(|site| matches!(site.as_bytes(), b"same-origin" | b"none"))
    {
        let page = layout::elsewhere(&again(request.method(), request.uri()));
        return Some((StatusCode::FORBIDDEN, page).into_response());
    }
    None
}

/// A request of a page of this very address, or of no page at all.
fn is_own(headers: &HeaderMap) -> bool {
    let host = headers.get(HOST).and_then(|host| host.to_str().ok());
    let own = |origin: &HeaderValue| {
        let origin = origin.to_str().ok().and_then(|origin| origin.strip_prefix("http://"));
        origin.is_some() && origin == host
    };
    headers.get_all(ORIGIN).iter().all(own)
}

/// Where a page of the console leads that asks to be opened again. Neither a token nor anything outside is repeated.
fn again(method: &Method, uri: &Uri) -> String {
    let has_token = uri.path() == PATH && uri.query().is_some();
    match *method {
        Method::GET if uri.path().starts_with(PATH) && !has_token => {
            uri.path_and_query().map_or(PATH, |address| address.as_str()).to_owned()
        }
        _ => PATH.to_owned(),
    }
}

/// An answer whose page shows what strangers wrote with visible escapes. Pages are in memory already.
async fn escaped(answer: Response) -> Response {
    let is_page = answer
        .headers()
        .get(CONTENT_TYPE)
        .is_some_and(|kind| kind.as_bytes().starts_with(b"text/html"));
    if !is_page {
        return answer;
    }
    let (mut head, body) = answer.into_parts();
    let Ok(page) = to_bytes(body, usize::MAX).await else {
        return StatusCode::INTERNAL_SERVER_ERROR.into_response();
    };
    head.headers.remove(CONTENT_LENGTH);
    let page = match std::str::from_utf8(&page) {
        Ok(text) => visible_html(text).into_owned(),
        Err(_) => return StatusCode::INTERNAL_SERVER_ERROR.into_response(),
    };
    Response::from_parts(head, Body::from(page))
}
