//! A page as callers see it.

use aws_lambda_events::encodings::Body;
use aws_lambda_events::event::apigw::ApiGatewayV2httpResponse;
use aws_lambda_events::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use aws_lambda_events::http::{HeaderMap, HeaderValue};
use serde::Serialize;
use shared::cursor::{Cursor, CursorSeal, Order};
use shared::{ActivityId, ActorId, Kind, Payload, Timestamp, ViewerId};

use crate::page::{Page, Shown};
use crate::request::Request;

#[derive(Serialize)]
struct Answer<'a> {
    viewer_id: &'a ViewerId,
    items: Vec<Activity<'a>>,
    next_cursor: Option<String>,
    newer_cursor: String,
    retained_from: Timestamp,
}

#[derive(Serialize)]
struct Activity<'a> {
    activity_id: &'a ActivityId,
    actor_id: &'a ActorId,
    kind: &'a Kind,
    published_at: Timestamp,
    payload: &'a Payload,
}

impl<'a> From<&'a Shown> for Activity<'a> {
    fn from(shown: &'a Shown) -> Self {
        Self {
            activity_id: &shown.sort_key.activity_id,
            actor_id: &shown.actor,
            kind: &shown.content.kind,
            published_at: shown.sort_key.published_at,
            payload: &shown.content.payload,
        }
    }
}

/// The answer that carries a page, with a cursor to go on and one to come back for newer ones.
///
/// # Errors
/// The page cannot be written as JSON: a defect, and not to be answered with an empty body.
pub(crate) fn response(
    seal: &CursorSeal,
    viewer: &ViewerId,
    request: &Request,
    page: &Page,
    retained_from: Timestamp,
) -> Result<ApiGatewayV2httpResponse, serde_json::Error> {
    let (order, range) = (request.cursor.order, request.cursor.range);
    let newest = page.newest_seen(request);
    let newer = Cursor { order: Order::Oldest, range, after: newest.clone(), newest: None };
    let next = page.more.then(|| Cursor {
        order,
        range,
        after: page.last(),
        newest: newest.filter(|_| order == Order::Newest),
    });
    let answer = Answer {
        viewer_id: viewer,
        items: page.activities.iter().map(Activity::from).collect(),
        next_cursor: next.map(|cursor| seal.seal(viewer, &cursor)),
        newer_cursor: seal.seal(viewer, &newer),
        retained_from,
    };
    Ok(json(200, "application/json", serde_json::to_string(&answer)?))
}

/// An answer with a JSON body that nobody may keep.
pub(crate) fn json(
    status: u16,
    content_type: &'static str,
    body: String,
) -> ApiGatewayV2httpResponse {
    let mut headers = HeaderMap::new();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("private, no-store"));
    let mut response = ApiGatewayV2httpResponse::default();
    response.status_code = i64::from(status);
    response.headers = headers;
    response.body = Some(Body::Text(body));
    response
}
