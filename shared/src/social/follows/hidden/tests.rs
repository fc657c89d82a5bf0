use super::*;
use crate::platform::register::Register;
use crate::platform::values::ViewerId;

/// The longest id that there is.
fn actor(n: usize) -> ActorId {
    ActorId::new(format!("{n:0>128}")).unwrap()
}

fn at(millis: i64) -> Timestamp {
    Timestamp::from_unix_millis(1_795_000_000_000 + millis)
}

fn change(n: usize, following: bool, millis: i64) -> FollowChange {
    let state = Register { on: following, changed_at: at(millis) };
    FollowChange { follower_id: ViewerId::new("bob").unwrap(), followee_id: actor(n), state }
}

fn read(item: &Item) -> HiddenActors {
    HiddenActors::read(&Row { table: "ledger", item: item.clone() }).unwrap()
}

fn size(item: &Item) -> usize {
    item.iter().map(|(name, value)| name.len() + value.as_s().map_or(8, String::len)).sum()
}

/// No command completes and none comes again: the worst that a viewer can do.
#[test]
fn the_item_is_bounded_whatever_is_sent() {
    for stride in [1, 2, 3] {
        let mut item = Item::new();
        for n in 0..4_000 {
            let hidden = read(&item);
            let change = change(n % 1_500, n % stride != 1, i64::try_from(n).unwrap());
            if let Some((next, _)) = hidden.hiding(&change, None, at(0), Retention::default()) {
                item = next.into_item(item, format!("{n}"));
            }
            assert!(size(&item) <= MOST_BYTES + 200, "{} bytes", size(&item));
            let is_by_edge = read(&item).asks_edges(at(0));
            assert!(read(&item).hides(&change.followee_id) || is_by_edge);
        }
    }
}

#[test]
fn marks_go_with_retention_and_what_is_unknown_stays() {
    let month = 32 * 86_400_000;
    let mut item = Item::from([("later".to_owned(), text("unknown"))]);
    for (n, now) in [(1, 0), (2, month), (3, month + 1)] {
        let hidden = read(&item);
        let (next, marked) =
            hidden.hiding(&change(n, n == 1, now), None, at(now), Retention::default()).unwrap();
        assert_eq!(marked, Marked::InItem);
        item = next.into_item(item, format!("{n}"));
    }
    let hidden = read(&item);
    assert_eq!([1, 2, 3].map(|n| hidden.hides(&actor(n))), [false, true, true]);
    assert_eq!(item["later"], text("unknown"));
}

#[test]
fn an_earlier_follow_goes_by_the_mark_of_a_later_one_and_writes_the_item() {
    let hide = |item: &Item, change: &FollowChange| {
        read(item).hiding(change, None, at(0), Retention::default())
    };
    let (later, _) = hide(&Item::new(), &change(1, true, 3)).unwrap();
    let item = later.into_item(Item::new(), "1".to_owned());
    let (earlier, _) = hide(&item, &change(1, true, 2)).unwrap();
    assert_eq!(earlier.into_item(item.clone(), "1".to_owned()), item);
    let (latest, _) = hide(&item, &change(1, true, 4)).unwrap();
    assert!(
        !latest.is_joining_up_to(&actor(1), at(3)) && latest.is_joining_up_to(&actor(1), at(4))
    );
}
