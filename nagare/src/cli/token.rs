//! `nagare token`: a token for a local stack that demands one (`nagare up --auth`).
//!
//! All tokens that the command line makes are made here, with the key that the stack prints.

use clap::Args;
use shared::runtime::clock::Clock;
use shared::runtime::env;
use shared::values::ViewerId;

use super::Failure;
use super::print::say;
use super::span::Span;
use super::target::Target;
use crate::local::gateway::JwtAuthorizer;

/// How long a token made for one command is valid.
const FOR_READING: Span = Span::seconds(300);

#[derive(Debug, Args)]
pub(super) struct Token {
    /// Who reads with it.
    viewer: ViewerId,
    /// How long it is valid, from 1s to 365d: 90s, 15m, 1h, 7d.
    #[arg(long, value_name = "TIME", default_value = "1h")]
    expires_in: Span,
}

impl Token {
    pub(super) fn run(self) -> Result<(), Failure> {
        let key = match env::optional(env::JWT_KEY) {
            Some(key) => Some(key),
            None => Target::find()?.optional(env::JWT_KEY),
        };
        let key = key.ok_or_else(|| Failure::Usage(without_key()))?;
        say!("{}", mint(key, &self.viewer, self.expires_in)?)
    }
}

/// A token for one reading, if there is a local stack's key and the text is a viewer.
pub(super) fn for_reading(target: &Target, viewer: &str) -> Option<String> {
    let key = target.optional(env::JWT_KEY)?;
    mint(key, &ViewerId::new(viewer).ok()?, FOR_READING).ok()
}

fn mint(key: String, viewer: &ViewerId, life: Span) -> Result<String, Failure> {
    let now = Clock::system().now().unix_millis() / 1000;
    let token = JwtAuthorizer::with_key(key).mint(viewer.as_str(), now + life.as_seconds());
    token.map_err(|e| Failure::No(e.to_string()))
}

fn without_key() -> String {
    format!(
        "there is no {}: a stack that was started with `nagare up --auth` has one, and `nagare token` makes tokens \
         for such a stack alone. On AWS tokens come from the issuer that JwtIssuer names",
        env::JWT_KEY
    )
}
