//! Tokens for a local stack that demands them (`nagare up --auth`), made with the key that it prints.

use function_http::Claims;
use nagare_gateway::JwtAuthorizer;
use shared::platform::runtime::env;
use shared::platform::values::{TenantId, ViewerId};

use super::clock;
use super::target::Target;
use crate::failure::Failure;

/// How long a token made for one command is valid, in seconds.
const FOR_READING: i64 = 300;

/// Makes tokens with the key among these variables, if there is one.
pub fn authorizer(variable: impl Fn(&'static str) -> Option<String>) -> Option<JwtAuthorizer> {
    let viewer = variable(env::VIEWER_CLAIM).and_then(|name| name.parse().ok());
    let claims = viewer.and_then(|viewer| Claims::with_viewer(viewer).ok()).unwrap_or_default();
    Some(JwtAuthorizer::with_key(variable(env::JWT_KEY)?).with_claims(claims))
}

/// A token for one read, if there is the key of a local stack and the text is the id of a viewer.
pub(super) fn for_reading(target: &Target, viewer: &str) -> Option<String> {
    let authorizer = authorizer(|name| target.optional(name))?;
    mint(&authorizer, &ViewerId::new(viewer).ok()?, None, FOR_READING).ok()
}

/// A token for one request about a tenant, if there is the key of a local stack.
pub(super) fn for_tenant(target: &Target, tenant: &TenantId) -> Option<String> {
    let authorizer = authorizer(|name| target.optional(name))?;
    mint(&authorizer, &ViewerId::new("nagare").ok()?, Some(tenant), FOR_READING).ok()
}

/// A token for a viewer, who may speak for a tenant. It is valid for this many seconds from now.
///
/// # Errors
/// [`Failure::No`]
pub fn mint(
    authorizer: &JwtAuthorizer,
    viewer: &ViewerId,
    tenant: Option<&TenantId>,
    seconds: i64,
) -> Result<String, Failure> {
    let now = clock::clock().now().unix_millis() / 1000;
    let tenant = tenant.map(TenantId::as_str);
    let token = authorizer.mint_for(viewer.as_str(), tenant, now + seconds);
    token.map_err(|e| Failure::No(e.to_string()))
}
