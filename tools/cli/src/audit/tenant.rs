//! `nagare audit --tenant`: what there is of a tenant, or of one of its customers.

use nagare_client::remote::Remote;
use nagare_operator::audit::{EventsAuditor, SummariesAuditor};
use nagare_operator::event_scope::EventScope;
use shared::history::events::Archives;

use super::super::Failure;
use super::{Audit, Ended};

impl Audit {
    /// Compares what there is of the tenant that is named, if one is. The inner result says whether what was found could be printed.
    pub(super) async fn tenants(
        &self,
        remote: &Remote,
        ended: &mut Ended,
    ) -> Result<Result<(), Failure>, Failure> {
        let Some(tenant_id) = self.tenant.clone() else { return Ok(Ok(())) };
        let scope = EventScope { tenant_id, customer_id: self.customer.clone() };
        let archives = Archives::new(&remote.ledger()?);
        let auditor = EventsAuditor::new(remote.events()?, archives, remote.objects()?);
        let found = auditor.differences(&scope).await?;
        let printed = self.add(&found, ended);
        let found = SummariesAuditor::over(remote)?.differences(&scope, false).await?;
        Ok(printed.and(self.add(&found, ended)))
    }
}
