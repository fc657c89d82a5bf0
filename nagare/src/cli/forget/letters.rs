//! Dead letters that name a person.

use serde_json::Value;
use shared::ActorId;
use shared::id::is_id_character;
use shared::store::{DeadLetter, Store};

use crate::cli::remote::soon;
use crate::cli::{Failure, dead_letters, progress};

/// The members of a command that name somebody.
const NAMES: [&str; 3] = ["actor_id", "follower_id", "followee_id"];

/// Drops them; returns how many.
pub(super) async fn drop_those_of(store: &Store, person: &ActorId) -> Result<usize, Failure> {
    let letters = dead_letters::all(store).await?;
    let bar = progress::bar(letters.len() as u64, "dead letters read");
    let mut dropped = 0;
    for listed in letters {
        if let Some(letter) = store.letter(&listed.id, soon()).await?
            && is_about(&letter, person.as_str())
        {
            store.drop_letter(&letter, soon()).await?;
            dropped += 1;
        }
        bar.inc(1);
    }
    bar.finish_and_clear();
    Ok(dropped)
}

/// Whether a letter is a command about somebody. What is not even an object can never be a command, so
/// that nothing is lost with it: then it is enough that the id stands there.
fn is_about(letter: &DeadLetter, person: &str) -> bool {
    if letter.group.as_deref() == Some(person) {
        return true;
    }
    match serde_json::from_str(&letter.body) {
        Ok(Value::Object(command)) => {
            NAMES.iter().any(|name| command.get(*name).is_some_and(|id| id == person))
        }
        _ => stands_in(&letter.body, person),
    }
}

/// Whether an id stands in a text, and not only as a part of another.
fn stands_in(text: &str, id: &str) -> bool {
    text.match_indices(id).any(|(start, _)| {
        let before = text[..start].chars().next_back();
        let after = text[start + id.len()..].chars().next();
        ![before, after].into_iter().flatten().any(is_id_character)
    })
}
