//! Puts the events of a sealed table into objects.
//!
//! A table is scanned in segments, and a segment in chunks. A chunk is made in two steps: the first one decides where it ends and
//! notes that, the second one puts its objects. A keeper that finds a noted end scans up to it. The table does not change any more, and
//! a scan reads a segment in a fixed order, so every keeper finds the same events.
//!
//! Some segments are archived in parallel. They are independent, with their own progress and objects, so the bytes are the same
//! whatever runs in parallel.

use futures::{StreamExt, TryStreamExt, stream};
use shared::history::events::archive::Chunk;
use shared::history::events::archives::{ChunkEnd, SegmentProgress};
use shared::history::events::{ArchivedObject, Event, Period, PeriodRow, PeriodState, Tally};
use shared::platform::dynamo::item::{Item, Key};
use shared::platform::dynamo::{DynamoError, Query};

use super::outcome::Outcome;
use super::table::describe;
use crate::error::KeeperError;
use crate::keeper::Keeper;

/// The most segments of a table.
const MOST_SEGMENTS: u64 = 64;
/// Objects that are put at once.
const PUTS_IN_FLIGHT: usize = 16;

/// A segment of the table of a period, and the number of segments.
#[derive(Debug, Clone, Copy)]
struct Segment {
    period: Period,
    number: u32,
    of: u32,
}

/// The result of the scan of a chunk.
struct Scanned {
    chunk: Chunk,
    end: ChunkEnd,
}

impl Keeper {
    /// Puts all events of a table into objects, and then a manifest.
    pub(crate) async fn archive(&self, row: &PeriodRow) -> Result<Outcome, KeeperError> {
        if row.segments == 0 {
            return self.divide(row).await;
        }
        let segments = (0..row.segments).map(|number| {
            let segment = Segment { period: row.period, number, of: row.segments };
            self.archive_segment(segment)
        });
        let segments = stream::iter(segments).buffer_unordered(self.limits.segments_at_once);
        let segments: Vec<SegmentProgress> = match segments.try_collect().await {
            Ok(segments) => segments,
            // It is unknown what was recorded. The item stays in the table.
            Err(KeeperError::Dynamo(error @ DynamoError::Corrupt { .. })) => {
                return self.dispute(row, format!("it cannot be read: {error}")).await;
            }
            Err(error) => return Err(error),
        };
        let (mut tally, mut objects) = (Tally::default(), 0);
        for segment in segments {
            tally.add(segment.tally);
            objects += segment.objects;
        }
        let (archives, of) = (&self.archives, (row.period, tally));
        archives.put_manifest(&self.objects, of, objects, self.deadline()).await?;
        let row = PeriodRow { state: PeriodState::Archived, tally: Some(tally), ..row.clone() };
        self.moved(row).await
    }

    /// Fixes the number of segments of a table by its size.
    async fn divide(&self, row: &PeriodRow) -> Result<Outcome, KeeperError> {
        let table = self.tables.table(row.period);
        if let Some(why) = self.stranger(row, &table).await? {
            return self.dispute(row, why).await;
        }
        let found = describe(&table).await?;
        let bytes = found.and_then(|it| it.table_size_bytes).and_then(|it| u64::try_from(it).ok());
        let bytes = bytes.unwrap_or_default();
        let segments = (bytes / self.limits.segment_bytes + 1).min(MOST_SEGMENTS);
        let segments = u32::try_from(segments).unwrap_or(1);
        self.moved(PeriodRow { segments, ..row.clone() }).await
    }

    /// Archives the remaining chunks of a segment. Returns the result of all its chunks.
    async fn archive_segment(&self, segment: Segment) -> Result<SegmentProgress, KeeperError> {
        let Segment { period, number, .. } = segment;
        let mut known = None;
        loop {
            let progress = match known.take() {
                Some(progress) => progress,
                None => self.archives.segment(period, number).await?,
            };
            if progress.done {
                return Ok(progress);
            }
            let scanned = self.scan(segment, &progress).await?;
            let Some(decided) = self.decide(segment, progress, scanned.end).await? else {
                continue;
            };
            known = self.put(segment, decided, &scanned.chunk).await?;
        }
    }

