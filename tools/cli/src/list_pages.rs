//! Pages of a list that continues by a `next_cursor` alone, read through the HTTP API as a client would.
//!
//! Standard output has the items alone, one a line. Standard error says whether there are more.

use clap::Args;
use nagare_client::api::{Api, Query};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::Failure;
use super::print::{one_line, printable, printable_json, say, tell};

/// Which pages are read, and how they are printed.
#[derive(Debug, Args)]
pub(super) struct ListPages {
    /// How many there are on a page, 1 to 100.
    #[arg(long)]
    limit: Option<u32>,
    /// Go on from page to page until the end.
    #[arg(long)]
    all: bool,
    /// Go on where an earlier answer ended (its next_cursor).
    #[arg(long)]
    cursor: Option<String>,
    /// Print JSON: one object a line, and the cursor as a last line on standard error.
    #[arg(long)]
    json: bool,
}

#[derive(Deserialize)]
struct ListPage {
    items: Vec<Box<RawValue>>,
    next_cursor: Option<String>,
}

/// Where to go on, for programs.
#[derive(Serialize)]
struct Cursor<'a> {
    next_cursor: Option<&'a str>,
}

impl ListPages {
    /// Reads the pages and prints them. `always` is sent for every page, `print` prints one item for people, and `nothing` is said if there
    /// is none.
    ///
    /// # Errors
    /// Those of [`Api::get`].
    pub(super) async fn run(
        &self,
        mut api: Api,
        path: &[&str],
        always: &Query,
        print: fn(&RawValue) -> Result<(), Failure>,
        nothing: &str,
    ) -> Result<(), Failure> {
        let (mut cursor, mut shown) = (self.cursor.clone(), 0);
        loop {
            let mut query = always.clone();
            query.extend(self.limit.map(|limit| ("limit", limit.to_string())));
            query.extend(cursor.map(|cursor| ("cursor", cursor)));
            let ListPage { items, next_cursor } = api.get(path, &query).await?;
            for item in &items {
                if self.json { say!("{}", one_line(item))? } else { print(item)? }
            }
            shown += items.len();
            if self.all && next_cursor.is_some() {
                cursor = next_cursor;
                continue;
            }
            return self.tell_end(shown, next_cursor.as_deref(), nothing);
        }
    }

    /// Says on standard error what is left to read.
    fn tell_end(&self, shown: usize, next: Option<&str>, nothing: &str) -> Result<(), Failure> {
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
            None if shown == 0 => tell!("{nothing}"),
            None => {}
        }
        Ok(())
    }
}
