//! Dead letters that name a person, those of a tenant or of one of its customers, and stored parts of bodies that no
//! letter needs.

use std::time::Duration;

use futures::TryStreamExt;
use shared::command::Command;
use shared::history::events::Event;
use shared::history::summaries::SummaryView;
use shared::platform::dead_letters::{DeadLetter, DeadLetters};
use shared::platform::values::{ActorId, TenantId, Timestamp, is_id_character};

use crate::event_scope::EventScope;
use crate::{Result, progress};

/// Longer than any invocation of the alerter: no letter is still coming for an older part.
const ON_ITS_WAY: Duration = Duration::from_secs(3_600);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Verdict {
    Keep,
    /// The command is about others; only the reason for its failure names the person.
    DropDetail,
    Drop,
}

/// What became of letters.
#[derive(Debug, Default)]
pub struct RemovedLetters {
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

/// Does what is said of each letter. Returns how many were dropped. A letter that comes back meanwhile is checked again.
async fn judge(
    letters: &DeadLetters,
    mut verdict: impl FnMut(&DeadLetter) -> Verdict,
) -> Result<usize> {
    let ids: Vec<_> = letters.all().map_ok(|letter| letter.id).try_collect().await?;
    let mut dropped = 0;
    for id in progress::each(ids, "dead letters read") {
        while let Some(letter) = letters.get(&id).await? {
            match verdict(&letter) {
                Verdict::Keep => {}
                Verdict::DropDetail => letters.remove_detail(&letter).await?,
                Verdict::Drop if letters.remove(&letter).await? => dropped += 1,
                Verdict::Drop => continue,
            }
            break;
        }
    }
    Ok(dropped)
}

/// Removes letters that name a person. Returns how many.
pub async fn remove_those_of(
    letters: &DeadLetters,
    person: &ActorId,
    now: Timestamp,
) -> Result<usize> {
    judge(letters, |letter| verdict(letter, person.as_str(), now)).await
}

/// Removes letters that carry only events of this scope or say something else of it, and malformed letters that name the tenant and, if the scope is a customer,
/// the customer.
pub async fn remove_events_of(
    letters: &DeadLetters,
    scope: &EventScope,
    now: Timestamp,
) -> Result<RemovedLetters> {
    let mut mixed = Vec::new();
    let removed = judge(letters, |letter| match carries(letter, scope, now) {
        Carries::Theirs => Verdict::Drop,
        Carries::Others => Verdict::Keep,
        Carries::Both => {
            mixed.push(letter.id.clone());
            Verdict::Keep
        }
    });
    Ok(RemovedLetters { removed: removed.await?, mixed })
}

/// Removes parts of bodies that no letter needs, whomever they are about: most of them do not say.
/// Returns how many were removed, and how many may yet be needed.
pub async fn remove_spare_parts(letters: &DeadLetters, now: Timestamp) -> Result<(usize, usize)> {
    let (mut dropped, mut waiting) = (0, 0);
    let before = now.plus_millis(-i64::try_from(ON_ITS_WAY.as_millis()).unwrap_or(i64::MAX));
    let parts = letters.spare_parts().await?;
    for part in progress::each(parts, "parts of dead letters checked") {
        if part.stored_at > before {
            waiting += 1;
        } else if letters.remove_spare_part(&part).await? {
            dropped += 1;
        }
    }
    Ok((dropped, waiting))
}

/// A well-formed command is about those whom its members name. Anything else can never be applied, so
/// nothing is lost by dropping it: then it is enough that the id occurs anywhere.
fn verdict(letter: &DeadLetter, person: &str, now: Timestamp) -> Verdict {
    let names = |text: &str| stands_in(text, person);
    let group = letter.group.as_deref().is_some_and(names);
    let about =
        group || names(&letter.id) || names(&letter.reason) || body_names(letter, person, now);
    match about {
        true => Verdict::Drop,
        false if names(&letter.detail) => Verdict::DropDetail,
        false => Verdict::Keep,
    }
}

fn body_names(letter: &DeadLetter, person: &str, now: Timestamp) -> bool {
    match Command::parse_unverified(&letter.body, now) {
        // All of the row is in it.
        Ok(Command::Changed(_)) => stands_in(&letter.body, person),
        Ok(command) => command.subject().people().any(|id| id == person),
        Err(_) => is_named(&letter.body, person),
    }
}

/// True if an id occurs in a body, however it is written.
fn is_named(body: &str, id: &str) -> bool {
    stands_in(body, id) || stands_in(&unescaped(body), id)
}

/// A text with its `\u0061` escapes decoded, so that an id is found however it is written.
fn unescaped(text: &str) -> String {
    let mut pieces = text.split("\\u");
    let first = pieces.next().map_or_else(String::new, ToOwned::to_owned);
    pieces.fold(first, |mut unescaped, piece| {
        let digits = piece.get(..4).and_then(|digits| u32::from_str_radix(digits, 16).ok());
        match digits.and_then(char::from_u32) {
            Some(c) => {
                unescaped.push(c);
                unescaped.push_str(&piece[4..]);
            }
            None => unescaped.push_str(piece),
        }
        unescaped
    })
}

/// True if an id occurs in a text, and not only as a part of another id.
pub(super) fn stands_in(text: &str, id: &str) -> bool {
    text.match_indices(id).any(|(start, _)| {
        let before = text[..start].chars().next_back();
        let after = text[start + id.len()..].chars().next();
        ![before, after].into_iter().flatten().any(is_id_character)
    })
}

fn carries(letter: &DeadLetter, scope: &EventScope, now: Timestamp) -> Carries {
    match Command::parse_unverified(&letter.body, now) {
        Ok(command) => says(&command, scope),
        Err(_) => carried(names(&letter.body, scope), false),
    }
}

/// True if a body that cannot be read names the tenant, and the customer if the scope is one.
fn names(body: &str, scope: &EventScope) -> bool {
    let customer = scope.customer_id.as_ref();
    is_named(body, scope.tenant_id.as_str())
        && customer.is_none_or(|id| is_named(body, id.as_str()))
}

/// Whether a command carries data of the scope: events, the payload of a customer, definitions of a tenant.
fn says(command: &Command, scope: &EventScope) -> Carries {
    let of_event = |event: &Event| scope.has(&event.key.customer);
    let of_tenant = |id: &TenantId| scope.customer_id.is_none() && *id == scope.tenant_id;
    let is_theirs = match command {
        Command::RecordEvents(recorded) => {
            let theirs = recorded.events.iter().map(|sent| match &sent.event {
                Ok(event) => of_event(event),
                Err(_) => names(&sent.json, scope),
            });
            let theirs: Vec<_> = theirs.collect();
            return carried(theirs.contains(&true), theirs.contains(&false));
        }
        Command::Continued(continued) => return says(&continued.command, scope),
        Command::RecordEvent(recorded) => of_event(&recorded.event),
        Command::UpdateCustomer(update) => scope.has(&update.customer),
        Command::Rule(change) => of_tenant(&change.tenant_id),
        Command::Score(change) => of_tenant(&change.tenant_id),
        Command::ReadAlerts(read) => of_tenant(&read.tenant_id),
        // Its view says that it is the row of an event.
        Command::Changed(change) if SummaryView::of_key(&change.view).is_some() => {
            let mut ids = change.key.pk.split('#').map(str::to_owned);
            let [tenant, customer] = std::array::from_fn(|_| ids.next().unwrap_or_default());
            scope.holds(&tenant, &customer)
        }
        _ => false,
    };
    carried(is_theirs, false)
}

fn carried(theirs: bool, others: bool) -> Carries {
    match (theirs, others) {
        (false, _) => Carries::Others,
        (true, false) => Carries::Theirs,
        (true, true) => Carries::Both,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn letter(body: &str) -> DeadLetter {
        let at = "2026-11-20T12:00:00Z".parse().unwrap();
        let text = |text: &str| text.to_owned();
        DeadLetter {
            id: text("0"),
            message_id: text("0"),
            reason: text("malformed"),
            detail: text("a detail"),
            evidence: None,
            receive_count: 1,
            sent_at: at,
            stored_at: at,
            group: None,
            body: text(body),
        }
    }

    fn of(letter: &DeadLetter) -> Verdict {
        verdict(letter, "anna", letter.stored_at)
    }

    #[test]
    fn bodies_that_name_somebody() {
        for (body, verdict) in [
            (r#"{"type":"activity.deleted","activity_id":"1","actor_id":"anna"}"#, Verdict::Drop),
            (
                r#"{"type":"activity.deleted","activity_id":"1","actor_id":"\u0061nna"}"#,
                Verdict::Drop,
            ),
            (
                r#"{"type":"follow.created","follower_id":"anna","followee_id":"b","at":"2026-01-01T00:00:00Z"}"#,
                Verdict::Drop,
            ),
            (
                r#"{"type":"activity.deleted","activity_id":"1","actor_id":"bob","note":"anna"}"#,
                Verdict::Keep,
            ),
            // None of these is a command.
            (r#"{"type":"activity.deleted","activity_id":"1","actorId":"anna"}"#, Verdict::Drop),
            (r#"{"type":"activity.deleted","by":{"id":["anna"]}}"#, Verdict::Drop),
            (r#"{"type":"follow.created","anna":1}"#, Verdict::Drop),
            (r#"{"type":"follow.created","follower":"\u0061\u006en\u0061"}"#, Verdict::Drop),
            (r#"{"type":"follow.created","follower":"\u0061\u006eN\u0061"}"#, Verdict::Keep),
            ("anna, garbled", Verdict::Drop),
            ("hanna anna-2 anna:1", Verdict::Keep),
            (r"\u", Verdict::Keep),
            (r"\u00é", Verdict::Keep),
        ] {
            assert_eq!(of(&letter(body)), verdict, "{body}");
        }
    }

    #[test]
    fn what_came_along_names_somebody() {
        let theirs = letter(r#"{"type":"activity.deleted","activity_id":"1","actor_id":"bob"}"#);
        assert_eq!(of(&theirs), Verdict::Keep);
        let text = || "anna".to_owned();
        assert_eq!(of(&DeadLetter { group: Some(text()), ..theirs.clone() }), Verdict::Drop);
        assert_eq!(of(&DeadLetter { id: text(), ..theirs.clone() }), Verdict::Drop);
        assert_eq!(of(&DeadLetter { reason: text(), ..theirs.clone() }), Verdict::Drop);
        let detail = "item followers#anna 2612#bob".to_owned();
        assert_eq!(of(&DeadLetter { detail, ..theirs }), Verdict::DropDetail);
    }

    fn carried(body: &str, customer: Option<&str>) -> Carries {
        let at: Timestamp = "2026-11-20T12:00:00Z".parse().unwrap();
        let customer_id = customer.map(|id| id.parse().unwrap());
        carries(&letter(body), &EventScope { tenant_id: "acme".parse().unwrap(), customer_id }, at)
    }

    #[test]
    fn letters_carry_events_of_some() {
        let event = |tenant: &str, customer: &str| {
            format!(
                r#"{{"type":"event.recorded","tenant_id":"{tenant}","customer_id":"{customer}","event_id":"e","name":"login","at":"2026-11-20T12:00:00Z"}}"#
            )
        };
        let customer = |customer: &str| {
            format!(
                r#"{{"type":"customer.updated","tenant_id":"acme","customer_id":"{customer}","at":"2026-11-20T12:00:00Z","payload":1}}"#
            )
        };
        let rule = r#"{"type":"rule.deleted","tenant_id":"acme","rule_id":"r","at":"2026-11-20T12:00:00Z"}"#;
        let continued = |command: &str| {
            format!(
                r#"{{"type":"internal","seal":"s","command":{{"type":"command.continued","origin":"1","redelivered":true,"command":{command}}}}}"#
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
            (customer("c"), Some("c"), Carries::Theirs),
            (customer("c"), Some("d"), Carries::Others),
            (customer("c"), None, Carries::Theirs),
            (continued(&event("acme", "c")), Some("c"), Carries::Theirs),
            (continued(&both), Some("c"), Carries::Both),
            (rule.to_owned(), None, Carries::Theirs),
            (rule.to_owned(), Some("c"), Carries::Others),
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
