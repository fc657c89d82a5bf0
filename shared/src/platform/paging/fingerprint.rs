//! Fingerprints of what was shown.
//!
//! # Size
//!
//! Seven bytes: the minutes before the newest one, by which fingerprints outside the window are dropped, and the first 48 bits of a
//! SHA-256 over a salt and the sort key. More than 255 minutes count as 255: a window is that long only while a walk
//! [holds](super::seen) it, and then nothing is dropped. The salt is made from the reader's secret and the list, so no publisher can find an id that
//! hides another one. The probability of a collision is 2⁻⁴⁸ for each activity shown in the same minute: with 50 a minute one in five
//! million million.
//!
//! The salt is in the cursor, so a changed secret only affects new cursors.

use ring::digest::{Context, SHA256};

use crate::platform::values::{SortKey, Timestamp};

const MINUTE: i64 = 60_000;
/// The most minutes before the newest one that a fingerprint says.
const FARTHEST: i64 = u8::MAX as i64;
/// The size of a fingerprint, in bytes.
pub(super) const FINGERPRINT: usize = 7;
/// The size of the salt, and of the used part of a digest, in bytes.
pub(super) const SALT: usize = 8;
const DIGEST: usize = FINGERPRINT - 1;

/// The salt of the fingerprints of one list.
pub type Salt = [u8; SALT];

/// The fingerprint of a row. Fingerprints of earlier rows are less.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Fingerprint {
    /// Its minute since 1970.
    pub(super) minute: i64,
    digest: [u8; DIGEST],
}

impl Fingerprint {
    pub(super) fn of(salt: Salt, key: &SortKey) -> Self {
        let mut digest = Context::new(&SHA256);
        digest.update(&salt);
        digest.update(key.to_string().as_bytes());
        Self { minute: minute(key.published_at), digest: first(digest.finish().as_ref()) }
    }

    /// The first instant that is of a later minute.
    pub(super) fn next_minute(self) -> Timestamp {
        start_of(self.minute + 1)
    }

    /// The same as far as its bytes beside an instant say it.
    pub(super) fn beside(self, newest: Timestamp) -> Self {
        Self { minute: self.minute.max(minute(newest) - FARTHEST), ..self }
    }

    /// Its bytes beside an instant that is no earlier.
    pub(super) fn bytes(self, newest: Timestamp) -> [u8; FINGERPRINT] {
        let mut bytes = [0; FINGERPRINT];
        bytes[0] = u8::try_from(minute(newest) - self.minute).unwrap_or(u8::MAX);
        bytes[1..].copy_from_slice(&self.digest);
        bytes
    }

    pub(super) fn read([ago, digest @ ..]: &[u8; FINGERPRINT], newest: Timestamp) -> Self {
        Self { minute: minute(newest) - i64::from(*ago), digest: *digest }
    }
}

/// The minute of an instant, since 1970.
pub(super) fn minute(at: Timestamp) -> i64 {
    at.unix_millis().div_euclid(MINUTE)
}

/// The first instant of a minute since 1970.
pub(super) fn start_of(minute: i64) -> Timestamp {
    Timestamp::from_unix_millis(minute * MINUTE)
}

/// The instant some minutes before another.
pub(super) fn minutes_before(at: Timestamp, minutes: i64) -> Timestamp {
    at.plus_millis(-minutes * MINUTE)
}

pub(super) fn first<const N: usize>(bytes: &[u8]) -> [u8; N] {
    std::array::from_fn(|index| bytes[index])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::platform::crypto::hash::hex;
    use crate::platform::values::ActivityId;
    use proptest::prelude::*;

    fn key(at: i64, id: u32) -> SortKey {
        let activity_id = ActivityId::new(id.to_string()).expect("an id");
        SortKey { published_at: Timestamp::from_unix_millis(at), activity_id }
    }

    /// Cursors and sets that are out were made like this.
    #[test]
    fn fingerprints_never_change() {
        let fingerprint = Fingerprint::of([7; SALT], &key(59_999, 17));
        let newest = Timestamp::from_unix_millis(120_000);
        assert_eq!(hex(&fingerprint.bytes(newest)), "02bdff4fbf5642");
    }

    proptest! {
        #[test]
        fn is_read_as_it_was_written(at in 0_i64..4_000_000_000, ago in 0_i64..600 * MINUTE, id: u32) {
            let newest = Timestamp::from_unix_millis(at + ago);
            let fingerprint = Fingerprint::of([7; SALT], &key(at, id));
            let read = Fingerprint::read(&fingerprint.bytes(newest), newest);
            prop_assert_eq!(read, fingerprint.beside(newest));
            prop_assert_eq!(read == fingerprint, minute(newest) - fingerprint.minute <= FARTHEST);
        }
    }
}
