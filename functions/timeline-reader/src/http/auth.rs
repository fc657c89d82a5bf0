//! Who the caller is, and what they may read.
//!
//! API Gateway's authorizer checks the token; it never compares its owner with the path. That is
//! done here, and it fails closed: a mode demands what its authorizer puts into the event, and an event
//! that carries the claims of a token is of that token's owner in every mode. So while API and
//! function disagree, as in the middle of a deployment that changes the mode, some are
//! refused, and nobody reads what is not theirs.

use std::str::FromStr;

use aws_lambda_events::event::apigw::{ApiGatewayRequestAuthorizer, ApiGatewayV2httpRequest};
use shared::values::{TenantId, ViewerId};

use super::problem::Problem;

/// The claim of a token that says for which tenant its owner speaks.
const TENANT_CLAIM: &str = "tenant_id";

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

impl FromStr for Authorization {
    type Err = AuthorizationError;
    fn from_str(text: &str) -> Result<Self, AuthorizationError> {
        match text {
            "jwt" => Ok(Self::Jwt),
            "iam" => Ok(Self::Iam),
            "open" => Ok(Self::Open),
            _ => Err(AuthorizationError),
        }
    }
}

/// Somebody who was let in.
#[derive(Debug)]
pub(crate) enum Caller<'a> {
    /// The owner of a verified token, who may belong to a tenant.
    Subject(&'a str, Option<&'a str>),
    /// Somebody trusted with everything.
    Trusted,
}

impl Authorization {
    pub(crate) fn caller(self, event: &ApiGatewayV2httpRequest) -> Result<Caller<'_>, Problem> {
        let authorizer = event.request_context.authorizer.as_ref();
        let subject = authorizer.and_then(subject).transpose()?;
        match (self, subject) {
            (Self::Jwt, None) => Err(Problem::Unauthenticated),
            (Self::Iam, _) if !authorizer.is_some_and(is_signed) => Err(Problem::Unauthenticated),
            (_, Some(subject)) => Ok(Caller::Subject(subject, authorizer.and_then(tenant))),
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
fn tenant(authorizer: &ApiGatewayRequestAuthorizer) -> Option<&str> {
    authorizer.jwt.as_ref()?.claims.get(TENANT_CLAIM).map(String::as_str)
}

/// True if API Gateway says whose signature it has checked.
fn is_signed(authorizer: &ApiGatewayRequestAuthorizer) -> bool {
    let signer = authorizer.iam.as_ref().and_then(|iam| iam.user_arn.as_deref());
    signer.is_some_and(|arn| !arn.is_empty())
}

impl Caller<'_> {
    /// The viewer for whom an answer says whether they like an activity. That is the caller; a caller who may speak
    /// for anybody names a viewer in the parameter `viewer`, or nobody.
    pub(crate) fn own(&self, asked: Option<&str>) -> Result<Option<ViewerId>, Problem> {
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
    pub(crate) fn may_read(&self, viewer: &ViewerId) -> Result<(), Problem> {
        match self {
            Self::Trusted => Ok(()),
            Self::Subject(subject, _) if *subject == viewer.as_str() => Ok(()),
            Self::Subject(..) => Err(Problem::Forbidden),
        }
    }

    /// Whether they may read what is this tenant's alone.
    pub(crate) fn may_read_tenant(&self, asked: &TenantId) -> Result<(), Problem> {
        match self {
            Self::Trusted => Ok(()),
            Self::Subject(_, Some(tenant)) if *tenant == asked.as_str() => Ok(()),
            Self::Subject(..) => Err(Problem::Forbidden),
        }
    }
}
