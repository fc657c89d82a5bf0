//! SHA-256 and hexadecimal digits. ring has assembly for processors with and without instructions of
//! their own for it.

use ring::digest::{SHA256, digest};

/// The SHA-256 of some bytes, in 64 hexadecimal digits.
pub fn sha256(bytes: &[u8]) -> String {
    hex(digest(&SHA256, bytes).as_ref())
}

/// The first 48 bits of a text's SHA-256: where few bytes stand for it, and two texts with the same ones do no harm.
pub fn fingerprint(text: &str) -> u64 {
    let digest = digest(&SHA256, text.as_bytes());
    digest.as_ref().iter().take(6).fold(0, |bits, byte| bits << 8 | u64::from(*byte))
}

/// Bytes in lower-case hexadecimal digits.
pub fn hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let mut text = String::with_capacity(2 * bytes.len());
    for byte in bytes {
        text.push(char::from(DIGITS[usize::from(byte >> 4)]));
        text.push(char::from(DIGITS[usize::from(byte & 15)]));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The examples of FIPS 180-2. Dead letters are stored with their digest.
    #[test]
    fn is_sha_256() {
        assert_eq!(
            sha256(b"abc"),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
        );
        assert_eq!(sha256(b""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
        assert_eq!(hex(&[0, 15, 16, 255]), "000f10ff");
    }
}