    /// Notes the end of a chunk, unless it is noted already. Returns `None` if another keeper has written meanwhile.
    async fn decide(
        &self,
        segment: Segment,
        progress: SegmentProgress,
        end: ChunkEnd,
    ) -> Result<Option<SegmentProgress>, KeeperError> {
        if progress.end.is_some() {
            return Ok(Some(progress));
        }
        let decided = SegmentProgress { end: Some(end), ..progress };
        self.note(segment, decided).await
    }

    /// Puts the objects of a chunk, then their rows, then the progress after it.
    async fn put(
        &self,
        segment: Segment,
        progress: SegmentProgress,
        chunk: &Chunk,
    ) -> Result<Option<SegmentProgress>, KeeperError> {
        let Segment { period, number, .. } = segment;
        let put = chunk.objects().map(|(tenant, packed)| {
            let object = ArchivedObject::new(&tenant, period, (number, progress.chunk), &packed);
            async move {
                self.objects.put(&object.key(), packed.bytes, self.deadline()).await?;
                self.archives.note(&object).await?;
                Ok::<_, KeeperError>(object.tally)
            }
        });
        let put: Vec<Tally> = stream::iter(put).buffered(PUTS_IN_FLIGHT).try_collect().await?;
        let SegmentProgress { version, chunk, end, mut tally, mut objects, .. } = progress;
        objects += put.len() as u64;
        put.into_iter().for_each(|of_object| tally.add(of_object));
        let done = end.as_ref().is_none_or(|end| end.is_last_chunk);
        // The key of an event names a customer, so it is not kept for longer than it is needed.
        let start = end.and_then(|end| end.last).filter(|_| !done);
        let next =
            SegmentProgress { version, chunk: chunk + 1, start, end: None, done, objects, tally };
        self.note(segment, next).await
    }

    async fn note(
        &self,
        Segment { period, number, .. }: Segment,
        progress: SegmentProgress,
    ) -> Result<Option<SegmentProgress>, KeeperError> {
        let is_noted = self.archives.replace_segment(period, number, &progress).await?;
        let version = progress.version + 1;
        Ok(is_noted.then_some(SegmentProgress { version, ..progress }))
    }

    /// Scans a chunk, up to its noted end, or until it is full.
    async fn scan(
        &self,
        segment: Segment,
        progress: &SegmentProgress,
    ) -> Result<Scanned, KeeperError> {
        let table = self.tables.table(segment.period);
        let number = |number: u32| i32::try_from(number).unwrap_or(i32::MAX);
        let mut query = Query {
            segment: Some((number(segment.number), number(segment.of))),
            start: progress.start.clone().map(Key::into_item),
            limit: self.limits.page_items,
            ..Query::default()
        };
        let (mut chunk, mut last) = (Chunk::default(), None);
        if let Some(end @ ChunkEnd { last: None, .. }) = &progress.end {
            return Ok(Scanned { chunk, end: end.clone() });
        }
        loop {
            let page = table.page(&query).await?;
            for row in &page.rows {
                let key = Key::of(row)?;
                chunk.add(Event::read(row)?);
                let is_full = match &progress.end {
                    Some(end) => end.last.as_ref() == Some(&key),
                    None => chunk.weight() >= self.limits.chunk_bytes,
                };
                last = Some(key);
                if is_full {
                    let ends = ChunkEnd { last, is_last_chunk: false };
                    let end = progress.end.clone().unwrap_or(ends);
                    return Ok(Scanned { chunk, end });
                }
            }
            query.start = page.next.clone();
            if query.start.is_none() {
                break;
            }
        }
        // The end of a chunk is the key of an existing event, because nothing deletes events of a sealed table.
        if progress.end.is_some() {
            return Err(table.row(Item::new()).corrupt("pk", "the last event of a chunk").into());
        }
        Ok(Scanned { chunk, end: ChunkEnd { last, is_last_chunk: true } })
    }
}
