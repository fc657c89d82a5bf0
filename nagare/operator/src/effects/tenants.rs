//! What tenants define, and what they state about their customers: in effect once it is on record, or something that wins over it.

use std::fmt::Display;

use shared::dynamo::DynamoError;
use shared::tenants::{
    Alerts, AlertsRead, Change, CustomerUpdated, Customers, Definitions, RuleChange, ScoreChange,
};

use super::{CommandStatus, Effects};

impl Effects {
    /// What is said of a customer.
    pub(super) async fn customer(
        &self,
        update: &CustomerUpdated,
    ) -> Result<CommandStatus, DynamoError> {
        let customers = Customers::new(&self.ledger);
        let Some(there) = customers.get(&update.customer).await? else {
            return Ok(CommandStatus::Pending);
        };
        let there = (there.updated_at, there.payload.as_json().to_owned());
        Ok(match there.cmp(&(update.at, update.payload.as_json().to_owned())) {
            std::cmp::Ordering::Less => CommandStatus::Pending,
            std::cmp::Ordering::Equal => CommandStatus::applied(),
            std::cmp::Ordering::Greater => {
                CommandStatus::Overtaken(format!("the update of {} holds", there.0))
            }
        })
    }

    /// A rule. Its alerts about what has happened before follow.
    pub(super) async fn rule(&self, rule: &RuleChange) -> Result<CommandStatus, DynamoError> {
        let RuleChange { tenant_id, rule_id, change } = rule;
        let definitions = Definitions::new(&self.ledger);
        Ok(standing(definitions.rule(tenant_id, rule_id).await?, change))
    }

    /// A score.
    pub(super) async fn score(&self, score: &ScoreChange) -> Result<CommandStatus, DynamoError> {
        let ScoreChange { tenant_id, score_id, change } = score;
        let definitions = Definitions::new(&self.ledger);
        Ok(standing(definitions.score(tenant_id, score_id).await?, change))
    }

    /// A mark as read: all alerts that exist have one.
    pub(super) async fn alerts_read(
        &self,
        read: &AlertsRead,
    ) -> Result<CommandStatus, DynamoError> {
        let alerts = Alerts::new(&self.ledger);
        for alert in &read.read {
            if !alerts.is_marked(&read.tenant_id, alert).await? {
                return Ok(CommandStatus::Pending);
            }
        }
        Ok(CommandStatus::applied())
    }
}

fn standing<T: Display + PartialEq>(there: Option<Change<T>>, sent: &Change<T>) -> CommandStatus {
    match there {
        Some(there) if there == *sent => CommandStatus::applied(),
        Some(there) if sent.loses_against(&there) => {
            let what = if there.to.is_some() { "definition" } else { "delete" };
            CommandStatus::Overtaken(format!("the {what} of {} holds", there.at))
        }
        _ => CommandStatus::Pending,
    }
}
