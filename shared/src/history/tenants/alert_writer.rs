//! Puts alerts, and sends them to the bus.

use super::{Alert, AlertSource, Alerts};
use crate::platform::dynamo::DynamoError;
use crate::platform::outbound::{Bus, BusError, Happened, OutboundEvent};
use crate::platform::values::TenantId;

/// An alert was not put, or not sent.
#[derive(Debug, thiserror::Error)]
pub enum DecideError {
    #[error(transparent)]
    Dynamo(#[from] DynamoError),
    /// The bus that alerts are sent to.
    #[error(transparent)]
    Bus(#[from] BusError),
}

impl DecideError {
    /// True if retries cannot help: a stored item has to be repaired.
    pub fn is_refusal(&self) -> bool {
        matches!(self, Self::Dynamo(error) if error.is_refusal())
    }

    /// True if it only ran out of time.
    pub fn is_out_of_time(&self) -> bool {
        matches!(
            self,
            Self::Dynamo(DynamoError::DeadlineExceeded(_))
                | Self::Bus(BusError::DeadlineExceeded(_))
        )
    }

    /// A short fixed word for logs and metrics.
    pub fn reason(&self) -> &'static str {
        match self {
            Self::Dynamo(error) => error.reason(),
            Self::Bus(error) => error.reason(),
        }
    }
}

impl Alerts {
    /// Puts alerts, unless they were put, and then sends all of them to the bus.
    ///
    /// # Errors
    /// [`DecideError`]; some may have been put, and some sent.
    pub(super) async fn raise(
        &self,
        bus: &Bus,
        tenant: &TenantId,
        alerts: &[Alert],
    ) -> Result<(), DecideError> {
        let mut put = Vec::new();
        for alert in alerts {
            let decided_at = self.give(tenant, alert).await?;
            put.push(Alert { decided_at, ..alert.clone() });
        }
        self.tell(bus, tenant, &put).await
    }

    /// Sends alerts to the bus, if there is one.
    ///
    /// # Errors
    /// [`DecideError`]; some may have been sent.
    pub(super) async fn tell(
        &self,
        bus: &Bus,
        tenant: &TenantId,
        alerts: &[Alert],
    ) -> Result<(), DecideError> {
        if !bus.is_on() {
            return Ok(());
        }
        let events = alerts.iter().map(|alert| alert.event(tenant)).collect::<Result<_, _>>()?;
        Ok(bus.send(events, self.ledger.table().deadline()).await?)
    }
}

impl Alert {
    pub(super) fn event(&self, tenant: &TenantId) -> Result<OutboundEvent, BusError> {
        let (rule_id, score_id) = match self.source.clone() {
            AlertSource::Rule(rule) => (Some(rule), None),
            AlertSource::Score(score) => (None, Some(score)),
        };
        let (period, day) = match self.is_daily() {
            true => (None, Some(self.when_name())),
            false => (Some(self.when_name()), None),
        };
        let happened = Happened::AlertRaised {
            tenant_id: tenant.clone(),
            alert_id: self.alert_id.clone(),
            customer_id: self.customer_id.clone(),
            rule_id,
            score_id,
            period,
            day,
            events: self.events,
        };
        OutboundEvent::new(&happened, self.decided_at, self.decided_at)
    }
}
