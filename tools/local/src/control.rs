//! The clock of a stack, for `nagare` on this machine: `GET /local/clock` says what time it is, `POST` moves it on.
//!
//! It is served on the queue's port: the API's port may demand tokens. Moving the clock drops
//! tables, so no web page may do it. A request with an `Origin` is refused, whatever page it names:
//! `nagare up --cors` lets pages at the API alone. A request that is not JSON is refused too,
//! because it is all that a page can send without a preflight. Programs on this machine may use the
//! clock, as they may use the tables.

use axum::Router;
use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use http::header::{CONTENT_TYPE, ORIGIN};
use http::{HeaderMap, StatusCode};
use nagare_client::backlog;
use nagare_client::local_stack::{Advance, CLOCK_PATH, Time};
use nagare_gateway::ports::intake::{Intake, Refused};
use serde_json::json;
use shared::platform::values::Timestamp;

use super::keeper_loop::{AdvanceError, Keeping};

/// The longest request, in bytes.
const LONGEST: usize = 1_024;

pub(super) fn router(keeping: Keeping) -> Router {
    Router::new()
        .route(CLOCK_PATH, get(tell).post(advance))
        .route(backlog::PATH, get(say_backlog))
        .with_state((keeping, Intake::up_to(LONGEST)))
}

async fn tell(State((keeping, _)): State<(Keeping, Intake)>, headers: HeaderMap) -> Response {
    match is_of_a_page(&headers) {
        true => refusal(StatusCode::FORBIDDEN, "The clock is not for web pages."),
        false => answer(&keeping, keeping.clock().now(), false),
    }
}

async fn say_backlog(
    State((keeping, _)): State<(Keeping, Intake)>,
    headers: HeaderMap,
) -> Response {
    if is_of_a_page(&headers) {
        return refusal(StatusCode::FORBIDDEN, "The backlog is not for web pages.");
    }
    match keeping.backlog() {
        Ok(backlog) => {
            ([(CONTENT_TYPE, "application/json")], json!(backlog).to_string()).into_response()
        }
        Err(failure) => refusal(StatusCode::SERVICE_UNAVAILABLE, &failure.to_string()),
    }
}

async fn advance(
    State((keeping, intake)): State<(Keeping, Intake)>,
    request: Request,
) -> Result<Response, Refused> {
    let (head, body) = request.into_parts();
    if is_of_a_page(&head.headers) {
        return Ok(refusal(StatusCode::FORBIDDEN, "The clock is not for web pages."));
    }
    if head.headers.get(CONTENT_TYPE).is_none_or(|kind| kind != "application/json") {
        return Ok(refusal(StatusCode::UNSUPPORTED_MEDIA_TYPE, "Expected application/json."));
    }
    let body = intake.read(body).await?;
    let Ok(Advance { to, continues }) = serde_json::from_slice(&body.bytes) else {
        return Ok(refusal(StatusCode::BAD_REQUEST, "Expected {\"to\": an instant, or null}."));
    };
    Ok(match keeping.advance_for_a_moment(to, continues).await {
        None => answer(&keeping, keeping.clock().now(), true),
        Some(Ok(now)) => answer(&keeping, now, false),
        Some(Err(failure)) => {
            let status = match &failure {
                AdvanceError::NotSet => StatusCode::CONFLICT,
                AdvanceError::Backwards { .. } => StatusCode::BAD_REQUEST,
                _ => StatusCode::SERVICE_UNAVAILABLE,
            };
            refusal(status, &failure.to_string())
        }
    })
}

fn is_of_a_page(headers: &HeaderMap) -> bool {
    headers.contains_key(ORIGIN)
}

fn answer(keeping: &Keeping, now: Timestamp, moves: bool) -> Response {
    let time = json!(Time { now, is_set: keeping.clock().is_set(), moves });
    ([(CONTENT_TYPE, "application/json")], time.to_string()).into_response()
}

fn refusal(status: StatusCode, detail: &str) -> Response {
    let reason = status.canonical_reason().unwrap_or_default();
    let status_code = status.as_u16();
    let problem =
        json!({"type": "about:blank", "title": reason, "status": status_code, "detail": detail});
    (status, [(CONTENT_TYPE, "application/problem+json")], problem.to_string()).into_response()
}
