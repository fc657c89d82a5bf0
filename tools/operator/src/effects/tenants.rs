//! What tenants record, define, and state about their customers: in effect once it is on record, or something that wins over it.

use std::fmt::Display;

use shared::history::events::{Event, EventOutcome, EventsRecorded};
use shared::history::tenants::{
    Alerts, AlertsRead, CustomerUpdated, Customers, DefinitionChange, Definitions, RuleChange,
    ScoreChange,
};

use super::{CommandStatus, Effects, Looked};

impl Effects {
    /// An event: it is in the table of its period.
    pub(super) async fn event(&self, event: &Event) -> Looked {
        // If another one is there, a dead letter follows.
        let there = self.events.recorded(event).await?;
        Ok(CommandStatus::applied_if(matches!(there, Some(EventOutcome::There))))
    }

    /// Several events: each of them, or another event with its identity, is in its table.
    pub(super) async fn events(&self, sent: &EventsRecorded) -> Looked {
        let mut remark = None;
        for event in sent.events.iter().filter_map(|sent| sent.event.as_ref().ok()) {
            match self.events.recorded(event).await? {
                Some(EventOutcome::There) => {}
                Some(_) => remark = Some("some of them are refused: see the dead letters"),
                None => return Ok(CommandStatus::Pending),
            }
        }
        Ok(CommandStatus::Applied { entries: None, remark })
    }

    /// What is said of a customer.
    pub(super) async fn customer(&self, update: &CustomerUpdated) -> Looked {
        let customers = Customers::new(&self.ledger);
        let there = customers.get(&update.customer).await?;
        let there = there.as_ref().map(|there| (there.updated_at, there.payload.as_json()));
        let sent = (update.at, update.payload.as_json());
        Ok(CommandStatus::of_record(there, sent, |(at, _)| format!("the update of {at} holds")))
    }

    /// A rule. Its alerts about what has happened before follow.
    pub(super) async fn rule(&self, rule: &RuleChange) -> Looked {
        let RuleChange { tenant_id, rule_id, .. } = rule;
        let definitions = Definitions::new(&self.ledger);
        Ok(standing(definitions.rule(tenant_id, rule_id).await?, &rule.change()))
    }

    pub(super) async fn score(&self, score: &ScoreChange) -> Looked {
        let ScoreChange { tenant_id, score_id, .. } = score;
        let definitions = Definitions::new(&self.ledger);
        Ok(standing(definitions.score(tenant_id, score_id).await?, &score.change()))
    }

    /// A mark as read: all alerts that exist have one.
    pub(super) async fn alerts_read(&self, read: &AlertsRead) -> Looked {
        let alerts = Alerts::new(&self.ledger);
        for alert in &read.read {
            if !alerts.is_marked(&read.tenant_id, alert).await? {
                return Ok(CommandStatus::Pending);
            }
        }
        Ok(CommandStatus::applied())
    }
}

fn standing<T: Display + PartialEq>(
    there: Option<DefinitionChange<T>>,
    sent: &DefinitionChange<T>,
) -> CommandStatus {
    match there {
        Some(there) if there == *sent => CommandStatus::applied(),
        Some(there) if sent.loses_against(&there) => {
            let what = if there.to.is_some() { "definition" } else { "delete" };
            CommandStatus::overtaken(format!("the {what} of {} holds", there.at))
        }
        _ => CommandStatus::Pending,
    }
}
