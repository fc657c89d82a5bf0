//! The handler's answer, as the caller gets it.

use aws_lambda_events::apigw::ApiGatewayV2httpResponse;
use aws_lambda_events::encodings;
use axum::body::Body;
use axum::response::Response;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http::header::{CONNECTION, CONTENT_LENGTH, SET_COOKIE, TRANSFER_ENCODING};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};

/// Headers that belong to the connection; the server writes its own.
const OF_THE_CONNECTION: [HeaderName; 3] = [CONNECTION, CONTENT_LENGTH, TRANSFER_ENCODING];

/// Why an answer is invalid.
#[derive(Debug, thiserror::Error)]
pub(super) enum InvalidAnswer {
    #[error("the handler answered with status {0}")]
    Status(i64),
    /// A function's answer is JSON, in which a header has one value. Only the first of several would reach AWS.
    #[error("the handler answered with several values of the header {0}")]
    Repeated(HeaderName),
    #[error("the handler answered with a cookie that no header can carry")]
    Cookie(#[source] http::header::InvalidHeaderValue),
    #[error("the handler said that its body is base64, and it is not")]
    Base64(#[source] base64::DecodeError),
    #[error("the handler answered with a body of an unknown kind")]
    Body,
}

pub(super) fn from_answer(answer: ApiGatewayV2httpResponse) -> Result<Response, InvalidAnswer> {
    let mut response = Response::default();
    *response.status_mut() = status(answer.status_code)?;
    *response.headers_mut() = headers(answer.headers, answer.multi_value_headers, &answer.cookies)?;
    *response.body_mut() = body(answer.body.unwrap_or_default(), answer.is_base64_encoded)?;
    Ok(response)
}

fn status(code: i64) -> Result<StatusCode, InvalidAnswer> {
    let status = u16::try_from(code).ok().and_then(|code| StatusCode::from_u16(code).ok());
    let is_final = |status: &StatusCode| (200..600).contains(&status.as_u16());
    status.filter(is_final).ok_or(InvalidAnswer::Status(code))
}

/// The headers of an answer. If a name is in both kinds of headers, all of its values count.
fn headers(
    single: HeaderMap,
    multiple: HeaderMap,
    cookies: &[String],
) -> Result<HeaderMap, InvalidAnswer> {
    if let Some(name) = single.keys().find(|name| single.get_all(*name).iter().count() > 1) {
        return Err(InvalidAnswer::Repeated(name.clone()));
    }
    let mut headers = single;
    for (name, value) in &multiple {
        headers.append(name, value.clone());
    }
    for cookie in cookies {
        headers.append(SET_COOKIE, HeaderValue::try_from(cookie).map_err(InvalidAnswer::Cookie)?);
    }
    for name in OF_THE_CONNECTION {
        headers.remove(name);
    }
    Ok(headers)
}

/// The body of an answer. The bytes in a Lambda's answer are base64, whether or not the flag says so; without the flag the caller gets
/// them undecoded.
fn body(body: encodings::Body, is_base64_encoded: bool) -> Result<Body, InvalidAnswer> {
    match (body, is_base64_encoded) {
        (encodings::Body::Empty, _) => Ok(Body::empty()),
        (encodings::Body::Text(text), false) => Ok(Body::from(text)),
        (encodings::Body::Text(text), true) => {
            STANDARD.decode(text).map(Body::from).map_err(InvalidAnswer::Base64)
        }
        (encodings::Body::Binary(bytes), true) => Ok(Body::from(bytes)),
        (encodings::Body::Binary(bytes), false) => Ok(Body::from(STANDARD.encode(bytes))),
        _ => Err(InvalidAnswer::Body),
    }
}
