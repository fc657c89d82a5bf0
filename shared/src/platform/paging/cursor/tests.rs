use super::super::seen::Stored;
use super::encoding::{HAS_FROM, HAS_KEY, HAS_SET, IS_NEWER};
use super::*;
use crate::platform::values::ViewerId;
use proptest::prelude::*;

fn seal() -> CursorSeal {
    CursorSeal::new(&Secrets::new(b"a secret of thirty-two bytes ....").expect("long enough"))
}

fn viewer(id: &str) -> ViewerId {
    ViewerId::new(id).expect("an id")
}

fn list(id: &str) -> List {
    List::timeline(&viewer(id))
}

fn instants() -> impl Strategy<Value = Timestamp> {
    (0_i64..4_000_000_000_000).prop_map(Timestamp::from_unix_millis)
}

fn keys() -> impl Strategy<Value = SortKey> {
    (instants(), "[A-Za-z0-9._:@|+-]{0,127}[A-Za-z0-9_:@|+-]").prop_map(|(published_at, id)| {
        SortKey { published_at, activity_id: ActivityId::new(id).expect("an id") }
    })
}

/// What was seen: up to 60 activities, of which a cursor has room for `inline`.
fn seen(inline: usize) -> impl Strategy<Value = Seen> {
    let ids = proptest::collection::vec((0_i64..4_000_000, 0_u32..9999), 0..60);
    let most = prop_oneof![Just(MOST), 1_usize..60];
    let held = proptest::option::of(prop_oneof![0_i64..30_000_000, 0..3_000_000_000_i64]);
    (instants(), any::<Salt>(), ids, any::<bool>(), most, held).prop_map(
        move |(newest, salt, ids, again, most, held)| {
            let keys: Vec<_> = ids
                .into_iter()
                .map(|(ago, id)| SortKey {
                    published_at: newest.plus_millis(-ago),
                    activity_id: ActivityId::new(id.to_string()).expect("an id"),
                })
                .collect();
            let held = held.map(|ago| newest.plus_millis(-ago));
            let nothing = Seen::until(newest, salt);
            let capacity = SeenCapacity { inline, most };
            let (seen, new) = nothing.and(&nothing.with_stored(None), keys.iter(), held, capacity);
            let stored = new.as_ref().map(|new| Stored { bytes: &new.bytes, is_old: false });
            let shown = if again { &keys[..keys.len().min(INLINE)] } else { &[] };
            let later = [SortKey { published_at: newest.plus_millis(10_000_000), ..key() }];
            let later = later.iter().filter(|_| held.is_some());
            seen.and(&seen.with_stored(stored), shown.iter().chain(later), held, capacity).0
        },
    )
}

fn key() -> SortKey {
    let activity_id = ActivityId::new("a").expect("an id");
    SortKey { published_at: Timestamp::from_unix_millis(1), activity_id }
}

fn floors() -> impl Strategy<Value = Floor> {
    prop_oneof![keys().prop_map(Floor::After), instants().prop_map(Floor::From)]
}

fn positions(filter: Vec<u8>) -> impl Strategy<Value = Position> {
    use proptest::option::of;
    prop_oneof![
        (any::<bool>(), of(keys())).prop_map(|(oldest, after)| Position::Page {
            order: if oldest { Order::Oldest } else { Order::Newest },
            after,
        }),
        of(floors()).prop_map(|floor| Position::Newer { floor, after: None }),
        (of(floors()), keys())
            .prop_map(move |(floor, row)| Position::walking(floor, &row, &filter)),
    ]
}

fn cursors() -> impl Strategy<Value = Cursor> {
    use proptest::option::of;
    let filter = proptest::collection::vec(any::<u8>(), 0..=MAX_FILTER_BYTES);
    let filter = prop_oneof![Just(Vec::new()), filter];
    let placed = filter.prop_flat_map(|filter| (positions(filter.clone()), Just(filter)));
    let ranges = (of(instants()), of(instants())).prop_map(|(from, to)| Range { from, to });
    let all = placed.prop_flat_map(|(position, filter)| {
        let inline = seal().capacity(&filter, &position).inline;
        (Just((position, filter)), of(seen(inline)))
    });
    (ranges, all, any::<bool>()).prop_map(|(range, ((position, filter), seen), likes)| Cursor {
        range,
        position,
        seen,
        likes,
        filter,
    })
}

