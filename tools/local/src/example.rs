//! The example app: one HTML file at `/example/`, and `POST /example/commands`, which stands for the backend that a real app has.
//! docs/CLIENTS.md explains both.
//!
//! # Who may send
//!
//! A browser cannot sign for SQS, and a real app must not let it: its backend knows who is signed in, and sends for them. Here nobody
//! is signed in, so the route lets the page speak for anybody. That is no more than every program on this machine may do at the
//! queue's own port. But the route must not let other pages in. A request has to come from a page of this very address (`Origin`, and
//! `Sec-Fetch-Site` where the browser sends it), and it has to be JSON, which no form can send. A page that `nagare up --cors` lets
//! read the API is refused here. On a stack that demands tokens (`--auth`) there is no example.
//!
//! Like a backend, the route takes instants from its own clock. It accepts only the few commands that the app needs.

use aws_sdk_sqs::Client;
use axum::Router;
use axum::extract::{Request, State};
use axum::response::{Html, IntoResponse, Redirect, Response};
use axum::routing::{get, post};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HOST, ORIGIN, X_CONTENT_TYPE_OPTIONS,
};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use nagare_client::sender::Sender;
use nagare_gateway::ports::intake::{Intake, Refused};
use ring::digest::{SHA256, digest};
use serde_json::{Map, Value, json};
use shared::command::Command;
use shared::platform::runtime::clock::Clock;

/// Where the app is, below the API's address.
pub(crate) const PATH: &str = "/example/";
const COMMANDS: &str = "/example/commands";
const APP: &str = include_str!("example.html");
/// A command of the app is at most this long, in bytes.
const LONGEST: usize = 8 * 1_024;
/// Where a browser says whose page made it ask.
const SITE: HeaderName = HeaderName::from_static("sec-fetch-site");
/// What the app sends, and the member of each that says when.
const ACCEPTED: [(&str, &str); 6] = [
    ("activity.published", "published_at"),
    ("follow.created", "at"),
    ("follow.deleted", "at"),
    ("like.created", "at"),
    ("like.deleted", "at"),
    ("message.posted", "at"),
];

#[derive(Clone)]
struct Example {
    sender: Sender,
    clock: Clock,
    bodies: Intake,
    policy: HeaderValue,
}

/// The app, and the route that sends for it, over the queue at this address.
pub(super) fn router(sqs: Client, queue: String, clock: Clock) -> Router {
    let sender = Sender::new(sqs, queue);
    let example = Example { sender, clock, bodies: Intake::up_to(LONGEST), policy: policy() };
    Router::new()
        .route("/example", get(async || Redirect::permanent(PATH)))
        .route(PATH, get(app))
        .route(COMMANDS, post(send))
        .with_state(example)
}

