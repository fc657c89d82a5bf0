//! Requests to the reader of a world.

use aws_lambda_events::event::apigw::{ApiGatewayV2httpRequest, ApiGatewayV2httpResponse};
use aws_lambda_events::http::HeaderMap;
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

    /// Sends a request to the reader, in the name of `subject` if there is one.
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

    /// Gives the reader an event of API Gateway; the answer's status, headers and body.
    pub async fn answer(
        &self,
        event: Value,
        deadline: Deadline,
    ) -> (i64, Vec<(String, String)>, Value) {
        let event: ApiGatewayV2httpRequest = serde_json::from_value(event).unwrap();
        let answer = self.reader.handle(&event, deadline).await;
        received(&answer)
    }

    /// The activity ids on the first page of a timeline.
    pub async fn ids(&self, viewer: &str, query: &str) -> Vec<String> {
        let (status, _, page) = self.get(&format!("/v1/timelines/{viewer}"), query).await;
        assert_eq!(status, 200, "{page}");
        let items = page["items"].as_array().unwrap().iter();
        items.map(|item| item["activity_id"].as_str().unwrap().to_owned()).collect()
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