proptest! {
    /// What a poll continues from is no later than the row, and names it as far as there is room.
    #[test]
    fn a_walk_goes_on_no_later_than_beyond_its_row(floor in proptest::option::of(floors()), row in keys()) {
        for filter in [&[][..], &[0; 38], &[0; MAX_FILTER_BYTES]] {
            let Position::Newer { floor: kept, after: Some(after) } =
                Position::walking(floor.clone(), &row, filter)
            else {
                panic!("a poll that goes on");
            };
            let (id, kept_id) = (row.activity_id.as_str(), after.activity_id.as_str());
            prop_assert!(after <= row && id.starts_with(kept_id) && kept == floor);
            let whole = filter.len() < MAX_FILTER_BYTES || id.len() <= 6 || floor.is_none();
            prop_assert!(kept_id.len() >= id.len().min(6) && (!whole || after == row), "{}", after);
        }
    }

    #[test]
    fn opens_what_it_sealed(cursor in cursors()) {
        let text = seal().seal(&list("bob"), &cursor);
        prop_assert!(text.len() <= MAX_CURSOR_LENGTH);
        prop_assert_eq!(seal().open(&list("bob"), &text), Ok(cursor));
    }

    #[test]
    fn a_position_is_of_one_list_and_one_viewer(position in proptest::collection::vec(any::<u8>(), 0..150)) {
        let text = seal().seal_in("likes", &viewer("bob"), &position);
        prop_assert!(text.len() <= MAX_CURSOR_LENGTH);
        prop_assert_eq!(seal().open_in("likes", &viewer("bob"), &text), Ok(position));
        prop_assert!(seal().open_in("like", &viewer("bob"), &text).is_err());
        prop_assert!(seal().open_in("likes", &viewer("eve"), &text).is_err());
        prop_assert!(seal().open(&list("bob"), &text).is_err());
    }

    #[test]
    fn refuses_other_viewers_cuts_and_flips(
        cursor in cursors(), cut in 1_usize..400, at in any::<proptest::sample::Index>(), bit in 0_u8..8,
    ) {
        let text = seal().seal(&list("bob"), &cursor);
        prop_assert!(seal().open(&list("bo"), &text).is_err());
        prop_assert!(seal().open(&list("Bob"), &text).is_err());
        prop_assert!(seal().open(&list("bob"), &text[..text.len().saturating_sub(cut)]).is_err());
        let mut bytes = URL_SAFE_NO_PAD.decode(&text).expect("base64");
        let index = at.index(bytes.len());
        bytes[index] ^= 1 << bit;
        prop_assert!(seal().open(&list("bob"), &URL_SAFE_NO_PAD.encode(bytes)).is_err());
    }

    #[test]
    fn two_secrets_open_and_the_first_seals(
        cursor in cursors(),
        [old, new, strange] in [any::<[u8; 32]>(), any::<[u8; 32]>(), any::<[u8; 32]>()],
    ) {
        prop_assume!(old != new && old != strange && new != strange);
        let bob = list("bob");
        let secrets = |secret: &[u8]| Secrets::new(secret).expect("long enough");
        let only = |secret: &[u8]| CursorSeal::new(&secrets(secret));
        let both = |first: &[u8], other: &[u8]| {
            CursorSeal::new(&secrets(first).also_opening(other).expect("long enough"))
        };
        // Side by side while a secret is changed: whatever one of them seals, both open.
        let (before, after) = (both(&old, &new), both(&new, &old));
        for (seal, secret) in [(&before, &old), (&after, &new)] {
            let text = seal.seal(&bob, &cursor);
            prop_assert_eq!(&text, &only(secret).seal(&bob, &cursor));
            for reader in [&before, &after] {
                prop_assert_eq!(reader.open(&bob, &text), Ok(cursor.clone()));
                prop_assert!(reader.open(&list("anna"), &text).is_err());
            }
            prop_assert!(both(&strange, &strange).open(&bob, &text).is_err());
        }
        // And once the old one is gone.
        let text = before.seal(&bob, &cursor);
        prop_assert_eq!(both(&new, &strange).open(&bob, &text), Err(CursorError::Damaged));
    }

    #[test]
    fn never_panics(text in "[A-Za-z0-9_-]{0,600}") {
        prop_assert!(seal().open(&list("bob"), &text).is_err());
    }
}

/// What is made of bytes that somebody with the secret has sealed.
fn open(body: &[u8]) -> Result<Cursor, CursorError> {
    let bob = list("bob");
    let mac = seal().seal.sign(&sealed(bob.name(), body));
    seal().open(&bob, &URL_SAFE_NO_PAD.encode([body, &mac].concat()))
}

/// Nobody without the secret can make one; it would not be what was sealed.
#[test]
fn refuses_what_it_would_not_have_written() {
    assert_eq!(open(&[VERSION, 0]), Ok(Cursor::default()));
    let beyond_the_year_9999 = [&[VERSION, HAS_FROM][..], &i64::MAX.to_be_bytes()].concat();
    for body in
        [&[VERSION, 0, 0][..], &[VERSION, HAS_KEY], &[VERSION, HAS_SET], &beyond_the_year_9999]
    {
        assert_eq!(open(body), Err(CursorError::Damaged), "{body:?}");
    }
}

#[test]
fn refuses_other_versions() {
    let text = URL_SAFE_NO_PAD.encode([1; 40]);
    assert_eq!(seal().open(&list("bob"), &text), Err(CursorError::Version));
    assert_eq!(seal().open(&list("bob"), ""), Err(CursorError::Damaged));
}

/// Clients keep the cursors that they were given.
#[test]
fn reads_what_was_sealed_before() {
    let instant = [0, 0, 1, 0, 0, 0, 0, 0];
    let poll = [&[VERSION, IS_NEWER | HAS_KEY][..], &instant, &[1, b'a']].concat();
    let key = SortKey { published_at: Timestamp::from_unix_millis(1 << 40), ..key() };
    let position = Position::Newer { floor: Some(Floor::After(key)), after: None };
    assert_eq!(open(&poll), Ok(Cursor { position, ..Cursor::default() }));
}
