//! The rows of archives: their objects, the progress of making one, and the progress of reading one back.
//!
//! An object has two rows: one in the partition of its tenant, which lists what tenants have, and one in the partition of its period, by
//! which all objects are found. Both are put before the progress that depends on them, and every writer puts the same.

use aws_sdk_dynamodb::types::AttributeValue;

use super::archived::EDITIONS;
use super::{ArchivedObject, Period, Tally, keys};
use crate::platform::dynamo::item::{Item, Key, Row, number, text, truth};
use crate::platform::dynamo::{Condition, Dynamo, DynamoError, Put, Query};
use crate::platform::ledger::Ledger;
use crate::platform::values::TenantId;

/// The optional attributes of a row of progress.
const OPTIONAL: [&str; 6] = ["start_pk", "start_sk", "ends", "is_last_chunk", "end_pk", "end_sk"];

/// The rows. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Archives {
    pub(super) ledger: Ledger,
}

/// The progress of archiving a segment of a table.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SegmentProgress {
    /// How often the row was written; 0 if there is none yet.
    pub version: u64,
    pub chunk: u32,
    /// The last item of the chunk before it, if there is one.
    pub start: Option<Key>,
    /// Its end, once decided.
    pub end: Option<ChunkEnd>,
    /// True if all chunks are archived.
    pub done: bool,
    /// The number of objects of the chunks before it.
    pub objects: u64,
    pub tally: Tally,
}

/// The last item of a chunk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChunkEnd {
    /// Its key; `None` if there is no item left.
    pub last: Option<Key>,
    /// True if it is the last of the segment.
    pub is_last_chunk: bool,
}

/// The progress of reading an archive back.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ReadBack {
    /// How often the row was written; 0 if there is none yet.
    pub version: u64,
    /// The row of the period to continue after.
    pub position: Option<Key>,
    /// The tally of the objects so far.
    pub tally: Tally,
}

impl Archives {
    pub fn new(ledger: &Ledger) -> Self {
        Self { ledger: ledger.clone() }
    }

    /// The same, with the client of a piece of work.
    #[must_use]
    pub fn over(&self, dynamo: &Dynamo) -> Self {
        Self { ledger: self.ledger.over(dynamo) }
    }

    /// Puts the rows of an object.
    ///
    /// # Errors
    /// [`DynamoError`]; either row may be put.
    pub async fn note(&self, object: &ArchivedObject) -> Result<(), DynamoError> {
        for key in object.keys() {
            self.ledger.replace(key, object.attributes(), &EDITIONS, None).await?;
        }
        Ok(())
    }

    /// Deletes the rows of an object. The row by which it is found is deleted last.
    ///
    /// # Errors
    /// [`DynamoError`]; either row may be deleted.
    pub async fn forget(&self, object: &ArchivedObject) -> Result<(), DynamoError> {
        let [in_period, of_tenant] = object.keys();
        self.ledger.delete(of_tenant).await?;
        self.ledger.delete(in_period).await
    }

    /// Deletes the progress of the archive of a period.
    pub async fn forget_progress(&self, period: Period, segments: u32) -> Result<(), DynamoError> {
        for segment in 0..segments {
            self.ledger.delete(keys::archiving(&period, &segment)).await?;
        }
        self.forget_read_back(period).await
    }

    /// Deletes the progress of reading an archive back, which may name a tenant.
    pub async fn forget_read_back(&self, period: Period) -> Result<(), DynamoError> {
        self.ledger.delete(keys::read_back(&period)).await
    }

    /// At most N objects of a period after a row, and where to continue.
    pub async fn of_period(
        &self,
        period: Period,
        behind: Option<Key>,
        at_most: i32,
    ) -> Result<(Vec<ArchivedObject>, Option<Key>), DynamoError> {
        let query = Query {
            keys: Some("pk = :pk AND begins_with(sk, :object)"),
            values: vec![
                (":pk", text(keys::archiving_of(&period))),
                (":object", text(keys::OBJECT)),
            ],
            start: behind.map(Key::into_item),
            limit: Some(at_most),
            ..Query::default()
        };
        let page = self.ledger.table().page(&query).await?;
        let objects = page.rows.iter().map(ArchivedObject::read).collect::<Result<_, _>>()?;
        let next = page.next.map(|item| self.ledger.table().row(item));
        Ok((objects, next.as_ref().map(Key::of).transpose()?))
    }

