//! Reads and repairs listings for audits.

use super::listing::{Listing, OF_TAG, attributes, read_listing};
use super::{TagState, Tags, keys};
use crate::dynamo::item::{text, truth};
use crate::dynamo::{Condition, DynamoError, Put, Query};
use crate::values::{ActorId, SortKey, Timestamp, ViewerId};

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
                    attributes(TagState { tagged: false, ..*state }, actor, now)
                }
                _ => return Ok(()),
            };
            let seen = match there.map(|listing| listing.state) {
                None => Condition::new("attribute_not_exists(#at)"),
                Some(TagState { tagged: true, changed_at }) => {
                    Condition::new("#at = :seen AND tagged = :yes")
                        .value(":yes", truth(true))
                        .value(":seen", text(changed_at.to_string()))
                }
                Some(TagState { changed_at, .. }) => {
                    Condition::new("#at = :seen AND attribute_not_exists(tagged)")
                        .value(":seen", text(changed_at.to_string()))
                }
            };
            let seen = seen.name("#at", "at");
            let put = self.ledger.replace(key(), item, &OF_TAG, Some(seen)).await?;
            if put == Put::Done {
                return Ok(());
            }
        }
    }
}
