//! What a reader may be shown at any time, and must be shown in the end.

use std::cell::RefCell;
use std::collections::BTreeSet;

use fastrand::Rng;
use serde_json::Value;
use shared::dead_letters::DeadLetter;
use shared::timelines::{Order, Span};
use shared::values::{Timestamp, ViewerId};
use tests::{World, soon};

use crate::features;
use crate::history::{DAY, MINUTE, RETENTION, START, Sent, What, instant, viewers};
use crate::reference::{Reference, Shown, shown};

/// Walks whose feed of newer activities is followed in the end.
const FEEDS: usize = 20;

/// What has happened so far.
#[derive(Default)]
pub(crate) struct Observed {
    /// Commands that some handler has been given.
    pub(crate) started: Reference,
    /// Commands that a handler has acknowledged.
    pub(crate) done: Reference,
    /// Positions to read on from: the viewer, the cursor, and the newest that was seen.
    feeds: Vec<(&'static str, String, (i64, String))>,
}

/// A walk through a timeline, from one end of a range to the other.
struct Walk {
    viewer: &'static str,
    newest_first: bool,
    from: Option<i64>,
    to: Option<i64>,
}

impl Walk {
    fn any(viewer: &'static str, random: &mut Rng) -> Self {
        let ranged = random.u8(0..3) == 0;
        let mut instant = || {
            let near = START - i64::from(random.u8(0..6)) * MINUTE;
            let far = START - i64::from(random.u8(0..32)) * DAY - i64::from(random.u8(0..3));
            (ranged && random.bool()).then(|| if random.bool() { near } else { far })
        };
        let (from, to) = (instant(), instant());
        Self { viewer, newest_first: random.bool(), from, to }
    }

    fn holds(&self, at: i64) -> bool {
        self.from.is_none_or(|from| from <= at) && self.to.is_none_or(|to| at < to)
    }

