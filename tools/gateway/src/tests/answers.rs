//! How the handler's answer reaches the caller.

use aws_lambda_events::apigw::ApiGatewayV2httpResponse;
use aws_lambda_events::encodings::Body;
use axum::Router;
use http::HeaderMap;

use super::{Answer, Authorization, Gateway, Limits, get, send};

type HandlerResult = Result<ApiGatewayV2httpResponse, &'static str>;

async fn answer_of(handler: fn() -> HandlerResult) -> Answer {
    let api: Router = Gateway::new(
        move |_event| async move { handler() },
        Authorization::Open,
        Limits::default(),
    )
    .router();
    send(&api, get("/")).await
}

fn answer(status_code: i64) -> ApiGatewayV2httpResponse {
    let mut answer = ApiGatewayV2httpResponse::default();
    answer.status_code = status_code;
    answer
}

fn with_body(body: Body, is_base64_encoded: bool) -> HandlerResult {
    let mut answer = answer(200);
    (answer.body, answer.is_base64_encoded) = (Some(body), is_base64_encoded);
    Ok(answer)
}

fn header_map(headers: &[(&'static str, &'static str)]) -> HeaderMap {
    let mut map = HeaderMap::new();
    for (name, value) in headers {
        map.append(*name, value.parse().unwrap());
    }
    map
}

#[tokio::test]
async fn status_and_headers() {
    let answer = answer_of(|| {
        let mut answer = answer(405);
        answer.headers = header_map(&[("allow", "GET"), ("content-length", "999")]);
        answer.multi_value_headers = header_map(&[("x-two", "1"), ("x-two", "2")]);
        answer.cookies = vec!["a=1; Secure".to_owned(), "b=2".to_owned()];
        Ok(answer)
    })
    .await;

    assert_eq!(answer.status, 405);
    assert_eq!(answer.header("allow"), Some("GET"));
    assert_ne!(answer.header("content-length"), Some("999"));
    let all = |name| answer.headers.get_all(name).iter().collect::<Vec<_>>();
    assert_eq!(all("x-two"), ["1", "2"]);
    assert_eq!(all("set-cookie"), ["a=1; Secure", "b=2"]);
    assert!(answer.body.is_empty());
}

#[tokio::test]
async fn a_header_with_several_values_is_an_invalid_answer() {
    let repeated = answer_of(|| {
        let mut answer = answer(200);
        answer.headers =
            header_map(&[("cache-control", "no-store"), ("cache-control", "max-age=1")]);
        Ok(answer)
    })
    .await;
    repeated.assert_problem(500, "a function's answer is JSON, which holds one of them");
}

async fn check_body(handler: fn() -> HandlerResult, expected: &[u8]) {
    let answer = answer_of(handler).await;
    assert_eq!((answer.status.as_u16(), &answer.body[..]), (200, expected));
}

#[tokio::test]
async fn bodies() {
    check_body(|| with_body(Body::Empty, false), b"").await;
    check_body(|| with_body(Body::Text("ü".to_owned()), false), "ü".as_bytes()).await;
    check_body(|| with_body(Body::Text("AP8=".to_owned()), true), b"\0\xff").await;
    check_body(|| with_body(Body::Binary(vec![0, 255]), true), b"\0\xff").await;
    check_body(|| with_body(Body::Binary(vec![0, 255]), false), b"AP8=").await;
}

async fn check_failure(handler: fn() -> HandlerResult, what: &str) {
    let answer = answer_of(handler).await;
    answer.assert_problem(500, what);
    assert!(!String::from_utf8(answer.body).unwrap().contains("secret"), "{what}");
}

#[tokio::test]
async fn failures_show_nothing_of_the_inside() {
    check_failure(|| Err("secret table is missing"), "an error").await;
    check_failure(|| panic!("secret invariant"), "a panic").await;
    check_failure(|| Ok(answer(0)), "no status").await;
    check_failure(|| Ok(answer(-200)), "a negative status").await;
    check_failure(|| Ok(answer(100)), "an interim status").await;
    check_failure(|| Ok(answer(600)), "a status of no class").await;
    check_failure(|| Ok(answer(200 + (1 << 16))), "a status that wraps round").await;
    check_failure(|| with_body(Body::Text("secret!".to_owned()), true), "no base64").await;
    let split = || {
        let mut answer = answer(200);
        answer.cookies = vec!["a=1\r\nx: secret".to_owned()];
        Ok(answer)
    };
    check_failure(split, "a cookie that splits the head").await;
}
