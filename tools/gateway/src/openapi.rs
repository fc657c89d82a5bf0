//! The API's description, for those who try the local stack: `GET /openapi.yaml`.
//!
//! This is the one path that API Gateway does not have. It is answered before the authorizer, because whoever needs a token learns
//! from the description which one. Other methods are answered like those of unknown paths.
//!
//! The document in `docs/` describes deployments; the one that is served says what the stack that serves it demands.

use http::HeaderName;
use http::header::CONTENT_TYPE;

use super::Authorization;

/// The paths that are answered without a token.
pub const OPEN_PATHS: &[&str] = &[PATH];

/// The path of the description.
pub(super) const PATH: &str = "/openapi.yaml";

const DOCUMENT: &str = include_str!("../../../docs/openapi.yaml");
/// The part of the document that says what callers need.
const SECURITY: &str = "\nsecurity:\n  - jwt: []\n  - iam: []\n";

/// The description of an API with this authorization.
pub(super) fn document(authorization: &Authorization) -> ([(HeaderName, &'static str); 1], String) {
    let security = match authorization {
        Authorization::Open => "\nsecurity: []\n",
        Authorization::Jwt(_) => "\nsecurity:\n  - jwt: []\n",
    };
    ([(CONTENT_TYPE, "application/yaml")], DOCUMENT.replacen(SECURITY, security, 1))
}
