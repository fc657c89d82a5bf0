//! `nagare token`: a token for a local stack that demands one (`nagare up --auth`).
//!
//! All tokens that the command line makes are made here, with the key that the stack prints.

use std::str::FromStr;

use clap::Args;
use shared::runtime::clock::Clock;
use shared::runtime::env;
use shared::values::ViewerId;

use super::Failure;
use super::print::say;
use super::target::Target;
use crate::local::gateway::JwtAuthorizer;

/// How long a token made for one command is valid.
const FOR_READING: Lifetime = Lifetime(300);
/// A year, in seconds.
const LONGEST: i64 = 365 * 86_400;
/// Units of time and their seconds.
const UNITS: [(char, i64); 4] = [('s', 1), ('m', 60), ('h', 3_600), ('d', 86_400)];

#[derive(Debug, Args)]
pub(super) struct Token {
    /// Who reads with it.
    viewer: ViewerId,
    /// How long it is valid, from 1s to 365d: 90s, 15m, 1h, 7d.
    #[arg(long, value_name = "TIME", default_value = "1h")]
    expires_in: Lifetime,
}

/// How long a token is valid, in seconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Lifetime(i64);

/// The text is no time that a token may be valid.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("expected 1s to 365d: a whole number and one of s, m, h, d, such as 15m")]
struct LifetimeError;

impl FromStr for Lifetime {
    type Err = LifetimeError;

    fn from_str(text: &str) -> Result<Self, LifetimeError> {
        let parsed = UNITS.iter().find_map(|(unit, seconds)| {
            let digits = text.strip_suffix(*unit)?;
            let digits = digits.bytes().all(|b| b.is_ascii_digit()).then_some(digits)?;
            digits.parse::<i64>().ok()?.checked_mul(*seconds)
        });
        parsed.filter(|seconds| (1..=LONGEST).contains(seconds)).map(Self).ok_or(LifetimeError)
    }
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

fn mint(key: String, viewer: &ViewerId, life: Lifetime) -> Result<String, Failure> {
    let now = Clock::system().now().unix_millis() / 1000;
    let token = JwtAuthorizer::with_key(key).mint(viewer.as_str(), now + life.0);
    token.map_err(|e| Failure::No(e.to_string()))
}

fn without_key() -> String {
    format!(
        "there is no {}: a stack that was started with `nagare up --auth` has one, and `nagare token` makes tokens \
         for such a stack alone. On AWS tokens come from the issuer that JwtIssuer names",
        env::JWT_KEY
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lifetime_has_a_unit_and_an_end() {
        for (text, seconds) in [("1s", 1), ("15m", 900), ("1h", 3_600), ("365d", LONGEST)] {
            assert_eq!(text.parse(), Ok(Lifetime(seconds)), "{text}");
        }
        for text in [
            "",
            "s",
            "60",
            "0s",
            "-1h",
            "+1h",
            "1.5h",
            "366d",
            "1 h",
            "1w",
            "９s",
            "9223372036854775807d",
        ] {
            assert_eq!(text.parse::<Lifetime>(), Err(LifetimeError), "{text}");
        }
    }
}
