//! Whatever is pushed, joined and cut: numbers are right, and so are names as long as nothing was joined.

use proptest::prelude::*;

use super::*;

fn liker(n: u64, at: i64) -> Liker {
    let viewer_id = ViewerId::new(format!("viewer-{n}")).expect("an id");
    Liker { at: Timestamp::from_unix_millis(at), viewer_id }
}

fn unread(likers: &[Liker]) -> Unread {
    let mut unread = Unread::default();
    likers.iter().cloned().for_each(|liker| unread.push(liker));
    unread
}

/// What a group of these has to say.
fn group(likers: &[Liker]) -> Option<(u64, Timestamp, Timestamp, Vec<ViewerId>)> {
    let mut sorted = likers.to_vec();
    sorted.sort_by(|one, other| other.cmp(one));
    let names = sorted.iter().take(NAMED).map(|liker| liker.viewer_id.clone()).collect();
    Some((sorted.len() as u64, sorted.last()?.at, sorted.first()?.at, names))
}

fn said(group: Option<LikeGroup>) -> Option<(u64, Timestamp, Timestamp, Vec<ViewerId>)> {
    let group = group?;
    Some((group.count, group.first_at, group.last_at, group.viewers().cloned().collect()))
}

fn likers(most: usize) -> impl Strategy<Value = Vec<Liker>> {
    prop::collection::vec(0..1_000_i64, 0..most)
        .prop_map(|ats| ats.into_iter().enumerate().map(|(n, at)| liker(n as u64, at)).collect())
}

proptest! {
    #[test]
    fn a_few_are_known_one_by_one(likers in likers(18), cut in 0_u64..20) {
        let mut unread = unread(&likers);
        unread.compact();
        let mut unread = Unread::from_bytes(&unread.to_bytes()).expect("what was stored");
        let at = usize::try_from(cut).expect("small").min(likers.len());
        prop_assert_eq!(said(unread.cut(cut)), group(&likers[..at]));
        prop_assert_eq!(said(unread.all()), group(&likers[at..]));
    }

    #[test]
    fn numbers_and_the_whole_are_right_of_any_number(likers in likers(600), cut in 0_u64..600) {
        let mut some = Unread::default();
        for chunk in likers.chunks(7) {
            chunk.iter().cloned().for_each(|liker| some.push(liker));
            some.compact();
            some = Unread::from_bytes(&some.to_bytes()).expect("what was stored");
            prop_assert!(some.to_bytes().len() <= APART);
        }
        prop_assert_eq!(said(some.all()), group(&likers));
        let read = some.cut(cut).map_or(0, |group| group.count);
        prop_assert_eq!(read, cut.min(likers.len() as u64));
        prop_assert_eq!(some.count(), likers.len() as u64 - read);
    }

    #[test]
    fn who_is_taken_out_was_never_there(likers in likers(18), n in 0_u64..18) {
        let mut some = unread(&likers);
        let name = format!("viewer-{n}");
        let left: Vec<_> =
            likers.iter().filter(|liker| liker.viewer_id.as_str() != name).cloned().collect();
        prop_assert_eq!(some.remove(&name), left.len() < likers.len());
        prop_assert_eq!(said(some.all()), group(&left));
    }

    /// Erased one after the other, with or without a name: what is left is what there would be
    /// without them.
    #[test]
    fn whoever_is_erased_was_never_there(
        n in 1_u64..200,
        erased in prop::collection::btree_set(0_u64..200, 0..60),
        cut in 0_u64..200,
    ) {
        let likers: Vec<_> = (0..n).map(|n| liker(n, i64::try_from(n).expect("small"))).collect();
        let mut some = unread(&likers);
        some.compact();
        let read = some.cut(cut);
        let (mut read, through) = (Unread(read.into_iter().collect()), cut.min(n));
        for n in erased.iter().filter(|it| **it < n) {
            let Liker { at, viewer_id } = liker(*n, i64::try_from(*n).expect("small"));
            let is_erased = some.erase(viewer_id.as_str())
                || read.erase(viewer_id.as_str())
                || some.erase_unnamed(at)
                || read.erase_unnamed(at);
            prop_assert!(is_erased);
            some = Unread::from_bytes(&some.to_bytes()).expect("what was stored");
        }
        let left = likers.iter().enumerate().filter(|(n, _)| !erased.contains(&(*n as u64)));
        prop_assert_eq!(some.count() + read.count(), left.clone().count() as u64);
        prop_assert_eq!((read.places(), some.places()), (through, n - through));
        if n <= 18 {
            let [first, rest] = [true, false].map(|is_read| {
                let part = left.clone().filter(|(n, _)| ((*n as u64) < through) == is_read);
                part.map(|(_, liker)| liker.clone()).collect::<Vec<_>>()
            });
            let of = |unread: &Unread| said(unread.all()).filter(|(count, ..)| *count > 0);
            prop_assert_eq!(of(&some), group(&rest));
            prop_assert_eq!(of(&read).map(|it| it.0), group(&first).map(|it| it.0));
        }
    }

    #[test]
    fn an_earlier_like_moves_its_viewer(likers in likers(18), n in 0_usize..18, at in 0_i64..1_000) {
        prop_assume!(n < likers.len());
        let mut moved = likers.clone();
        moved[n].at = Timestamp::from_unix_millis(at);
        let mut some = unread(&likers);
        prop_assert!(some.move_back(&likers[n].viewer_id, moved[n].at));
        prop_assert_eq!(said(some.all()), group(&moved));
    }

    #[test]
    fn other_bytes_do_no_harm(bytes in prop::collection::vec(any::<u8>(), 0..60)) {
        if let Some(unread) = Unread::from_bytes(&bytes) {
            let _ = unread.all();
        }
    }
}

#[test]
fn viewers_go_and_places_stay() {
    let mut some = unread(&[liker(1, 10), liker(2, 20), liker(3, 30)]);
    assert!(some.erase("viewer-3") && !some.erase("viewer-3"));
    assert_eq!((some.count(), some.places(), some.erased()), (2, 3, 1));
    assert_eq!(said(some.all()), group(&[liker(1, 10), liker(2, 20)]));
    assert_eq!(Unread::from_bytes(&some.to_bytes()), Some(some));
}

#[test]
fn somebody_without_a_name_is_taken_out_where_there_is_one() {
    let likers: Vec<_> = (0..100).map(|n| liker(n, 0)).collect();
    let mut some = unread(&likers[..3]);
    assert!(!some.remove_unnamed());
    some = unread(&likers);
    some.compact();
    assert!(some.remove_unnamed());
    assert_eq!(some.count(), 99);
}
