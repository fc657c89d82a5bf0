//! Who looks: whoever has the secret of this run.
//!
//! The address that is printed carries a token. It is answered with a cookie and a redirect to the same address without
//! the token, so that neither history nor bookmarks keep it. The cookie is another random value: what a browser sends
//! with each request does not say what the printed address says. Both are valid for one run of the program.
//!
//! # What a cookie does not know
//!
//! A cookie is of a host, not of a port. Its name has the port in it, so that consoles do not take each other's places.
//! A server of somebody else on another port of this host is sent the cookie by a browser that opens a page below
//! `/console` there. Sites elsewhere are not: `SameSite=Strict`. docs/SECURITY.md says so to those who open consoles.

use http::header::{COOKIE, HeaderMap};
use http::{HeaderValue, Method, Uri};
use nagare_gateway::random_secret;
use subtle::ConstantTimeEq;

use crate::address::PATH;

const TOKEN: &str = "token";
/// The cookie is sent for the console alone, not for the API beside it.
const COOKIE_PATH: &str = "/console";

#[derive(Debug, Clone)]
pub enum Access {
    /// Whoever reaches the port.
    Open,
    /// Whoever has this.
    Secret(Secret),
}

/// What one run of a console knows its visitors by.
#[derive(Clone)]
pub struct Secret {
    token: String,
    cookie_name: String,
    cookie_value: String,
}

/// What a request is to the door.
pub(super) enum Entry {
    /// It comes with the token: what is answered.
    Enters(Option<HeaderValue>),
    Known,
    Unknown,
}

impl Access {
    /// A new secret, for a console at a port.
    pub fn of_run(port: u16) -> Self {
        Self::Secret(Secret {
            token: long_secret(),
            cookie_name: format!("nagare-console-{port}"),
            cookie_value: long_secret(),
        })
    }

    /// The address that lets somebody in, below that of the port.
    pub fn address(&self, base: &str) -> String {
        match self {
            Self::Open => format!("{base}{PATH}"),
            Self::Secret(Secret { token, .. }) => format!("{base}{PATH}?{TOKEN}={token}"),
        }
    }

    pub(super) fn entry(&self, method: &Method, uri: &Uri, headers: &HeaderMap) -> Entry {
        match (self, token_of(method, uri)) {
            (Self::Open, Some(_)) => Entry::Enters(None),
            (Self::Open, None) => Entry::Known,
            (Self::Secret(secret), Some(token)) if is_equal(&token, &secret.token) => {
                Entry::Enters(secret.cookie())
            }
            (Self::Secret(secret), None) if secret.is_carried_by(headers) => Entry::Known,
            (Self::Secret(_), _) => Entry::Unknown,
        }
    }
}

impl Secret {
    /// Not readable for scripts, not sent by pages of other sites, and gone with the browser's session.
    fn cookie(&self) -> Option<HeaderValue> {
        let Self { cookie_name, cookie_value, .. } = self;
        let cookie =
            format!("{cookie_name}={cookie_value}; Path={COOKIE_PATH}; HttpOnly; SameSite=Strict");
        let mut cookie = HeaderValue::try_from(cookie).ok()?;
        cookie.set_sensitive(true);
        Some(cookie)
    }

    fn is_carried_by(&self, headers: &HeaderMap) -> bool {
        cookies(headers, &self.cookie_name).any(|value| is_equal(value, &self.cookie_value))
    }
}

impl std::fmt::Debug for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Secret").field("cookie_name", &self.cookie_name).finish_non_exhaustive()
    }
}

/// The values of a cookie.
pub(super) fn cookies<'h>(headers: &'h HeaderMap, name: &str) -> impl Iterator<Item = &'h str> {
    let lines = headers.get_all(COOKIE).iter().filter_map(|line| line.to_str().ok());
    let pairs = lines.flat_map(|line| line.split(';')).filter_map(|pair| pair.split_once('='));
    pairs.filter(move |(other, _)| other.trim() == name).map(|(_, value)| value.trim())
}

/// The address that is printed, and nothing else, takes a token.
fn token_of(method: &Method, uri: &Uri) -> Option<String> {
    let is_door = matches!(*method, Method::GET | Method::HEAD) && uri.path() == PATH;
    let query = uri.query().filter(|_| is_door)?;
    let mut pairs = form_urlencoded::parse(query.as_bytes());
    pairs.find(|(name, _)| name == TOKEN).map(|(_, value)| value.into_owned())
}

/// In a time that does not depend on how much of it is right.
fn is_equal(given: &str, expected: &str) -> bool {
    given.as_bytes().ct_eq(expected.as_bytes()).into()
}

fn long_secret() -> String {
    format!("{}{}", random_secret(), random_secret())
}
