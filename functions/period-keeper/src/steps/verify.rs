//! Reads the objects of an archive back, and compares them with the scan.
//!
//! Progress is noted after each page of objects, with the tally so far. Only a difference in what was read is a dispute: a bucket that
//! does not answer is read again with the next tick.

use shared::history::events::archive;
use shared::history::events::archives::ReadBack;
use shared::history::events::{ArchivedObject, PeriodRow, PeriodState, Tally};
use shared::platform::crypto::hash::sha256;
use shared::platform::dynamo::DynamoError;

use super::outcome::Outcome;
use super::table;
use crate::error::KeeperError;
use crate::keeper::Keeper;

/// Objects between two notes of progress.
const NOTED_AFTER: i32 = 50;

impl Keeper {
    /// Reads the remaining objects back.
    pub(crate) async fn verify(&self, row: &PeriodRow) -> Result<Outcome, KeeperError> {
        let period = row.period;
        let mut read = self.archives.read_back(period).await?;
        loop {
            let behind = read.position.clone();
            let (objects, next) = self.archives.of_period(period, behind, NOTED_AFTER).await?;
            let mut tally = read.tally;
            for object in &objects {
                match self.check(object).await? {
                    Ok(of_object) => tally.add(of_object),
                    Err(why) => {
                        let why = format!("{}: {why}", object.key());
                        return self.dispute(row, why).await;
                    }
                }
            }
            let Some(position) = next else { return self.compare(row, tally).await };
            let version = read.version;
            let noted = ReadBack { version, position: Some(position), tally };
            read = match self.archives.replace_read_back(period, &noted).await? {
                true => ReadBack { version: version + 1, ..noted },
                false => self.archives.read_back(period).await?,
            };
        }
    }

    /// The tally of an object, or why it is not what was put.
    async fn check(&self, object: &ArchivedObject) -> Result<Result<Tally, String>, KeeperError> {
        let Some(bytes) = self.objects.get(&object.key(), self.deadline()).await? else {
            return Ok(Err("it is not there".to_owned()));
        };
        if bytes.len() as u64 != object.size {
            return Ok(Err(format!("it has {} bytes instead of {}", bytes.len(), object.size)));
        }
        if sha256(&bytes) != object.sha256 {
            return Ok(Err("its SHA-256 is another one".to_owned()));
        }
        Ok(match archive::tally(&bytes) {
            Ok(tally) if tally == object.tally => Ok(tally),
            Ok(tally) => Err(format!(
                "it has {} events instead of {}, or others",
                tally.events, object.tally.events
            )),
            Err(damage) => Err(damage.to_string()),
        })
    }

    /// Compares what was read back with what was scanned.
    async fn compare(&self, row: &PeriodRow, tally: Tally) -> Result<Outcome, KeeperError> {
        if row.tally == Some(tally) {
            // From here on the archive is the copy, at a fiftieth of the cost.
            let table = self.tables.table(row.period);
            match table::set_recovery(&table, false).await {
                // Another keeper is ahead.
                Ok(()) | Err(DynamoError::TableMissing(_)) => {}
                Err(failure) => return Err(failure.into()),
            }
            table::set_rarely_read(&table).await;
            let row = PeriodRow { state: PeriodState::Verified, ..row.clone() };
            return self.moved(row).await;
        }
        let scanned = row.tally.unwrap_or_default();
        let why = format!(
            "{} events with the sum {:032x} were scanned, and {} with {:032x} are in the archive",
            scanned.events, scanned.sum, tally.events, tally.sum
        );
        self.dispute(row, why).await
    }
}
