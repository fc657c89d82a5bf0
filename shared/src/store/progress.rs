//! How far large fan-outs have come.
//!
//! ```text
//! fanout#<activity>   actor#<actor>#<work>             the plan: into how many parts it was cut
//!                     actor#<actor>#<work>#<range>     a part: the place it has reached, or that it is done
//! ```
//!
//! A part that is done is done for ever: whoever follows or unfollows later sees to their own
//! timeline. So delivering a part again costs one read.

use aws_sdk_dynamodb::types::ReturnValuesOnConditionCheckFailure as OnFailure;

use super::activities::{is_condition_failure, old_item};
use super::item::{Item, Row, ledger_key, number, text, truth};
use super::{Deadline, Store, StoreError};
use crate::activity::ActivityKey;
use crate::keys::{self, FollowerRange, LedgerKey};

/// What a fan-out does to timelines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Work {
    /// Puts entries there.
    Spread,
    /// Takes them out.
    Erase,
}

/// How far one part has come.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Progress {
    /// The place of the last edge that is dealt with.
    pub place: Option<String>,
    /// Timelines that were written.
    pub written: u64,
    /// Nothing is left to do.
    pub done: bool,
}

/// A fan-out that was cut into parts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FanOut {
    /// Into how many.
    pub parts: usize,
    /// Those that have begun.
    pub begun: Vec<(FollowerRange, Progress)>,
}

impl Work {
    fn prefix(self, key: &ActivityKey) -> String {
        let work = match self {
            Self::Spread => "spread",
            Self::Erase => "erase",
        };
        format!("actor#{}#{work}", key.actor_id)
    }
}

fn part_key(key: &ActivityKey, work: Work, range: FollowerRange) -> LedgerKey {
    let sk = format!("{}#{range}", work.prefix(key));
    LedgerKey { pk: keys::progress(&key.activity_id), sk }
}

fn write_progress(key: LedgerKey, progress: &Progress) -> Item {
    let mut item = ledger_key(key);
    item.insert("done".to_owned(), truth(progress.done));
    item.insert("written".to_owned(), number(progress.written));
    item.extend(progress.place.as_ref().map(|place| ("place".to_owned(), text(place))));
    item
}

impl Store {
    /// Records into how many parts a fan-out is cut, unless that was decided before. Returns how
    /// many it is.
    ///
    /// # Errors
    /// [`StoreError`]; it may have been recorded even so.
    pub async fn plan_fan_out(
        &self,
        key: &ActivityKey,
        work: Work,
        parts: usize,
        deadline: Deadline,
    ) -> Result<usize, StoreError> {
        let pk = keys::progress(&key.activity_id);
        let mut item = ledger_key(LedgerKey { pk, sk: work.prefix(key) });
        item.insert("parts".to_owned(), number(parts));
        let planned_before = self
            .attempt(deadline, || async {
                let put = self
                    .client
                    .put_item()
                    .table_name(&self.tables.ledger)
                    .set_item(Some(item.clone()))
                    .return_values_on_condition_check_failure(OnFailure::AllOld)
                    .condition_expression("attribute_not_exists(pk)");
                match put.send().await {
                    Ok(_) => Ok(None),
                    Err(e) => old_item(e).map(Some),
                }
            })
            .await?;
        planned_before.map_or(Ok(parts), |item| self.parts(item))
    }

    /// How far a part has come; a part that has not begun is at its beginning.
    ///
    /// # Errors
    /// [`StoreError`]
    pub async fn progress(
        &self,
        key: &ActivityKey,
        work: Work,
        range: FollowerRange,
        deadline: Deadline,
    ) -> Result<Progress, StoreError> {
        let key = ledger_key(part_key(key, work, range));
        let answer = self.attempt(deadline, || {
            let get = self.client.get_item().table_name(&self.tables.ledger);
            get.set_key(Some(key.clone())).consistent_read(true).send()
        });
        answer.await?.item.map_or(Ok(Progress::default()), |item| self.read_progress(item))
    }

