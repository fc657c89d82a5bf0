//! Commands of tenants: customers, rules, scores, and alerts that were read.

use futures::{StreamExt, TryStreamExt, stream};
use shared::command::Command;
use shared::history::summaries::Summaries;
use shared::history::tenants::{
    Alerts, AlertsRead, CustomerUpdated, Customers, Daily, Decided, Definitions, RuleChange,
    RuleDefinition, Rules, ScoreChange,
};
use shared::platform::dynamo::{DynamoError, IN_FLIGHT};
use shared::platform::runtime::retry::Backoff;
use shared::platform::values::TenantId;

use crate::context::Context;
use crate::context::History;
use crate::disposition::Disposition;
use crate::failure::Failure;

/// Customers that a new rule decides on before it checks the time: a hundred views are one call.
const PAGE: usize = 100;

/// Records the payload of a customer, unless a later one is on record.
pub(crate) async fn update_customer(
    History { cx, .. }: History<'_>,
    update: CustomerUpdated,
) -> Result<Disposition, Failure> {
    Customers::new(&cx.ledger).update(&update).await?;
    Ok(Disposition::Applied(None))
}

/// Records a rule, or that it was deleted. A counting rule then decides once on all customers that
/// have been folded. The history projector, which reads rules after it has written a view, decides on
/// customers that are folded meanwhile or later. The keeper of periods, which finds the tenant in
/// its register, decides on daily rules. The tenant is registered after the rule is recorded,
/// because an erasure deletes the register's row before it deletes rules.
pub(crate) async fn rule(
    History { cx, .. }: History<'_>,
    change: RuleChange,
) -> Result<Disposition, Failure> {
    let rules = Rules::new(&cx.ledger, &cx.views).with_bus(&cx.bus);
    let definitions = Definitions::new(&cx.ledger);
    definitions.record_rule(&change, cx.clock.now()).await??;
    if change.is_daily() {
        Daily::new(&cx.ledger).register(&change.tenant_id, cx.clock.now()).await?;
    }
    let RuleChange { tenant_id, rule_id, .. } = &change;
    // If a later rule is in force, its own command decides, and removes the alerts of this one.
    let in_force = rules.undecided(tenant_id, rule_id).await?;
    let Some(rule) = in_force.filter(|rule| change.defines(rule)) else {
        return Ok(Disposition::Applied(None));
    };
    if !decide_on_all(cx, &rules, tenant_id, &rule).await? {
        return cx.hand_on(Command::Rule(change)).await;
    }
    rules.note_all_decided(tenant_id, &rule).await?;
    Ok(Disposition::Applied(None))
}

/// Decides on all customers of a tenant. Returns false if the rest is left to another delivery.
async fn decide_on_all(
    cx: &Context,
    rules: &Rules,
    tenant: &TenantId,
    rule: &RuleDefinition,
) -> Result<bool, Failure> {
    let delivery = &cx.delivery;
    let summaries = Summaries::new(&cx.views);
    let mut position = match delivery.may_have_progress() {
        true => rules.decided_up_to(tenant, &delivery.origin).await?,
        false => None,
    };
    let (mut noted, mut slice) = (position.is_some(), delivery.slice());
    let mut backoff = Backoff::default();
    loop {
        let page = summaries.customers(tenant, position.as_ref(), PAGE).await?;
        let is_last = page.len() < PAGE;
        let last = page.last().map(|on| on.customer.customer_id.clone());
        // After the page, so that a rule that an erasure has deleted decides on no customer who
        // came since.
        if rules.undecided(tenant, &rule.rule_id).await?.as_ref() != Some(rule) {
            break;
        }
        let deciding = page.into_iter().map(|on| {
            let now = cx.clock.now();
            async move { rules.decide_again(rule, &on, now).await }
        });
        let mut deciding = stream::iter(deciding).buffer_unordered(IN_FLIGHT);
        let mut is_void = false;
        while let Some(decided) = deciding.try_next().await? {
            is_void |= decided == Decided::Void;
        }
        drop(deciding);
        if is_void {
            backoff.wait(cx.ledger.table().deadline()).await.map_err(DynamoError::from)?;
            continue;
        }
        let Some(next) = last.filter(|_| !is_last) else { break };
        if slice.has_passed() {
            rules.note_decided(tenant, &delivery.origin, &next).await?;
            noted = true;
            if delivery.checkpoint_at.has_passed() {
                return Ok(false);
            }
            slice = delivery.slice();
        }
        position = Some(next);
    }
    if noted {
        rules.end_deciding(tenant, &delivery.origin).await?;
    }
    Ok(true)
}

/// Records a score, or that it was deleted. Readers compute it, and the keeper of periods gives its alerts.
pub(crate) async fn score(
    History { cx, .. }: History<'_>,
    change: ScoreChange,
) -> Result<Disposition, Failure> {
    let definitions = Definitions::new(&cx.ledger);
    definitions.record_score(&change, cx.clock.now()).await??;
    if change.is_daily() {
        Daily::new(&cx.ledger).register(&change.tenant_id, cx.clock.now()).await?;
    }
    Ok(Disposition::Applied(None))
}

pub(crate) async fn read_alerts(
    History { cx, .. }: History<'_>,
    read: AlertsRead,
) -> Result<Disposition, Failure> {
    let alerts = Alerts::new(&cx.ledger);
    alerts.mark_read(&read.tenant_id, &read.read).await?;
    Ok(Disposition::Applied(None))
}
