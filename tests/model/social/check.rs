//! What readers must be shown in the end, when it is quiet again.

use std::collections::BTreeSet;
use std::rc::Rc;

use fastrand::Rng;
use serde_json::Value;
use shared::platform::dead_letters::DeadLetter;
use shared::platform::paging::Slice;
use shared::platform::values::{Order, Span};
use shared::platform::values::{Timestamp, ViewerId};
use tests::World;

use crate::platform::stored;
use crate::social::commands::{RETENTION, Sent, What, viewers};
use crate::social::features;
use crate::social::feed::{Feed, key};
use crate::social::observed::Observed;
use crate::social::readers::{KeptReader, Readers};
use crate::social::reference::{Reference, Shown, shown};
use crate::social::walk::{Walk, some};

/// Requests after which the return of a viewer is complete.
const RETURNS: usize = 50;

/// Compares everything with the reference, now that it is quiet.
pub(crate) async fn in_the_end(
    world: &World,
    readers: &Readers,
    mut reference: Reference,
    observed: &Observed,
    random: &mut Rng,
) -> Result<(), String> {
    readers.be_quiet();
    reference.features.extend(observed.sent.iter().cloned());
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
            equal(viewer, &expected, pages(readers, viewer, query, random).await?)?;
        }
        if !observed.may_have_left {
            nothing_left_behind(world, viewer, &timeline, now).await?;
        }
    }
    for feed in observed.feeds.iter().filter(|feed| feed.is_in_time(now)) {
        let timeline = reference.timeline(feed.walk.viewer, now);
        at_rest(readers, feed.clone(), &timeline, random).await?;
    }
    features::in_the_end(world, &reference, &observed.answers).await?;
    stored::is_within_bounds(world)
}

/// The reference of a history, less what was refused. Only of publishes, and of messages of a room, under one id may some be
/// refused, and all but one must be.
pub(crate) fn outcome(
    mut reference: Reference,
    history: &[Sent],
    refused: &[DeadLetter],
) -> Result<Reference, String> {
    for letter in refused {
        let mut body: Value = serde_json::from_str(&letter.body).unwrap();
        // A command that was handed on is refused inside its envelope, and perhaps as the rest of another.
        while let Some(command) = body.get_mut("command") {
            body = command.take();
        }
        if body["type"] == "event.recorded" {
            reference.refused_events.push(body);
            continue;
        }
        let sent = history.iter().find(|sent| sent.what.body() == body);
        match sent.map(|sent| &sent.what) {
            Some(What::Publish { id, actor, at, .. }) => reference.refuse(id, actor, *at),
            // Likewise of what is posted in a room.
            Some(What::Feature(_)) if body["type"] == "message.posted" => {
                reference.features.retain(|command| *command != body);
            }
            _ => return Err(format!("a dead letter: {body}")),
        }
    }
    for (id, variants) in &reference.publishes {
        if variants.len() != 1 && !reference.has_erased.contains(id) {
            return Err(format!("of the publishes of {id} {} got through", variants.len()));
        }
    }
    Ok(reference)
}

/// Walks from page to page with some reader, as far as it goes.
async fn pages(
    readers: &Readers,
    viewer: &str,
    mut query: String,
    random: &mut Rng,
) -> Result<Vec<Shown>, String> {
    let reader = readers.awake(random).unwrap();
    let (mut items, mut pages) = (Vec::new(), 0);
    loop {
        pages += 1;
        assert!(pages < features::PAGES, "{viewer}: {query} goes on without end");
        let page = page(&reader, viewer, &query).await?;
        items.extend(page["items"].as_array().unwrap().iter().map(shown));
        match page["next_cursor"].as_str() {
            Some(cursor) => query = format!("limit={}&cursor={cursor}", some(random)),
            None => return Ok(items),
        }
    }
}

/// Polls until a whole walk shows nothing: exactly what is to come has come, and then nothing more is to come.
async fn at_rest(
    readers: &Readers,
    mut feed: Feed,
    timeline: &BTreeSet<Shown>,
    random: &mut Rng,
) -> Result<(), String> {
    let reader = readers.awake(random).unwrap();
    let expected: Vec<_> = feed.missing(timeline).into_iter().cloned().collect();
    let (window, in_the_middle) = (feed.window(), feed.is_walking());
    let (mut found, mut is_last, mut pages) = (Vec::new(), !in_the_middle, 0);
    loop {
        pages += 1;
        assert!(pages < features::PAGES, "{}: a poll goes on without end", feed.walk.viewer);
        let query = format!("limit={}&cursor={}", some(random), feed.cursor);
        let page = page(&reader, feed.walk.viewer, &query).await?;
        let items: Vec<_> = page["items"].as_array().unwrap().iter().map(shown).collect();
        let since = Rc::new(Reference::default());
        feed.take(&items, &page, since).map_err(|problem| format!("at rest: {problem}"))?;
        is_last &= items.is_empty();
        found.extend(items);
        if feed.is_walking() {
            continue;
        }
        if is_last {
            break;
        }
        is_last = true;
    }
    if in_the_middle {
        found.sort_by(|one, other| one.position().cmp(&other.position()));
    }
    // What lies before the hour was waited for while a walk went on, and where a short page ended is not known.
    let is_before = |item: &Shown| window.is_some_and(|window| item.at < window);
    let is_open = |item: &Shown| is_before(item) || !feed.is_above(&key(item));
    found.retain(|item| !is_open(item) || !timeline.contains(item));
    equal(feed.walk.viewer, &expected, found).map_err(|problem| format!("a feed: {problem}"))
}

async fn page(reader: &KeptReader, viewer: &str, query: &str) -> Result<Value, String> {
    // Where tables are slow, a return takes several requests.
    for _ in 0..RETURNS {
        let (status, _, page) = reader.get(&format!("/v1/timelines/{viewer}"), query).await;
        match status {
            200 => return Ok(page),
            503 if page["type"] == "urn:nagare:problem:returning" => {}
            _ => return Err(format!("{viewer} was answered {status}: {page}")),
        }
    }
    Err(format!("{viewer} does not come back in {RETURNS} requests"))
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
        let entries = world
            .tables
            .timelines
            .entries(&owner, Slice { span, after: start.as_deref(), limit: 100 });
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
