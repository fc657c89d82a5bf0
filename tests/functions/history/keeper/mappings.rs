//! Answers of Lambda that the local stack does not give: lists of several pages, mappings that come and go slowly.

use std::sync::{Arc, Mutex};

use aws_smithy_runtime_api::client::http::{
    HttpConnector, HttpConnectorFuture, SharedHttpConnector,
};
use aws_smithy_runtime_api::client::orchestrator::{HttpRequest, HttpResponse};
use aws_smithy_runtime_api::http::StatusCode;
use aws_smithy_types::body::SdkBody;
use nagare_local::lambda;
use serde_json::{Value, json};
use shared::history::events::PeriodState;
use tests::{World, soon};

use super::{SEALED, WITHIN, keeping, lived_until, row, state};

/// What Lambda has: a mapping that somebody else has made, in a state, on the second page of a list.
#[derive(Debug, Clone)]
struct Slow {
    state: Arc<Mutex<&'static str>>,
    has_end: bool,
}

#[derive(Debug)]
struct Answering(SharedHttpConnector, Slow);

impl Slow {
    fn new(state: &'static str) -> Self {
        Self { state: Arc::new(Mutex::new(state)), has_end: true }
    }

    fn before(&self, inside: SharedHttpConnector) -> SharedHttpConnector {
        SharedHttpConnector::new(Answering(inside, self.clone()))
    }

    fn answer(&self, request: &HttpRequest) -> HttpResponse {
        let state = *self.state.lock().unwrap();
        let refused = |status, name| (status, Some(name), json!({"Message": "not now"}));
        let is_second = request.uri().ends_with("&Marker=a%2Fb%2B");
        let (status, error, body) = match request.method() {
            "POST" => refused(409, "ResourceConflictException:http://internal.amazon.com/"),
            "DELETE" => refused(400, "ResourceInUseException"),
            "GET" if is_second && self.has_end => {
                let mapping =
                    json!({"UUID": "00000000-0000-0000-0000-000000000001", "State": state});
                (200, None, json!({"EventSourceMappings": [mapping], "NextMarker": Value::Null}))
            }
            _ => (200, None, json!({"EventSourceMappings": [], "NextMarker": "a/b+"})),
        };
        let status = StatusCode::try_from(status).unwrap();
        let mut answer = HttpResponse::new(status, SdkBody::from(body.to_string()));
        if let Some(error) = error {
            answer.headers_mut().insert("x-amzn-errortype", error);
        }
        answer
    }
}

impl HttpConnector for Answering {
    fn call(&self, request: HttpRequest) -> HttpConnectorFuture {
        match request.uri().starts_with(lambda::ENDPOINT) {
            true => HttpConnectorFuture::ready(Ok(self.1.answer(&request))),
            false => self.0.call(request),
        }
    }
}

#[tokio::test]
async fn one_that_goes_is_waited_for_and_one_that_is_there_is_taken() {
    let slow = Slow::new("Deleting");
    let world = keeping(World::behind(|inside| slow.before(inside)));
    let ticked = world.keeper.tick(soon()).await.unwrap();
    assert_eq!((ticked.failed, ticked.more_due), (0, true));
    assert_eq!(state(&world), PeriodState::Planned);
    *slow.state.lock().unwrap() = "Creating";
    let ticked = world.keeper.tick(soon()).await.unwrap();
    assert!(!ticked.more_due);
    assert_eq!((state(&world), row(&world).folded), (PeriodState::Current, false));
}

#[tokio::test]
async fn one_that_cannot_be_deleted_yet_is_deleted_later() {
    let slow = Slow::new("Updating");
    let world = keeping(World::behind(|inside| slow.before(inside)));
    lived_until(&world, WITHIN).await;
    world.set_clock(SEALED);
    for _ in 0..2 {
        let _ = world.keeper.tick(soon()).await.unwrap();
    }
    let ticked = world.keeper.tick(soon()).await.unwrap();
    assert_eq!((ticked.failed, ticked.more_due), (0, true));
    assert_eq!((state(&world), row(&world).folded), (PeriodState::Verified, false));
    *slow.state.lock().unwrap() = "Deleting";
    world.keeper.tick(soon()).await.unwrap();
    assert!(row(&world).folded);
}

/// It ends with an error, and not with the time.
#[tokio::test(start_paused = true)]
async fn a_list_without_end_is_given_up() {
    let slow = Slow { has_end: false, ..Slow::new("Enabled") };
    let world = keeping(World::behind(|inside| slow.before(inside)));
    let ticked = world.keeper.tick(soon()).await.unwrap();
    assert!(ticked.failed > 0 && ticked.more_due);
    assert_eq!(state(&world), PeriodState::Planned);
}
