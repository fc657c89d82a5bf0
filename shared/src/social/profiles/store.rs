//! Records and reads profiles: one item each, among the items about one person ([`PERSON`](crate::platform::ledger::PERSON)).

use std::collections::HashMap;

use super::ProfileUpdate;
use crate::platform::dynamo::item::Row;
use crate::platform::dynamo::{DynamoError, keys};
use crate::platform::ledger::Ledger;
use crate::platform::values::{Payload, Timestamp, ViewerId};

/// A profile as it is now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Profile {
    pub payload: Payload,
    /// The `at` of the update that won.
    pub updated_at: Timestamp,
}

/// The profiles. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Profiles {
    ledger: Ledger,
}

impl Profiles {
    pub fn new(ledger: &Ledger) -> Self {
        Self { ledger: ledger.clone() }
    }

    /// Records an update, unless one that wins over it is on record.
    ///
    /// # Errors
    /// [`DynamoError`]; it may have been recorded.
    pub async fn update(&self, update: &ProfileUpdate) -> Result<(), DynamoError> {
        let ProfileUpdate { viewer_id, at, payload } = update;
        self.ledger.put_latest(key(viewer_id), *at, payload).await
    }

    /// The profile of a viewer, if there is one.
    pub async fn profile(&self, viewer: &ViewerId) -> Result<Option<Profile>, DynamoError> {
        let row = self.ledger.get(key(viewer)).await?;
        row.as_ref().map_or(Ok(None), read)
    }

    /// The profiles of these viewers, which must differ, at most [`BATCH_GET`](crate::platform::dynamo::BATCH_GET), in one call. Viewers without
    /// profile are left out.
    pub async fn profiles(
        &self,
        viewers: impl IntoIterator<Item = &ViewerId>,
    ) -> Result<HashMap<ViewerId, Profile>, DynamoError> {
        let keys = viewers.into_iter().map(|viewer| key(viewer).into_item());
        let mut profiles = HashMap::new();
        for row in self.ledger.table().batch_get(keys.collect()).await? {
            let viewer = of_key(row.text("pk")?, row.text("sk")?);
            let viewer = viewer.ok_or_else(|| row.corrupt("pk", "that of a profile"))?;
            profiles.extend(read(&row)?.map(|profile| (viewer, profile)));
        }
        Ok(profiles)
    }
}

/// Reads an item; an erased one is not a profile.
fn read(row: &Row<'_>) -> Result<Option<Profile>, DynamoError> {
    let Some(payload) = row.optional_text("payload")? else { return Ok(None) };
    let payload = Payload::stored(payload)
        .map_err(|_| row.corrupt("payload", "a JSON value of at most 4 KiB"))?;
    Ok(Some(Profile { payload, updated_at: row.parsed("at", "an instant")? }))
}

keys! {
    /// The viewer whose profile has this key.
    fn of_key -> ViewerId;
    partitions {
        of_viewer(viewer: ViewerId) = "person#{viewer}#profile";
    }
    items {
        key(viewer: ViewerId) = of_viewer(viewer), "profile" in Ledger as "profile" {
            says: "the profile of {viewer}",
            most: 5_120, grows: "the payload of the latest update; earlier ones are gone",
            at_bound: "a larger payload is refused when the command is parsed",
            test: "`profiles::`, the model test",
            later: Kept, erased: Tombstone,
        } => viewer;
    }
}