async fn app(State(example): State<Example>) -> Response {
    let headers = [
        (CONTENT_SECURITY_POLICY, example.policy),
        (CACHE_CONTROL, HeaderValue::from_static("no-store")),
        (X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
    ];
    (headers, Html(APP)).into_response()
}

/// The app's own script and style by their digests, this address, and nothing else.
fn policy() -> HeaderValue {
    let policy = format!(
        "default-src 'none'; script-src '{}'; style-src '{}'; connect-src 'self'; form-action 'self'; \
         frame-ancestors 'none'; base-uri 'none'",
        digest_of("script"),
        digest_of("style"),
    );
    HeaderValue::try_from(policy).unwrap_or(HeaderValue::from_static("default-src 'none'"))
}

/// The digest of what is inside the one element of this name.
fn digest_of(element: &str) -> String {
    let inside = APP
        .split_once(&format!("<{element}>"))
        .and_then(|(_, rest)| rest.split_once(&format!("</{element}>")));
    let (text, _) = inside.unwrap_or_default();
    format!("sha256-{}", STANDARD.encode(digest(&SHA256, text.as_bytes())))
}

async fn send(State(example): State<Example>, request: Request) -> Result<Response, Refused> {
    let (head, body) = request.into_parts();
    if !is_of_the_app(&head.headers) {
        let why = "Only the example's own page may send here.";
        return Ok(answer(StatusCode::FORBIDDEN, why));
    }
    if head.headers.get(CONTENT_TYPE).is_none_or(|kind| kind != "application/json") {
        return Ok(answer(StatusCode::UNSUPPORTED_MEDIA_TYPE, "Expected application/json."));
    }
    let body = example.bodies.read(body).await?;
    let command = match example.command(&body.bytes) {
        Ok(command) => command,
        Err(reason) => return Ok(answer(StatusCode::BAD_REQUEST, &reason)),
    };
    Ok(match example.sender.send_one(&command).await {
        Ok(id) => {
            let sent = json!({ "message_id": id }).to_string();
            (StatusCode::ACCEPTED, [(CONTENT_TYPE, "application/json")], sent).into_response()
        }
        Err(failure) => answer(StatusCode::SERVICE_UNAVAILABLE, &failure.to_string()),
    })
}

impl Example {
    /// The command of a body, as of now.
    fn command(&self, body: &[u8]) -> Result<Command, String> {
        let command: Map<String, Value> =
            serde_json::from_slice(body).map_err(|_| "Expected a JSON object.".to_owned())?;
        let named = command.get("type").and_then(Value::as_str);
        let accepted = ACCEPTED.iter().find(|(name, _)| Some(*name) == named);
        let Some((_, instant)) = accepted else {
            let names: Vec<_> = ACCEPTED.iter().map(|(name, _)| *name).collect();
            return Err(format!("The example sends {} only.", names.join(", ")));
        };
        let now = self.clock.now();
        let mut command = command;
        command.insert((*instant).to_owned(), json!(now));
        Command::parse(&Value::Object(command).to_string(), now).map_err(|e| e.to_string())
    }
}

/// A request of a page of this very address.
fn is_of_the_app(headers: &HeaderMap) -> bool {
    let host = headers.get(HOST).and_then(|host| host.to_str().ok());
    let mut origins = headers.get_all(ORIGIN).iter();
    let page = origins.next().and_then(|origin| origin.to_str().ok()?.strip_prefix("http://"));
    let is_own = host.is_some() && page == host && origins.next().is_none();
    is_own && headers.get_all(SITE).iter().all(|site| site == "same-origin")
}

fn answer(status: StatusCode, detail: &str) -> Response {
    let title = status.canonical_reason().unwrap_or_default();
    let problem =
        json!({"type": "about:blank", "title": title, "status": status.as_u16(), "detail": detail});
    (status, [(CONTENT_TYPE, "application/problem+json")], problem.to_string()).into_response()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_page_of_this_very_address_sends() {
        let of = |headers: &[(HeaderName, &'static str)]| {
            let pairs = headers.iter().cloned();
            let headers: HeaderMap =
                pairs.map(|(name, value)| (name, HeaderValue::from_static(value))).collect();
            is_of_the_app(&headers)
        };
        let (host, own) = ((HOST, "127.0.0.1:3000"), (ORIGIN, "http://127.0.0.1:3000"));
        assert!(of(&[host.clone(), own.clone()]));
        assert!(of(&[host.clone(), own.clone(), (SITE, "same-origin")]));
        assert!(!of(std::slice::from_ref(&host)), "a program, or a form without an origin");
        assert!(!of(std::slice::from_ref(&own)), "no host");
        assert!(!of(&[host.clone(), own.clone(), (SITE, "same-site")]), "another port");
        for other in
            ["http://127.0.0.1:5173", "http://localhost:3000", "null", "https://127.0.0.1:3000"]
        {
            assert!(!of(&[host.clone(), (ORIGIN, other)]), "{other}");
        }
    }

    #[test]
    fn the_app_has_one_script_and_one_style_and_asks_for_nothing_else() {
        assert_eq!(APP.matches("<script").count(), 1);
        assert_eq!(APP.matches("<style").count(), 1);
        assert!(!APP.contains("src=") && !APP.contains("<link") && !APP.contains("style=\""));
        let policy = policy();
        let policy = policy.to_str().unwrap();
        assert!(policy.contains(&digest_of("script")) && digest_of("script") != digest_of("style"));
    }
}
