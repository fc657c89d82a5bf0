//! Alerts on the bus: each alert that is listed in the end is sent at least once, and none about a victim after its erasure.

use std::collections::BTreeSet;

use serde_json::Value;
use tests::World;

use super::calendar::millis;
use super::erasing::{Erasing, Victim};

/// The alerts that were sent to the bus, if there is one.
#[derive(Debug, Default)]
pub(super) struct Announced {
    /// The number of the last event that was looked at.
    last: u64,
    /// By tenant, customer and id.
    alerts: BTreeSet<[String; 3]>,
}

fn of_alert(said: &Value, tenant: &str) -> [String; 3] {
    let text = |name: &str| said[name].as_str().unwrap().to_owned();
    [tenant.to_owned(), text("customer_id"), text("alert_id")]
}

impl Announced {
    /// Takes the alerts sent since the last look. An alert decided before an erasure is not sent after it.
    pub(super) fn take(&mut self, world: &World, erasing: &Erasing) -> Result<(), String> {
        let told = world.bus.behind(self.last);
        self.last = told.last;
        for event in told.events {
            let event: Value = serde_json::from_str(event.event.get()).unwrap();
            let detail = &event["detail"];
            let is_erased = |gone_at: i64| millis(detail["at"].as_str().unwrap()) <= gone_at;
            let victim = erasing.victim.filter(|victim| victim.is_named(detail));
            if victim.is_some() && erasing.gone_at.is_some_and(is_erased) {
                return Err(format!("told after the erasure: {detail}"));
            }
            let tenant = detail["tenant_id"].as_str().unwrap();
            self.alerts.insert(of_alert(detail, tenant));
        }
        Ok(())
    }

    /// Forgets what was told of a victim: alerts of later events are told again.
    pub(super) fn forget(&mut self, victim: &Victim) {
        self.alerts.retain(|[tenant, customer, _]| !victim.is(tenant, customer));
    }

    /// Whether all of these alerts were told, but for those that the functions say they gave up: the
    /// bus has refused them, longer after they were decided than it is waited for.
    pub(super) fn check(
        &self,
        world: &World,
        tenant: &str,
        listed: &[Value],
    ) -> Result<(), String> {
        let is_told = |alert: &&Value| self.alerts.contains(&of_alert(alert, tenant));
        let untold: Vec<_> = listed.iter().filter(|alert| !is_told(alert)).collect();
        let lines = world.metrics.lines();
        let given_up: u64 = lines.iter().filter_map(|line| line["OutboundRefused"].as_u64()).sum();
        match untold.len() as u64 <= given_up {
            true => Ok(()),
            false => Err(format!("{tenant}: the bus was not told of {untold:?}")),
        }
    }
}
