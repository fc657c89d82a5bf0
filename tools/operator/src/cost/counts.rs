//! The commands and pages of a month.

use std::collections::HashMap;

use serde::Serialize;

use super::DAYS;

/// The numbers of a month.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct Counts {
    pub publishes: f64,
    /// Entries that publishes put into timelines.
    pub entries: f64,
    /// New follows.
    pub follows: f64,
    /// Entries that new follows bring in.
    pub backfilled: f64,
    /// Pages of 20 activities.
    pub pages: f64,
    /// Pages that show likes.
    pub pages_with_likes: f64,
    /// Polls that find nothing new.
    pub polls: f64,
    pub likes: f64,
    pub tags: f64,
    pub votes: f64,
    pub hits: f64,
    /// Messages in rooms.
    pub messages: f64,
    /// Events of tenants.
    pub events: f64,
    /// Follows that were imported before the month began.
    pub imported: f64,
}

/// A graph of follows and the publishes of its actors, read row by row.
#[derive(Debug, Default)]
pub struct Graph {
    followers: HashMap<String, f64>,
    follows: f64,
    publishes: f64,
    entries: f64,
    /// The first and the last second with a publish.
    span: Option<(i64, i64)>,
}

impl Graph {
    pub fn follow(&mut self, followee: &str) {
        *self.followers.entry(followee.to_owned()).or_default() += 1.0;
        self.follows += 1.0;
    }

    /// Adds a publish. All follows have to be added before.
    pub fn publish(&mut self, actor: &str, second: i64) {
        self.publishes += 1.0;
        self.entries += self.followers.get(actor).copied().unwrap_or_default();
        let (first, last) = self.span.unwrap_or((second, second));
        self.span = Some((first.min(second), last.max(second)));
    }

    /// A month as busy as the time from the first publish to the last. None if they are in the same second.
    pub fn month(&self) -> Option<Counts> {
        let (first, last) = self.span.filter(|(first, last)| last > first)?;
        let times = DAYS * 86_400.0 / (last - first) as f64;
        Some(Counts {
            publishes: self.publishes * times,
            entries: self.entries * times,
            imported: self.follows,
            ..Counts::default()
        })
    }
}
