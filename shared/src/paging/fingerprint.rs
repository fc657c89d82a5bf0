//! What something that was shown is remembered by, and for how long.
//!
//! # How long a fingerprint is
//!
//! Seven bytes: how long before the newest it stands, by which those that the window has left are dropped, and the start
//! of a SHA-256 over a salt and the sort key. The salt comes from the reader's secret and the list, so nobody who publishes
//! can find an id that hides another.
//!
//! | looks back | how long before, in | digest | taken for another, by chance |
//! |---|---|---|---|
//! | an hour | minutes | 48 bits | 2⁻⁴⁸ for each one shown in the same minute: with 50 a minute one in five million million |
//! | a minute | milliseconds | 40 bits | 2⁻⁴⁰ for each one shown in the same millisecond: with three one in four hundred thousand million |
//!
//! The salt travels in the cursor. A secret that is changed changes it for new cursors only.

use ring::digest::{Context, SHA256};

use crate::values::{SortKey, Timestamp};

const MINUTE: i64 = 60_000;
/// How long a fingerprint is, in bytes.
pub(super) const FINGERPRINT: usize = 7;
/// How much of the salt and, at most, of a digest is used, in bytes.
pub(super) const SALT: usize = 8;
const DIGEST: usize = FINGERPRINT - 1;

/// What the fingerprints of one list are keyed with.
pub type Salt = [u8; SALT];

/// How far behind the newest that was shown others may appear and still be shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lookback {
    /// As of timelines, where a follow brings in what is older and producers publish when they come to it.
    Hour,
    /// As of rooms. No delivery of a message lives longer than this, so what comes later was delivered again.
    Minute,
}

impl Lookback {
    /// In milliseconds.
    fn length(self) -> i64 {
        match self {
            Self::Hour => 60 * MINUTE,
            Self::Minute => MINUTE,
        }
    }

    /// What fingerprints count in, in milliseconds.
    fn unit(self) -> i64 {
        match self {
            Self::Hour => MINUTE,
            Self::Minute => 1,
        }
    }

    /// The start of the window that ends with an instant.
    pub(super) fn from(self, newest: Timestamp) -> Timestamp {
        newest.plus_millis(-self.length())
    }

    /// The first instant that is counted after all that have the count of a fingerprint.
    pub(super) fn after(self, last: Fingerprint) -> Timestamp {
        Timestamp::from_unix_millis((last.count + 1) * self.unit())
    }

    /// How an instant counts.
    pub(super) fn count(self, at: Timestamp) -> i64 {
        at.unix_millis().div_euclid(self.unit())
    }
}

/// What a row is remembered by. Those of earlier rows come first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Fingerprint {
    /// Units since 1970 at which it stands.
    pub(super) count: i64,
    digest: [u8; DIGEST],
}

impl Fingerprint {
    pub(super) fn of(lookback: Lookback, salt: Salt, key: &SortKey) -> Self {
        let mut digest = Context::new(&SHA256);
        digest.update(&salt);
        digest.update(key.to_string().as_bytes());
        let mut digest = first(digest.finish().as_ref());
        if lookback == Lookback::Minute {
            digest[DIGEST - 1] = 0;
        }
        Self { count: lookback.count(key.published_at), digest }
    }

    /// Its bytes beside an instant that is no earlier, and at most 255 units later, or 65,535.
    pub(super) fn bytes(self, lookback: Lookback, newest: Timestamp) -> [u8; FINGERPRINT] {
        let ago = u16::try_from(lookback.count(newest) - self.count).unwrap_or(u16::MAX);
        let mut bytes = [0; FINGERPRINT];
        match lookback {
            Lookback::Hour => {
                bytes[0] = u8::try_from(ago).unwrap_or(u8::MAX);
                bytes[1..].copy_from_slice(&self.digest);
            }
            Lookback::Minute => {
                bytes[..2].copy_from_slice(&ago.to_be_bytes());
                bytes[2..].copy_from_slice(&self.digest[..DIGEST - 1]);
            }
        }
        bytes
    }

    pub(super) fn read(bytes: &[u8; FINGERPRINT], lookback: Lookback, newest: Timestamp) -> Self {
        let (ago, digest) = match (lookback, *bytes) {
            (Lookback::Hour, [ago, digest @ ..]) => (u16::from(ago), digest),
            (Lookback::Minute, [high, low, digest @ ..]) => {
                let [a, b, c, d, e] = digest;
                (u16::from_be_bytes([high, low]), [a, b, c, d, e, 0])
            }
        };
        Self { count: lookback.count(newest) - i64::from(ago), digest }
    }
}

pub(super) fn first<const N: usize>(bytes: &[u8]) -> [u8; N] {
    std::array::from_fn(|index| bytes[index])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::crypto::hash::hex;
    use crate::values::ActivityId;
    use proptest::prelude::*;

    fn key(at: i64, id: u32) -> SortKey {
        let activity_id = ActivityId::new(id.to_string()).expect("an id");
        SortKey { published_at: Timestamp::from_unix_millis(at), activity_id }
    }

    /// Cursors and sets that are out were made like this.
    #[test]
    fn fingerprints_never_change() {
        for (lookback, newest, expected) in [
            (Lookback::Hour, 120_000, "02bdff4fbf5642"),
            (Lookback::Minute, 60_000, "0001bdff4fbf56"),
        ] {
            let newest = Timestamp::from_unix_millis(newest);
            let fingerprint = Fingerprint::of(lookback, [7; SALT], &key(59_999, 17));
            assert_eq!(hex(&fingerprint.bytes(lookback, newest)), expected);
        }
    }

    proptest! {
        #[test]
        fn is_read_as_it_was_written(at in 0_i64..4_000_000_000, ago in 0_i64..60_000, id: u32) {
            for (lookback, ago) in [(Lookback::Hour, ago * 60), (Lookback::Minute, ago)] {
                let newest = Timestamp::from_unix_millis(at + ago);
                let fingerprint = Fingerprint::of(lookback, [7; SALT], &key(at, id));
                let bytes = fingerprint.bytes(lookback, newest);
                prop_assert_eq!(Fingerprint::read(&bytes, lookback, newest), fingerprint);
            }
        }
    }
}
