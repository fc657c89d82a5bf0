//! Seals: an HMAC-SHA-256, truncated to 128 bits, by which the holder of a secret knows its own words.
//!
//! Two secrets are valid at a time: one seals, both open. So a secret can be changed while words that
//! were sealed with it are out, and while functions that seal with either work side by side.

use std::iter;

use ring::hmac::{Context, HMAC_SHA256, Key};
use subtle::ConstantTimeEq;

/// The shortest secret, in bytes.
pub const MIN_SECRET_LENGTH: usize = 32;
/// How long a seal is, in bytes.
pub(crate) const SEAL_LENGTH: usize = 16;

/// The secret is too short to seal with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("expected a secret of at least {MIN_SECRET_LENGTH} bytes")]
pub struct SecretError;

/// The secrets of a seal: one that seals, and perhaps another that only opens.
#[derive(Clone)]
pub struct Secrets {
    sealing: Vec<u8>,
    opening: Option<Vec<u8>>,
}

impl Secrets {
    /// A secret that all holders share.
    ///
    /// # Errors
    /// [`SecretError`] if it is too short.
    pub fn new(secret: &[u8]) -> Result<Self, SecretError> {
        Ok(Self { sealing: long_enough(secret)?, opening: None })
    }

    /// The same, and another secret whose seals open too.
    ///
    /// # Errors
    /// [`SecretError`] if that is too short.
    pub fn also_opening(self, secret: &[u8]) -> Result<Self, SecretError> {
        Ok(Self { opening: Some(long_enough(secret)?), ..self })
    }
}

fn long_enough(secret: &[u8]) -> Result<Vec<u8>, SecretError> {
    if secret.len() < MIN_SECRET_LENGTH { Err(SecretError) } else { Ok(secret.to_vec()) }
}

/// Never prints a secret.
impl std::fmt::Debug for Secrets {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Secrets").finish_non_exhaustive()
    }
}

/// Seals bytes for one purpose. Its seals mean nothing for another purpose, even with the same secret.
#[derive(Clone)]
pub(crate) struct Seal {
    mac: Context,
    /// Of a secret that opens and does not seal.
    other: Option<Context>,
    purpose: &'static str,
}

impl Seal {
    /// A seal made of secrets that all holders share. No purpose may contain a zero byte.
    pub(crate) fn new(purpose: &'static str, secrets: &Secrets) -> Self {
        let mac = keyed(purpose, &secrets.sealing);
        let other = secrets.opening.as_ref().map(|secret| keyed(purpose, secret));
        Self { mac, other, purpose }
    }

    /// The seal of bytes that come in pieces. Where one ends and the next begins is not sealed.
    pub(crate) fn sign(&self, pieces: &[&[u8]]) -> [u8; SEAL_LENGTH] {
        truncated(&self.mac, pieces)
    }

    /// True for a seal of these bytes, with either secret. How long it takes tells nothing of the seal.
    pub(crate) fn fits(&self, pieces: &[&[u8]], seal: &[u8; SEAL_LENGTH]) -> bool {
        let mut macs = iter::once(&self.mac).chain(&self.other);
        macs.any(|mac| truncated(mac, pieces).ct_eq(seal).into())
    }
}

fn keyed(purpose: &str, secret: &[u8]) -> Context {
    let mac = Context::with_key(&Key::new(HMAC_SHA256, secret));
    over(&mac, &[purpose.as_bytes(), b"\0"])
}

fn over(mac: &Context, pieces: &[&[u8]]) -> Context {
    pieces.iter().fold(mac.clone(), |mut mac, piece| {
        mac.update(piece);
        mac
    })
}

fn truncated(mac: &Context, pieces: &[&[u8]]) -> [u8; SEAL_LENGTH] {
    let tag = over(mac, pieces).sign();
    std::array::from_fn(|index| tag.as_ref()[index])
}

/// Never prints the secret.
impl std::fmt::Debug for Seal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Seal").field("purpose", &self.purpose).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn secrets(secret: u8) -> Secrets {
        Secrets::new(&[secret; 32]).expect("long enough")
    }

    #[test]
    fn a_seal_is_of_one_purpose_and_one_secret() {
        let seal = |purpose, secret: u8| Seal::new(purpose, &secrets(secret));
        let own = seal("a", 1).sign(&[b"wo", b"rds"]);
        assert!(seal("a", 1).fits(&[b"words"], &own));
        let both = secrets(2).also_opening(&[1; 32]).expect("long enough");
        assert!(Seal::new("a", &both).fits(&[b"words"], &own));
        for other in [seal("b", 1), seal("a", 2), seal("", 1)] {
            assert!(!other.fits(&[b"words"], &own), "{other:?}");
        }
        assert!(!seal("a", 1).fits(&[b"word"], &own));
    }

    /// Cursors and internal commands that are out were sealed like this.
    #[test]
    fn seals_never_change() {
        let seal = Seal::new("nagare cursor", &secrets(7)).sign(&[b"words"]);
        assert_eq!(crate::platform::crypto::hash::hex(&seal), "de719c889059fdc5618ef5d8b0bc27f9");
    }

    #[test]
    fn short_secrets_are_refused_and_none_is_printed() {
        assert!(Secrets::new(&[7; 31]).is_err());
        let secrets = Secrets::new(&[b'x'; 32]).expect("long enough");
        assert!(!format!("{secrets:?} {:?}", Seal::new("a", &secrets)).contains("xx"));
        assert!(secrets.also_opening(&[7; 31]).is_err());
    }
}
