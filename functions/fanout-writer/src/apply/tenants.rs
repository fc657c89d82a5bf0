//! What tenants say of their customers, and want to be told.

use shared::tenants::{
    Alerts, AlertsRead, CustomerUpdated, Customers, Definitions, RuleChange, ScoreChange,
};

use crate::{Context, Disposition, Failure};

/// Records what is said of a customer, unless something later is on record.
pub(crate) async fn update_customer(
    cx: &Context,
    update: CustomerUpdated,
) -> Result<Disposition, Failure> {
    Customers::new(&cx.ledger).update(&update, cx.delivery.deadline).await?;
    Ok(Disposition::Applied(None))
}

/// Records a rule, or that it was deleted.
pub(crate) async fn rule(cx: &Context, change: RuleChange) -> Result<Disposition, Failure> {
    Definitions::new(&cx.ledger).record_rule(&change, cx.delivery.deadline).await??;
    Ok(Disposition::Applied(None))
}

/// Records a score, or that it was deleted. Readers compute it.
pub(crate) async fn score(cx: &Context, change: ScoreChange) -> Result<Disposition, Failure> {
    Definitions::new(&cx.ledger).record_score(&change, cx.delivery.deadline).await??;
    Ok(Disposition::Applied(None))
}

/// Marks alerts as read.
pub(crate) async fn read_alerts(cx: &Context, read: AlertsRead) -> Result<Disposition, Failure> {
    let alerts = Alerts::new(&cx.ledger);
    for alert in &read.read {
        alerts.mark_read(&read.tenant_id, alert, cx.delivery.deadline).await?;
    }
    Ok(Disposition::Applied(None))
}
