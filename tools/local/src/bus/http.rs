//! The bus over HTTP. `POST` is EventBridge's protocol, for any AWS SDK. `GET` returns the events that are kept, for `nagare bus`.
//!
//! Like [the clock](crate::control), it is served on the queue's port, and refuses web pages.

use axum::Router;
use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use form_urlencoded::parse;
use http::StatusCode;
use http::header::{CONTENT_TYPE, ORIGIN};
use nagare_gateway::ports::intake::{Intake, Refused};
use serde_json::json;

use super::LocalBus;

/// The path of the bus, below the queue's address. SDKs add a slash.
pub(crate) const PATH: &str = "/local/bus";
/// Ten entries are 256 KB at most, and escaping them in JSON can take six times that.
const LONGEST: usize = 2 * 1024 * 1024;

/// Serves the bus.
pub(crate) fn router(bus: LocalBus) -> Router {
    let both = || get(tell).post(take);
    let state = (bus, Intake::up_to(LONGEST));
    Router::new().route(PATH, both()).route("/local/bus/", both()).with_state(state)
}

async fn tell(State((bus, _)): State<(LocalBus, Intake)>, request: Request) -> Response {
    if request.headers().contains_key(ORIGIN) {
        return not_for_pages();
    }
    let query = request.uri().query().unwrap_or_default();
    let behind = parse(query.as_bytes()).find(|(name, _)| name == "behind");
    let Ok(behind) = behind.map_or(Ok(0), |(_, number)| number.parse()) else {
        return answer(400, json!({"message": "behind: expected a number"}).to_string());
    };
    match serde_json::to_string(&bus.behind(behind)) {
        Ok(events) => answer(200, events),
        Err(failure) => answer(500, json!({"message": failure.to_string()}).to_string()),
    }
}

async fn take(
    State((bus, intake)): State<(LocalBus, Intake)>,
    request: Request,
) -> Result<Response, Refused> {
    let (head, body) = request.into_parts();
    if head.headers.contains_key(ORIGIN) {
        return Ok(not_for_pages());
    }
    let target = head.headers.get("x-amz-target").and_then(|value| value.to_str().ok());
    let body = intake.read(body).await?;
    let (status, said) = bus.call(target.unwrap_or_default(), &body.bytes);
    Ok(answer(status, said))
}

fn not_for_pages() -> Response {
    answer(403, json!({"message": "The bus is not for web pages."}).to_string())
}

fn answer(status: u16, body: String) -> Response {
    let status = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    (status, [(CONTENT_TYPE, "application/x-amz-json-1.1")], body).into_response()
}
