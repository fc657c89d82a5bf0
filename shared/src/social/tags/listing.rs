//! Listings: what somebody is tagged in, in the order of a timeline.

use super::{STATE, Tag, TagItem, Tags, keys};
use crate::platform::dynamo::DynamoError;
use crate::platform::dynamo::item::{Item, Row, text};
use crate::platform::ledger::LedgerKey;
use crate::platform::paging::{RowChunk, Slice};
use crate::platform::register::Register;
use crate::platform::values::{ActorId, SortKey, Timestamp, ViewerId};

/// The attribute that only the listing of a tagged person has.
pub(super) const OF_TAG: [&str; 2] = [STATE.on, "actor_id"];

/// The listing of an activity for a person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listing {
    pub sort_key: SortKey,
    pub state: Register,
    /// The actor; `None` if the person is not tagged.
    pub actor_id: Option<ActorId>,
}

impl Tags {
    /// Writes the listing of a published activity for a tag or an untag, unless there is a later one. `actor` and `sort_key` are those
    /// of the claim of the activity.
    ///
    /// # Errors
    /// [`DynamoError`]; it may be listed.
    pub async fn list(
        &self,
        Tag { tagged_id, state }: &Tag,
        actor: &ActorId,
        sort_key: &SortKey,
        now: Timestamp,
    ) -> Result<(), DynamoError> {
        let item = attributes(*state, actor, now);
        let key = keys::listing(tagged_id, sort_key);
        self.ledger.replace(key, item, &OF_TAG, Some(STATE.wins(*state))).await.map(|_| ())
    }

    /// Reads a slice of the activities that a person is tagged in, with their actors.
    pub async fn listings(
        &self,
        person: &ViewerId,
        slice: Slice<'_>,
    ) -> Result<RowChunk<(SortKey, ActorId)>, DynamoError> {
        let pk = keys::of_person(person);
        RowChunk::read(&self.ledger, &pk, slice, target).await
    }

    /// The listings of an activity for these people, in their order. They must differ, at most [`BATCH_GET`](crate::platform::dynamo::BATCH_GET).
    pub async fn listed(
        &self,
        people: &[&ViewerId],
        sort_key: &SortKey,
    ) -> Result<Vec<Option<Listing>>, DynamoError> {
        let keys: Vec<_> = people.iter().map(|person| keys::listing(person, sort_key)).collect();
        let items = keys.iter().cloned().map(LedgerKey::into_item).collect();
        let mut listed = vec![None; keys.len()];
        for row in self.ledger.table().batch_get(items).await? {
            let key = LedgerKey::of(&row)?;
            if let Some(index) = keys.iter().position(|of| *of == key) {
                listed[index] = Some(read_listing(&row)?);
            }
        }
        Ok(listed)
    }
}

/// Reads a listing back.
///
/// # Errors
/// [`DynamoError::Corrupt`]
pub fn read_listing(row: &Row<'_>) -> Result<Listing, DynamoError> {
    let key = LedgerKey::of(row)?;
    let Some(TagItem::Listing(_, sort_key)) = keys::of_key(&key.pk, &key.sk) else {
        return Err(row.corrupt("pk", "the key of a listing"));
    };
    let state = STATE.read(row)?;
    let actor_id = match state.on {
        true => Some(row.parsed("actor_id", "an id")?),
        false => None,
    };
    Ok(Listing { sort_key, state, actor_id })
}

/// The activity of a listing and its actor, if the person is tagged in it.
fn target(row: &Row<'_>) -> Result<Option<(SortKey, ActorId)>, DynamoError> {
    let Listing { sort_key, actor_id, .. } = read_listing(row)?;
    Ok(actor_id.map(|actor| (sort_key, actor)))
}

pub(super) fn attributes(state: Register, actor: &ActorId, now: Timestamp) -> Item {
    if !state.on {
        return STATE.tombstone(state.changed_at, now);
    }
    let mut item = STATE.write(state);
    item.insert("actor_id".to_owned(), text(actor.as_str()));
    item
}
