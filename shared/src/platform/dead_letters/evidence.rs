//! Evidence that a dead letter comes from the queue of commands or from the functions.
//!
//! Anybody who may send to the dead-letter queue could put a command there, and the operator's redrive would apply it. So each letter is
//! kept with evidence of its source, or without:
//!
//! - SQS moved it from the queue of commands, by an attribute of its own that no sender can set ([`SOURCE`]). The other attributes are
//!   the producer's.
//! - The writer or a projector sealed it ([`LetterSeal`]): its body and its attributes. A copy of a sealed letter has the same origin,
//!   so it is the same letter.
//!
//! A letter without evidence is kept and shown like any other, and is only redriven if its id is named.

use super::attributes::{DETAIL, ORIGIN, REASON, RECEIVES, SENT};
use crate::platform::crypto::hash::hex;
use crate::platform::crypto::seal::{SEAL_LENGTH, Seal, Secrets};

/// The system attribute by which SQS names the queue that it moved a message from.
pub const SOURCE: &str = "DeadLetterQueueSourceArn";
/// The message attribute with the seal.
pub const SEAL: &str = "nagare.seal";
const PURPOSE: &str = "nagare dead letter";
/// The attributes that are sealed with the body, in this order.
const SEALED: [&str; 5] = [REASON, DETAIL, ORIGIN, RECEIVES, SENT];

/// The known source of a letter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Evidence {
    /// From the queue of commands: SQS moved it.
    Redrive,
    /// From the writer or a projector: they sealed it.
    Seal,
}

impl Evidence {
    /// The word that is stored.
    pub fn word(self) -> &'static str {
        match self {
            Self::Redrive => "redrive",
            Self::Seal => "seal",
        }
    }

    /// Parses a stored word.
    pub fn of_word(word: &str) -> Option<Self> {
        [Self::Redrive, Self::Seal].into_iter().find(|evidence| evidence.word() == word)
    }
}

/// Seals letters and recognizes them. The writer, the projectors and the alerter have the secret.
#[derive(Debug, Clone)]
pub struct LetterSeal(Seal);

impl LetterSeal {
    /// A seal with the secrets that the functions share.
    pub fn new(secrets: &Secrets) -> Self {
        Self(Seal::new(PURPOSE, secrets))
    }

    /// The attributes of a letter, sealed with its body.
    pub fn sealed(
        &self,
        body: &str,
        mut attributes: Vec<(&'static str, String)>,
    ) -> Vec<(&'static str, String)> {
        let value = |name: &'static str| {
            attributes.iter().find(|(n, _)| *n == name).map(|(_, v)| v.as_str())
        };
        let seal = self.with_pieces(body, value, |pieces| hex(&self.0.sign(pieces)));
        attributes.push((SEAL, seal));
        attributes
    }

    /// True if the attributes have a valid seal of the body and of themselves.
    pub fn fits<'a>(
        &self,
        body: &'a str,
        attribute: impl Fn(&'static str) -> Option<&'a str>,
    ) -> bool {
        let Some(seal) = attribute(SEAL).and_then(bytes) else { return false };
        self.with_pieces(body, &attribute, |pieces| self.0.fits(pieces, &seal))
    }

    /// Each piece follows its length, so that pieces are unambiguous.
    fn with_pieces<'a, T>(
        &self,
        body: &'a str,
        attribute: impl Fn(&'static str) -> Option<&'a str>,
        then: impl FnOnce(&[&[u8]]) -> T,
    ) -> T {
        let rest = SEALED.map(|name| attribute(name).unwrap_or_default());
        let texts = std::iter::once(body).chain(rest);
        let texts = texts.map(|text| ((text.len() as u64).to_be_bytes(), text));
        let texts: Vec<_> = texts.collect();
        let pieces = texts.iter().flat_map(|(length, text)| [length.as_slice(), text.as_bytes()]);
        then(&pieces.collect::<Vec<_>>())
    }
}

/// The bytes of a seal in hexadecimal.
fn bytes(text: &str) -> Option<[u8; SEAL_LENGTH]> {
    if text.len() != 2 * SEAL_LENGTH || !text.bytes().all(|b| b.is_ascii_hexdigit()) {
        return None;
    }
    let mut seal = [0; SEAL_LENGTH];
    for (byte, digits) in seal.iter_mut().zip(text.as_bytes().chunks(2)) {
        *byte = u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()?;
    }
    Some(seal)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seal(byte: u8) -> LetterSeal {
        LetterSeal::new(&Secrets::new(&[byte; 32]).expect("long enough"))
    }

    fn fits(seal: &LetterSeal, body: &str, attributes: &[(&'static str, String)]) -> bool {
        let value = |name: &'static str| {
            attributes.iter().find(|(n, _)| *n == name).map(|(_, value)| value.as_str())
        };
        seal.fits(body, value)
    }

    #[test]
    fn a_seal_is_of_one_body_and_of_all_that_is_said_of_it() {
        let attributes = SEALED.map(|name| (name, format!("{name}é"))).to_vec();
        let sealed = seal(1).sealed("body", attributes.clone());
        assert!(fits(&seal(1), "body", &sealed));
        assert!(!fits(&seal(2), "body", &sealed), "another secret");
        assert!(!fits(&seal(1), "bodyx", &sealed), "another body");
        assert!(!fits(&seal(1), "body", &attributes), "no seal");
        for changed in 0..SEALED.len() {
            let mut other = sealed.clone();
            other[changed].1.push('x');
            assert!(!fits(&seal(1), "body", &other), "{} is another", SEALED[changed]);
            other.remove(changed);
            assert!(!fits(&seal(1), "body", &other), "{} is missing", SEALED[changed]);
        }
    }

    #[test]
    fn nothing_moves_from_one_piece_to_the_next() {
        let sealed = seal(1).sealed("ab", vec![(REASON, "c".to_owned())]);
        let moved = [(REASON, "bc".to_owned()), sealed[1].clone()];
        assert!(!fits(&seal(1), "a", &moved));
    }

    #[test]
    fn what_is_no_seal_fits_nothing() {
        for text in ["", "x", "+1".repeat(16).as_str(), "é".repeat(16).as_str(), &"0".repeat(32)] {
            assert!(!fits(&seal(1), "body", &[(SEAL, text.to_owned())]), "{text}");
        }
    }

    #[test]
    fn words_stand_for_what_they_were_written_of() {
        for evidence in [Evidence::Redrive, Evidence::Seal] {
            assert_eq!(Evidence::of_word(evidence.word()), Some(evidence));
        }
        assert_eq!(Evidence::of_word("true"), None);
    }
}
