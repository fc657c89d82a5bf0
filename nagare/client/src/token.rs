//! Tokens for a local stack that demands them (`nagare up --auth`), made with the key that it prints.

use nagare_gateway::JwtAuthorizer;
use shared::runtime::env;
use shared::values::{TenantId, ViewerId};

use super::clock;
use super::target::Target;
use crate::failure::Failure;

/// How long a token made for one command is valid, in seconds.
const FOR_READING: i64 = 300;

/// A token for one read, if there is the key of a local stack and the text is the id of a viewer.
pub(super) fn for_reading(target: &Target, viewer: &str) -> Option<String> {
    let key = target.optional(env::JWT_KEY)?;
    mint(key, &ViewerId::new(viewer).ok()?, None, FOR_READING).ok()
}

/// A token for one request about a tenant, if there is the key of a local stack.
pub(super) fn for_tenant(target: &Target, tenant: &TenantId) -> Option<String> {
    let key = target.optional(env::JWT_KEY)?;
    mint(key, &ViewerId::new("nagare").ok()?, Some(tenant), FOR_READING).ok()
}

/// A token for a viewer, who may speak for a tenant. It is valid for this many seconds from now.
///
/// # Errors
/// [`Failure::No`]
pub fn mint(
    key: String,
    viewer: &ViewerId,
    tenant: Option<&TenantId>,
    seconds: i64,
) -> Result<String, Failure> {
    let now = clock::clock().now().unix_millis() / 1000;
    let token = JwtAuthorizer::with_key(key).mint_for(
        viewer.as_str(),
        tenant.map(TenantId::as_str),
        now + seconds,
    );
    token.map_err(|e| Failure::No(e.to_string()))
}
