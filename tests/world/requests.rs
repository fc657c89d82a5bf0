//! Requests to the readers of a world.

use aws_lambda_events::event::apigw::{ApiGatewayV2httpRequest, ApiGatewayV2httpResponse};
use aws_lambda_events::http::HeaderMap;
use function_http::{Authorization, Claims};
use serde_json::{Value, json};
use shared::platform::runtime::deadline::Deadline;

use crate::{World, api_event, soon};

impl World {
    /// Reads a path of the API; the answer's status, headers and body.
    pub async fn get(&self, path: &str, query: &str) -> (i64, Vec<(String, String)>, Value) {
        self.request("GET", path, query, None).await
    }

    /// The same, with a deadline that matters.
    pub async fn get_within(
        &self,
        path: &str,
        query: &str,
        deadline: Deadline,
    ) -> (i64, Vec<(String, String)>, Value) {
        self.answer(api_event("GET", path, query, None), deadline).await
    }

    /// Sends a request to its reader, in the name of `subject` if there is one.
    pub async fn request(
        &self,
        method: &str,
        path: &str,
        query: &str,
        subject: Option<&str>,
    ) -> (i64, Vec<(String, String)>, Value) {
        let authorizer = subject.map(|subject| json!({"jwt": {"claims": {"sub": subject}}}));
        self.answer(api_event(method, path, query, authorizer), soon()).await
    }

    /// Gives its reader an event of API Gateway; the answer's status, headers and body.
    pub async fn answer(
        &self,
        event: Value,
        deadline: Deadline,
    ) -> (i64, Vec<(String, String)>, Value) {
        let event: ApiGatewayV2httpRequest = serde_json::from_value(event).unwrap();
        received(&self.respond(&event, deadline).await)
    }

    /// The answer of the reader that API Gateway gives an event to.
    pub async fn respond(
        &self,
        event: &ApiGatewayV2httpRequest,
        deadline: Deadline,
    ) -> ApiGatewayV2httpResponse {
        respond(&self.reader, &self.history_reader, event, deadline).await
    }

    /// Has the readers authorize callers in this way.
    pub fn set_authorization(&mut self, authorization: Authorization) {
        self.reader.requests.authorization = authorization;
        self.history_reader.requests.authorization = authorization;
    }

    /// Has the readers recognize callers by these claims.
    pub fn set_claims(&mut self, claims: Claims) {
        self.reader.requests.claims = claims.clone();
        self.history_reader.requests.claims = claims;
    }

    /// The activity ids on the first page of a timeline.
    pub async fn ids(&self, viewer: &str, query: &str) -> Vec<String> {
        let (status, _, page) = self.get(&format!("/v1/timelines/{viewer}"), query).await;
        assert_eq!(status, 200, "{page}");
        let items = page["items"].as_array().unwrap().iter();
        items.map(|item| item["activity_id"].as_str().unwrap().to_owned()).collect()
    }
}

/// The answer of one of two readers: API Gateway tells them apart by the path.
pub async fn respond(
    reader: &timeline_reader::Reader,
    history: &history_reader::Reader,
    event: &ApiGatewayV2httpRequest,
    deadline: Deadline,
) -> ApiGatewayV2httpResponse {
    let path = event.raw_path.as_deref().unwrap_or_default();
    match path.starts_with("/v1/tenants/") {
        true => history.handle(event, deadline).await,
        false => reader.handle(event, deadline).await,
    }
}

/// An answer as API Gateway gets it: status, headers and body.
pub fn received(answer: &ApiGatewayV2httpResponse) -> (i64, Vec<(String, String)>, Value) {
    assert_single(&answer.headers);
    let answer = serde_json::to_value(answer).unwrap();
    let headers = answer["headers"].as_object().unwrap().iter();
    let headers = headers.map(|(n, v)| (n.clone(), v.as_str().unwrap().to_owned()));
    let body = serde_json::from_str(answer["body"].as_str().unwrap()).unwrap();
    (answer["statusCode"].as_i64().unwrap(), headers.collect(), body)
}

/// Asserts that each header has one value: a function's answer is JSON, in which the others are lost.
pub fn assert_single(headers: &HeaderMap) {
    assert_eq!(headers.len(), headers.keys_len(), "repeated: {headers:?}");
}
