//! Who the caller is, and what they may read and write.
//!
//! API Gateway's authorizer checks the token; it never compares its owner with the path. That is
//! done here, and it fails closed: a mode demands what its authorizer puts into the event, and an event
//! that carries the claims of a token is of that token's owner in every mode. So while API and
//! function disagree, as in the middle of a deployment that changes the mode, some are
//! refused, and nobody reads what is not theirs.

use std::str::FromStr;

use aws_lambda_events::event::apigw::{ApiGatewayRequestAuthorizer, ApiGatewayV2httpRequest};
use shared::values::{TenantId, ViewerId};

use crate::problem::Problem;

/// The longest name of a claim.
const MOST_CLAIM_BYTES: usize = 128;

/// The claim of a token that says for which tenant its owner speaks: `tenant_id` where nothing else is set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TenantClaim(String);

/// The text cannot be the name of such a claim.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("expected the name of a claim other than `sub`: 1 to 128 visible characters of ASCII")]
pub struct TenantClaimError;

impl TenantClaim {
    /// Its name.
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

    /// `sub` is none: a viewer who chose the id of a tenant would speak for it.
    fn from_str(text: &str) -> Result<Self, TenantClaimError> {
        let is_name = (1..=MOST_CLAIM_BYTES).contains(&text.len())
            && text.bytes().all(|byte| byte.is_ascii_graphic());
        (is_name && text != "sub").then(|| Self(text.to_owned())).ok_or(TenantClaimError)
    }
}

/// Who vouches for the caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Authorization {
    /// The API's JWT authorizer: each viewer reads their own.
    #[default]
    Jwt,
    /// IAM: the API has checked a signature, and what the signer's policies allow. They read anything.
    Iam,
    /// Nobody, on a developer's machine: whoever reaches the API reads anything. Never behind an
    /// API that others reach.
    Open,
}

/// The text names no way of authorization.
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

/// Somebody who was let in.
#[derive(Debug)]
pub enum Caller<'a> {
    /// The owner of a verified token, who may belong to a tenant.
    Subject(&'a str, Option<&'a str>),
    /// Somebody trusted with everything.
    Trusted,
}

impl Authorization {
    /// Who has sent a request, and for which tenant they speak by this claim of their token.
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

/// The owner of the token, if there is one. A token without an owner is nobody's.
fn subject(authorizer: &ApiGatewayRequestAuthorizer) -> Option<Result<&str, Problem>> {
    let claims = &authorizer.jwt.as_ref()?.claims;
    let subject = claims.get("sub").filter(|subject| !subject.is_empty());
    Some(subject.map(String::as_str).ok_or(Problem::Unauthenticated))
}

/// The tenant that the token's owner speaks for.
fn tenant<'a>(authorizer: &'a ApiGatewayRequestAuthorizer, claim: &TenantClaim) -> Option<&'a str> {
    authorizer.jwt.as_ref()?.claims.get(claim.as_str()).map(String::as_str)
}

/// True if API Gateway says whose signature it has checked.
fn is_signed(authorizer: &ApiGatewayRequestAuthorizer) -> bool {
    let signer = authorizer.iam.as_ref().and_then(|iam| iam.user_arn.as_deref());
    signer.is_some_and(|arn| !arn.is_empty())
}

impl Caller<'_> {
    /// The viewer for whom an answer says whether they like an activity. That is the caller; a caller who may speak
    /// for anybody names a viewer in the parameter `viewer`, or nobody.
    ///
    /// # Errors
    /// [`Problem`], if they name somebody else, or nobody that there can be.
    pub fn own(&self, asked: Option<&str>) -> Result<Option<ViewerId>, Problem> {
        let asked = asked.map(ViewerId::new).transpose();
        let asked = asked.map_err(|e| Problem::invalid("viewer", e.to_string()))?;
        match (self, asked) {
            (Self::Trusted, asked) => Ok(asked),
            (Self::Subject(subject, _), Some(asked)) if *subject == asked.as_str() => {
                Ok(Some(asked))
            }
            (Self::Subject(..), Some(_)) => Err(Problem::Forbidden),
            // A subject that is no id has no likes.
            (Self::Subject(subject, _), None) => Ok(ViewerId::new(*subject).ok()),
        }
    }

    /// Whether they may read what is this viewer's alone.
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

    /// Whether they may send what this tenant is to have: they may if they may read it.
    ///
    /// # Errors
    /// [`Problem::Forbidden`]
    pub fn may_write_tenant(&self, asked: &TenantId) -> Result<(), Problem> {
        self.may_read_tenant(asked)
    }

    /// Whether they may read what is this tenant's alone.
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
