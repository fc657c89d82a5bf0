//! Decides on the counts of customers that were folded.
//!
//! The views are written first, by this delivery or an earlier one, and then the rules are read:
//! why no alert is missed is argued in [`shared::history::tenants`]. Rules are read once for each tenant of
//! a batch, and a customer only where a rule counts what they did. If an erasure has emptied the
//! customer's view since it was folded, the rules may be erased too, and are read again.
//!
//! Where a call fails, the changes of those customers come again. A call may also be refused each time, because an item of the tenant cannot be
//! read. Then somebody has to repair the item and define the rule again, which decides on all customers. So the refusal is logged and counted. The
//! changes are folded already, and hold up no others.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use function_stream::Failure;
use futures::{StreamExt, stream};
use shared::history::events::Customer;
use shared::history::summaries::{Summaries, SummaryView, name_of};
use shared::history::tenants::{DecideError, Decided, RuleDefinition};
use shared::platform::dynamo::{DynamoError, IN_FLIGHT};
use shared::platform::projection::Change;
use shared::platform::runtime::retry::Backoff;
use shared::platform::values::{EventName, TenantId};
use tracing::error;

use crate::counted::{ByView, Counted, Outcome};
use crate::metrics::Undecided;
use crate::projector::Projector;

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
        (tenant, read.map_err(|failure| Arc::new(Failure::from(failure))))
    });
    let reading: Vec<_> = reading.collect();
    let rules: BTreeMap<_, _> = stream::iter(reading).buffered(IN_FLIGHT).collect().await;
    let deciding = outcomes.into_iter().map(|outcome| {
        let rules = &rules;
        async move {
            let Counted { view: SummaryView::Customer(customer), life } = &outcome.subject else {
                return (outcome, false);
            };
            let (Some(rules), Some(names), None) =
                (rules.get(&customer.tenant_id), counted.get(customer), &outcome.failure)
            else {
                return (outcome, false);
            };
            let decided = match rules {
                Ok(rules) => of_customer(projector, customer, (*life, rules), names).await,
                Err(failure) => Err(Arc::clone(failure)),
            };
            match decided {
                Ok(()) => (outcome, false),
                Err(failure) if failure.is_refusal() => {
                    let reason = failure.reason();
                    error!(tenant = %customer.tenant_id, reason, "rules did not decide: {failure}");
                    (outcome, true)
                }
                Err(failure) => (outcome.failed(failure), false),
            }
        }
    });
    let deciding: Vec<_> = deciding.collect();
    let decided: Vec<_> = stream::iter(deciding).buffered(IN_FLIGHT).collect().await;
    let undecided = decided.iter().filter(|(_, is_undecided)| *is_undecided).count() as u64;
    if undecided > 0 {
        let undecided = Undecided { undecided_rules: undecided.into() };
        projector.projection.metrics.record(&undecided, projector.projection.clock.now());
    }
    decided.into_iter().map(|(outcome, _)| outcome).collect()
}

/// Decides on a customer by rules that were read after the view had this life.
async fn of_customer(
    projector: &Projector,
    customer: &Customer,
    (mut life, rules): (u64, &[RuleDefinition]),
    names: &BTreeSet<EventName>,
) -> Result<(), Arc<Failure>> {
    let mut rules: Vec<_> = rules.iter().filter(|it| it.counts_one_of(names)).cloned().collect();
    let (summaries, mut backoff) =
        (Summaries::new(&projector.projection.views), Backoff::default());
    while !rules.is_empty() {
        let on = summaries.snapshot(customer).await.map_err(Failure::from)?;
        let mut is_void = on.life != life;
        for rule in &rules {
            let now = projector.projection.clock.now();
            is_void = is_void
                || projector.rules.decide(rule, &on, now).await.map_err(failure_of)?
                    == Decided::Void;
        }
        if !is_void {
            break;
        }
        backoff
            .wait(projector.projection.deadline())
            .await
            .map_err(|late| Failure::from(DynamoError::from(late)))?;
        life = on.life;
        rules =
            projector.rules.counting(&customer.tenant_id, names).await.map_err(Failure::from)?;
    }
    Ok(())
}

/// Why the changes of a customer come again, if rules could not decide.
fn failure_of(failure: DecideError) -> Failure {
    match failure {
        DecideError::Dynamo(failure) => failure.into(),
        DecideError::Bus(failure) => failure.into(),
    }
}
