//! Pages of a list, read through the HTTP API as a client would.
//!
//! Standard output has the items alone, one a line, so that other programs can read it. Standard error says whether there is more,
//! and where it begins. `--json=pages` writes both to one stream: one page a line, as the API answered it.

use std::time::Duration;

use clap::{Args, ValueEnum};
use nagare_client::api::{Api, Query};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use tokio::time::Instant;

use super::Failure;
use super::print::{one_line, printable, printable_json, say, tell};

/// How often the API is asked for what is new.
const INTERVAL: Duration = Duration::from_millis(500);
/// How long to go on where it does not answer.
const PATIENCE: Duration = Duration::from_secs(10);

/// The most empty pages that are passed over: a page on which all is deleted is empty, and has a cursor.
const MAX_EMPTY_PAGES: usize = 100;

/// Which pages of a list are read, and how they are printed.
#[derive(Debug, Args)]
pub(super) struct Pages {
    /// How many there are on a page, 1 to 100.
    #[arg(long)]
    limit: Option<u32>,
    /// Which end to begin at.
    #[arg(long)]
    order: Option<Order>,
    /// Begin at this instant or date.
    #[arg(long)]
    from: Option<String>,
    /// End before this instant, or with this date.
    #[arg(long)]
    to: Option<String>,
    /// Go on from page to page until the end.
    #[arg(long)]
    all: bool,
    /// Go on where an earlier answer ended (its next_cursor), or read what came since (its newer_cursor). A
    /// cursor carries order and range itself.
    #[arg(long, conflicts_with_all = ["order", "from", "to"])]
    cursor: Option<String>,
    /// Print JSON: one object a line, and the cursors as a last line on standard error. With
    /// --json=pages one page a line, cursors included, as the API answers it.
    #[arg(long, value_name = "FORM", num_args = 0..=1, require_equals = true, default_missing_value = "items")]
    json: Option<Json>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Json {
    /// One object a line.
    Items,
    /// One page a line.
    Pages,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Order {
    /// The latest first.
    Newest,
    /// The earliest first.
    Oldest,
}

/// A page, as far as it is looked at.
#[derive(Deserialize)]
struct Page {
    items: Vec<Box<RawValue>>,
    /// Goes on in the same direction; none at the end.
    next_cursor: Option<String>,
    /// Reads what becomes visible from now on.
    newer_cursor: String,
}

/// Where to go on, for programs.
#[derive(Serialize)]
struct Cursors<'a> {
    next_cursor: Option<&'a str>,
    newer_cursor: &'a str,
}

/// A list of the API.
pub(super) struct List<'a> {
    /// The segments of its path.
    pub(super) path: &'a [&'a str],
    /// Parameters that are sent for every page.
    pub(super) always: Query,
    /// Parameters that a cursor carries.
    pub(super) at_first: Query,
    /// Prints one thing for people.
    pub(super) print: fn(&RawValue) -> Result<(), Failure>,
    /// What is said if there is nothing.
    pub(super) nothing: String,
}

impl Pages {
    /// Reads the pages and prints them.
    ///
    /// # Errors
    /// Those of [`Api::get`].
    pub(super) async fn run(&self, api: &mut Api, list: &List<'_>) -> Result<(), Failure> {
        let mut cursor = self.cursor.clone();
        let (mut shown, mut empty) = (0_u64, 0);
        loop {
            let page = self.read(api, list, cursor).await?;
            shown += page.items.len() as u64;
            empty += 1;
            match page.next_cursor {
                Some(next) if self.all || (shown == 0 && empty < MAX_EMPTY_PAGES) => {
                    cursor = Some(next);
                }
                next => return self.tell_end(shown, next.as_deref(), &page.newer_cursor, list),
            }
        }
    }

    /// Reads one page and prints it.
    async fn read(
        &self,
        api: &mut Api,
        list: &List<'_>,
        cursor: Option<String>,
    ) -> Result<Page, Failure> {
        let query = self.query(list, cursor);
        let answer: Box<RawValue> = api.get(list.path, &query).await?;
        let page = Page::parse(&answer)?;
        self.print(&answer, &page, list)?;
        Ok(page)
    }

    fn print(&self, answer: &RawValue, page: &Page, list: &List<'_>) -> Result<(), Failure> {
        match self.json {
            Some(Json::Pages) => say!("{}", one_line(answer)),
            Some(Json::Items) => page.items.iter().try_for_each(|item| say!("{}", one_line(item))),
            None => page.items.iter().try_for_each(|item| (list.print)(item)),
        }
    }

    /// Prints what comes, for good: first what there is from the range on, or the latest page, the earliest first.
    ///
    /// # Errors
    /// Those of [`Api::get`], once it has failed for a while.
    pub(super) async fn follow(&self, api: &mut Api, list: &List<'_>) -> Result<(), Failure> {
        let query = self.query(list, self.cursor.clone());
        let answer: Box<RawValue> = api.get(list.path, &query).await?;
        let mut page = Page::parse(&answer)?;
        if self.cursor.is_none() {
            page.items.reverse();
        }
        self.print(&answer, &page, list)?;
        let (mut newer, mut answered_at) = (page.newer_cursor, Instant::now());
        loop {
            match self.read(api, list, Some(newer.clone())).await {
                Ok(page) => {
                    (newer, answered_at) = (page.newer_cursor, Instant::now());
                    // A full page has more behind it.
                    if page.next_cursor.is_some() {
                        continue;
                    }
                }
                Err(Failure::Unreachable(_)) if answered_at.elapsed() < PATIENCE => {}
                Err(failure) => return Err(failure),
            }
            tokio::time::sleep(INTERVAL).await;
        }
    }

    fn query(&self, list: &List<'_>, cursor: Option<String>) -> Query {
        let order = self.order.map(|order| match order {
            Order::Newest => "newest".to_owned(),
            Order::Oldest => "oldest".to_owned(),
        });
        let limit = self.limit.map(|limit| limit.to_string());
        let given = match cursor {
            Some(cursor) => vec![("limit", limit), ("cursor", Some(cursor))],
            None => vec![
                ("limit", limit),
                ("order", order),
                ("from", self.from.clone()),
                ("to", self.to.clone()),
            ],
        };
        let is_first = given.iter().all(|(name, _)| *name != "cursor");
        let given = given.into_iter().filter_map(|(name, value)| Some((name, value?)));
        let at_first = list.at_first.iter().filter(|_| is_first);
        given.chain(at_first.chain(&list.always).cloned()).collect()
    }

    /// Says on standard error what is left to read.
    fn tell_end(
        &self,
        shown: u64,
        next: Option<&str>,
        newer: &str,
        list: &List<'_>,
    ) -> Result<(), Failure> {
        let cursors = Cursors { next_cursor: next, newer_cursor: newer };
        match (self.json, next) {
            (Some(Json::Pages), _) => {}
            (Some(Json::Items), _) => {
                tell!("{}", printable_json(&serde_json::to_string(&cursors)?))
            }
            (None, Some(next)) => tell!(
                "there is more: add --all for all of it, or read the next page with --cursor {}",
                printable(next)
            ),
            (None, None) if shown == 0 => tell!("{}", list.nothing),
            (None, None) => {}
        }
        Ok(())
    }
}

impl Page {
    fn parse(answer: &RawValue) -> Result<Self, Failure> {
        serde_json::from_str(answer.get()).map_err(unexpected)
    }
}

/// The failure for an answer that is not what it should be.
pub(super) fn unexpected(error: serde_json::Error) -> Failure {
    Failure::Unreachable(format!("the API's answer is not a page: {error}"))
}
