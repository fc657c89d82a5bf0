//! Clients that poll with a `newer_cursor` while everything goes on: each activity comes once, and none is missed
//! within an hour of the newest that was shown.
//!
//! A poll is walked page by page until there is no `next_cursor`. What was there throughout the walk is shown by it. What
//! arrives meanwhile may have to wait for the walk after it.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::rc::Rc;

use fastrand::Rng;
use serde_json::Value;

use crate::platform::instants::{DAY, MINUTE};
use crate::platform::usage::count;
use crate::social::observed::Observed;
use crate::social::readers::KeptReader;
use crate::social::reference::{Reference, Shown, shown};
use crate::social::walk;
use crate::social::walk::{Walk, some};

/// Clients at most in one run.
const FEEDS: usize = 20;
/// How far behind the newest that was shown others may appear.
const WINDOW: i64 = 60 * MINUTE;

type Key = (i64, String);

/// A client that polls.
#[derive(Clone)]
pub(crate) struct Feed {
    pub(crate) walk: Walk,
    pub(crate) cursor: String,
    shown: BTreeSet<Key>,
    /// When it last came. What it was shown may be stored, which is kept for a day.
    came: i64,
    /// The last that was shown on the page that its first `newer_cursor` came with, or before, if there was more below. Where nothing was
    /// shown yet, no client knows where that page ended, so nothing is sure to lie beyond.
    above: Option<Key>,
    /// Whether that page was short: then it ended somewhere below the last that it showed.
    ends_below: bool,
    /// What was in effect when the walk began that it is in, if it is in one.
    walking: Option<Rc<Reference>>,
    /// Nothing earlier comes: an hour before the newest that it had been shown when its latest walk began, or before.
    nothing_before: Option<i64>,
}

impl Feed {
    /// Has a client begin with a page of a walk that has shown all this.
    pub(crate) fn keep(
        walk: &Walk,
        begun: i64,
        seen: &[Shown],
        page: &Value,
        is_short: bool,
        observed: &RefCell<Observed>,
    ) {
        let mut observed = observed.borrow_mut();
        if observed.feeds.len() >= FEEDS {
            return;
        }
        let is_cut = walk.newest_first && !page["next_cursor"].is_null();
        let mut feed = Self {
            walk: walk.clone(),
            cursor: page["newer_cursor"].as_str().unwrap().to_owned(),
            shown: seen.iter().map(key).collect(),
            came: begun,
            above: is_cut.then(|| seen.last().map_or((i64::MAX, String::new()), key)),
            ends_below: is_short,
            walking: None,
            nothing_before: None,
        };
        feed.nothing_before = feed.window();
        observed.feeds.push(feed);
    }

    /// Whether it has not stayed away for a day, less what clocks may differ.
    pub(crate) fn is_in_time(&self, now: i64) -> bool {
        now - self.came < DAY - 5 * MINUTE
    }

    /// An hour before the newest that it was shown.
    pub(crate) fn window(&self) -> Option<i64> {
        self.shown.last().map(|(at, _)| at - WINDOW)
    }

    pub(crate) fn is_walking(&self) -> bool {
        self.walking.is_some()
    }

    /// Whether an activity is to come, if it is visible.
    fn lacks(&self, key: &Key) -> bool {
        self.may_lack(key)
            && self.is_above(key)
            && self.window().is_none_or(|window| key.0 >= window)
    }

    /// Whether it lies beyond the last that its first page showed.
    pub(crate) fn is_above(&self, key: &Key) -> bool {
        self.above.as_ref().is_none_or(|above| key > above)
    }

    /// Whether it may come.
    fn may_lack(&self, key: &Key) -> bool {
        self.walk.holds(key.0)
            && self.nothing_before.is_none_or(|instant| key.0 >= instant)
            && (self.ends_below || self.is_above(key))
            && !self.shown.contains(key)
    }

