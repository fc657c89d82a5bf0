//! Walks through timelines while everything goes on, and what their readers may be shown.

use std::cell::RefCell;
use std::collections::BTreeSet;

use fastrand::Rng;
use serde_json::Value;

use crate::platform::instants::{DAY, MINUTE, START, instant};
use crate::platform::usage::count;
use crate::social::commands::{RETENTION, viewers};
use crate::social::feed::Feed;
use crate::social::moment::{Instant, Page};
use crate::social::observed::Observed;
use crate::social::readers::KeptReader;
use crate::social::reference::{Reference, Shown, shown};

/// A walk through a timeline, from one end of a range to the other.
#[derive(Debug, Clone)]
pub(crate) struct Walk {
    pub(crate) viewer: &'static str,
    pub(crate) newest_first: bool,
    pub(crate) from: Option<i64>,
    pub(crate) to: Option<i64>,
}

impl Walk {
    pub(crate) fn any(viewer: &'static str, random: &mut Rng) -> Self {
        let ranged = random.u8(0..3) == 0;
        let mut instant = || {
            let near = START - i64::from(random.u8(0..6)) * MINUTE;
            let far = START - i64::from(random.u8(0..32)) * DAY - i64::from(random.u8(0..3));
            (ranged && random.bool()).then(|| if random.bool() { near } else { far })
        };
        let (from, to) = (instant(), instant());
        Self { viewer, newest_first: random.bool(), from, to }
    }

    pub(crate) fn holds(&self, at: i64) -> bool {
        self.from.is_none_or(|from| from <= at) && self.to.is_none_or(|to| at < to)
    }

    pub(crate) fn first_query(&self, limit: u8) -> String {
        let order = if self.newest_first { "newest" } else { "oldest" };
        let mut query = format!("limit={limit}&order={order}");
        for (name, at) in [("from", self.from), ("to", self.to)] {
            if let Some(at) = at {
                query.push_str(&format!("&{name}={}", instant(at)));
            }
        }
        query
    }
}

pub(crate) fn some(random: &mut Rng) -> u8 {
    if random.bool() { random.u8(1..5) } else { random.u8(1..=100) }
}

/// Walks through a timeline while everything goes on.
pub(crate) async fn walk(
    reader: &KeptReader,
    observed: &RefCell<Observed>,
    mut random: Rng,
) -> Result<(), String> {
    let viewer = random.choice(viewers().collect::<Vec<_>>()).unwrap();
    if observed.borrow().away == Some(viewer) {
        return Ok(());
    }
    let walk = Walk::any(viewer, &mut random);
    let (at_first, [begun, _]) = (observed.borrow().done.clone(), reader.times());
    let mut limit = some(&mut random);
    let mut query = walk.first_query(limit);
    let (mut seen, mut after_short) = (Vec::<Shown>::new(), false);
    loop {
        let (before, asked) = (observed.borrow().done.clone(), asked(reader, observed));
        let page = page(reader, viewer, &query).await;
        if observed.borrow().away == Some(viewer) {
            return Ok(());
        }
        let Some(page) = page? else { return Ok(()) };
        let items: Vec<_> = page["items"].as_array().unwrap().iter().map(shown).collect();
        let next = page["next_cursor"].as_str();
        check_whole(
            &Page {
                walk: &walk,
                after: seen.last(),
                after_short,
                limit: limit.into(),
                items: &items,
                more: next.is_some(),
                asked,
                answered: answered(reader, observed),
                clocks_apart: reader.is_apart(),
                short_queries: reader.short_queries,
            },
            observed,
        )?;
        for item in &items {
            if let Some(problem) =
                not_to_be_shown(item, &walk, &before, &observed.borrow().started, asked.now)
            {
                return Err(format!("{viewer} was shown {item:?}, {problem}"));
            }
        }
        after_short = items.len() < usize::from(limit) && next.is_some();
        seen.extend(items);
        Feed::keep(&walk, begun, &seen, &page, after_short, observed);
        let Some(cursor) = next else { break };
        limit = some(&mut random);
        query = format!("limit={limit}&cursor={cursor}");
    }
    in_order(&seen, walk.newest_first).map_err(|problem| format!("{viewer}: {problem}"))?;
    let now = answered(reader, observed).now;
    let shown_keys: BTreeSet<_> = seen.iter().map(|item| (item.at, item.id.clone())).collect();
    for item in certain(&at_first, &observed.borrow().started, viewer, now) {
        if walk.holds(item.0) && !shown_keys.contains(&item) {
            return Err(format!("{viewer} was not shown {item:?}, which was there throughout"));
        }
    }
    Ok(())
}