    /// Some objects of a tenant, newest period and last object first, and where to continue. `behind` is the name of a period, for objects
    /// of the periods before it, or the result of an earlier call.
    pub async fn of_tenant(
        &self,
        tenant: &TenantId,
        behind: Option<&str>,
    ) -> Result<(Vec<ArchivedObject>, Option<String>), DynamoError> {
        let mut values: Vec<(&str, AttributeValue)> = vec![(":pk", text(keys::archive(tenant)))];
        // The keys of a period are greater than its name.
        let keys = match behind {
            Some(behind) => {
                values.push((":behind", text(behind)));
                "pk = :pk AND sk < :behind"
            }
            None => "pk = :pk",
        };
        let query = Query { keys: Some(keys), values, descending: true, ..Query::default() };
        let page = self.ledger.table().page(&query).await?;
        let objects = page.rows.iter().map(ArchivedObject::read).collect::<Result<_, _>>()?;
        let next = page.next.map(|item| self.ledger.table().row(item));
        Ok((objects, next.map(|row| row.text("sk").map(ToOwned::to_owned)).transpose()?))
    }

    /// The progress of archiving a segment.
    pub async fn segment(
        &self,
        period: Period,
        segment: u32,
    ) -> Result<SegmentProgress, DynamoError> {
        let row = self.ledger.get(keys::archiving(&period, &segment)).await?;
        row.as_ref().map_or_else(|| Ok(SegmentProgress::default()), SegmentProgress::read)
    }

    /// Replaces the progress of a segment that was read. Returns false if somebody else has written meanwhile.
    ///
    /// # Errors
    /// [`DynamoError`]; it may be noted.
    pub async fn replace_segment(
        &self,
        period: Period,
        segment: u32,
        progress: &SegmentProgress,
    ) -> Result<bool, DynamoError> {
        let key = keys::archiving(&period, &segment);
        self.replace(key, progress.version, progress.attributes()).await
    }

    /// The progress of reading an archive back.
    pub async fn read_back(&self, period: Period) -> Result<ReadBack, DynamoError> {
        let row = self.ledger.get(keys::read_back(&period)).await?;
        let Some(row) = row else { return Ok(ReadBack::default()) };
        Ok(ReadBack {
            version: row.count("version")?,
            position: key_of(&row, "start")?,
            tally: Tally::read(&row)?.unwrap_or_default(),
        })
    }

    /// Notes the progress of reading an archive back. Returns false if somebody else has written meanwhile.
    ///
    /// # Errors
    /// [`DynamoError`]; it may be noted.
    pub async fn replace_read_back(
        &self,
        period: Period,
        read: &ReadBack,
    ) -> Result<bool, DynamoError> {
        let mut item = read.tally.attributes();
        item.extend(attributes_of("start", read.position.as_ref()));
        self.replace(keys::read_back(&period), read.version, item).await
    }

    async fn replace(&self, key: Key, version: u64, mut item: Item) -> Result<bool, DynamoError> {
        item.insert("version".to_owned(), number(version + 1));
        let condition = match version {
            0 => Condition::new("attribute_not_exists(pk)"),
            read => Condition::new("version = :read").value(":read", number(read)),
        };
        let put = self.ledger.replace(key, item, &OPTIONAL, Some(condition)).await?;
        Ok(put == Put::Done)
    }
}

impl SegmentProgress {
    fn attributes(&self) -> Item {
        let mut item = self.tally.attributes();
        item.insert("chunk".to_owned(), number(self.chunk));
        item.insert("objects".to_owned(), number(self.objects));
        item.insert("done".to_owned(), truth(self.done));
        item.extend(attributes_of("start", self.start.as_ref()));
        if let Some(end) = &self.end {
            item.insert("ends".to_owned(), truth(true));
            item.insert("is_last_chunk".to_owned(), truth(end.is_last_chunk));
            item.extend(attributes_of("end", end.last.as_ref()));
        }
        item
    }

    fn read(row: &Row<'_>) -> Result<Self, DynamoError> {
        let end = || -> Result<_, DynamoError> {
            Ok(ChunkEnd { last: key_of(row, "end")?, is_last_chunk: row.flag("is_last_chunk")? })
        };
        let chunk = u32::try_from(row.count("chunk")?);
        Ok(Self {
            version: row.count("version")?,
            chunk: chunk.map_err(|_| row.corrupt("chunk", "the number of a chunk"))?,
            start: key_of(row, "start")?,
            end: row.flag("ends")?.then(end).transpose()?,
            done: row.flag("done")?,
            objects: row.count("objects")?,
            tally: Tally::read(row)?.unwrap_or_default(),
        })
    }
}

fn attributes_of(name: &str, key: Option<&Key>) -> Item {
    let attributes = key.map(|Key { pk, sk }| {
        [(format!("{name}_pk"), text(pk.as_str())), (format!("{name}_sk"), text(sk.as_str()))]
    });
    attributes.into_iter().flatten().collect()
}

fn key_of(row: &Row<'_>, name: &str) -> Result<Option<Key>, DynamoError> {
    let part = |part: &str| row.optional_text(&format!("{name}_{part}"));
    Ok(match (part("pk")?, part("sk")?) {
        (Some(pk), Some(sk)) => Some(Key { pk: pk.to_owned(), sk: sk.to_owned() }),
        _ => None,
    })
}
