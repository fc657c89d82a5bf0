//! Alerts of rules that count: those that should be listed are, and no other is.

use std::collections::BTreeSet;

use shared::history::summaries::CustomerSummary;
use shared::history::tenants::{Alert, Alerts, Rules};
use shared::platform::values::CustomerId;
use tokio::time::Instant;

use super::{Audited, PATIENCE, PAUSE, SummaryFault};
use crate::Result;

const PAGE: usize = 500;

impl Audited<'_> {
    /// Adds what a customer should count to what names and alerts should say.
    pub(super) fn add(&mut self, id: &CustomerId, counts: &CustomerSummary) {
        if self.scope.customer_id.is_some() {
            return;
        }
        for (name, tally) in counts.names() {
            let sum = self.names.entry(name.clone()).or_default();
            match &mut sum.tally {
                Some(sum) => sum.join(tally),
                none => *none = Some(tally),
            }
            counts.days().get(name).into_iter().for_each(|days| sum.days.join(days));
        }
        let customer = self.customer(id);
        for rule in &self.rules {
            self.asked.extend(Rules::asked(rule, &customer, counts));
        }
    }

    /// Compares the list of alerts with those that rules ask for.
    pub(super) async fn alerts(&mut self) -> Result<()> {
        let end = Instant::now() + PATIENCE;
        loop {
            let listed = self.listed().await?;
            let there: BTreeSet<_> = listed.iter().map(|alert| &alert.alert_id).collect();
            let missing = self.asked.iter().filter(|alert| !there.contains(alert));
            let missing: Vec<_> = missing.cloned().collect();
            // One may be on its way, behind the view that asks for it.
            if !missing.is_empty() && Instant::now() < end {
                tokio::time::sleep(PAUSE * 10).await;
                continue;
            }
            for alert in missing {
                self.differs(SummaryFault::Alert, alert, "is asked for, and not listed".to_owned());
            }
            for alert in listed {
                if !self.asked.contains(&alert.alert_id) && !self.is_asked_now(&alert).await? {
                    let what = "is listed, and not asked for".to_owned();
                    self.differs(SummaryFault::Alert, alert.alert_id, what);
                }
            }
            return Ok(());
        }
    }

    /// True if events that have come meanwhile ask for an alert: they are counted before the alert is given.
    async fn is_asked_now(&self, alert: &Alert) -> Result<bool> {
        let customer = self.customer(&alert.customer_id);
        let counts = self.auditor.summaries.customer(&customer).await?.unwrap_or_default();
        let asked = self.rules.iter().flat_map(|rule| Rules::asked(rule, &customer, &counts));
        Ok(asked.into_iter().any(|asked| asked == alert.alert_id))
    }

    /// The alerts of rules in force that count.
    async fn listed(&self) -> Result<Vec<Alert>> {
        let (alerts, tenant) = (Alerts::new(&self.auditor.ledger), &self.scope.tenant_id);
        let (mut listed, mut behind) = (Vec::new(), None);
        loop {
            let (page, has_more) = alerts.page(tenant, behind.as_ref(), PAGE).await?;
            behind = page.last().map(|last| (last.decided_at, last.alert_id.clone()));
            let is_of_one = |it: &Alert| self.rules.iter().any(|rule| it.is_of(rule));
            listed.extend(page.into_iter().filter(is_of_one));
            if !has_more || behind.is_none() {
                return Ok(listed);
            }
        }
    }
}
