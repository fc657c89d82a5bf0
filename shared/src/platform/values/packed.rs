//! Small values in few bytes: views that every change writes again are kept below one kilobyte, which is what a
//! write unit pays for.

use super::Timestamp;

/// Writes values one after the other.
#[derive(Debug, Default)]
pub struct Packer(Vec<u8>);

impl Packer {
    /// A whole number: seven bits a byte, the lowest first.
    pub fn number(&mut self, mut number: u64) {
        while number >= 0x80 {
            self.0.push(number.to_le_bytes()[0] | 0x80);
            number >>= 7;
        }
        self.0.push(number.to_le_bytes()[0]);
    }

    /// An instant: eight bytes.
    pub fn instant(&mut self, instant: Timestamp) {
        self.0.extend_from_slice(&instant.unix_millis().to_be_bytes());
    }

    /// A text, after its length.
    pub fn text(&mut self, text: &str) {
        self.number(text.len() as u64);
        self.0.extend_from_slice(text.as_bytes());
    }

    #[must_use]
    pub fn into_bytes(self) -> Vec<u8> {
        self.0
    }
}

/// Reads what a [`Packer`] has written. Nothing comes out where something else stands.
#[derive(Debug)]
pub struct Unpacker<'a>(&'a [u8]);

impl<'a> Unpacker<'a> {
    /// Begins with the first value.
    pub fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    /// True after the last value.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// A whole number.
    pub fn number(&mut self) -> Option<u64> {
        let mut number = 0_u64;
        for shift in (0..64).step_by(7) {
            let [byte] = self.take()?;
            let bits = u64::from(byte & 0x7f);
            if bits.leading_zeros() < shift {
                return None;
            }
            number |= bits << shift;
            if byte & 0x80 == 0 {
                return Some(number);
            }
        }
        None
    }

    pub fn instant(&mut self) -> Option<Timestamp> {
        self.take().map(i64::from_be_bytes).map(Timestamp::from_unix_millis)
    }

    pub fn text(&mut self) -> Option<&'a str> {
        let length = usize::try_from(self.number()?).ok()?;
        let (text, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        std::str::from_utf8(text).ok()
    }

    fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (bytes, rest) = self.0.split_first_chunk::<N>()?;
        self.0 = rest;
        Some(*bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn values_survive(number: u64, millis: i64, text in ".{0,300}") {
            let mut packer = Packer::default();
            packer.number(number);
            packer.instant(Timestamp::from_unix_millis(millis));
            packer.text(&text);
            let bytes = packer.into_bytes();
            let mut unpacker = Unpacker::new(&bytes);
            prop_assert_eq!(unpacker.number(), Some(number));
            prop_assert_eq!(unpacker.instant(), Some(Timestamp::from_unix_millis(millis)));
            prop_assert_eq!(unpacker.text(), Some(text.as_str()));
            prop_assert!(unpacker.is_empty());
        }

        #[test]
        fn other_bytes_do_no_harm(bytes in prop::collection::vec(any::<u8>(), 0..40)) {
            let mut unpacker = Unpacker::new(&bytes);
            while unpacker.text().is_some() || unpacker.number().is_some() {}
        }
    }

    #[test]
    fn a_number_that_is_cut_or_too_long_is_none() {
        assert_eq!(Unpacker::new(&[0x80]).number(), None);
        assert_eq!(Unpacker::new(&[0xff; 11]).number(), None);
        assert_eq!(Unpacker::new(&[5, b'a']).text(), None);
    }
}
