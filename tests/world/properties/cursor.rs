//! Cursors.

use arbitrary::{Arbitrary, Result, Unstructured};
use shared::platform::paging::{
    Cursor, Floor, INLINE, List, MAX_CURSOR_LENGTH, Position, Range, Seen, SeenCapacity,
};
use shared::platform::values::{Order, ViewerId};

use super::{id, instant, position, seal};

/// Taken as a text, it is refused or is the very cursor that was sealed. Taken as the recipe of a
/// cursor, that cursor is opened by its viewer alone, and by nobody once it was changed.
pub fn cursor(data: &[u8]) {
    if let Ok(text) = std::str::from_utf8(data) {
        let bob = List::timeline(&ViewerId::new("bob").unwrap());
        if let Ok(opened) = seal().open(&bob, text) {
            assert_eq!(seal().seal(&bob, &opened), text);
        }
    }
    // Too few bytes for a recipe prove nothing.
    let _ = sealed(&mut Unstructured::new(data));
}

fn sealed(bytes: &mut Unstructured<'_>) -> Result<()> {
    let (viewer, other) = (viewer(bytes)?, viewer(bytes)?);
    let cursor = recipe(bytes)?;
    let list = List::timeline(&viewer);
    let text = seal().seal(&list, &cursor);
    assert!(text.len() <= MAX_CURSOR_LENGTH, "{} characters", text.len());
    assert!(text.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_".contains(&b)), "{text}");
    assert_eq!(seal().open(&list, &text), Ok(cursor));
    let others = List::timeline(&other);
    assert!(other == viewer || seal().open(&others, &text).is_err(), "{other} opened {viewer}'s");
    let changed = changed(text.clone(), bytes)?;
    assert!(changed == text || seal().open(&list, &changed).is_err(), "{changed}");
    Ok(())
}

fn viewer(bytes: &mut Unstructured<'_>) -> Result<ViewerId> {
    Ok(ViewerId::new(id(bytes)?).unwrap())
}

fn recipe(bytes: &mut Unstructured<'_>) -> Result<Cursor> {
    let position = match bytes.int_in_range(0..=2)? {
        0 => Position::Page {
            order: if bool::arbitrary(bytes)? { Order::Oldest } else { Order::Newest },
            after: maybe(bytes, position)?,
        },
        1 => Position::Newer { floor: maybe(bytes, floor)?, after: None },
        _ => Position::walking(maybe(bytes, floor)?, &position(bytes)?, &[]),
    };
    let capacity = seal().capacity(&[], &position);
    Ok(Cursor {
        range: Range { from: maybe(bytes, instant)?, to: maybe(bytes, instant)? },
        position,
        seen: if bool::arbitrary(bytes)? { Some(seen(bytes, capacity)?) } else { None },
        likes: bool::arbitrary(bytes)?,
        filter: Vec::new(),
    })
}

fn floor(bytes: &mut Unstructured<'_>) -> Result<Floor> {
    Ok(match bool::arbitrary(bytes)? {
        true => Floor::After(position(bytes)?),
        false => Floor::From(instant(bytes)?),
    })
}

fn seen(bytes: &mut Unstructured<'_>, capacity: SeenCapacity) -> Result<Seen> {
    let nothing = Seen::until(instant(bytes)?, <[u8; 8]>::arbitrary(bytes)?);
    let mut shown = Vec::new();
    while bool::arbitrary(bytes)? && shown.len() < 2 * INLINE {
        shown.push(position(bytes)?);
    }
    let held = maybe(bytes, instant)?;
    Ok(nothing.and(&nothing.with_stored(None), shown.iter(), held, capacity).0)
}

fn maybe<'a, T>(
    bytes: &mut Unstructured<'a>,
    make: fn(&mut Unstructured<'a>) -> Result<T>,
) -> Result<Option<T>> {
    if bool::arbitrary(bytes)? { make(bytes).map(Some) } else { Ok(None) }
}

/// One character replaced, removed or inserted.
fn changed(mut text: String, bytes: &mut Unstructured<'_>) -> Result<String> {
    let at = bytes.choose_index(text.len())?;
    let character = char::from(*bytes.choose(b"ABCDwxyz0189-_=. \n")?);
    match bytes.int_in_range(0..=2)? {
        0 => text.replace_range(at..=at, &character.to_string()),
        1 => text.replace_range(at..=at, ""),
        _ => text.insert(at, character),
    }
    Ok(text)
}
