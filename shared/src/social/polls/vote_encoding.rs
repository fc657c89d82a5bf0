//! One vote in the row of a viewer: its instant in eight characters, followed by the choice.
//!
//! The characters are the milliseconds since 1970 in base 64, with digits in the order of their bytes. So elements are in the
//! order of time, and for one instant in the order in which votes count.

use super::Cast;
use crate::platform::values::Timestamp;

/// The digits, by value.
const DIGITS: &[u8; 64] = b"-0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz";
const BITS: u32 = 6;
/// Characters of an instant: 48 bits, enough for the end of the year 9999.
const INSTANT: usize = 8;

/// A vote, as stored.
pub(super) fn write(at: Timestamp, cast: &Cast) -> String {
    // No command is from before 2015.
    let millis = u64::try_from(at.unix_millis()).unwrap_or(0);
    let digit = |index| DIGITS[(millis >> (index * BITS)) as usize % DIGITS.len()];
    let digits = (0..INSTANT as u32).rev().map(|index| char::from(digit(index)));
    digits.chain(cast.as_str().chars()).collect()
}

/// What [`write`] has written.
pub(super) fn read(element: &str) -> Option<(Timestamp, Cast)> {
    let (digits, cast) = element.split_at_checked(INSTANT)?;
    let millis = digits.bytes().try_fold(0_i64, |millis, digit| {
        let value = DIGITS.binary_search(&digit).ok()?;
        Some((millis << BITS) | i64::try_from(value).ok()?)
    })?;
    let at = Timestamp::from_unix_millis(millis);
    (at.unix_millis() == millis).then_some(())?;
    Some((at, Cast::parse(cast)?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::platform::values::Choice;
    use proptest::prelude::*;

    fn vote() -> impl Strategy<Value = (Timestamp, Cast)> {
        let millis =
            prop_oneof![0..253_402_300_800_000_i64, 1_790_000_000_000..1_790_000_000_009_i64];
        let choice = proptest::option::of("[A-Za-z0-9._:@|+-]{0,63}[A-Za-z0-9_:@|+-]");
        (millis, choice).prop_map(|(millis, choice)| {
            let choice = choice.map(|text| Choice::new(text).expect("a choice"));
            (Timestamp::from_unix_millis(millis), Cast::new(choice))
        })
    }

    proptest! {
        #[test]
        fn a_vote_survives_being_stored((at, cast) in vote()) {
            prop_assert_eq!(read(&write(at, &cast)), Some((at, cast)));
        }

        #[test]
        fn elements_are_in_the_order_of_votes(one in vote(), other in vote()) {
            let element = |(at, cast): &(Timestamp, Cast)| write(*at, cast);
            prop_assert_eq!(element(&one).cmp(&element(&other)), one.cmp(&other));
        }

        #[test]
        fn other_texts_do_no_harm(text in ".{0,20}") {
            if let Some((at, cast)) = read(&text) {
                prop_assert_eq!(write(at, &cast), text);
            }
        }
    }

    #[test]
    fn what_is_no_vote_is_refused() {
        for text in
            ["", "~", "--------", "-------~", "zzzzzzzz~", "--------é", "--------a b", "-----~--~"]
        {
            assert_eq!(read(text), None, "{text}");
        }
        assert_eq!(read("--------~"), Some((Timestamp::FIRST, Cast::Withdrawn)));
    }
}
