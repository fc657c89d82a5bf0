//! Where a page begins and ends: limit, range, cursor, retention.

use super::*;

/// Ann is followed and has published three activities, each at another instant; and what is shown of them.
fn three() -> ([Step; 5], [Shown; 3]) {
    let all = [("a", 1), ("b", 2), ("c", 3)];
    let [a, b, c] = all.map(|(id, at)| Done(publish(id, "ann", at)));
    let published = [Done(follow("ann", 0)), a, b, c, Asked];
    (published, all.map(|(id, at)| item(id, "ann", at)))
}

#[test]
fn a_page_has_no_more_than_its_limit_and_the_right_order() {
    let published = [
        Done(follow("ann", 0)),
        Done(publish("a", "ann", 1)),
        Done(publish("b", "ann", 1)),
        Done(publish("c", "ann", 2)),
        Asked,
    ];
    let (a, b, c) = (item("a", "ann", 1), item("b", "ann", 1), item("c", "ann", 2));
    accepts(&published, &[c.clone(), b.clone(), a.clone()]);
    rejects(&published, &[c.clone(), a.clone(), b.clone()], "behind");
    let all = [c.clone(), b.clone(), a.clone()];
    let judged = judge(&published, |page| (page.limit, page.items) = (2, &all));
    refused(judged, "has 3 of 2");
    let (oldest_first, all) = (Walk { newest_first: false, ..NEWEST_FIRST }, [a, b, c]);
    let judged = judge(&published, |page| (page.walk, page.items) = (&oldest_first, &all));
    assert_eq!(judged, Ok(()));
}

#[test]
fn a_page_covers_its_range() {
    let (published, [a, b, c]) = three();
    let walk = Walk { from: Some(NOW + 2), to: Some(NOW + 3), ..NEWEST_FIRST };
    let ranged =
        |items: &[Shown]| judge(&published, |page| (page.walk, page.items) = (&walk, items));
    assert_eq!(ranged(std::slice::from_ref(&b)), Ok(()));
    refused(ranged(&[]), "misses b");
    refused(ranged(&[c, b.clone()]), "shows c of ann, which is out of range");
    refused(ranged(&[b, a]), "shows a of ann, which is out of range");
}

#[test]
fn a_page_goes_on_from_its_cursor_and_ends_where_it_is_full() {
    let (published, [a, b, c]) = three();
    let after_c = |items: &[Shown], limit, more| {
        judge(&published, |page| {
            (page.after, page.items, page.limit, page.more) = (Some(&c), items, limit, more);
        })
    };
    assert_eq!(after_c(std::slice::from_ref(&b), 1, true), Ok(()));
    assert_eq!(after_c(&[b.clone(), a.clone()], 2, false), Ok(()));
    refused(after_c(std::slice::from_ref(&b), 1, false), "misses a");
    refused(after_c(std::slice::from_ref(&a), 1, false), "misses b");
    // A short page may end before what is in doubt, and nowhere else.
    assert_eq!(after_c(std::slice::from_ref(&b), 2, true), Ok(()));
    assert_eq!(after_c(&[], 2, true), Ok(()));
    refused(after_c(std::slice::from_ref(&a), 2, true), "misses b");
    refused(after_c(&[b.clone(), a.clone()], 2, true), "has a next_cursor, and nothing is beyond");
    // Where queries are short, a full page may not know that.
    let all = [b.clone(), a];
    let of_short_queries = judge(&published, |page| {
        (page.after, page.items, page.limit, page.more) = (Some(&c), &all, 2, true);
        page.short_queries = true;
    });
    assert_eq!(of_short_queries, Ok(()));
    refused(after_c(&[c.clone(), b], 2, true), "behind");
}

#[test]
fn what_is_beyond_a_page_brings_in_all_of_its_actor() {
    let steps = [
        Done(follow("cyd", 0)),
        Done(publish("c", "cyd", 5)),
        Done(publish("a", "ann", 4)),
        Done(publish("b", "ann", 6)),
        Asked,
        Begun(follow("ann", 0)),
    ];
    // Only ann's a could be beyond, and then her b would be on the page.
    let c = [item("c", "cyd", 5)];
    let full = |more| judge(&steps, |page| (page.limit, page.items, page.more) = (1, &c, more));
    assert_eq!(full(false), Ok(()));
    refused(full(true), "nothing is beyond");
    let b = [item("b", "ann", 6)];
    assert_eq!(judge(&steps, |page| (page.limit, page.items, page.more) = (1, &b, true)), Ok(()));
}

#[test]
fn retention_ends_at_one_time_between_question_and_answer() {
    let (first, second) = (-RETENTION, -RETENTION + 5);
    let published = [
        Done(follow("ann", 0)),
        Done(publish("a", "ann", first - 1)),
        Done(publish("b", "ann", first)),
        Done(publish("c", "ann", second)),
        Done(publish("d", "ann", 0)),
        Asked,
    ];
    let items = [("a", first - 1), ("b", first), ("c", second), ("d", 0)];
    let [a, b, c, d] = items.map(|(id, at)| item(id, "ann", at));
    let later = |items: &[Shown], millis, clocks_apart| {
        judge(&published, |page| {
            (page.items, page.clocks_apart) = (items, clocks_apart);
            page.answered.now = NOW + millis;
        })
    };
    let all = [d.clone(), c.clone(), b.clone(), a];
    accepts(&published, &all[..3]);
    rejects(&published, &all, "which is past retention");
    rejects(&published, &all[..2], "misses b");
    for millis in [5, 6] {
        assert_eq!(later(&all[..3], millis, false), Ok(()));
        assert_eq!(later(&all[..2], millis, false), Ok(()));
    }
    refused(later(&all[..1], 5, false), "misses c");
    assert_eq!(later(&all[..1], 6, false), Ok(()));
    // The older without the newer: only if nobody can tell which clock counted.
    let without_c = [d, b];
    refused(later(&without_c, 6, false), "past retention");
    assert_eq!(later(&without_c, 6, true), Ok(()));
}
