//! `nagare tag` and `nagare untag`.

use clap::Args;
use nagare_client::clock;
use shared::command::Command;
use shared::platform::register::Register;
use shared::platform::values::{ActivityId, Timestamp, ViewerId};
use shared::social::tags::TagChange;

use crate::Failure;
use crate::submit::Submission;

#[derive(Debug, Args)]
pub(crate) struct Tag {
    /// The activity's id. It need not be published yet.
    activity: ActivityId,
    /// Who is in it.
    tagged: ViewerId,
    /// When, as an RFC 3339 instant; now, if it is not given. The latest wins.
    #[arg(long)]
    at: Option<Timestamp>,
    #[command(flatten)]
    submission: Submission,
}

impl Tag {
    pub(crate) async fn send(self, tagged: bool) -> Result<(), Failure> {
        let Self { activity: activity_id, tagged: tagged_id, at, submission } = self;
        let changed_at = at.unwrap_or_else(|| clock::clock().now());
        let state = Register { on: tagged, changed_at };
        submission.send(Command::Tag(TagChange { activity_id, tagged_id, state })).await
    }
}
