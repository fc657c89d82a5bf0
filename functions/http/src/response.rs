//! Answers in JSON.

use std::num::NonZeroU8;

use aws_lambda_events::encodings::Body;
use aws_lambda_events::event::apigw::ApiGatewayV2httpResponse;
use aws_lambda_events::http::header::{CACHE_CONTROL, CONTENT_ENCODING, CONTENT_TYPE, VARY};
use aws_lambda_events::http::{HeaderMap, HeaderValue};

use crate::encoding::Accepted;

/// The answer to a successful request.
#[derive(Debug)]
pub struct Answer {
    /// The body, JSON.
    pub body: String,
    pub items: usize,
}

/// An answer, and whether others may get it.
#[derive(Debug)]
pub struct Shareable {
    pub answer: Answer,
    /// True if everybody may read it and would get the same.
    pub is_public: bool,
}

impl From<Answer> for Shareable {
    /// Private to the caller by default.
    fn from(answer: Answer) -> Self {
        Self { answer, is_public: false }
    }
}

impl Shareable {
    /// The response to a request with these headers. A public one may be cached for this many seconds.
    #[must_use]
    pub fn into_response(self, requested: &HeaderMap, seconds: u8) -> ApiGatewayV2httpResponse {
        let caching = match NonZeroU8::new(seconds) {
            Some(seconds) if self.is_public => Caching::Public { seconds },
            _ => Caching::Private,
        };
        self.answer.into_response(requested, caching)
    }
}

impl Answer {
    fn into_response(self, requested: &HeaderMap, caching: Caching) -> ApiGatewayV2httpResponse {
        let compressed = Accepted::from_headers(requested).compressed(&self.body);
        let mut response = json(200, "application/json", caching, self.body);
        if let Some(bytes) = compressed {
            response.headers.insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
            response.body = Some(Body::Binary(bytes));
            response.is_base64_encoded = true;
        }
        response
    }
}

/// Which caches may store an answer.
#[derive(Debug, Clone, Copy)]
pub enum Caching {
    Private,
    Public { seconds: NonZeroU8 },
}

impl Caching {
    fn header(self) -> HeaderValue {
        let public = match self {
            Self::Private => None,
            Self::Public { seconds } => {
                HeaderValue::try_from(format!("public, max-age={seconds}")).ok()
            }
        };
        public.unwrap_or(HeaderValue::from_static("private, no-store"))
    }
}

/// An answer with a JSON body. API Gateway takes one value for each header.
pub fn json(
    status: u16,
    content_type: &'static str,
    caching: Caching,
    body: String,
) -> ApiGatewayV2httpResponse {
    let mut headers = HeaderMap::new();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    headers.insert(CACHE_CONTROL, caching.header());
    // The same request may be answered in either coding, even if this answer is uncompressed.
    headers.insert(VARY, HeaderValue::from_static("accept-encoding"));
    let mut response = ApiGatewayV2httpResponse::default();
    response.status_code = i64::from(status);
    response.headers = headers;
    response.body = Some(Body::Text(body));
    response
}
