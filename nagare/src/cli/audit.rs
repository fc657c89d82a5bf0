//! `nagare audit`: compares stored timelines with what the ledger says they should be.

use clap::Args;
use shared::runtime::clock::Clock;
use shared::values::ViewerId;

use super::Failure;
use super::print::{counted, print_json, say, tell};
use super::remote::Remote;
use crate::operator::audit::{Auditor, Difference};
use crate::progress;

#[derive(Debug, Args)]
#[command(override_usage = "nagare audit <--viewer <VIEWER>...|--sample <SAMPLE>> [OPTIONS]")]
pub(super) struct Audit {
    /// The viewers whose timelines are compared.
    #[arg(long, num_args = 1.., required_unless_present = "sample")]
    viewer: Vec<ViewerId>,
    /// This many viewers, picked at random from all who follow somebody. Reads through all edges.
    #[arg(long, conflicts_with = "viewer")]
    sample: Option<usize>,
    /// Repair what differs.
    #[arg(long)]
    repair: bool,
    /// Print one JSON object for each difference.
    #[arg(long)]
    json: bool,
}

impl Audit {
    pub(super) async fn run(self) -> Result<(), Failure> {
        let remote = Remote::from_environment().await?;
        let (ledger, timelines) = (remote.ledger()?, remote.timelines()?);
        let auditor = Auditor::new(&ledger, timelines, remote.retention()?, Clock::system());
        let viewers = match self.sample {
            Some(size) => auditor.sample(size).await?,
            None => self.viewer.clone(),
        };
        let bar = progress::bar(viewers.len() as u64, "timelines audited");
        let (mut found, mut left, mut printed) = (0, 0, Ok(()));
        for viewer in &viewers {
            let differences = auditor.differences(viewer).await?;
            // The audit goes on if nobody reads its output any more: the exit code is the answer.
            printed = printed.and_then(|()| {
                bar.suspend(|| differences.iter().try_for_each(|difference| self.print(difference)))
            });
            found += differences.len();
            left += differences.len();
            if self.repair && !differences.is_empty() {
                auditor.repair(viewer, &differences).await?;
                left -= differences.len();
                left += auditor.differences(viewer).await?.len();
            }
            bar.inc(1);
        }
        bar.finish_and_clear();
        self.conclude(viewers.len(), found, left).and(printed)
    }

    fn print(&self, difference: &Difference) -> Result<(), Failure> {
        if self.json {
            return print_json(difference);
        }
        let Difference { viewer_id, difference, sort_key, actor_id } = difference;
        let kind = format!("{difference:?}").to_lowercase();
        let actor = actor_id.as_deref().unwrap_or("nobody");
        say!("{kind:<8} {viewer_id}  {sort_key}  of {actor}")?;
        Ok(())
    }

    fn conclude(&self, viewers: usize, found: usize, left: usize) -> Result<(), Failure> {
        let mended = if self.repair { format!(", {} mended", found - left) } else { String::new() };
        let viewers = counted(viewers as u64, "timeline", "timelines");
        let found = counted(found as u64, "difference", "differences");
        tell!("{viewers} audited: {found}{mended}");
        if left == 0 {
            return Ok(());
        }
        let left = counted(left as u64, "difference is", "differences are");
        Err(Failure::No(format!("{left} left")))
    }
}
