//! What is left of a person who was erased: tombstones that expire, and nothing else.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;
use shared::platform::ledger::FORGET_AT;
use shared::platform::stored::{Erased, StoredIn};
use shared::platform::values::{SortKey, is_id_character};
use tests::World;

use super::Leaving;
use crate::platform::stored::{StoredItem, items};
use crate::social::commands::RETENTION;

impl Leaving {
    /// Whether anything names the person in the end, though they have not come back. Readers that died
    /// may have left entries.
    pub(crate) fn check_left(self, world: &World, has_left_entries: bool) -> Result<(), String> {
        if self.comes_back {
            return Ok(());
        }
        let now = world.clock.now().unix_millis();
        for stored in items(world, &[])? {
            let StoredItem { table, pk, sk, item } = &stored;
            let is_known = is_tombstone(&stored)
                || is_dropped(&stored, now)
                || has_left_entries && *table == StoredIn::Timelines;
            if self.is_in(item) && !is_known {
                return Err(format!("{} is left in {table:?}: {pk} {sk} {item}", self.person));
            }
        }
        Ok(())
    }

    /// Whether a value of an item names the person.
    fn is_in(self, value: &Value) -> bool {
        let Value::Object(members) = value else {
            let each = value.as_array().into_iter().flatten();
            return each.into_iter().any(|value| self.is_in(value));
        };
        members.iter().any(|(name, value)| match (name.as_str(), value) {
            ("S", Value::String(text)) => self.stands_in(text),
            ("SS", Value::Array(texts)) => {
                texts.iter().any(|text| self.stands_in(text.as_str().unwrap()))
            }
            ("B", Value::String(bytes)) => self.is_packed_in(&STANDARD.decode(bytes).unwrap()),
            _ => self.stands_in(name) || self.is_in(value),
        })
    }

    fn stands_in(self, text: &str) -> bool {
        text.match_indices(self.person).any(|(start, id)| {
            let before = text[..start].chars().next_back();
            let after = text[start + id.len()..].chars().next();
            ![before, after].into_iter().flatten().any(is_id_character)
        })
    }

    /// Whether bytes have the id behind its length, as names are packed.
    fn is_packed_in(self, bytes: &[u8]) -> bool {
        let id = self.person.as_bytes();
        let length = u8::try_from(id.len()).unwrap();
        bytes.windows(id.len() + 1).any(|part| part[0] == length && part[1..] == *id)
    }
}

/// Whether an item expires and says no more than a tombstone may.
fn is_tombstone(stored: &StoredItem) -> bool {
    let has_content = stored.item.to_string().contains("{\\\"");
    let is_known = stored.kind().is_some_and(|kind| kind.erased == Erased::Tombstone);
    stored.item.get(FORGET_AT).is_some() && is_known && !has_content
}

/// Whether it is an entry past retention, which the table drops in its own time.
fn is_dropped(stored: &StoredItem, now: i64) -> bool {
    let at = stored.sk.parse::<SortKey>().map(|it| it.published_at.unix_millis());
    stored.table == StoredIn::Timelines && at.is_ok_and(|at| at < now - RETENTION)
}
