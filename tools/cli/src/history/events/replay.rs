//! `nagare events replay`: counts a tenant's events again, and makes the views again that say something else.

use clap::Args;
use nagare_client::remote::Remote;
use nagare_operator::audit::SummariesAuditor;
use nagare_operator::event_scope::EventScope;
use shared::platform::values::TenantId;

use crate::Failure;
use crate::audit::InWords;
use crate::print::{counted, print_json, printable, say, tell};

/// Count all events of a tenant again, from tables and archives, and compare the summaries with that.
///
/// With `--switch` those that differ are replaced, once nothing of them is in a stream. It reads all of the tenant's events, and scans the tables of
/// periods. Exits 1 if something differs and was not replaced, or has changed all the time.
#[derive(Debug, Args)]
pub(crate) struct ReplayEvents {
    /// Whose events.
    #[arg(long)]
    tenant: TenantId,
    /// Put what was counted in the place of what differs.
    #[arg(long)]
    switch: bool,
    /// Print one JSON object for each difference.
    #[arg(long)]
    json: bool,
}

impl ReplayEvents {
    pub(crate) async fn run(self) -> Result<(), Failure> {
        let remote = Remote::from_environment().await?;
        let scope = EventScope { tenant_id: self.tenant.clone(), customer_id: None };
        let auditor = SummariesAuditor::over(&remote)?;
        let found = auditor.differences(&scope, self.switch).await?;
        for difference in &found.differences {
            match self.json {
                true => print_json(difference)?,
                false => say!("{}", printable(&difference.in_words()))?,
            }
        }
        let number = counted(found.differences.len() as u64, "difference", "differences");
        tell!("{number}, {} replaced", found.mended);
        if !found.busy.is_empty() {
            let busy = found.busy.join(", ");
            return Err(Failure::No(format!(
                "changed all the time: {busy}; try again when they are quieter"
            )));
        }
        match found.differences.len() - found.mended {
            0 => Ok(()),
            left => Err(Failure::No(format!(
                "{} left",
                counted(left as u64, "difference", "differences")
            ))),
        }
    }
}
