//! Archives, as the ledger knows them: their objects, how far one that is made has come, and how far one was read back.
//!
//! An object has two rows: one under its tenant, which says what tenants have, and one under its period, by which all of it are
//! found. Both are put before the progress that follows upon them, and say the same whoever puts them.

use aws_sdk_dynamodb::types::AttributeValue;

use super::archived::EDITIONS;
use super::{ArchivedObject, Period, Tally, keys};
use crate::dynamo::item::{Item, Key, Row, number, text, truth};
use crate::dynamo::{Condition, DynamoError, Put, Query};
use crate::ledger::Ledger;
use crate::runtime::deadline::Deadline;
use crate::values::TenantId;

/// What a row of progress has at times.
const OPTIONAL: [&str; 6] = ["start_pk", "start_sk", "ends", "is_last_chunk", "end_pk", "end_sk"];

/// The rows. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Archives {
    pub(super) ledger: Ledger,
}

/// How far a segment of a table is archived.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SegmentProgress {
    /// How often the row was written; 0 if there is none yet.
    pub version: u64,
    pub chunk: u32,
    /// The last item of the chunk before it, if there is one.
    pub start: Option<Key>,
    /// Where it ends, once that is decided.
    pub end: Option<ChunkEnd>,
    /// True if all chunks are archived.
    pub done: bool,
    /// How many objects the chunks before it have.
    pub objects: u64,
    pub tally: Tally,
}

/// The last item of a chunk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChunkEnd {
    /// Its key; none if there is no item left.
    pub last: Option<Key>,
    /// True if nothing comes behind it in the segment.
    pub is_last_chunk: bool,
}

/// How far an archive was read back.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ReadBack {
    /// How often the row was written; 0 if there is none yet.
    pub version: u64,
    /// Behind which row of the period it goes on.
    pub position: Option<Key>,
    /// What was in the objects so far.
    pub tally: Tally,
}

impl Archives {
    #[must_use]
    pub fn new(ledger: &Ledger) -> Self {
        Self { ledger: ledger.clone() }
    }

    /// Notes an object.
    ///
    /// # Errors
    /// [`DynamoError`]; it may be noted, or half of it.
    pub async fn note(
        &self,
        object: &ArchivedObject,
        deadline: Deadline,
    ) -> Result<(), DynamoError> {
        for key in object.keys() {
            self.ledger.replace(key, object.attributes(), &EDITIONS, None, deadline).await?;
        }
        Ok(())
    }

    /// Forgets an object. The row by which it is found goes last.
    ///
    /// # Errors
    /// [`DynamoError`]; it may be forgotten, or half of it.
    pub async fn forget(
        &self,
        object: &ArchivedObject,
        deadline: Deadline,
    ) -> Result<(), DynamoError> {
        let [in_period, of_tenant] = object.keys();
        self.ledger.delete(of_tenant, deadline).await?;
        self.ledger.delete(in_period, deadline).await
    }

    /// Forgets how far the archive of a period has come.
    pub async fn forget_progress(
        &self,
        period: Period,
        segments: u32,
        deadline: Deadline,
    ) -> Result<(), DynamoError> {
        for segment in 0..segments {
            self.ledger.delete(keys::archiving(period, segment), deadline).await?;
        }
        self.ledger.delete(keys::read_back(period), deadline).await
    }

    /// Objects of a period behind a row, at most N, and where to go on.
    pub async fn of_period(
        &self,
        period: Period,
        behind: Option<Key>,
        at_most: i32,
        deadline: Deadline,
    ) -> Result<(Vec<ArchivedObject>, Option<Key>), DynamoError> {
        let query = Query {
            keys: Some("pk = :pk AND begins_with(sk, :object)"),
            values: vec![
                (":pk", text(keys::archiving_of(period))),
                (":object", text(keys::OBJECT)),
            ],
            start: behind.map(Key::into_item),
            limit: Some(at_most),
            ..Query::default()
        };
        let page = self.ledger.table().page(&query, deadline).await?;
        let objects = page.rows.iter().map(ArchivedObject::read).collect::<Result<_, _>>()?;
        let next = page.next.map(|item| self.ledger.table().row(item));
        Ok((objects, next.as_ref().map(Key::of).transpose()?))
    }

