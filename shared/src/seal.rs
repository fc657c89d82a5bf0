//! Seals: an HMAC-SHA-256, truncated to 128 bits, by which the holder of a secret knows its own words.
//!
//! Two secrets are valid at a time: one seals, both open. So a secret can be changed while words that
//! were sealed with it are out, and while functions that seal with either work side by side.

use std::iter;

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

/// The shortest secret, in bytes.
pub const MIN_SECRET_LENGTH: usize = 32;
/// How long a seal is, in bytes.
pub(crate) const SEAL_LENGTH: usize = 16;

/// The secret is too short to seal with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("expected a secret of at least {MIN_SECRET_LENGTH} bytes")]
pub struct SecretError;

/// Seals bytes for one purpose. Its seals mean nothing for another purpose, even with the same secret.
#[derive(Clone)]
pub(crate) struct Seal {
    mac: Hmac<Sha256>,
    /// Of a secret that opens and does not seal.
    other: Option<Hmac<Sha256>>,
    purpose: &'static str,
}

impl Seal {
    /// A seal made of a secret that all holders share. No purpose may contain a zero byte.
    pub(crate) fn new(purpose: &'static str, secret: &[u8]) -> Result<Self, SecretError> {
        Ok(Self { mac: keyed(purpose, secret)?, other: None, purpose })
    }

    /// The same, which opens what was sealed with another secret too.
    pub(crate) fn also_opening(self, secret: &[u8]) -> Result<Self, SecretError> {
        Ok(Self { other: Some(keyed(self.purpose, secret)?), ..self })
    }

    /// The seal of bytes that come in pieces. Where one ends and the next begins is not sealed.
    pub(crate) fn of(&self, pieces: &[&[u8]]) -> [u8; SEAL_LENGTH] {
        let mac = over(&self.mac, pieces).finalize().into_bytes();
        std::array::from_fn(|index| mac[index])
    }

    /// True for a seal of these bytes, with either secret. How long it takes tells nothing of the seal.
    pub(crate) fn fits(&self, pieces: &[&[u8]], seal: &[u8; SEAL_LENGTH]) -> bool {
        let mut macs = iter::once(&self.mac).chain(&self.other);
        macs.any(|mac| over(mac, pieces).verify_truncated_left(seal).is_ok())
    }
}

fn keyed(purpose: &str, secret: &[u8]) -> Result<Hmac<Sha256>, SecretError> {
    if secret.len() < MIN_SECRET_LENGTH {
        return Err(SecretError);
    }
    let mac: Hmac<Sha256> = Hmac::new_from_slice(secret).map_err(|_| SecretError)?;
    Ok(over(&mac, &[purpose.as_bytes(), b"\0"]))
}

fn over(mac: &Hmac<Sha256>, pieces: &[&[u8]]) -> Hmac<Sha256> {
    pieces.iter().fold(mac.clone(), |mut mac, piece| {
        mac.update(piece);
        mac
    })
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

    #[test]
    fn a_seal_is_of_one_purpose_and_one_secret() {
        let seal = |purpose, secret: u8| Seal::new(purpose, &[secret; 32]).expect("long enough");
        let own = seal("a", 1).of(&[b"wo", b"rds"]);
        assert!(seal("a", 1).fits(&[b"words"], &own));
        assert!(seal("a", 2).also_opening(&[1; 32]).expect("long enough").fits(&[b"words"], &own));
        for other in [seal("b", 1), seal("a", 2), seal("", 1)] {
            assert!(!other.fits(&[b"words"], &own), "{other:?}");
        }
        assert!(!seal("a", 1).fits(&[b"word"], &own));
    }

    #[test]
    fn short_secrets_are_refused_and_none_is_printed() {
        assert!(Seal::new("a", &[7; 31]).is_err());
        let seal = Seal::new("a", &[b'x'; 32]).expect("long enough");
        assert!(!format!("{seal:?}").contains("xx"));
        assert!(seal.also_opening(&[7; 31]).is_err());
    }
}