    /// Notes how far a part has come, unless it is done already.
    ///
    /// # Errors
    /// [`StoreError`]; it may have been noted even so.
    pub async fn note_progress(
        &self,
        key: &ActivityKey,
        work: Work,
        range: FollowerRange,
        progress: &Progress,
        deadline: Deadline,
    ) -> Result<(), StoreError> {
        let item = write_progress(part_key(key, work, range), progress);
        self.attempt(deadline, || async {
            let put = self
                .client
                .put_item()
                .table_name(&self.tables.ledger)
                .set_item(Some(item.clone()))
                .condition_expression("attribute_not_exists(pk) OR done = :no")
                .expression_attribute_values(":no", truth(false));
            match put.send().await {
                Err(e) if !is_condition_failure(&e) => Err(e),
                _ => Ok(()),
            }
        })
        .await
    }

    /// Puts a part back to its beginning, even if it was done.
    ///
    /// # Errors
    /// [`StoreError`]; it may have happened even so.
    pub async fn begin_again(
        &self,
        key: &ActivityKey,
        work: Work,
        range: FollowerRange,
        deadline: Deadline,
    ) -> Result<Progress, StoreError> {
        let (beginning, key) = (Progress::default(), part_key(key, work, range));
        let item = write_progress(key, &beginning);
        let put = || self.client.put_item().table_name(&self.tables.ledger);
        self.attempt(deadline, || put().set_item(Some(item.clone())).send()).await?;
        Ok(beginning)
    }

    /// How far a fan-out has come, if it was cut into parts.
    ///
    /// # Errors
    /// [`StoreError`]
    pub async fn fan_out(
        &self,
        key: &ActivityKey,
        work: Work,
        deadline: Deadline,
    ) -> Result<Option<FanOut>, StoreError> {
        let (pk, prefix) = (keys::progress(&key.activity_id), work.prefix(key));
        let (mut found, mut start) = (None, None);
        loop {
            let answer = self
                .attempt(deadline, || {
                    self.client
                        .query()
                        .table_name(&self.tables.ledger)
                        .consistent_read(true)
                        .key_condition_expression("pk = :pk AND begins_with(sk, :prefix)")
                        .expression_attribute_values(":pk", text(&pk))
                        .expression_attribute_values(":prefix", text(&prefix))
                        .set_exclusive_start_key(start.clone())
                        .send()
                })
                .await?;
            // The plan sorts before its parts, and is written before any of them begins.
            for item in answer.items.unwrap_or_default() {
                match found.as_mut() {
                    None => found = Some(FanOut { parts: self.parts(item)?, begun: Vec::new() }),
                    Some(FanOut { begun, .. }) => begun.push(self.read_part(item)?),
                }
            }
            start = answer.last_evaluated_key;
            if start.is_none() {
                return Ok(found);
            }
        }
    }

    fn parts(&self, item: Item) -> Result<usize, StoreError> {
        let row = Row { table: &self.tables.ledger, item };
        usize::try_from(row.number("parts")?).map_err(|_| row.corrupt("parts", "a number of parts"))
    }

    fn read_part(&self, item: Item) -> Result<(FollowerRange, Progress), StoreError> {
        let row = Row { table: &self.tables.ledger, item };
        let range = row.text("sk")?.rsplit_once('#').and_then(|(_, range)| range.parse().ok());
        let range = range.ok_or_else(|| row.corrupt("sk", "a part of a fan-out"))?;
        Ok((range, self.read_progress(row.item)?))
    }

    fn read_progress(&self, item: Item) -> Result<Progress, StoreError> {
        let row = Row { table: &self.tables.ledger, item };
        let written = u64::try_from(row.number("written")?)
            .map_err(|_| row.corrupt("written", "a number of entries"))?;
        let place = row.optional_text("place")?.map(ToOwned::to_owned);
        Ok(Progress { place, written, done: row.flag("done")? })
    }
}
