//! The API's description, for those who try the local stack: `GET /openapi.yaml`.
//!
//! The one path that API Gateway does not have. It is answered before the authorizer: a description
//! that one needs a token to read would not say which token. Other methods go where unknown paths go.

use http::HeaderName;
use http::header::CONTENT_TYPE;

/// Its path.
pub(super) const PATH: &str = "/openapi.yaml";

const DOCUMENT: &str = include_str!("../../../../docs/openapi.yaml");

pub(super) async fn document() -> ([(HeaderName, &'static str); 1], &'static str) {
    ([(CONTENT_TYPE, "application/yaml")], DOCUMENT)
}
