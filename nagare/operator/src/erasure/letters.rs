//! Dead letters that name a person, and stored parts of bodies that no letter needs.

use std::time::Duration;

use futures::TryStreamExt;
use shared::command::Command;
use shared::dead_letters::{DeadLetter, DeadLetters};
use shared::dynamo::DynamoError;
use shared::values::{ActorId, Timestamp, is_id_character};

use crate::progress;

/// Longer than any invocation of the alerter: no letter is still coming for an older part.
const ON_ITS_WAY: Duration = Duration::from_secs(3_600);

/// What to do about a letter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Verdict {
    Keep,
    /// The command is about others; only the reason for its failure names the person.
    DropDetail,
    Drop,
}

/// Removes letters that name a person. Returns how many.
///
/// # Errors
/// [`DynamoError`]
pub async fn remove_those_of(
    letters: &DeadLetters,
    person: &ActorId,
    now: Timestamp,
) -> Result<usize, DynamoError> {
    let ids: Vec<_> = letters.all().map_ok(|letter| letter.id).try_collect().await?;
    let bar = progress::bar(ids.len() as u64, "dead letters read");
    let mut dropped = 0;
    for id in ids {
        dropped += usize::from(remove_if_about(letters, &id, person, now).await?);
        bar.inc(1);
    }
    bar.finish_and_clear();
    Ok(dropped)
}

/// A letter that comes back meanwhile is checked again.
async fn remove_if_about(
    letters: &DeadLetters,
    id: &str,
    person: &ActorId,
    now: Timestamp,
) -> Result<bool, DynamoError> {
    while let Some(letter) = letters.get(id).await? {
        match verdict(&letter, person.as_str(), now) {
            Verdict::Keep => return Ok(false),
            Verdict::DropDetail => {
                letters.remove_detail(&letter).await?;
                return Ok(false);
            }
            Verdict::Drop if letters.remove(&letter).await? => return Ok(true),
            Verdict::Drop => {}
        }
    }
    Ok(false)
}

/// Removes parts of bodies that no letter needs, whomever they are about: most of them do not say.
/// Returns how many were removed, and how many may yet be needed.
///
/// # Errors
/// [`DynamoError`]
pub async fn remove_spare_parts(
    letters: &DeadLetters,
    now: Timestamp,
) -> Result<(usize, usize), DynamoError> {
    let (mut dropped, mut waiting) = (0, 0);
    let before = now.plus_millis(-i64::try_from(ON_ITS_WAY.as_millis()).unwrap_or(i64::MAX));
    let parts = letters.spare_parts().await?;
    let bar = progress::bar(parts.len() as u64, "parts of dead letters checked");
    for part in parts {
        bar.inc(1);
        if part.stored_at.is_some_and(|stored_at| stored_at > before) {
            waiting += 1;
        } else if letters.remove_spare_part(&part).await? {
            dropped += 1;
        }
    }
    bar.finish_and_clear();
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
pub(super) fn is_named(body: &str, id: &str) -> bool {
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
}
