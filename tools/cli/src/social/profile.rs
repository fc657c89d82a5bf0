//! `nagare profile`.

use clap::{Args, Subcommand};
use nagare_client::api::{Api, Query};
use nagare_client::clock;
use serde::Deserialize;
use serde_json::value::RawValue;
use shared::command::Command;
use shared::platform::values::{Payload, Timestamp, ViewerId};
use shared::social::profiles::ProfileUpdate;

use crate::Failure;
use crate::pages::unexpected;
use crate::print::{one_line, say};
use crate::submit::Submission;

#[derive(Debug, Subcommand)]
pub(crate) enum Profile {
    /// Change what VIEWER's profile says.
    Set(SetProfile),
    /// Show what VIEWER's profile says; exit code 1 where there is none.
    Show(ShowProfile),
}

#[derive(Debug, Args)]
pub(crate) struct SetProfile {
    /// Whose.
    viewer: ViewerId,
    /// All that it says from then on, a JSON value of at most 4 KiB.
    #[arg(long)]
    payload: Payload,
    /// When, as an RFC 3339 instant; now, if it is not given. The latest wins.
    #[arg(long)]
    at: Option<Timestamp>,
    #[command(flatten)]
    submission: Submission,
}

#[derive(Debug, Args)]
pub(crate) struct ShowProfile {
    /// Whose.
    viewer: ViewerId,
    /// Print what the API answers, on one line.
    #[arg(long)]
    json: bool,
}

#[derive(Deserialize)]
struct Shown {
    payload: Box<RawValue>,
    updated_at: String,
}

impl Profile {
    pub(crate) async fn run(self) -> Result<(), Failure> {
        match self {
            Self::Set(set) => set.send().await,
            Self::Show(show) => show.run().await,
        }
    }
}

impl SetProfile {
    async fn send(self) -> Result<(), Failure> {
        let Self { viewer: viewer_id, payload, at, submission } = self;
        let at = at.unwrap_or_else(|| clock::clock().now());
        submission.send(Command::Profile(ProfileUpdate { viewer_id, at, payload })).await
    }
}

impl ShowProfile {
    async fn run(self) -> Result<(), Failure> {
        let viewer = self.viewer.as_str();
        let mut api = Api::on_behalf_of(viewer).await?;
        let found: Option<Box<RawValue>> =
            api.find(&["v1", "profiles", viewer], &Query::new()).await?;
        let answer = found.ok_or_else(|| Failure::No(format!("{viewer} has no profile")))?;
        if self.json {
            return say!("{}", one_line(&answer));
        }
        let Shown { payload, updated_at } =
            serde_json::from_str(answer.get()).map_err(unexpected)?;
        say!("{updated_at}  {viewer:<16} {}", one_line(&payload))
    }
}
