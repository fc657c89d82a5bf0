//! Records and reads tags.

use super::{STATE, TagChange, TagItem, Tags, keys};
use crate::platform::dynamo::item::{Row, text};
use crate::platform::dynamo::{DynamoError, Put, Query};
use crate::platform::ledger::LedgerKey;
use crate::platform::register::Register;
use crate::platform::values::{ActivityId, ViewerId};

/// A tag of an activity.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tag {
    pub tagged_id: ViewerId,
    /// Whether they are tagged, and since when.
    pub state: Register,
}

/// Some tags of an activity, by the id of the person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TagPage {
    pub tags: Vec<Tag>,
    /// Where to continue, if there may be more.
    pub next: Option<ViewerId>,
}

impl Tags {
    /// Records a tag or an untag, unless one that wins over it is on record. Returns the state in force.
    ///
    /// # Errors
    /// [`DynamoError`]; it may have been recorded.
    pub async fn record(&self, change: &TagChange) -> Result<Register, DynamoError> {
        let TagChange { activity_id, tagged_id, state } = change;
        let key = keys::tag(activity_id, tagged_id);
        match self.ledger.replace(key, STATE.write(*state), &[], Some(STATE.wins(*state))).await? {
            Put::Done => Ok(*state),
            Put::Refused(there) => STATE.read(&self.ledger.table().row(there)),
        }
    }

    /// The tag of an activity and a person, if there is one.
    pub async fn recorded(
        &self,
        activity: &ActivityId,
        tagged: &ViewerId,
    ) -> Result<Option<Register>, DynamoError> {
        let row = self.ledger.get(keys::tag(activity, tagged)).await?;
        row.as_ref().map(|row| STATE.read(row)).transpose()
    }

    /// At most `limit` tags of an activity, including untags, after a person if one is given.
    pub async fn of_activity(
        &self,
        activity: &ActivityId,
        after: Option<&ViewerId>,
        limit: usize,
    ) -> Result<TagPage, DynamoError> {
        let query = Query {
            keys: Some("pk = :pk"),
            values: vec![(":pk", text(keys::of_activity(activity)))],
            start: after.map(|after| keys::tag(activity, after).into_item()),
            limit: i32::try_from(limit).ok(),
            ..Query::default()
        };
        let table = self.ledger.table();
        let page = table.page(&query).await?;
        let tags = page.rows.iter().map(|row| read_tag(row).map(|(_, tag)| tag));
        let next = page.next.map(|key| tagged_id(&table.row(key)).map(|(_, next)| next));
        Ok(TagPage { tags: tags.collect::<Result<_, _>>()?, next: next.transpose()? })
    }
}

/// Reads a tag back, and the activity that it is of.
///
/// # Errors
/// [`DynamoError::Corrupt`]
pub fn read_tag(row: &Row<'_>) -> Result<(ActivityId, Tag), DynamoError> {
    let (activity, tagged_id) = tagged_id(row)?;
    Ok((activity, Tag { tagged_id, state: STATE.read(row)? }))
}

fn tagged_id(row: &Row<'_>) -> Result<(ActivityId, ViewerId), DynamoError> {
    let key = LedgerKey::of(row)?;
    match keys::of_key(&key.pk, &key.sk) {
        Some(TagItem::Tag(activity, tagged)) => Ok((activity, tagged)),
        _ => Err(row.corrupt("pk", "the key of a tag")),
    }
}