    /// What is to come of a timeline, oldest first.
    pub(crate) fn missing<'t>(&self, timeline: &'t BTreeSet<Shown>) -> Vec<&'t Shown> {
        timeline.iter().filter(|item| self.lacks(&key(item))).collect()
    }

    /// Takes a page, of which nothing was shown before. Its walk began when all this was in effect.
    pub(crate) fn take(
        &mut self,
        items: &[Shown],
        page: &Value,
        since: Rc<Reference>,
    ) -> Result<(), String> {
        let viewer = self.walk.viewer;
        for pair in items.windows(2) {
            if pair[0].position() >= pair[1].position() {
                return Err(format!("{viewer}: a poll shows {:?} before {:?}", pair[0], pair[1]));
            }
        }
        for item in items {
            if !self.may_lack(&key(item)) {
                let Self { shown, above, nothing_before, .. } = self;
                let was_shown = shown.contains(&key(item));
                return Err(format!(
                    "{viewer}: a poll shows {item:?}, which is not to come: it was shown: {was_shown}, what comes lies beyond \
                     {above:?} and not before {nothing_before:?}"
                ));
            }
        }
        self.shown.extend(items.iter().map(key));
        page["newer_cursor"].as_str().unwrap().clone_into(&mut self.cursor);
        let goes_on = !page["next_cursor"].is_null();
        if !self.is_walking() && !goes_on {
            self.nothing_before = self.window();
        }
        self.walking = goes_on.then_some(since);
        Ok(())
    }
}

pub(crate) fn key(item: &Shown) -> Key {
    (item.at, item.id.clone())
}

/// Some client polls while everything goes on, page after page or once.
pub(crate) async fn poll(
    reader: &KeptReader,
    observed: &RefCell<Observed>,
    mut random: Rng,
) -> Result<(), String> {
    let mut feed = {
        let mut observed = observed.borrow_mut();
        let [now, _] = reader.times();
        observed.feeds.retain(|feed| feed.is_in_time(now));
        if observed.feeds.is_empty() {
            return Ok(());
        }
        let index = random.usize(0..observed.feeds.len());
        // It stays, so that a reader that dies leaves it where it was; two may poll with one cursor.
        observed.feeds[index].clone()
    };
    let begun_with = feed.cursor.clone();
    loop {
        count("feed: a page");
        let (before, limit) = (Rc::new(observed.borrow().done.clone()), some(&mut random));
        let since = feed.walking.clone().unwrap_or_else(|| Rc::clone(&before));
        let asked = walk::asked(reader, observed);
        let query = format!("limit={limit}&cursor={}", feed.cursor);
        let page = walk::page(reader, feed.walk.viewer, &query).await;
        if observed.borrow().away == Some(feed.walk.viewer) {
            return Ok(());
        }
        let Some(page) = page? else { break };
        let answered = walk::answered(reader, observed);
        if !feed.is_in_time(answered.now) {
            break;
        }
        let items: Vec<_> = page["items"].as_array().unwrap().iter().map(shown).collect();
        let goes_on = !page["next_cursor"].is_null();
        let asked_of = Asked { feed: &feed, before: &before, since: &since, at: asked.now };
        asked_of.check(&items, goes_on, answered.now, &observed.borrow().started)?;
        feed.take(&items, &page, since)?;
        feed.came = asked.now;
        if !goes_on || random.u8(0..3) == 0 {
            break;
        }
    }
    let mut observed = observed.borrow_mut();
    if let Some(kept) = observed.feeds.iter_mut().find(|kept| kept.cursor == begun_with) {
        *kept = feed;
    }
    Ok(())
}

/// A page that was asked for.
struct Asked<'a> {
    feed: &'a Feed,
    before: &'a Reference,
    /// What was in effect when its walk began.
    since: &'a Reference,
    at: i64,
}

impl Asked<'_> {
    /// Whether it shows only what may be shown, and all that was there throughout the walk unless it ends before.
    fn check(
        &self,
        items: &[Shown],
        goes_on: bool,
        answered: i64,
        started: &Reference,
    ) -> Result<(), String> {
        let Self { feed, before, since, at } = self;
        let viewer = feed.walk.viewer;
        for item in items {
            if let Some(problem) = walk::not_to_be_shown(item, &feed.walk, before, started, *at) {
                return Err(format!("{viewer}: a poll shows {item:?}, {problem}"));
            }
        }
        let on_page: BTreeSet<_> = items.iter().map(key).collect();
        for key in walk::certain(since, started, viewer, answered) {
            let is_beyond = goes_on && on_page.last().is_none_or(|end| key > *end);
            if feed.lacks(&key) && !is_beyond && !on_page.contains(&key) {
                return Err(format!("{viewer}: a poll misses {key:?}, which was there throughout"));
            }
        }
        Ok(())
    }
}
