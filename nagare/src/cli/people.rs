//! `nagare following` and `nagare followers`: who follows whom, read through the HTTP API as a client would.
//!
//! Standard output has the people alone, one a line; whether there are more is said on standard error.

use clap::Args;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::Failure;
use super::print::{one_line, printable, printable_json, say, tell};
use crate::client::api::{Api, Query};

#[derive(Debug, Args)]
pub(super) struct Following {
    /// Who follows.
    viewer: String,
    #[command(flatten)]
    pages: PeoplePages,
}

#[derive(Debug, Args)]
pub(super) struct Followers {
    /// Who is followed.
    actor: String,
    #[command(flatten)]
    pages: PeoplePages,
}

/// Which pages are read, and how they are printed.
#[derive(Debug, Args)]
struct PeoplePages {
    /// How many there are on a page, 1 to 100.
    #[arg(long)]
    limit: Option<u32>,
    /// Go on from page to page until the end.
    #[arg(long)]
    all: bool,
    /// Go on where an earlier answer ended (its next_cursor).
    #[arg(long)]
    cursor: Option<String>,
    /// Print JSON: one person a line, and the cursor as a last line on standard error.
    #[arg(long)]
    json: bool,
}

#[derive(Deserialize)]
struct Page {
    items: Vec<Box<RawValue>>,
    next_cursor: Option<String>,
}

#[derive(Deserialize)]
struct Person {
    viewer_id: String,
    since: String,
    profile: Option<Box<RawValue>>,
}

/// Where to go on, for programs.
#[derive(Serialize)]
struct Cursor<'a> {
    next_cursor: Option<&'a str>,
}

impl Following {
    pub(super) async fn run(self) -> Result<(), Failure> {
        let Self { viewer, pages } = self;
        let path = ["v1", "viewers", &viewer, "following"];
        pages.run(&viewer, &path, &format!("{viewer} follows nobody")).await
    }
}

impl Followers {
    pub(super) async fn run(self) -> Result<(), Failure> {
        let Self { actor, pages } = self;
        let path = ["v1", "actors", &actor, "followers"];
        pages.run(&actor, &path, &format!("nobody follows {actor}")).await
    }
}

impl PeoplePages {
    async fn run(&self, caller: &str, path: &[&str], nobody: &str) -> Result<(), Failure> {
        let mut api = Api::on_behalf_of(caller).await?;
        let (mut cursor, mut shown) = (self.cursor.clone(), 0);
        loop {
            let Page { items, next_cursor } = api.get(path, &self.query(cursor)).await?;
            items.iter().try_for_each(|person| self.print(person))?;
            shown += items.len();
            if self.all && next_cursor.is_some() {
                cursor = next_cursor;
                continue;
            }
            return self.tell_end(shown, next_cursor.as_deref(), nobody);
        }
    }

    fn query(&self, cursor: Option<String>) -> Query {
        let given = [("limit", self.limit.map(|limit| limit.to_string())), ("cursor", cursor)];
        given.into_iter().filter_map(|(name, value)| Some((name, value?))).collect()
    }

    fn print(&self, person: &RawValue) -> Result<(), Failure> {
        if self.json {
            return say!("{}", one_line(person));
        }
        let unexpected =
            |e| Failure::Unreachable(format!("the API's answer is not a page of people: {e}"));
        let Person { viewer_id, since, profile } =
            serde_json::from_str(person.get()).map_err(unexpected)?;
        let profile = profile.map(|profile| one_line(&profile)).unwrap_or_default();
        say!("{}", format!("{since}  {viewer_id:<16} {profile}").trim_end())
    }

    /// Says on standard error what is left to read.
    fn tell_end(&self, shown: usize, next: Option<&str>, nobody: &str) -> Result<(), Failure> {
        if self.json {
            let cursor = serde_json::to_string(&Cursor { next_cursor: next })?;
            tell!("{}", printable_json(&cursor));
            return Ok(());
        }
        match next {
            Some(next) => tell!(
                "there is more: add --all for all of it, or read the next page with --cursor {}",
                printable(next)
            ),
            None if shown == 0 => tell!("{nobody}"),
            None => {}
        }
        Ok(())
    }
}
