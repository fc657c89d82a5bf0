//! Authentication and authorization of callers.
//!
//! API Gateway's authorizer checks the token, but never compares its owner with the path. That is done here, and fails closed: each mode
//! requires the data that its authorizer puts into the event, and an event with the claims of a token belongs to that token's owner in
//! every mode. So while API and function disagree, as during a deployment that changes the mode, some callers are refused, and nobody
//! reads data of others.

use std::str::FromStr;

use aws_lambda_events::event::apigw::{ApiGatewayRequestAuthorizer, ApiGatewayV2httpRequest};
use shared::values::{TenantId, ViewerId};

use crate::problem::Problem;

/// The longest name of a claim.
const MOST_CLAIM_BYTES: usize = 128;

/// The claim of a token with the tenant of its owner: `tenant_id` by default.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TenantClaim(String);

/// The text cannot be the name of such a claim.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("expected the name of a claim other than `sub`: 1 to 128 visible characters of ASCII")]
pub struct TenantClaimError;

impl TenantClaim {
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Default for TenantClaim {
    fn default() -> Self {
        Self("tenant_id".to_owned())
    }
}

impl FromStr for TenantClaim {
    type Err = TenantClaimError;

    /// `sub` is refused: a viewer who chose the id of a tenant would act for it.
    fn from_str(text: &str) -> Result<Self, TenantClaimError> {
        let is_name = (1..=MOST_CLAIM_BYTES).contains(&text.len())
            && text.bytes().all(|byte| byte.is_ascii_graphic());
        (is_name && text != "sub").then(|| Self(text.to_owned())).ok_or(TenantClaimError)
    }
}

/// The authentication of callers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Authorization {
    /// The API's JWT authorizer: viewers read their own data.
    #[default]
    Jwt,
    /// IAM: the API has checked the signature and the policies of the signer, who may read everything.
    Iam,
    /// None, on a developer's machine: everybody who reaches the API may read everything. Never for an API that others reach.
    Open,
}

/// The text names no mode.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("expected `jwt`, `iam` or `open`")]
pub struct AuthorizationError;

impl Authorization {
    /// All, by their names.
    pub const MODES: [(&'static str, Self); 3] =
        [("jwt", Self::Jwt), ("iam", Self::Iam), ("open", Self::Open)];
}

impl FromStr for Authorization {
    type Err = AuthorizationError;

    fn from_str(text: &str) -> Result<Self, AuthorizationError> {
        let mode = Self::MODES.into_iter().find(|(name, _)| *name == text);
        mode.map(|(_, mode)| mode).ok_or(AuthorizationError)
    }
}

/// An authenticated caller.
#[derive(Debug)]
pub enum Caller<'a> {
    /// The owner of a verified token, who may belong to a tenant.
    Subject(&'a str, Option<&'a str>),
    /// A caller who may read and write everything.
    Trusted,
}

impl Authorization {
    /// The caller of a request, with the tenant in this claim of their token.
    ///
    /// # Errors
    /// [`Problem::Unauthenticated`]
    pub fn caller<'a>(
        self,
        event: &'a ApiGatewayV2httpRequest,
        claim: &TenantClaim,
    ) -> Result<Caller<'a>, Problem> {
        let authorizer = event.request_context.authorizer.as_ref();
        let subject = authorizer.and_then(subject).transpose()?;
        match (self, subject) {
            (Self::Jwt, None) => Err(Problem::Unauthenticated),
            (Self::Iam, _) if !authorizer.is_some_and(is_signed) => Err(Problem::Unauthenticated),
            (_, Some(subject)) => {
                let tenant = authorizer.and_then(|it| tenant(it, claim));
                Ok(Caller::Subject(subject, tenant))
            }
            (Self::Iam | Self::Open, None) => Ok(Caller::Trusted),
        }
    }
}

/// The owner of the token, if there is one.
fn subject(authorizer: &ApiGatewayRequestAuthorizer) -> Option<Result<&str, Problem>> {
    let claims = &authorizer.jwt.as_ref()?.claims;
    let subject = claims.get("sub").filter(|subject| !subject.is_empty());
    Some(subject.map(String::as_str).ok_or(Problem::Unauthenticated))
}

/// The tenant of the token's owner.
fn tenant<'a>(authorizer: &'a ApiGatewayRequestAuthorizer, claim: &TenantClaim) -> Option<&'a str> {
    authorizer.jwt.as_ref()?.claims.get(claim.as_str()).map(String::as_str)
}

/// True if API Gateway has checked a signature and passes its signer.
fn is_signed(authorizer: &ApiGatewayRequestAuthorizer) -> bool {
    let signer = authorizer.iam.as_ref().and_then(|iam| iam.user_arn.as_deref());
    signer.is_some_and(|arn| !arn.is_empty())
}

impl Caller<'_> {
    /// The viewer whose own likes are in an answer: the caller. A caller who may read everything names a viewer in the parameter `viewer`, or
    /// none.
    ///
    /// # Errors
    /// [`Problem`] if they name another viewer, or a malformed id.
    pub fn own(&self, asked: Option<&str>) -> Result<Option<ViewerId>, Problem> {
        let asked = asked.map(ViewerId::new).transpose();
        let asked = asked.map_err(|e| Problem::invalid("viewer", e.to_string()))?;
        match (self, asked) {
            (Self::Trusted, asked) => Ok(asked),
            (Self::Subject(subject, _), Some(asked)) if *subject == asked.as_str() => {
                Ok(Some(asked))
            }
            (Self::Subject(..), Some(_)) => Err(Problem::Forbidden),
            // A subject that is not a valid id has no likes.
            (Self::Subject(subject, _), None) => Ok(ViewerId::new(*subject).ok()),
        }
    }

    /// Checks that they may read the private data of a viewer.
    ///
    /// # Errors
    /// [`Problem::Forbidden`]
    pub fn may_read(&self, viewer: &ViewerId) -> Result<(), Problem> {
        match self {
            Self::Trusted => Ok(()),
            Self::Subject(subject, _) if *subject == viewer.as_str() => Ok(()),
            Self::Subject(..) => Err(Problem::Forbidden),
        }
    }

    /// Checks that they may send events of a tenant: callers who may read its data may.
    ///
    /// # Errors
    /// [`Problem::Forbidden`]
    pub fn may_write_tenant(&self, asked: &TenantId) -> Result<(), Problem> {
        self.may_read_tenant(asked)
    }

    /// Checks that they may read the private data of a tenant.
    ///
    /// # Errors
    /// [`Problem::Forbidden`]
    pub fn may_read_tenant(&self, asked: &TenantId) -> Result<(), Problem> {
        match self {
            Self::Trusted => Ok(()),
            Self::Subject(_, Some(tenant)) if *tenant == asked.as_str() => Ok(()),
            Self::Subject(..) => Err(Problem::Forbidden),
        }
    }
}
