//! The rows left of a victim: emptied views, which expire, and nothing else.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;
use shared::history::events::archive::{self, Line};
use shared::platform::ledger::FORGET_AT;
use shared::platform::stored::Erased;
use shared::platform::values::is_id_character;
use tests::World;

use super::{Erasing, Victim};
use crate::platform::stored::{StoredItem, items};

impl Erasing {
    /// Whether anything names the victim in the end, though they have not come back.
    pub(in super::super) fn check_left(
        &self,
        world: &World,
        tables: &[String],
    ) -> Result<(), String> {
        let Some(victim) = self.victim.filter(|victim| !victim.comes_back) else { return Ok(()) };
        for stored in items(world, tables)? {
            if victim.is_in_item(&stored.item) && !is_tombstone(&stored) {
                let StoredItem { table, pk, sk, item } = stored;
                return Err(format!("{victim:?} is left in {table:?}: {pk} {sk} {item}"));
            }
        }
        victim.check_archives(world)
    }
}

impl Victim {
    fn check_archives(&self, world: &World) -> Result<(), String> {
        for (key, object) in world.bucket.objects() {
            let mut is_theirs = self.customer.is_none() && key.contains(self.tenant);
            if key.ends_with(".jsonl.gz") {
                let read = archive::read(&object, |line| {
                    let line = Line::parse(line).unwrap();
                    is_theirs |= self.is(line.tenant_id, line.customer_id);
                });
                read.map_err(|damage| format!("{key}: {damage}"))?;
            }
            if is_theirs {
                return Err(format!("{self:?} is left in {key}"));
            }
        }
        Ok(())
    }

    /// True if an item names the tenant, and the customer if it is one.
    fn is_in_item(&self, item: &Value) -> bool {
        is_in(item, self.tenant) && self.customer.is_none_or(|customer| is_in(item, customer))
    }
}

/// True if a value of an item names an id.
fn is_in(value: &Value, id: &str) -> bool {
    let Value::Object(members) = value else {
        return value.as_array().into_iter().flatten().any(|value| is_in(value, id));
    };
    members.iter().any(|(name, value)| match (name.as_str(), value) {
        ("B", Value::String(bytes)) => is_packed_in(&STANDARD.decode(bytes).unwrap(), id),
        (_, Value::String(text)) => stands_in(text, id),
        (_, Value::Array(values)) => values.iter().any(|value| match value {
            Value::String(text) => stands_in(text, id),
            value => is_in(value, id),
        }),
        _ => stands_in(name, id) || is_in(value, id),
    })
}

fn stands_in(text: &str, id: &str) -> bool {
    text.match_indices(id).any(|(start, _)| {
        let before = text[..start].chars().next_back();
        let after = text[start + id.len()..].chars().next();
        ![before, after].into_iter().flatten().any(is_id_character)
    })
}

/// True if bytes have the id after its length, as names are packed.
fn is_packed_in(bytes: &[u8], id: &str) -> bool {
    let length = u8::try_from(id.len()).unwrap();
    bytes.windows(id.len() + 1).any(|part| part[0] == length && part[1..] == *id.as_bytes())
}

/// True if an item may stay for a while: until it expires, or until its table is dropped if it says over how many keys a customer is spread.
fn is_tombstone(stored: &StoredItem) -> bool {
    let Some(kind) = stored.kind() else { return false };
    let has_table = kind.name == "period" && stored.item["state"]["S"] != "dropped";
    has_table || stored.item.get(FORGET_AT).is_some() && kind.erased == Erased::Tombstone
}