    fn first_query(&self, limit: u8) -> String {
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

fn some(random: &mut Rng) -> u8 {
    if random.bool() { random.u8(1..5) } else { random.u8(1..=100) }
}

/// Walks through a timeline while everything goes on.
pub(crate) async fn walk(
    world: &World,
    observed: &RefCell<Observed>,
    mut random: Rng,
) -> Result<(), String> {
    let viewer = random.choice(viewers().collect::<Vec<_>>()).unwrap();
    let walk = Walk::any(viewer, &mut random);
    let at_first = observed.borrow().done.clone();
    let mut limit = some(&mut random);
    let mut query = walk.first_query(limit);
    let mut seen: Vec<Shown> = Vec::new();
    loop {
        let (before, now) = (observed.borrow().done.clone(), world.clock.now().unix_millis());
        let (status, headers, page) = world.get(&format!("/v1/timelines/{viewer}"), &query).await;
        if matches!(status, 429 | 503)
            && headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("retry-after"))
        {
            return Ok(());
        }
        if status != 200 {
            return Err(format!("{viewer} was answered {status}: {page}"));
        }
        let items: Vec<_> = page["items"].as_array().unwrap().iter().map(shown).collect();
        for item in &items {
            if let Some(problem) =
                not_to_be_shown(item, &walk, &before, &observed.borrow().started, now)
            {
                return Err(format!("{viewer} was shown {item:?}, {problem}"));
            }
        }
        keep_feed(&walk, &query, &items, &page, observed);
        seen.extend(items);
        let count = page["items"].as_array().unwrap().len();
        let Some(cursor) = page["next_cursor"].as_str() else { break };
        if count != usize::from(limit) {
            return Err(format!("{viewer}: a page of {count} of {limit}, and not the last"));
        }
        limit = some(&mut random);
        query = format!("limit={limit}&cursor={cursor}");
    }
    in_order(&seen, walk.newest_first).map_err(|problem| format!("{viewer}: {problem}"))?;
    let now = world.clock.now().unix_millis();
    let shown_keys: BTreeSet<_> = seen.iter().map(|item| (item.at, item.id.clone())).collect();
    for item in certain(&at_first, &observed.borrow().started, viewer, now) {
        if walk.holds(item.0) && !shown_keys.contains(&item) {
            return Err(format!("{viewer} was not shown {item:?}, which was there throughout"));
        }
    }
    Ok(())
}

fn keep_feed(
    walk: &Walk,
    query: &str,
    items: &[Shown],
    page: &Value,
    observed: &RefCell<Observed>,
) {
    let whole = walk.newest_first && walk.from.is_none() && walk.to.is_none();
    if let (true, false, Some(newest)) = (whole, query.contains("cursor"), items.first()) {
        let cursor = page["newer_cursor"].as_str().unwrap().to_owned();
        let mut observed = observed.borrow_mut();
        if observed.feeds.len() < FEEDS {
            observed.feeds.push((walk.viewer, cursor, (newest.at, newest.id.clone())));
        }
    }
}

/// Why an item must not be shown, if so: to a reader who asked at `now`, after `done`, and was answered
/// when no more than `started` had begun.
fn not_to_be_shown(
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
fn certain(done: &Reference, started: &Reference, viewer: &str, now: i64) -> Vec<(i64, String)> {
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

/// Compares everything with the reference, now that it is quiet.
pub(crate) async fn in_the_end(
    world: &World,
    history: &[Sent],
    refused: &[DeadLetter],
    observed: &Observed,
    random: &mut Rng,
) -> Result<(), String> {
    let reference = outcome(history, refused)?;
    let now = world.clock.now().unix_millis();
    for viewer in viewers() {
        let timeline = reference.timeline(viewer, now);
        for newest_first in [true, false] {
            let walk = Walk { newest_first, ..Walk::any(viewer, random) };
            let mut expected: Vec<_> =
                timeline.iter().filter(|item| walk.holds(item.at)).cloned().collect();
            if walk.newest_first {
                expected.reverse();
            }
            let limit = some(random);
            let query = walk.first_query(limit);
            equal(viewer, &expected, pages(world, viewer, query, "next_cursor", random).await?)?;
        }
        nothing_left_behind(world, viewer, &timeline, now).await?;
    }
    for (viewer, cursor, newest) in &observed.feeds {
        let timeline = reference.timeline(viewer, now);
        let newer = |item: &&Shown| (item.at, &item.id) > (newest.0, &newest.1);
        let expected: Vec<_> = timeline.iter().filter(newer).cloned().collect();
        let query = format!("limit={}&cursor={cursor}", some(random));
        let found = pages(world, viewer, query, "newer_cursor", random).await?;
        equal(viewer, &expected, found).map_err(|problem| format!("a feed: {problem}"))?;
    }
    features::in_the_end(world, &reference.features).await
}

/// The reference of a history, less what was refused. Only of publishes under one id may some be
/// refused, and all but one must be.
fn outcome(history: &[Sent], refused: &[DeadLetter]) -> Result<Reference, String> {
    let mut reference = Reference::default();
    history.iter().for_each(|sent| reference.take(&sent.what));
    for letter in refused {
        let mut body: Value = serde_json::from_str(&letter.body).unwrap();
        // A command that was handed on is refused inside its envelope, and perhaps as the rest of another.
        while let Some(command) = body.get_mut("command") {
            body = command.take();
        }
        let sent = history.iter().find(|sent| sent.what.body() == body);
        match sent.map(|sent| &sent.what) {
            Some(What::Publish { id, actor, at, .. }) => reference.refuse(id, actor, *at),
            _ => return Err(format!("a dead letter: {body}")),
        }
    }
    for (id, variants) in &reference.publishes {
        if variants.len() != 1 {
            return Err(format!("of the publishes of {id} {} got through", variants.len()));
        }
    }
    Ok(reference)
}

/// Walks from page to page, as far as it goes.
async fn pages(
    world: &World,
    viewer: &str,
    mut query: String,
    next: &str,
    random: &mut Rng,
) -> Result<Vec<Shown>, String> {
    let mut items = Vec::new();
    loop {
        let (status, _, page) = world.get(&format!("/v1/timelines/{viewer}"), &query).await;
        if status != 200 {
            return Err(format!("{viewer} was answered {status}: {page}"));
        }
        let found = page["items"].as_array().unwrap();
        items.extend(found.iter().map(shown));
        match page[next].as_str() {
            Some(cursor) if next == "next_cursor" || !found.is_empty() => {
                query = format!("limit={}&cursor={cursor}", some(random));
            }
            _ => return Ok(items),
        }
    }
}

fn equal(viewer: &str, expected: &[Shown], found: Vec<Shown>) -> Result<(), String> {
    if let Some(missing) = expected.iter().find(|item| !found.contains(item)) {
        return Err(format!("{viewer} misses {missing:?}"));
    }
    if let Some(extra) = found.iter().find(|item| !expected.contains(item)) {
        return Err(format!("{viewer} has {extra:?}"));
    }
    if expected == found { Ok(()) } else { Err(format!("{viewer}: another order: {found:?}")) }
}

/// What readers are not shown is not stored either, except for what the table drops in its own time.
async fn nothing_left_behind(
    world: &World,
    viewer: &str,
    timeline: &BTreeSet<Shown>,
    now: i64,
) -> Result<(), String> {
    let owner = ViewerId::new(viewer).unwrap();
    let span = Span { from: Timestamp::from_unix_millis(0), to: None, order: Order::Oldest };
    let (mut start, mut kept) = (None::<String>, Vec::new());
    loop {
        let entries = world.tables.timelines.entries(&owner, span, start.as_deref(), 100, soon());
        let (rows, next) = entries.await.unwrap();
        kept.extend(rows.iter().map(|row| (row.target().unwrap(), row.expires_at.unwrap())));
        match next {
            None => break,
            next => start = next,
        }
    }
    let known: BTreeSet<_> =
        timeline.iter().map(|item| (item.at, item.id.as_str(), item.actor.as_str())).collect();
    for ((key, actor), expires_at) in &kept {
        let at = key.published_at.unix_millis();
        if !(1..=1000).contains(&(expires_at * 1000 - at - RETENTION)) {
            return Err(format!("{viewer} has an entry of {at} that expires at {expires_at} s"));
        }
        let entry = (at, key.activity_id.as_str(), actor.as_str());
        if at >= now - RETENTION && !known.contains(&entry) {
            return Err(format!("{viewer} has an entry left behind: {entry:?}"));
        }
    }
    Ok(())
}
