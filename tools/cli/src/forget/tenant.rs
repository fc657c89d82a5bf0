//! `nagare forget --tenant`: a tenant or one of its customers, with their events and all that is counted or said of them.

use nagare_client::clock;
use nagare_client::compaction::compact;
use nagare_client::remote::Remote;
use nagare_operator::erasure::history::events::EventErasure;
use nagare_operator::erasure::history::tenant;
use nagare_operator::erasure::letters;
use nagare_operator::event_scope::EventScope;
use serde::Serialize;
use shared::platform::values::{CustomerId, TenantId};

use super::super::Failure;
use super::super::print::{counted, print_json, say, tell};

/// What was found and erased, in numbers.
#[derive(Debug, Serialize)]
struct TenantErasureReport {
    tenant_id: TenantId,
    #[serde(skip_serializing_if = "Option::is_none")]
    customer_id: Option<CustomerId>,
    /// Events in tables.
    events: u64,
    /// Events in archives; those of periods whose table is there as well are counted in both.
    archived_events: u64,
    objects_rewritten: u64,
    objects_deleted: u64,
    /// Customers whose views were emptied.
    customers: u64,
    /// Names of events of which none is left, where a whole tenant is erased.
    names: u64,
    /// What was said of customers.
    payloads: u64,
    /// Rules and scores.
    definitions: u64,
    alerts: u64,
    dead_letters: usize,
    /// Dead letters that carry events of others as well.
    dead_letters_left: Vec<String>,
    /// Periods that could not be looked at yet.
    periods_left: Vec<String>,
    /// Commands that had not been applied by the end, whomever they are about.
    commands_waiting: u64,
}

/// Erases events from tables, archives, views and dead letters, and what was said and told of customers.
pub(super) async fn run(scope: EventScope, json: bool) -> Result<(), Failure> {
    let remote = Remote::from_environment().await?;
    let (ledger, letters) = (remote.ledger()?, remote.dead_letters()?);
    let clock = clock::clock();
    let (stored, objects) = ((&ledger, &remote.views()?), remote.objects()?);
    let erasure =
        EventErasure::new(scope.clone(), remote.events()?, stored, objects, clock.clone());
    let erased = tenant::erase(&erasure).await?;
    let (summaries, items, erased) = (erased.summaries, erased.items, erased.events);
    let commands_waiting = remote.messages().await?;
    let found = letters::remove_events_of(&letters, &scope, clock.now()).await?;
    compact(remote.target()).await?;
    let report = TenantErasureReport {
        tenant_id: scope.tenant_id,
        customer_id: scope.customer_id,
        events: erased.in_tables,
        archived_events: erased.in_archives,
        objects_rewritten: erased.objects_rewritten,
        objects_deleted: erased.objects_deleted,
        customers: summaries.customers,
        names: summaries.names,
        payloads: items.payloads,
        definitions: items.definitions,
        alerts: items.alerts,
        dead_letters: found.removed,
        dead_letters_left: found.mixed,
        periods_left: erased.waiting.iter().map(ToString::to_string).collect(),
        commands_waiting,
    };
    print(&report, json)?;
    if !remote.is_local() && !json {
        tell!(
            "copies remain that nothing can shorten: what the streams had before for 24 hours, and point-in-time recovery \
             for 35 days (docs/OPERATIONS.md, \"Deleting a tenant's or a customer's events\")"
        );
    }
    conclude(&report)
}

fn print(report: &TenantErasureReport, json: bool) -> Result<(), Failure> {
    if json {
        return print_json(report);
    }
    let TenantErasureReport { tenant_id, customer_id, .. } = report;
    let customer = customer_id.as_ref().map(|id| format!(" {id}")).unwrap_or_default();
    say!(
        "{tenant_id}{customer}: {} in tables, {} in archives ({} rewritten, {} deleted), {}, {}, {}, {}",
        counted(report.events, "event", "events"),
        counted(report.archived_events, "event", "events"),
        counted(report.objects_rewritten, "object", "objects"),
        report.objects_deleted,
        counted(report.customers, "customer", "customers"),
        counted(report.alerts, "alert", "alerts"),
        counted(report.definitions, "rule or score", "rules and scores"),
        counted(report.dead_letters as u64, "dead letter", "dead letters"),
    )?;
    if report.commands_waiting > 0 {
        let waiting = counted(report.commands_waiting, "command was", "commands were");
        tell!("{waiting} still on the way; run this again once the queue is empty");
    }
    Ok(())
}

/// What is left is the answer no.
fn conclude(report: &TenantErasureReport) -> Result<(), Failure> {
    let mut left = Vec::new();
    if !report.periods_left.is_empty() {
        left.push(format!(
            "{}: being archived or disputed; run this again once `nagare events periods` shows them as verified",
            report.periods_left.join(", ")
        ));
    }
    if !report.dead_letters_left.is_empty() {
        left.push(format!(
            "dead letters {}: they carry events of others as well; redrive or drop them, and run this again",
            report.dead_letters_left.join(", ")
        ));
    }
    match left.is_empty() {
        true => Ok(()),
        false => Err(Failure::No(left.join("; "))),
    }
}