/// A page, unless the reader is to come back later.
pub(crate) async fn page(
    reader: &KeptReader,
    viewer: &str,
    query: &str,
) -> Result<Option<Value>, String> {
    let (status, headers, page) = reader.get(&format!("/v1/timelines/{viewer}"), query).await;
    let come_back = || headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("retry-after"));
    match status {
        200 => Ok(Some(page)),
        429 | 503 if come_back() => Ok(None),
        _ => Err(format!("{viewer} was answered {status}: {page}")),
    }
}

pub(crate) fn asked(reader: &KeptReader, observed: &RefCell<Observed>) -> Instant {
    let [earliest, _] = reader.times();
    Instant { events: observed.borrow().log.events(), now: earliest }
}

pub(crate) fn answered(reader: &KeptReader, observed: &RefCell<Observed>) -> Instant {
    let [_, latest] = reader.times();
    Instant { events: observed.borrow().log.events(), now: latest }
}

/// Counts a page, and fails if it is of no moment.
fn check_whole(page: &Page<'_>, observed: &RefCell<Observed>) -> Result<(), String> {
    count("page: of one moment");
    let whole = observed.borrow().log.whole(page);
    whole.map_err(|problem| format!("{} has a page of no moment: {problem}", page.walk.viewer))
}

/// Why an item must not be shown, if so: to a reader who asked at `now`, after `done`, and was answered
/// when no more than `started` had begun.
pub(crate) fn not_to_be_shown(
    item: &Shown,
    walk: &Walk,
    done: &Reference,
    started: &Reference,
    now: i64,
) -> Option<&'static str> {
    let edge = (walk.viewer.to_owned(), item.actor.clone());
    // The greatest change in force is an unfollow that was done before, and no follow can beat it.
    let latest = started.follows.get(&edge).and_then(BTreeSet::last);
    let unfollowed = latest.is_some_and(|(_, unfollowed)| *unfollowed)
        && done.follows.get(&edge).and_then(BTreeSet::last) == latest;
    if latest.is_none() {
        Some("whom they never followed")
    } else if unfollowed {
        Some("whom they had unfollowed")
    } else if done.deletes.contains(&(item.id.clone(), item.actor.clone())) {
        Some("which was deleted")
    } else if item.at < now - RETENTION {
        Some("which is past retention")
    } else if !walk.holds(item.at) {
        Some("which is out of range")
    } else if !started.may_say(item) {
        Some("which nobody said")
    } else {
        None
    }
}

/// What is certain to be in a timeline, from the time when no more than `done` was in effect to the time
/// when no more than `started` had begun.
pub(crate) fn certain(
    done: &Reference,
    started: &Reference,
    viewer: &str,
    now: i64,
) -> Vec<(i64, String)> {
    let mut certain = Vec::new();
    for (id, variants) in &done.publishes {
        let only = started.publishes.get(id).is_some_and(|variants| variants.len() == 1);
        for (actor, at) in variants.keys() {
            let edge = (viewer.to_owned(), actor.clone());
            let never_unfollowed = started
                .follows
                .get(&edge)
                .is_some_and(|changes| changes.iter().all(|(_, unfollowed)| !unfollowed));
            if only
                && never_unfollowed
                && done.follows(viewer, actor)
                && !started.deletes.contains(&(id.clone(), actor.clone()))
                && *at >= now - RETENTION
            {
                certain.push((*at, id.clone()));
            }
        }
    }
    certain
}

fn in_order(seen: &[Shown], newest_first: bool) -> Result<(), String> {
    for pair in seen.windows(2) {
        let [a, b] = [&pair[0], &pair[1]].map(|item| (item.at, &item.id));
        if a == b {
            return Err(format!("{a:?} was shown twice"));
        }
        if (a > b) != newest_first {
            return Err(format!("{a:?} was shown before {b:?}"));
        }
    }
    Ok(())
}
