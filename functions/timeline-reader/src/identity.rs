//! Whether the caller may read a timeline.
//!
//! API Gateway's authorizer checks the token; it never compares its owner with the path. That is
//! done here, and it fails closed: a function that was not told that others have checked the caller
//! demands a verified `sub` claim.

use std::str::FromStr;

use aws_lambda_events::event::apigw::ApiGatewayV2httpRequest;
use shared::ViewerId;

use crate::problem::Problem;

/// Who vouches for the caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Authorization {
    /// The API's JWT authorizer: each viewer reads their own timeline.
    #[default]
    Jwt,
    /// Somebody else (IAM for backends, nobody on a developer's machine): the caller reads any.
    Open,
}

/// The text names no way of authorization.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("expected `jwt` or `open`")]
pub struct AuthorizationError;

impl FromStr for Authorization {
    type Err = AuthorizationError;
    fn from_str(text: &str) -> Result<Self, AuthorizationError> {
        match text {
            "jwt" => Ok(Self::Jwt),
            "open" => Ok(Self::Open),
            _ => Err(AuthorizationError),
        }
    }
}

/// Somebody who was let in.
#[derive(Debug)]
pub(crate) enum Caller<'a> {
    /// The owner of a verified token.
    Subject(&'a str),
    /// Somebody trusted with every timeline.
    Trusted,
}

impl Authorization {
    pub(crate) fn caller(self, event: &ApiGatewayV2httpRequest) -> Result<Caller<'_>, Problem> {
        if self == Self::Open {
            return Ok(Caller::Trusted);
        }
        let authorizer = event.request_context.authorizer.as_ref();
        let claims = authorizer.and_then(|authorizer| authorizer.jwt.as_ref());
        let subject = claims.and_then(|jwt| jwt.claims.get("sub")).filter(|sub| !sub.is_empty());
        subject.map(|sub| Caller::Subject(sub)).ok_or(Problem::Unauthenticated)
    }
}

impl Caller<'_> {
    pub(crate) fn may_read(&self, viewer: &ViewerId) -> Result<(), Problem> {
        match self {
            Self::Trusted => Ok(()),
            Self::Subject(subject) if *subject == viewer.as_str() => Ok(()),
            Self::Subject(_) => Err(Problem::Forbidden),
        }
    }
}
