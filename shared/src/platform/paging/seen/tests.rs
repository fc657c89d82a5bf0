use super::*;
use crate::platform::values::ActivityId;
use proptest::prelude::*;

fn key(at: i64, id: u32) -> SortKey {
    let activity_id = ActivityId::new(id.to_string()).expect("an id");
    SortKey { published_at: Timestamp::from_unix_millis(at), activity_id }
}

fn salt() -> Salt {
    [7; SALT]
}

const CAPACITY: Capacity = Capacity { inline: INLINE, most: MOST };

/// What a client does: it shows some, in steps, and keeps the latest of what it was given.
fn shown_in_steps(steps: &[Vec<SortKey>], capacity: Capacity) -> (Seen, SeenSet) {
    let steps: Vec<_> = steps.iter().map(|step| (step.clone(), None)).collect();
    shown_and_held(&steps, capacity)
}

/// The same with a window that steps hold.
fn shown_and_held(
    steps: &[(Vec<SortKey>, Option<Timestamp>)],
    capacity: Capacity,
) -> (Seen, SeenSet) {
    let first = steps.iter().flat_map(|(step, _)| step).map(|key| key.published_at).next();
    let mut seen = Seen::until(first.unwrap_or(Timestamp::LAST), salt());
    let mut set = seen.with_stored(None);
    let mut stored: Option<NewSet> = None;
    for (step, held) in steps {
        let (after, new) = seen.and(&set, step.iter(), *held, capacity);
        let room = capacity.inline;
        assert!(after.recent.len() <= room && after.recent().count() <= room);
        assert!(minute(after.window()) >= minute(seen.window()), "the window only moves forward");
        stored = new.or(stored).filter(|_| after.is_stored());
        let bytes = stored.as_ref().map(|new| Stored { bytes: &new.bytes, is_old: false });
        (set, seen) = (after.with_stored(bytes), after);
    }
    (seen, set)
}

proptest! {
    /// All that was shown within the window is remembered, and nothing else, however it is kept. Where the window is
    /// shorter than an hour, as many were shown after its start as are remembered.
    #[test]
    fn remembers_what_was_shown_within_the_window(
        steps in proptest::collection::vec(
            (
                proptest::collection::vec((0_i64..40_000_000, 0_u32..50), 0..30),
                proptest::option::of(0_i64..40_000_000),
            ),
            1..8,
        ),
        inline in 0_usize..40,
        most in prop_oneof![Just(MOST), 1_usize..60],
        crowded: bool,
    ) {
        let scale = if crowded { 50 } else { 1 };
        let steps: Vec<(Vec<_>, _)> = steps
            .into_iter()
            .map(|(step, held)| {
                let held = held.map(|at| Timestamp::from_unix_millis(at / scale));
                (step.into_iter().map(|(at, id)| key(at / scale, id)).collect(), held)
            })
            .collect();
        let (seen, set) = shown_and_held(&steps, Capacity { inline, most });
        let steps: Vec<_> = steps.into_iter().map(|(step, _)| step).collect();
        // Whatever the way, the newest is the newest.
        if let Some(newest) = steps.iter().flatten().map(|key| key.published_at).max() {
            prop_assert_eq!(seen.newest, newest);
        }
        let all: BTreeSet<_> = steps.iter().flatten().collect();
        for shown in all.iter().filter(|key| key.published_at >= seen.window()) {
            prop_assert!(set.holds(shown), "{}", shown);
            let other = key(shown.published_at.unix_millis(), 50);
            prop_assert!(!set.holds(&other), "{}", other);
        }
        prop_assert!(seen.count() <= steps.iter().map(Vec::len).sum());
        if seen.window() > minutes_before(seen.newest, WINDOW) {
            let last = minute(seen.window().plus_millis(-1));
            let newer = all.iter().filter(|key| minute(key.published_at) >= last);
            prop_assert!(newer.count() >= most, "from {} on", seen.window());
        }
    }
}

#[test]
fn a_set_that_is_gone_counts_as_all_up_to_the_newest() {
    let shown: Vec<_> = (0..30).map(|n| key(1_000 * i64::from(n), n)).collect();
    let (seen, _) = shown_in_steps(std::slice::from_ref(&shown), CAPACITY);
    assert!(seen.is_stored() && seen.count() == 30);
    let set = seen.with_stored(None);
    assert_eq!(set.lost_until(), Some(seen.newest));
    assert!(set.holds(&key(29_000, 99)) && !set.holds(&key(29_001, 99)));
    for bytes in [&b""[..], &[0; 7], &[0; 9], &[0; 16]] {
        let stored = Some(Stored { bytes, is_old: false });
        assert!(seen.with_stored(stored).lost_until().is_some(), "{bytes:?}");
    }
}

