//! `nagare timeline`, `nagare page` and `nagare tagged`: read a list of activities through the HTTP API, as a client would.
//!
//! Standard output has the activities alone, one a line, so that other programs can read it. Whether there is
//! more, and where it begins, is said on standard error. Who wants both from one stream asks for
//! `--json=pages`: one page a line, as the API answered it.

use clap::{Args, ValueEnum};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::Failure;
use super::api::{Api, Query};
use super::print::{one_line, printable, printable_json, say, tell};

#[derive(Debug, Args)]
pub(super) struct Timeline {
    /// Whose timeline.
    viewer: String,
    #[command(flatten)]
    reading: Reading,
}

#[derive(Debug, Args)]
pub(super) struct PageOfActor {
    /// Who published it.
    actor: String,
    /// Keep what is of this kind; may be given several times.
    #[arg(long = "kind", value_name = "KIND", conflicts_with = "cursor")]
    kinds: Vec<String>,
    #[command(flatten)]
    reading: Reading,
}

#[derive(Debug, Args)]
pub(super) struct Tagged {
    /// Who is tagged.
    viewer: String,
    #[command(flatten)]
    reading: Reading,
}

/// What is read of a list, and how it is printed.
#[derive(Debug, Args)]
struct Reading {
    /// Activities on a page, 1 to 100.
    #[arg(long)]
    limit: Option<u32>,
    /// Which end to begin at.
    #[arg(long)]
    order: Option<Order>,
    /// Keep activities published at this instant or date, or later.
    #[arg(long)]
    from: Option<String>,
    /// Keep activities published before this instant, or on this date or before.
    #[arg(long)]
    to: Option<String>,
    /// Go on from page to page until the end.
    #[arg(long)]
    all: bool,
    /// Go on where an earlier answer ended (its next_cursor), or read what came since (its newer_cursor). A
    /// cursor carries order and range itself.
    #[arg(long, conflicts_with_all = ["order", "from", "to"])]
    cursor: Option<String>,
    /// Print JSON: one activity a line, and the cursors as a last line on standard error. With
    /// --json=pages one page a line, cursors included, as the API answers it.
    #[arg(long, value_name = "FORM", num_args = 0..=1, require_equals = true, default_missing_value = "items")]
    json: Option<Json>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Json {
    /// One activity a line.
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

#[derive(Deserialize)]
struct Activity<'a> {
    #[serde(borrow)]
    activity_id: &'a str,
    actor_id: &'a str,
    kind: &'a str,
    published_at: &'a str,
    payload: &'a RawValue,
}

impl Timeline {
    pub(super) async fn run(self) -> Result<(), Failure> {
        let Self { viewer, reading } = self;
        let nothing = format!("nothing in the timeline of {viewer}");
        reading.run(&viewer, &["v1", "timelines", &viewer], Query::new(), &nothing).await
    }
}

impl PageOfActor {
    pub(super) async fn run(self) -> Result<(), Failure> {
        let Self { actor, kinds, reading } = self;
        let nothing = format!("nothing of {actor}'s");
        let kinds = kinds.into_iter().map(|kind| ("kind", kind)).collect();
        reading.run(&actor, &["v1", "actors", &actor, "activities"], kinds, &nothing).await
    }
}

impl Tagged {
    pub(super) async fn run(self) -> Result<(), Failure> {
        let Self { viewer, reading } = self;
        let nothing = format!("{viewer} is tagged in nothing");
        let path = ["v1", "viewers", &viewer, "tagged"];
        reading.run(&viewer, &path, Query::new(), &nothing).await
    }
}

impl Reading {
    /// Reads the list at a path, on behalf of a viewer, with `others` of its parameters. `nothing` is what is said if it is
    /// empty.
    async fn run(
        &self,
        viewer: &str,
        path: &[&str],
        others: Query,
        nothing: &str,
    ) -> Result<(), Failure> {
        let mut api = Api::on_behalf_of(viewer).await?;
        let mut query = [self.query(), others].concat();
        let mut shown = 0_u64;
        loop {
            let answer: Box<RawValue> = api.get(path, &query).await?;
            let page = Page::parse(&answer)?;
            self.print(&answer, &page)?;
            shown += page.items.len() as u64;
            match page.next_cursor {
                Some(cursor) if self.all => query = self.going_on(cursor),
                next => {
                    let nothing = if shown == 0 { Some(nothing) } else { None };
                    return self.tell_end(nothing, next.as_deref(), &page.newer_cursor);
                }
            }
        }
    }

    fn query(&self) -> Query {
        let order = self.order.map(|order| match order {
            Order::Newest => "newest".to_owned(),
            Order::Oldest => "oldest".to_owned(),
        });
        let given = [
            ("limit", self.limit.map(|limit| limit.to_string())),
            ("order", order),
            ("from", self.from.clone()),
            ("to", self.to.clone()),
            ("cursor", self.cursor.clone()),
        ];
        given.into_iter().filter_map(|(name, value)| Some((name, value?))).collect()
    }

    fn going_on(&self, cursor: String) -> Query {
        let limit = self.limit.map(|limit| ("limit", limit.to_string()));
        limit.into_iter().chain([("cursor", cursor)]).collect()
    }

    fn print(&self, answer: &RawValue, page: &Page) -> Result<(), Failure> {
        match self.json {
            Some(Json::Pages) => say!("{}", one_line(answer)),
            Some(Json::Items) => page.items.iter().try_for_each(|item| say!("{}", one_line(item))),
            None => page.items.iter().try_for_each(|item| print_activity(item)),
        }
    }

    /// Says on standard error what is left to read, or that there is nothing.
    fn tell_end(
        &self,
        nothing: Option<&str>,
        next: Option<&str>,
        newer: &str,
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
            (None, None) => {
                if let Some(nothing) = nothing {
                    tell!("{nothing}");
                }
            }
        }
        Ok(())
    }
}

impl Page {
    fn parse(answer: &RawValue) -> Result<Self, Failure> {
        serde_json::from_str(answer.get()).map_err(unexpected)
    }
}

/// Prints an activity for people.
fn print_activity(activity: &RawValue) -> Result<(), Failure> {
    let Activity { activity_id, actor_id, kind, published_at, payload } =
        serde_json::from_str(activity.get()).map_err(unexpected)?;
    let payload = one_line(payload);
    say!("{published_at}  {actor_id:<16} {kind:<8} {activity_id:<24} {payload}")
}

fn unexpected(error: serde_json::Error) -> Failure {
    Failure::Unreachable(format!("the API's answer is not a page: {error}"))
}
