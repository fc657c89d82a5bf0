//! `nagare events verify`: compares archives with what was noted of the scan, and with the table where that still exists.

use clap::Args;
use futures::TryStreamExt;
use indicatif::ProgressBar;
use nagare_client::remote::Remote;
use nagare_operator::{object_deadline, progress};
use serde::Serialize;
use shared::history::events::{
    ArchivedObject, Archives, Event, EventTables, Period, PeriodRow, PeriodState, Tally, archive,
};
use shared::platform::crypto::hash::sha256;
use shared::platform::dynamo::{DynamoError, Query};
use shared::platform::objects::Objects;

use crate::Failure;
use crate::print::{print_json, say};

/// Objects whose rows are read together.
const AT_ONCE: i32 = 50;

/// Read archives back, and compare them with what was noted of them, and with their tables where these are still there.
///
/// It reads all of it, and costs that. Exits 1 on a difference.
#[derive(Debug, Args)]
pub(crate) struct Verify {
    /// Which periods; all whose archive is there, if none is given.
    periods: Vec<Period>,
    /// Print one JSON object a line.
    #[arg(long)]
    json: bool,
}

/// What was found of a period.
#[derive(Debug, Serialize)]
struct Verified {
    period: String,
    /// In the archive.
    events: u64,
    objects: u64,
    /// In the table, if it is still there.
    table_events: Option<u64>,
    /// What differs.
    differences: Vec<String>,
}

/// Where events and archives are.
struct ArchiveReading {
    tables: EventTables,
    archives: Archives,
    objects: Objects,
    bar: ProgressBar,
}

impl Verify {
    pub(crate) async fn run(self) -> Result<(), Failure> {
        let remote = Remote::from_environment().await?;
        let reading = ArchiveReading {
            tables: remote.events()?.tables().clone(),
            archives: Archives::new(&remote.ledger()?),
            objects: remote.objects()?,
            bar: progress::counter("events"),
        };
        let (mut differing, mut all) = (0, 0);
        for row in self.chosen(rows(&remote).await?)? {
            let verified = reading.verify(&row).await?;
            (all, differing) = (all + 1, differing + usize::from(!verified.differences.is_empty()));
            reading.bar.suspend(|| match self.json {
                true => print_json(&verified),
                false => verified.say(),
            })?;
        }
        reading.bar.finish_and_clear();
        match (differing, all) {
            (0, 0) if !self.json => say!("no period is archived yet"),
            (0, _) => Ok(()),
            _ => Err(Failure::No(format!("{differing} of {all} archives differ"))),
        }
    }

    /// The rows that are asked for, the earliest first.
    fn chosen(&self, mut rows: Vec<PeriodRow>) -> Result<Vec<PeriodRow>, Failure> {
        rows.reverse();
        rows.retain(|row| row.tally.is_some() && !row.expired);
        if self.periods.is_empty() {
            return Ok(rows);
        }
        let missing = self.periods.iter().find(|it| rows.iter().all(|row| row.period != **it));
        if let Some(period) = missing {
            return Err(Failure::No(format!("there is no archive of {period}")));
        }
        rows.retain(|row| self.periods.contains(&row.period));
        Ok(rows)
    }
}

/// All rows, the newest first.
async fn rows(remote: &Remote) -> Result<Vec<PeriodRow>, Failure> {
    Ok(remote.events()?.periods().newest_until(|_| false).await?)
}

impl ArchiveReading {
    async fn verify(&self, row: &PeriodRow) -> Result<Verified, Failure> {
        let (mut tally, mut objects, mut behind) = (Tally::default(), 0, None);
        let mut differences = Vec::new();
        loop {
            let page = self.archives.of_period(row.period, behind, AT_ONCE).await?;
            for object in &page.0 {
                objects += 1;
                match self.read(object).await? {
                    Ok(of_object) => {
                        self.bar.inc(of_object.events);
                        tally.add(of_object);
                    }
                    Err(why) => differences.push(format!("{}: {why}", object.key())),
                }
            }
            behind = page.1;
            if behind.is_none() {
                break;
            }
        }
        let noted = row.tally.unwrap_or_default();
        if differences.is_empty() && tally != noted {
            differences.push(different("the archive", tally, noted));
        }
        let table = self.table(row).await?;
        if let Some(table) = table.filter(|table| *table != noted) {
            differences.push(different("the table", table, noted));
        }
        let (period, events) = (row.period.to_string(), tally.events);
        let table_events = table.map(|table| table.events);
        Ok(Verified { period, events, objects, table_events, differences })
    }

    /// What is in an object, or why it is not what was put.
    async fn read(&self, object: &ArchivedObject) -> Result<Result<Tally, String>, Failure> {
        let key = object.key();
        let bytes = self.objects.get(&key, object_deadline(object.size)).await;
        let Some(bytes) = bytes.map_err(|e| Failure::Unreachable(format!("{key}: {e}")))? else {
            return Ok(Err("it is not there".to_owned()));
        };
        if sha256(&bytes) != object.sha256 {
            return Ok(Err("its SHA-256 is another one than was noted".to_owned()));
        }
        Ok(archive::tally(&bytes).map_err(|damage| damage.to_string()))
    }

    /// What is in the table, unless it is gone, as it should be.
    async fn table(&self, row: &PeriodRow) -> Result<Option<Tally>, Failure> {
        if row.state == PeriodState::Dropped {
            return Ok(None);
        }
        let table = self.tables.table(row.period);
        let add = async |mut tally: Tally, page: shared::platform::dynamo::Page<'_>| {
            for row in &page.rows {
                tally.add(Tally::of_line(&Event::read(row)?.line()));
            }
            Ok(tally)
        };
        match table.pages(Query::default()).try_fold(Tally::default(), add).await {
            Ok(tally) => Ok(Some(tally)),
            // It was dropped meanwhile.
            Err(DynamoError::TableMissing(_)) => Ok(None),
            Err(failure) => Err(failure.into()),
        }
    }
}

fn different(what: &str, found: Tally, noted: Tally) -> String {
    format!(
        "{what} has {} events with the sum {:032x}, and {} with {:032x} were noted",
        found.events, found.sum, noted.events, noted.sum
    )
}

impl Verified {
    fn say(&self) -> Result<(), Failure> {
        let Self { period, events, objects, .. } = self;
        let table = match self.table_events {
            Some(_) => ", and the table has the same",
            None => "; the table is gone",
        };
        if self.differences.is_empty() {
            return say!("{period}: {events} events in {objects} objects{table}");
        }
        self.differences.iter().try_for_each(|difference| say!("{period}: {difference}"))
    }
}
