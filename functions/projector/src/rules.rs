//! Decides on the counts of customers that were folded.
//!
//! The views are written first, by this delivery or an earlier one, and then the rules are read: why no alert is missed is argued in
//! [`shared::tenants`]. Rules are read once for each tenant of a batch, and a customer only where a rule counts what they did.
//!
//! Where a call fails, the changes of those customers come again. A call may also be refused each time, because an item of the tenant cannot be
//! read. Then somebody has to repair the item and define the rule again, which decides on all customers. So the refusal is logged and counted. The
//! changes are folded already, and hold up no others.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use futures::{StreamExt, stream};
use shared::dynamo::IN_FLIGHT;
use shared::events::Customer;
use shared::projection::Change;
use shared::summaries::{Summaries, SummaryView, name_of};
use shared::tenants::{DecideError, RuleDefinition};
use shared::values::{EventName, TenantId};
use tracing::error;

use crate::Projector;
use crate::outcome::Outcome;
use crate::subject::{ByView, Subject};

/// The names of events that a batch has of each customer.
pub(crate) type NamesCounted = BTreeMap<Customer, BTreeSet<EventName>>;

pub(crate) fn counted(by_view: &ByView<'_>) -> NamesCounted {
    let of = |(view, changes): (&SummaryView, &Vec<_>)| match view {
        SummaryView::Customer(customer) => {
            let names = changes.iter().filter_map(|change: &&Change| name_of(change));
            Some((customer.clone(), names.collect()))
        }
        SummaryView::Name(..) | SummaryView::Witness(..) => None,
    };
    by_view.iter().filter_map(of).collect()
}

/// Decides on the customers whose changes are folded. Where that fails, the changes have to come again.
pub(crate) async fn decide(
    projector: &Projector,
    outcomes: Vec<Outcome>,
    counted: &NamesCounted,
) -> Vec<Outcome> {
    let mut names = BTreeMap::<TenantId, BTreeSet<EventName>>::new();
    for (customer, of_them) in counted {
        names.entry(customer.tenant_id.clone()).or_default().extend(of_them.iter().cloned());
    }
    let reading = names.into_iter().map(|(tenant, names)| async move {
        let read = projector.rules.counting(&tenant, &names).await;
        (tenant, read.map_err(|failure| Arc::new(DecideError::from(failure))))
    });
    let reading: Vec<_> = reading.collect();
    let rules: BTreeMap<_, _> = stream::iter(reading).buffered(IN_FLIGHT).collect().await;
    let deciding = outcomes.into_iter().map(|outcome| {
        let rules = &rules;
        async move {
            let Subject::Summary(SummaryView::Customer(customer)) = &outcome.subject else {
                return outcome;
            };
            let (Some(rules), Some(names), None) =
                (rules.get(&customer.tenant_id), counted.get(customer), &outcome.failure)
            else {
                return outcome;
            };
            let decided = match rules {
                Ok(rules) => of_customer(projector, customer, rules, names).await,
                Err(failure) => Err(Arc::clone(failure)),
            };
            match decided {
                Ok(()) => outcome,
                Err(failure) if failure.is_refusal() => {
                    let reason = failure.reason();
                    error!(tenant = %customer.tenant_id, reason, "rules did not decide: {failure}");
                    Outcome { is_undecided: true, ..outcome }
                }
                Err(failure) => outcome.failed(Arc::new(failure.into())),
            }
        }
    });
    let deciding: Vec<_> = deciding.collect();
    stream::iter(deciding).buffered(IN_FLIGHT).collect().await
}

async fn of_customer(
    projector: &Projector,
    customer: &Customer,
    rules: &[RuleDefinition],
    names: &BTreeSet<EventName>,
) -> Result<(), Arc<DecideError>> {
    let rules: Vec<_> = rules.iter().filter(|rule| rule.counts_one_of(names)).collect();
    if rules.is_empty() {
        return Ok(());
    }
    let summaries = Summaries::new(&projector.views);
    let summary = summaries.customer(customer).await.map_err(DecideError::from)?;
    let Some(summary) = summary else { return Ok(()) };
    for rule in rules {
        projector.rules.decide(rule, customer, &summary, projector.clock.now()).await?;
    }
    Ok(())
}
