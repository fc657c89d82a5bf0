//! `nagare following` and `nagare followers`: who follows whom, read through the HTTP API as a client would.
//!
//! Standard output has the people alone, one a line. Standard error says whether there are more.

use clap::Args;
use nagare_client::api::{Api, Query};
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::Failure;
use crate::list_pages::ListPages;
use crate::print::{one_line, say};

#[derive(Debug, Args)]
pub(crate) struct Following {
    /// Who follows.
    viewer: String,
    #[command(flatten)]
    pages: ListPages,
}

#[derive(Debug, Args)]
pub(crate) struct Followers {
    /// Who is followed.
    actor: String,
    #[command(flatten)]
    pages: ListPages,
}

#[derive(Deserialize)]
struct Person {
    viewer_id: String,
    since: String,
    profile: Option<Box<RawValue>>,
}

impl Following {
    pub(crate) async fn run(self) -> Result<(), Failure> {
        let Self { viewer, pages } = self;
        let path = ["v1", "viewers", &viewer, "following"];
        people(&pages, &viewer, &path, &format!("{viewer} follows nobody")).await
    }
}

impl Followers {
    pub(crate) async fn run(self) -> Result<(), Failure> {
        let Self { actor, pages } = self;
        let path = ["v1", "actors", &actor, "followers"];
        people(&pages, &actor, &path, &format!("nobody follows {actor}")).await
    }
}

async fn people(
    pages: &ListPages,
    caller: &str,
    path: &[&str],
    nobody: &str,
) -> Result<(), Failure> {
    let api = Api::on_behalf_of(caller).await?;
    pages.run(api, path, &Query::new(), print, nobody).await
}

fn print(person: &RawValue) -> Result<(), Failure> {
    let unexpected =
        |e| Failure::Unreachable(format!("the API's answer is not a page of people: {e}"));
    let Person { viewer_id, since, profile } =
        serde_json::from_str(person.get()).map_err(unexpected)?;
    let profile = profile.map(|profile| one_line(&profile)).unwrap_or_default();
    say!("{}", format!("{since}  {viewer_id:<16} {profile}").trim_end())
}
