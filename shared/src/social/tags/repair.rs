//! Reads and repairs listings for audits.

use super::listing::{Listing, OF_TAG, attributes, read_listing};
use super::{STATE, Tags, keys};
use crate::platform::dynamo::item::text;
use crate::platform::dynamo::{DynamoError, Put, Query};
use crate::platform::register::Register;
use crate::platform::values::{ActorId, SortKey, Timestamp, ViewerId};

impl Tags {
    /// All listings of one person, including untags, earliest first.
    pub async fn all_listed(&self, person: &ViewerId) -> Result<Vec<Listing>, DynamoError> {
        let query = Query {
            keys: Some("pk = :pk"),
            values: vec![(":pk", text(keys::of_person(person)))],
            ..Query::default()
        };
        let rows = self.ledger.table().all(query).await?;
        rows.iter().map(read_listing).collect()
    }

    /// Makes a listing agree with the tag. `actor` is the actor of the claim, if there is one of this instant. Only replaces the listing
    /// that was read, by a tag that was read afterwards: if that changes meanwhile, the change writes the listing with a later instant.
    ///
    /// # Errors
    /// [`DynamoError`]; it may have been written.
    pub async fn repair_listing(
        &self,
        person: &ViewerId,
        sort_key: &SortKey,
        actor: Option<&ActorId>,
        now: Timestamp,
    ) -> Result<(), DynamoError> {
        let key = || keys::listing(person, sort_key);
        loop {
            // The order matters: see above.
            let row = self.ledger.get(key()).await?;
            let there = row.as_ref().map(read_listing).transpose()?;
            let tag = self.recorded(&sort_key.activity_id, person).await?;
            let item = match (tag, actor, &there) {
                (Some(state), Some(actor), _) => attributes(state, actor, now),
                // A listing without a tag or a claim was never right.
                (_, _, Some(Listing { state, actor_id: Some(actor), .. })) => {
                    attributes(Register { on: false, ..*state }, actor, now)
                }
                _ => return Ok(()),
            };
            let seen = STATE.unchanged(there.map(|listing| listing.state));
            let put = self.ledger.replace(key(), item, &OF_TAG, Some(seen)).await?;
            if put == Put::Done {
                return Ok(());
            }
        }
    }
}
