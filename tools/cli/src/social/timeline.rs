//! `nagare timeline`, `nagare page` and `nagare tagged`: read a list of activities.

use clap::Args;
use nagare_client::api::{Api, Query};
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::Failure;
use crate::pages::{List, Pages, unexpected};
use crate::print::{one_line, say};

#[derive(Debug, Args)]
pub(crate) struct Timeline {
    /// Whose timeline.
    viewer: String,
    #[command(flatten)]
    pages: Pages,
}

#[derive(Debug, Args)]
pub(crate) struct PageOfActor {
    /// Who published it.
    actor: String,
    /// Keep what is of this kind; may be given several times.
    #[arg(long = "kind", value_name = "KIND", conflicts_with = "cursor")]
    kinds: Vec<String>,
    #[command(flatten)]
    pages: Pages,
}

#[derive(Debug, Args)]
pub(crate) struct Tagged {
    /// Who is tagged.
    viewer: String,
    /// Keep what is of this kind; may be given several times.
    #[arg(long = "kind", value_name = "KIND", conflicts_with = "cursor")]
    kinds: Vec<String>,
    #[command(flatten)]
    pages: Pages,
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
    pub(crate) async fn run(self) -> Result<(), Failure> {
        let Self { viewer, pages } = self;
        let nothing = format!("nothing in the timeline of {viewer}");
        read(&pages, &viewer, &["v1", "timelines", &viewer], Query::new(), nothing).await
    }
}

impl PageOfActor {
    pub(crate) async fn run(self) -> Result<(), Failure> {
        let Self { actor, kinds, pages } = self;
        let nothing = format!("nothing of {actor}'s");
        let kinds = of_kinds(kinds);
        read(&pages, &actor, &["v1", "actors", &actor, "activities"], kinds, nothing).await
    }
}

impl Tagged {
    pub(crate) async fn run(self) -> Result<(), Failure> {
        let Self { viewer, kinds, pages } = self;
        let nothing = format!("{viewer} is tagged in nothing");
        let kinds = of_kinds(kinds);
        read(&pages, &viewer, &["v1", "viewers", &viewer, "tagged"], kinds, nothing).await
    }
}

fn of_kinds(kinds: Vec<String>) -> Query {
    kinds.into_iter().map(|kind| ("kind", kind)).collect()
}

/// Reads the activities at a path, on behalf of a viewer.
async fn read(
    pages: &Pages,
    viewer: &str,
    path: &[&str],
    at_first: Query,
    nothing: String,
) -> Result<(), Failure> {
    let mut api = Api::on_behalf_of(viewer).await?;
    let list = List { path, always: Query::new(), at_first, print: print_activity, nothing };
    pages.run(&mut api, &list).await
}

/// Prints an activity for people.
fn print_activity(activity: &RawValue) -> Result<(), Failure> {
    let Activity { activity_id, actor_id, kind, published_at, payload } =
        serde_json::from_str(activity.get()).map_err(unexpected)?;
    let payload = one_line(payload);
    say!("{published_at}  {actor_id:<16} {kind:<8} {activity_id:<24} {payload}")
}
