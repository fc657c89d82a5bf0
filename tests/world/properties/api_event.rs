//! Events of API Gateway, as JSON, and what the reader answers.

use aws_lambda_events::event::apigw::ApiGatewayV2httpRequest;
use function_http::Authorization;
use serde_json::Value;
use shared::platform::paging::List;
use shared::platform::values::ViewerId;

use tokio::runtime::{Builder, Runtime};

use super::seal;
use crate::{World, follow, publish, soon};

/// What can be wrong with a request that reaches healthy tables.
const PROBLEMS: [i64; 5] = [400, 401, 403, 404, 405];
const PARAMETERS: [&str; 6] = ["viewer_id", "limit", "order", "from", "to", "cursor"];

thread_local! {
    static READER: (Runtime, World) = with_a_timeline();
}

/// The timeline that the events of the corpus ask for: bob's, with seven activities.
fn with_a_timeline() -> (Runtime, World) {
    let runtime = Builder::new_current_thread().enable_all().build().unwrap();
    let mut world = World::new();
    world.reader.requests.seal = seal();
    runtime.block_on(async {
        world.done(&[follow("bob", "anna", "2026-11-20T10:00:00Z")]).await;
        for n in 0..7 {
            // Pairs at the same instant.
            let at = format!("2026-11-20T11:0{}:00.000Z", n / 2);
            world.done(&[publish("anna", &format!("a{n}"), &at)]).await;
        }
    });
    (runtime, world)
}

/// Any event is answered, by a page that is correct in itself or by a problem that says what to correct,
/// and nobody is given a timeline but their own.
pub fn api_event(data: &[u8]) {
    let Ok(event) = serde_json::from_slice::<ApiGatewayV2httpRequest>(data) else { return };
    for authorization in [Authorization::Open, Authorization::Iam, Authorization::Jwt] {
        if let Some(page) = answered(authorization, &event) {
            check_page(&page);
            let viewer = page["viewer_id"].as_str().unwrap();
            let authorizer = event.request_context.authorizer.as_ref();
            let has_claims = authorizer.is_some_and(|authorizer| authorizer.jwt.is_some());
            let is_signed = authorizer.is_some_and(|authorizer| authorizer.iam.is_some());
            let owner = subject(&event) == Some(viewer);
            assert!(owner || (!has_claims && authorization != Authorization::Jwt));
            assert!(is_signed || authorization != Authorization::Iam);
            for cursor in ["next_cursor", "newer_cursor"] {
                check_cursor(&event, viewer, &page[cursor]);
            }
        }
    }
}

/// The page that is answered. None, if it is a problem.
fn answered(authorization: Authorization, event: &ApiGatewayV2httpRequest) -> Option<Value> {
    let answer = READER.with(|(runtime, world)| {
        let mut reader = world.reader.clone();
        reader.requests.authorization = authorization;
        runtime.block_on(reader.handle(event, soon()))
    });
    if answer.status_code == 204 {
        // A preflight: it says nothing.
        assert_eq!(event.request_context.http.method, "OPTIONS");
        assert!(answer.body.is_none() && answer.headers.is_empty());
        return None;
    }
    let answer = serde_json::to_value(&answer).unwrap();
    let body: Value = serde_json::from_str(answer["body"].as_str().unwrap()).unwrap();
    assert_eq!(answer["headers"]["cache-control"], "private, no-store");
    let status = answer["statusCode"].as_i64().unwrap();
    if status == 200 {
        assert_eq!(answer["headers"]["content-type"], "application/json");
        return Some(body);
    }
    assert!(PROBLEMS.contains(&status), "{status}: {body}");
    assert_eq!(answer["headers"]["content-type"], "application/problem+json");
    assert_eq!(body["status"], status);
    let texts = ["type", "title", "detail"].map(|member| body[member].as_str().unwrap().len());
    assert!(texts.iter().all(|length| (1..=1_000).contains(length)), "{body}");
    let parameter = body["parameter"].as_str();
    assert_eq!(parameter.is_some_and(|name| PARAMETERS.contains(&name)), status == 400, "{body}");
    None
}

fn subject(event: &ApiGatewayV2httpRequest) -> Option<&str> {
    let claims = event.request_context.authorizer.as_ref()?.jwt.as_ref()?;
    claims.claims.get("sub").map(String::as_str)
}

/// In one order, without repetitions, and only of actors that the viewer follows.
fn check_page(page: &Value) {
    let items = page["items"].as_array().unwrap();
    assert!(items.is_empty() || page["viewer_id"] == "bob", "{page}");
    let text = |item: &Value, member: &str| item[member].as_str().unwrap().to_owned();
    let sort_keys: Vec<_> =
        items.iter().map(|item| (text(item, "published_at"), text(item, "activity_id"))).collect();
    let up = sort_keys.windows(2).all(|pair| pair[0] < pair[1]);
    let down = sort_keys.windows(2).all(|pair| pair[0] > pair[1]);
    assert!((up || down) && sort_keys.len() <= 100, "{page}");
    assert!(items.iter().all(|item| item["actor_id"] == "anna"), "{page}");
}

/// A cursor that was given out is taken.
fn check_cursor(event: &ApiGatewayV2httpRequest, viewer: &str, cursor: &Value) {
    let Some(cursor) = cursor.as_str() else { return };
    assert!(seal().open(&List::timeline(&ViewerId::new(viewer).unwrap()), cursor).is_ok());
    let mut next = event.clone();
    next.raw_query_string = Some(format!("cursor={cursor}"));
    let page = answered(Authorization::Open, &next).unwrap();
    assert_eq!(page["viewer_id"], viewer);
    check_page(&page);
}
