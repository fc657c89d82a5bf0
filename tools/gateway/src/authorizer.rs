//! Who calls: the JWT authorizer of the local API.
//!
//! Whatever is wrong with a token, the caller is only told that it is not valid, and nothing is logged:
//! a token is a credential, and a reason is a hint to whoever forges the next one.

use std::collections::HashMap;
use std::fmt;

use function_http::Claims;
use http::HeaderMap;
use http::header::AUTHORIZATION;
use jsonwebtoken::{Algorithm, DecodingKey, EncodingKey, Header, Validation};
use serde_json::{Map, Value, json};

use super::hs256;
use super::problem::Problem;

/// Who may call the API.
#[derive(Debug)]
pub enum Authorization {
    /// Anybody; events then carry no claims.
    Open,
    /// Whoever has a token that this authorizer accepts.
    Jwt(JwtAuthorizer),
}

impl Authorization {
    /// The caller's claims, if callers need any.
    pub(super) fn claims(
        &self,
        headers: &HeaderMap,
        now: i64,
    ) -> Result<Option<HashMap<String, String>>, Problem> {
        match self {
            Self::Open => Ok(None),
            Self::Jwt(authorizer) => {
                let token = bearer_token(headers)?;
                let mut claims =
                    authorizer.verify(token, now).ok_or_else(Problem::invalid_token)?;
                // The real authorizer would pass `true` as a text, which is also the id of a
                // tenant.
                let tenant = authorizer.claims.tenant();
                claims.retain(|name, value| name != tenant || value.is_string());
                Ok(Some(claims.into_iter().map(|(name, value)| (name, text(value))).collect()))
            }
        }
    }
}

/// Checks HS256 tokens with one symmetric key, and makes them.
pub struct JwtAuthorizer {
    key: String,
    verifying: DecodingKey,
    claims: Claims,
}

/// A token could not be made.
#[derive(Debug, thiserror::Error)]
#[error("the token could not be signed")]
pub struct MintError(#[source] jsonwebtoken::errors::Error);

impl JwtAuthorizer {
    /// An authorizer with a key that both sides know. The bytes of the text are the key, so the text that is printed is what any JWT
    /// library takes.
    pub fn with_key(key: impl Into<String>) -> Self {
        hs256::install();
        let key = key.into();
        let verifying = DecodingKey::from_secret(key.as_bytes());
        Self { key, verifying, claims: Claims::default() }
    }

    /// Reads these claims of tokens, and makes tokens with them.
    #[must_use]
    pub fn with_claims(self, claims: Claims) -> Self {
        Self { claims, ..self }
    }

    pub fn key(&self) -> &str {
        &self.key
    }

    /// The claims of tokens that it reads.
    pub fn claims(&self) -> &Claims {
        &self.claims
    }

    /// A token for a viewer that is accepted before `expires_at`, in seconds since 1970.
    ///
    /// # Errors
    ///
    /// When it cannot be signed.
    pub fn mint(&self, viewer: &str, expires_at: i64) -> Result<String, MintError> {
        self.mint_for(viewer, None, expires_at)
    }

    /// Like [`mint`](Self::mint), for somebody who speaks for a tenant.
    ///
    /// # Errors
    ///
    /// When it cannot be signed.
    pub fn mint_for(
        &self,
        viewer: &str,
        tenant: Option<&str>,
        expires_at: i64,
    ) -> Result<String, MintError> {
        let mut claims = json!({ self.claims.viewer(): viewer, "exp": expires_at });
        if let Some(tenant) = tenant {
            claims[self.claims.tenant()] = tenant.into();
        }
        let key = EncodingKey::from_secret(self.key.as_bytes());
        jsonwebtoken::encode(&Header::new(Algorithm::HS256), &claims, &key).map_err(MintError)
    }

    /// The token's claims, if it is genuine and valid at `now`.
    fn verify(&self, token: &str, now: i64) -> Option<Map<String, Value>> {
        let token =
            jsonwebtoken::decode::<Map<String, Value>>(token, &self.verifying, &signature_only())
                .ok()?;
        let asks_for_the_unknown = token.header.crit.is_some();
        let viewer = token.claims.get(self.claims.viewer()).and_then(Value::as_str);
        let has_viewer = viewer.is_some_and(|viewer| !viewer.is_empty());
        (!asks_for_the_unknown && is_current(&token.claims, now) && has_viewer)
            .then_some(token.claims)
    }
}

impl fmt::Debug for JwtAuthorizer {
    /// Omits the key.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JwtAuthorizer").finish_non_exhaustive()
    }
}

/// Makes the library check algorithm and signature only, and leaves the claims to [`is_current`]: the checks of the library read the
/// system's clock, and accept a token through its last second.
fn signature_only() -> Validation {
    let mut validation = Validation::new(Algorithm::HS256);
    validation.required_spec_claims.clear();
    validation.validate_exp = false;
    validation.validate_nbf = false;
    validation.validate_aud = false;
    validation
}

/// True if the token is valid now, by its claims. Like API Gateway's, these checks have no leeway.
fn is_current(claims: &Map<String, Value>, now: i64) -> bool {
    // A `NumericDate` may have a fraction; whole seconds are exact far beyond the year 9999.
    let now = now as f64;
    let has_begun = |name| match claims.get(name) {
        None => true,
        Some(instant) => instant.as_f64().is_some_and(|instant| instant <= now),
    };
    let expires_at = claims.get("exp").and_then(Value::as_f64);
    expires_at.is_some_and(|instant| now < instant) && has_begun("nbf") && has_begun("iat")
}

/// The token that the request carries. With two headers neither counts: a proxy in front of this API may have checked the other one.
fn bearer_token(headers: &HeaderMap) -> Result<&str, Problem> {
    let mut credentials = headers.get_all(AUTHORIZATION).iter();
    let (first, second) = (credentials.next(), credentials.next());
    let credentials = match (first, second) {
        (None, _) => return Err(Problem::no_token()),
        (Some(_), Some(_)) => return Err(Problem::invalid_token()),
        (Some(only), None) => only.to_str().map_err(|_not_ascii| Problem::invalid_token())?,
    };
    match credentials.split_once(' ') {
        Some((scheme, token)) if scheme.eq_ignore_ascii_case("bearer") => Ok(token.trim()),
        _ => Err(Problem::no_token()),
    }
}

/// A claim's value as API Gateway hands it on: always a string, a list as `[a b]`.
fn text(claim: Value) -> String {
    match claim {
        Value::String(text) => text,
        Value::Array(values) => {
            let values: Vec<_> = values.into_iter().map(text).collect();
            format!("[{}]", values.join(" "))
        }
        other => other.to_string(),
    }
}