    /// Some objects of a tenant, the newest period and of that the last object first, and behind what to go on. `behind` is the name of
    /// a period, for what is of periods before it, or what an earlier call has said.
    pub async fn of_tenant(
        &self,
        tenant: &TenantId,
        behind: Option<&str>,
        deadline: Deadline,
    ) -> Result<(Vec<ArchivedObject>, Option<String>), DynamoError> {
        let mut values: Vec<(&str, AttributeValue)> = vec![(":pk", text(keys::archive(tenant)))];
        // Whatever is of a period is above its name.
        let keys = match behind {
            Some(behind) => {
                values.push((":behind", text(behind)));
                "pk = :pk AND sk < :behind"
            }
            None => "pk = :pk",
        };
        let query = Query { keys: Some(keys), values, descending: true, ..Query::default() };
        let page = self.ledger.table().page(&query, deadline).await?;
        let objects = page.rows.iter().map(ArchivedObject::read).collect::<Result<_, _>>()?;
        let next = page.next.map(|item| self.ledger.table().row(item));
        Ok((objects, next.map(|row| row.text("sk").map(ToOwned::to_owned)).transpose()?))
    }

    /// How far a segment is archived.
    pub async fn segment(
        &self,
        period: Period,
        segment: u32,
        deadline: Deadline,
    ) -> Result<SegmentProgress, DynamoError> {
        let row = self.ledger.get(keys::archiving(period, segment), deadline).await?;
        row.as_ref().map_or_else(|| Ok(SegmentProgress::default()), SegmentProgress::read)
    }

    /// Notes how far a segment is archived, in place of what was read. False if somebody else has noted something meanwhile.
    ///
    /// # Errors
    /// [`DynamoError`]; it may be noted.
    pub async fn replace_segment(
        &self,
        period: Period,
        segment: u32,
        progress: &SegmentProgress,
        deadline: Deadline,
    ) -> Result<bool, DynamoError> {
        let key = keys::archiving(period, segment);
        self.replace(key, progress.version, progress.attributes(), deadline).await
    }

    /// How far an archive was read back.
    pub async fn read_back(
        &self,
        period: Period,
        deadline: Deadline,
    ) -> Result<ReadBack, DynamoError> {
        let row = self.ledger.get(keys::read_back(period), deadline).await?;
        let Some(row) = row else { return Ok(ReadBack::default()) };
        Ok(ReadBack {
            version: row.count("version")?,
            position: key_of(&row, "start")?,
            tally: Tally::read(&row)?.unwrap_or_default(),
        })
    }

    /// Notes how far an archive was read back. False if somebody else has meanwhile.
    ///
    /// # Errors
    /// [`DynamoError`]; it may be noted.
    pub async fn replace_read_back(
        &self,
        period: Period,
        read: &ReadBack,
        deadline: Deadline,
    ) -> Result<bool, DynamoError> {
        let mut item = read.tally.attributes();
        item.extend(attributes_of("start", read.position.as_ref()));
        self.replace(keys::read_back(period), read.version, item, deadline).await
    }

    async fn replace(
        &self,
        key: Key,
        version: u64,
        mut item: Item,
        deadline: Deadline,
    ) -> Result<bool, DynamoError> {
        item.insert("version".to_owned(), number(version + 1));
        let condition = match version {
            0 => Condition::new("attribute_not_exists(pk)"),
            read => Condition::new("version = :read").value(":read", number(read)),
        };
        let put = self.ledger.replace(key, item, &OPTIONAL, Some(condition), deadline).await?;
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
