//! `nagare profile`.

use clap::Subcommand;
use shared::command::Command;
use shared::profiles::ProfileUpdate;
use shared::values::{Payload, Timestamp, ViewerId};

use super::Failure;
use super::submit::Submission;
use crate::client::clock;

#[derive(Debug, Subcommand)]
pub(super) enum Profile {
    /// Change what VIEWER's profile says.
    Set {
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
    },
}

impl Profile {
    pub(super) async fn run(self) -> Result<(), Failure> {
        let Self::Set { viewer: viewer_id, payload, at, submission } = self;
        let at = at.unwrap_or_else(|| clock::clock().now());
        submission.send(Command::Profile(ProfileUpdate { viewer_id, at, payload })).await
    }
}
