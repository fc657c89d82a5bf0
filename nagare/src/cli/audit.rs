//! `nagare audit`: compares stored timelines with what the ledger says they should be, and likes and notifications
//! with a recount of the facts.

use clap::Args;
use serde::Serialize;
use shared::runtime::clock::Clock;
use shared::values::{ActivityId, ViewerId};

use super::Failure;
use super::print::{counted, print_json, say, tell};
use super::remote::Remote;
use crate::operator::audit::{
    AuditError, Auditor, Difference, Found, InboxDifference, LikesAuditor, LikesDifference,
};
use crate::progress;

#[derive(Debug, Args)]
#[command(
    override_usage = "nagare audit <--viewer <VIEWER>...|--activity <ACTIVITY>...|--sample <SAMPLE>> [OPTIONS]"
)]
pub(super) struct Audit {
    /// The viewers whose timelines and unread numbers are compared.
    #[arg(long, num_args = 1.., required_unless_present_any = ["sample", "activity"])]
    viewer: Vec<ViewerId>,
    /// The activities whose likes and notifications are recounted. Reads through all likes.
    #[arg(long, num_args = 1..)]
    activity: Vec<ActivityId>,
    /// This many viewers, picked at random from all who follow somebody, and as many activities, from all that
    /// somebody likes. Reads through all edges and likes.
    #[arg(long, conflicts_with_all = ["viewer", "activity"])]
    sample: Option<usize>,
    /// Repair what differs.
    #[arg(long)]
    repair: bool,
    /// Print one JSON object for each difference.
    #[arg(long)]
    json: bool,
}

/// How an audit ended.
#[derive(Default)]
struct Ended {
    found: usize,
    left: usize,
    busy: Vec<String>,
}

impl Ended {
    fn add<D, I: ToString>(&mut self, found: &Found<D, I>) {
        self.found += found.differences.len();
        self.left += found.differences.len() - found.mended;
        self.busy.extend(found.busy.iter().map(ToString::to_string));
    }
}

impl Audit {
    pub(super) async fn run(self) -> Result<(), Failure> {
        let remote = Remote::from_environment().await?;
        let (ledger, timelines) = (remote.ledger()?, remote.timelines()?);
        let auditor = Auditor::new(&ledger, timelines, remote.retention()?, Clock::system());
        let likes = LikesAuditor::new(&remote.facts()?, &remote.views()?, Clock::system());
        let (viewers, activities) = match self.sample {
            Some(size) => (auditor.sample(size).await?, likes.sample(size).await?),
            None => (self.viewer.clone(), self.activity.clone()),
        };
        let (mut ended, timelines) = self.timelines(&auditor, &viewers).await?;
        let printed = timelines.and(self.likes(&likes, &viewers, &activities, &mut ended).await?);
        self.conclude(viewers.len(), activities.len(), ended).and(printed)
    }

    /// Compares timelines. The inner result says whether what was found could be printed.
    async fn timelines(
        &self,
        auditor: &Auditor,
        viewers: &[ViewerId],
    ) -> Result<(Ended, Result<(), Failure>), Failure> {
        let bar = progress::bar(viewers.len() as u64, "timelines audited");
        let (mut ended, mut printed) = (Ended::default(), Ok(()));
        for viewer in viewers {
            let differences = auditor.differences(viewer).await?;
            // The audit goes on if nobody reads its output any more: the exit code is the answer.
            printed = printed.and_then(|()| {
                bar.suspend(|| differences.iter().try_for_each(|difference| self.print(difference)))
            });
            ended.found += differences.len();
            ended.left += differences.len();
            if self.repair && !differences.is_empty() {
                auditor.repair(viewer, &differences).await?;
                ended.left -= differences.len();
                ended.left += auditor.differences(viewer).await?.len();
            }
            bar.inc(1);
        }
        bar.finish_and_clear();
        Ok((ended, printed))
    }

    /// Recounts likes, then what is unread: that depends on the former.
    async fn likes(
        &self,
        auditor: &LikesAuditor,
        viewers: &[ViewerId],
        activities: &[ActivityId],
        ended: &mut Ended,
    ) -> Result<Result<(), Failure>, Failure> {
        let (mut printed, mut viewers) = (Ok(()), viewers.to_vec());
        if !activities.is_empty() {
            let found = auditor.activities(activities, self.repair).await?;
            let mut differences = found.differences.iter();
            printed = printed.and_then(|()| differences.try_for_each(|found| self.print(found)));
            ended.add(&found);
            // What was not counted was not told of, either.
            let actors = found.differences.iter().filter_map(|found| found.actor_id.as_ref());
            viewers.extend(actors.filter_map(|actor| ViewerId::new(actor.as_str()).ok()));
            viewers.sort_unstable();
            viewers.dedup();
        }
        if !viewers.is_empty() {
            let found = auditor.inboxes(&viewers, self.repair).await?;
            let mut differences = found.differences.iter();
            printed = printed.and_then(|()| differences.try_for_each(|found| self.print(found)));
            ended.add(&found);
        }
        Ok(printed)
    }

    fn print(&self, difference: &(impl Serialize + InWords)) -> Result<(), Failure> {
        if self.json {
            return print_json(difference);
        }
        say!("{}", difference.in_words())?;
        Ok(())
    }

    fn conclude(&self, viewers: usize, activities: usize, ended: Ended) -> Result<(), Failure> {
        let Ended { found, left, busy } = ended;
        let mended = if self.repair { format!(", {} mended", found - left) } else { String::new() };
        let timelines = counted(viewers as u64, "timeline", "timelines");
        let audited = match (viewers, activities) {
            (_, 0) => timelines,
            (0, _) => counted(activities as u64, "activity", "activities"),
            (_, _) => {
                format!("{timelines}, {}", counted(activities as u64, "activity", "activities"))
            }
        };
        let found = counted(found as u64, "difference", "differences");
        tell!("{audited} audited: {found}{mended}");
        if !busy.is_empty() {
            let busy = busy.join(", ");
            return Err(Failure::No(format!(
                "not compared, as they changed all the time: {busy}; try again when they are quieter"
            )));
        }
        if left == 0 {
            return Ok(());
        }
        let left = counted(left as u64, "difference is", "differences are");
        Err(Failure::No(format!("{left} left")))
    }
}

/// A difference as people read it.
trait InWords {
    fn in_words(&self) -> String;
}

impl InWords for Difference {
    fn in_words(&self) -> String {
        let Self { viewer_id, difference, sort_key, actor_id } = self;
        let kind = format!("{difference:?}").to_lowercase();
        let actor = actor_id.as_deref().unwrap_or("nobody");
        format!("{kind:<8} {viewer_id}  {sort_key}  of {actor}")
    }
}

impl InWords for LikesDifference {
    fn in_words(&self) -> String {
        let Self { activity_id, stored, recounted, .. } = self;
        format!(
            "likes    {activity_id}  {} instead of {}, {} read instead of {}, {} unread instead of {}",
            stored.count,
            recounted.count,
            stored.read,
            recounted.read,
            stored.unread,
            recounted.unread
        )
    }
}

impl InWords for InboxDifference {
    fn in_words(&self) -> String {
        let Self { viewer_id, stored, recounted, .. } = self;
        format!(
            "inbox    {viewer_id}  {stored} unread instead of {recounted}, {} listed instead of {}",
            self.stored_notifications, self.recounted_notifications
        )
    }
}

impl From<AuditError> for Failure {
    fn from(error: AuditError) -> Self {
        match error {
            AuditError::Dynamo(error) => error.into(),
            AuditError::NotProjected => Self::No(error.to_string()),
        }
    }
}
