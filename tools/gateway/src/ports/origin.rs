//! Who may ask: programs on this machine, and pages that this machine serves itself.
//!
//! A browser lets any page send requests to 127.0.0.1, and a page whose name is made to resolve to
//! 127.0.0.1 (DNS rebinding) may read the answers. The browser says in `Host` under which name it
//! reached the port, and in `Origin` whose page it is; a page can change neither.

use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use http::header::{CONTENT_TYPE, HOST, ORIGIN};
use http::uri::Authority;
use http::{HeaderValue, StatusCode};
use serde_json::json;

use crate::cors::Cors;

const LOOPBACK: [&str; 3] = ["127.0.0.1", "localhost", "[::1]"];

/// The pages that a port answers.
#[derive(Debug, Clone, Default)]
pub struct Pages {
    /// The pages of other machines.
    listed: Cors,
    /// The path below which pages have stricter rules of their own, and demand first that the caller shows who they are.
    guarded: Option<&'static str>,
}

impl Pages {
    /// Answers loopback pages, and these pages of other machines.
    pub fn listed(listed: Cors) -> Self {
        Self { listed, guarded: None }
    }

    /// Leaves the check of what is below a path, which ends with `/`, to whoever serves it.
    #[must_use]
    pub fn beside(self, path: &'static str) -> Self {
        Self { guarded: Some(path), ..self }
    }

    fn leaves_to_another(&self, request: &Request) -> bool {
        let asked = request.uri().path();
        self.guarded
            .is_some_and(|path| asked.starts_with(path) || asked == path.trim_end_matches('/'))
    }
}

/// Answers 403 if `Host` is not a loopback name, or if `Origin` is neither a loopback page nor listed.
pub(super) async fn refuse_foreign(
    State(pages): State<Pages>,
    request: Request,
    next: Next,
) -> Response {
    if !has_loopback_host(&request) {
        return refusal("Host has to be 127.0.0.1, localhost or [::1], with any port.");
    }
    let may_ask = |page| is_loopback_origin(page) || pages.listed.allowed(page).is_some();
    if !pages.leaves_to_another(&request) && !request.headers().get_all(ORIGIN).iter().all(may_ask)
    {
        return refusal(
            "Origin has to be absent, a page of 127.0.0.1, localhost or [::1], or, at the API, one that \
             `nagare up --cors` names.",
        );
    }
    next.run(request).await
}

/// True if every name by which the request says it reached this port is a loopback name, and there is at least one.
fn has_loopback_host(request: &Request) -> bool {
    let headers = request.headers().get_all(HOST).iter();
    let named = request.uri().authority().map(|authority| is_loopback(authority.as_str()));
    let names = headers.map(|host| host.to_str().is_ok_and(is_loopback)).chain(named);
    names.reduce(|all, this| all && this).unwrap_or(false)
}

fn is_loopback_origin(origin: &HeaderValue) -> bool {
    let Ok(origin) = origin.to_str() else { return false };
    let page = origin.strip_prefix("http://").or_else(|| origin.strip_prefix("https://"));
    page.is_some_and(is_loopback)
}

fn is_loopback(authority: &str) -> bool {
    let Ok(parsed) = authority.parse::<Authority>() else { return false };
    let is_named = LOOPBACK.iter().any(|name| parsed.host().eq_ignore_ascii_case(name));
    is_named && !authority.contains('@')
}

fn refusal(detail: &str) -> Response {
    let detail = format!("This port is for programs on this machine: {detail}");
    let problem =
        json!({"type": "about:blank", "title": "Forbidden", "status": 403, "detail": detail});
    let content_type = [(CONTENT_TYPE, "application/problem+json")];
    (StatusCode::FORBIDDEN, content_type, problem.to_string()).into_response()
}