/// Of what was shown, the earliest are forgotten, and the window begins after them.
#[test]
fn what_there_is_no_room_for_is_not_looked_for_again() {
    // Six hundred a minute, so all of the first minute are too many.
    let shown: Vec<_> =
        (0..MOST + 10).map(|n| key(100 * i64::try_from(n).unwrap_or(0), 0)).collect();
    let nothing = Seen::until(shown[0].published_at, salt());
    let (seen, new) = nothing.and(&nothing.with_stored(None), shown.iter(), None, CAPACITY);
    assert_eq!((seen.count(), seen.window()), (MOST - 590, shown[600].published_at));
    let stored = new.as_ref().map(|new| Stored { bytes: &new.bytes, is_old: false });
    let set = seen.with_stored(stored);
    assert!(!set.holds(&shown[599]) && shown[600..].iter().all(|key| set.holds(key)));
    // An hour goes by, and there is room again.
    let later = [key(3_700_000, 0)];
    let (seen, _) = seen.and(&set, later.iter(), None, CAPACITY);
    assert_eq!((seen.since, seen.window()), (None, Timestamp::from_unix_millis(100_000)));
}

/// Of those that share a minute some would be shown twice if only others of them were remembered.
#[test]
fn what_shares_a_minute_is_forgotten_together() {
    let shown: Vec<_> = (0..=MOST).map(|n| key(60, u32::try_from(n).unwrap_or(0))).collect();
    for (count, left) in [(MOST, MOST), (MOST + 1, 0)] {
        let nothing = Seen::until(Timestamp::from_unix_millis(60), salt());
        let shown = shown[..count].iter();
        let (seen, _) = nothing.and(&nothing.with_stored(None), shown, None, CAPACITY);
        assert_eq!(seen.count(), left);
        let next = Timestamp::from_unix_millis(61);
        assert_eq!(seen.window() == next, left == 0, "{}", seen.window());
    }
}

/// While a walk holds it, the window stays, whatever is shown, and moves on afterwards.
#[test]
fn a_window_is_held() {
    let at = |minute: i64| key(60_000 * minute, 0);
    let begin = |seen: &Seen| seen.window().unix_millis() / 60_000;
    let first = Seen::until(at(600).published_at, salt());
    let (mut seen, mut set) = (first.clone(), first.with_stored(None));
    // What was shown, where the window is held, and where it begins then.
    for (shown, held, window) in [
        (600, None, 540),
        (610, Some(580), 550),
        (700, Some(550), 550),
        (790, Some(550), 550),
        (791, Some(550), 550),
        (806, Some(550), 550),
        (20_000, Some(550), 550),
        (20_010, None, 19_950),
        (20_300, Some(19_950), 19_950),
        (20_300, Some(20_300), 20_240),
    ] {
        let held = held.map(|minute| at(minute).published_at);
        (seen, _) = seen.and(&set, [at(shown)].iter(), held, CAPACITY);
        set = seen.with_stored(None);
        assert_eq!(begin(&seen), window, "{shown}, held at {held:?}");
        for known in [700, 20_010] {
            let was_shown = seen.newest >= at(known).published_at;
            assert_eq!(set.holds(&at(known)), was_shown && window <= known, "{known}");
        }
        assert!(!set.holds(&key(60_000 * 700, 1)));
    }
}

#[test]
fn an_old_set_is_stored_again() {
    let shown: Vec<_> = (0..30).map(|n| key(1_000, n)).collect();
    let nothing = Seen::until(Timestamp::from_unix_millis(1_000), salt());
    let (seen, new) = nothing.and(&nothing.with_stored(None), shown.iter(), None, CAPACITY);
    let new = new.expect("more than fit");
    for is_old in [false, true] {
        let set = seen.with_stored(Some(Stored { bytes: &new.bytes, is_old }));
        let (after, again) = seen.and(&set, [].iter(), None, CAPACITY);
        assert_eq!((&after, again), (&seen, is_old.then(|| new.clone())));
    }
}
