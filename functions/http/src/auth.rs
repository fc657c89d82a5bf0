//! Authentication and authorization of callers.
//!
//! API Gateway's authorizer checks the token, but never compares its owner with the path. That is done here, and fails closed: each mode
//! requires the data that its authorizer puts into the event, and an event with the claims of a token belongs to that token's owner in
//! every mode. So while API and function disagree, as during a deployment that changes the mode, some callers are refused, and nobody
//! reads data of others.

use std::str::FromStr;

use aws_lambda_events::event::apigw::{ApiGatewayRequestAuthorizer, ApiGatewayV2httpRequest};
use shared::platform::runtime::env::{EnvError, Variables};
use shared::platform::values::{TenantId, ViewerId};

use crate::problem::Problem;

/// The longest name of a claim.
const MOST_CLAIM_BYTES: usize = 128;
/// The claim that a viewer's id is in by default.
const SUB: &str = "sub";

/// The name of a claim of a token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClaimName(String);

/// A text is not the name of a claim.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("expected the name of a claim: 1 to 128 visible characters of ASCII")]
pub struct ClaimNameError;

impl ClaimName {
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for ClaimName {
    type Err = ClaimNameError;

    fn from_str(text: &str) -> Result<Self, ClaimNameError> {
        let is_name = (1..=MOST_CLAIM_BYTES).contains(&text.len())
            && text.bytes().all(|byte| byte.is_ascii_graphic());
        is_name.then(|| Self(text.to_owned())).ok_or(ClaimNameError)
    }
}

/// The claims of a token that say for whom it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claims {
    viewer: ClaimName,
    tenant: ClaimName,
}

/// The claim of the tenant cannot be this one.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "expected another claim than `sub` and the claim of the viewer: a viewer with a tenant's id would act for the tenant"
)]
pub struct ClaimsError;

impl Claims {
    /// The claim with the id of the token's owner, and the claim with their tenant.
    ///
    /// # Errors
    /// [`ClaimsError`] if the second is `sub` or the first.
    pub fn new(viewer: ClaimName, tenant: ClaimName) -> Result<Self, ClaimsError> {
        let is_of_viewers = tenant.as_str() == SUB || tenant == viewer;
        if is_of_viewers { Err(ClaimsError) } else { Ok(Self { viewer, tenant }) }
    }

    /// The claims that two variables name. Without them, the default ones.
    pub fn among(
        variables: &Variables,
        [viewer, tenant]: [&'static str; 2],
    ) -> Result<Self, EnvError> {
        let default = Self::default();
        let names = (variables.parsed_or(viewer, default.viewer)?, default.tenant);
        let claims = Self::new(names.0, variables.parsed_or(tenant, names.1)?);
        claims.map_err(|e| EnvError::Invalid { name: tenant, problem: e.to_string() })
    }

    /// The default ones, with another claim of the viewer.
    ///
    /// # Errors
    /// [`ClaimsError`] if it is that of the tenant.
    pub fn with_viewer(viewer: ClaimName) -> Result<Self, ClaimsError> {
        Self::new(viewer, Self::default().tenant)
    }

    /// The claim with the id of the token's owner: `sub` by default.
    pub fn viewer(&self) -> &str {
        self.viewer.as_str()
    }

    /// The claim with their tenant: `tenant_id` by default.
    pub fn tenant(&self) -> &str {
        self.tenant.as_str()
    }
}

impl Default for Claims {
    fn default() -> Self {
        let [viewer, tenant] = [SUB, "tenant_id"].map(|name| ClaimName(name.to_owned()));
        Self { viewer, tenant }
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
///
/// API Gateway passes every claim as a string: a number in its digits, a list as `[a b]`. A list is
/// not a valid id, so it equals none.
#[derive(Debug)]
pub enum Caller<'a> {
    /// The owner of a verified token, who may belong to a tenant.
    Subject(&'a str, Option<&'a str>),
    /// A caller who may read and write everything.
    Trusted,
}

impl Authorization {
    /// The caller of a request, by these claims of their token.
    ///
    /// # Errors
    /// [`Problem::Unauthenticated`]
    pub fn caller<'a>(
        self,
        event: &'a ApiGatewayV2httpRequest,
        claims: &Claims,
    ) -> Result<Caller<'a>, Problem> {
        let authorizer = event.request_context.authorizer.as_ref();
        let token = authorizer.and_then(|it| it.jwt.as_ref()).map(|token| &token.claims);
        match (self, token) {
            (Self::Jwt, None) => Err(Problem::Unauthenticated),
            (Self::Iam, _) if !authorizer.is_some_and(is_signed) => Err(Problem::Unauthenticated),
            (_, Some(token)) => {
                let viewer = token.get(claims.viewer()).filter(|viewer| !viewer.is_empty());
                let viewer = viewer.ok_or(Problem::Unauthenticated)?;
                Ok(Caller::Subject(viewer, token.get(claims.tenant()).map(String::as_str)))
            }
            (Self::Iam | Self::Open, None) => Ok(Caller::Trusted),
        }
    }
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
        let parse = |text| ViewerId::new(text).map_err(|e| Problem::of_query("viewer", text, &e));
        let asked = asked.map(parse).transpose()?;
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
