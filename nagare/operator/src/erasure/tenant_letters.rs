//! Dead letters that carry events of a tenant, or of one of its customers.

use futures::TryStreamExt;
use shared::command::Command;
use shared::dead_letters::{DeadLetter, DeadLetters};
use shared::dynamo::DynamoError;
use shared::events::Event;
use shared::values::Timestamp;

use super::letters::is_named;
use crate::event_scope::EventScope;
use crate::progress;

/// What became of letters.
#[derive(Debug, Default)]
pub struct RemovedLetters {
    /// How many were removed.
    pub removed: usize,
    /// Ids of letters that also carry events of others. They are kept. If one is redriven, each of its events is recorded or refused on
    /// its own.
    pub mixed: Vec<String>,
}

/// Whose events a letter carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Carries {
    Others,
    Theirs,
    Both,
}

/// Removes letters that carry only events of this scope, and malformed letters that name the tenant and, if the scope is a customer,
/// the customer.
///
/// # Errors
/// [`DynamoError`]
pub async fn remove_those_of(
    letters: &DeadLetters,
    scope: &EventScope,
    now: Timestamp,
) -> Result<RemovedLetters, DynamoError> {
    let ids: Vec<_> = letters.all().map_ok(|letter| letter.id).try_collect().await?;
    let bar = progress::bar(ids.len() as u64, "dead letters read");
    let mut found = RemovedLetters::default();
    for id in ids {
        bar.inc(1);
        // One that comes back meanwhile is looked at again.
        while let Some(letter) = letters.get(&id).await? {
            match carries(&letter, scope, now) {
                Carries::Others => break,
                Carries::Both => {
                    found.mixed.push(id);
                    break;
                }
                Carries::Theirs if letters.remove(&letter).await? => {
                    found.removed += 1;
                    break;
                }
                Carries::Theirs => {}
            }
        }
    }
    bar.finish_and_clear();
    Ok(found)
}

fn carries(letter: &DeadLetter, scope: &EventScope, now: Timestamp) -> Carries {
    let of_event = |event: &Event| {
        let customer = &event.key.customer;
        scope.holds(customer.tenant_id.as_str(), customer.customer_id.as_str())
    };
    let named = |body: &str| {
        let customer = scope.customer_id.as_ref();
        is_named(body, scope.tenant_id.as_str())
            && customer.is_none_or(|id| is_named(body, id.as_str()))
    };
    match Command::parse_unverified(&letter.body, now) {
        Ok(Command::RecordEvent(recorded)) => of(of_event(&recorded.0), false),
        Ok(Command::RecordEvents(recorded)) => {
            let theirs = recorded.events.iter().map(|sent| match &sent.event {
                Ok(event) => of_event(event),
                Err(_) => named(&sent.json),
            });
            let theirs: Vec<_> = theirs.collect();
            of(theirs.contains(&true), theirs.contains(&false))
        }
        Ok(_) => Carries::Others,
        Err(_) => of(named(&letter.body), false),
    }
}

fn of(theirs: bool, others: bool) -> Carries {
    match (theirs, others) {
        (false, _) => Carries::Others,
        (true, false) => Carries::Theirs,
        (true, true) => Carries::Both,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn carried(body: &str, customer: Option<&str>) -> Carries {
        let at: Timestamp = "2026-11-20T12:00:00Z".parse().unwrap();
        let text = |text: &str| text.to_owned();
        let letter = DeadLetter {
            id: text("0"),
            message_id: text("0"),
            reason: text("event-too-late"),
            detail: text("a detail"),
            evidence: None,
            receive_count: 1,
            sent_at: at,
            stored_at: at,
            group: None,
            body: text(body),
        };
        let customer_id = customer.map(|id| id.parse().unwrap());
        carries(&letter, &EventScope { tenant_id: "acme".parse().unwrap(), customer_id }, at)
    }

    #[test]
    fn letters_carry_events_of_some() {
        let event = |tenant: &str, customer: &str| {
            format!(
                r#"{{"type":"event.recorded","tenant_id":"{tenant}","customer_id":"{customer}","event_id":"e","name":"login","at":"2026-11-20T12:00:00Z"}}"#
            )
        };
        let both = format!(
            r#"{{"type":"events.recorded","events":[{},{}]}}"#,
            event("acme", "c"),
            event("acme", "d")
        );
        for (body, customer, expected) in [
            (event("acme", "c"), None, Carries::Theirs),
            (event("acme", "c"), Some("c"), Carries::Theirs),
            (event("acme", "c"), Some("d"), Carries::Others),
            (event("other", "c"), Some("c"), Carries::Others),
            (both.clone(), None, Carries::Theirs),
            (both.clone(), Some("c"), Carries::Both),
            (both, Some("x"), Carries::Others),
            (r#"{"type":"event.recorded","tenant_id":"\u0061cme"}"#.into(), None, Carries::Theirs),
            (r#"{"type":"event.recorded","tenant_id":"acme"}"#.into(), Some("c"), Carries::Others),
            (
                r#"{"type":"activity.deleted","activity_id":"1","actor_id":"acme"}"#.into(),
                None,
                Carries::Others,
            ),
        ] {
            assert_eq!(carried(&body, customer), expected, "{body} {customer:?}");
        }
    }
}
