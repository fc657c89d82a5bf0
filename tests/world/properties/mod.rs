//! What holds for every input, whoever made it: nothing panics, and whatever is accepted is the same
//! again once it was written and read.
//!
//! Each property takes any bytes and panics where it does not hold. They are tried twice: by the fuzz
//! targets of `tests/fuzz/`, for as long as one likes, and by the test `properties`, which gives them
//! the corpus that fuzzing has left and some thousands of changes of it.

mod api_event;
mod command;
mod csv;
mod cursor;
mod messages;
mod sort_key;

use arbitrary::{Arbitrary, Result, Unstructured};
use shared::platform::paging::CursorSeal;
use shared::platform::values::{ActivityId, SortKey, Timestamp};

pub use api_event::api_event;
pub use command::command;
pub use csv::{follows_csv, posts_csv};
pub use cursor::cursor;
pub use messages::messages;
pub use sort_key::sort_key;

/// Holds for any bytes, or panics.
pub type Property = fn(&[u8]);

/// Every property, by the name of its fuzz target and of its folder in the corpus.
pub const ALL: [(&str, Property); 7] = [
    ("api_event", api_event),
    ("command", command),
    ("cursor", cursor),
    ("follows_csv", follows_csv),
    ("messages", messages),
    ("posts_csv", posts_csv),
    ("sort_key", sort_key),
];

/// The seal of the cursors in the corpus.
fn seal() -> CursorSeal {
    CursorSeal::new(&crate::secrets(7))
}

/// Any id that the alphabet can spell.
fn id(bytes: &mut Unstructured<'_>) -> Result<String> {
    const ALPHABET: &[u8] =
        b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._:@-|+";
    let length = bytes.int_in_range(1..=128)?;
    let characters = (0..length).map(|_| bytes.choose(ALPHABET).map(|&c| char::from(c)));
    characters.collect()
}

/// Any instant, near now more often than not.
fn instant(bytes: &mut Unstructured<'_>) -> Result<Timestamp> {
    let near = bytes.ratio(3, 4)?;
    let millis = if near {
        bytes.int_in_range(1_795_176_000_000..=1_795_176_001_000)?
    } else {
        i64::arbitrary(bytes)?
    };
    Ok(Timestamp::from_unix_millis(millis))
}

/// Any position in a timeline.
fn position(bytes: &mut Unstructured<'_>) -> Result<SortKey> {
    let published_at = instant(bytes)?;
    Ok(SortKey { published_at, activity_id: ActivityId::new(id(bytes)?).unwrap() })
}
