//! Sort keys, and the instants and ids that they are made of.

use arbitrary::{Result, Unstructured};
use shared::platform::values::{ActivityId, MAX_ID_LENGTH, SortKey, TIMESTAMP_LENGTH, Timestamp};

use super::position;

/// Taken as lines, each is refused or survives being printed, and the order of those accepted is the
/// order of their bytes. Taken as the recipe of two keys, these are accepted and have that order too.
pub fn sort_key(data: &[u8]) {
    if let Ok(text) = std::str::from_utf8(data) {
        let keys: Vec<_> = text.split('\n').filter_map(accepted).collect();
        keys.windows(2).for_each(|pair| check_order(&pair[0], &pair[1]));
        text.split('\n').for_each(check_instant);
        text.split('\n').for_each(check_id);
    }
    let _ = recipe(&mut Unstructured::new(data));
}

fn accepted(text: &str) -> Option<SortKey> {
    let key = text.parse::<SortKey>().ok()?;
    assert_eq!(key.to_string(), text);
    Some(key)
}

fn recipe(bytes: &mut Unstructured<'_>) -> Result<()> {
    let (one, other) = (position(bytes)?, position(bytes)?);
    for key in [&one, &other] {
        assert_eq!(key.to_string().parse::<SortKey>().as_ref(), Ok(key));
    }
    check_order(&one, &other);
    check_order(&one, &SortKey { published_at: one.published_at, ..other });
    Ok(())
}

/// By time, then by id, byte by byte; and so are the texts in the table.
fn check_order(one: &SortKey, other: &SortKey) {
    let by = |key: &SortKey| {
        (key.published_at.unix_millis(), key.activity_id.as_str().as_bytes().to_vec())
    };
    assert_eq!(one.cmp(other), by(one).cmp(&by(other)));
    assert_eq!(one.to_string().as_bytes().cmp(other.to_string().as_bytes()), one.cmp(other));
}

fn check_instant(text: &str) {
    for instant in [Timestamp::parse(text), Timestamp::parse_date(text)].into_iter().flatten() {
        let printed = instant.to_string();
        assert_eq!(printed.len(), TIMESTAMP_LENGTH);
        assert_eq!(Timestamp::parse(&printed), Ok(instant), "{text:?}");
        assert_eq!(Timestamp::from_unix_millis(instant.unix_millis()), instant);
    }
}

fn check_id(text: &str) {
    if let Ok(id) = ActivityId::new(text) {
        assert_eq!(id.as_str(), text);
        assert!((1..=MAX_ID_LENGTH).contains(&text.len()) && !text.contains('#'));
    }
}
