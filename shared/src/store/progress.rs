//! How far large fan-outs have come.
//!
//! ```text
//! fanout#<activity>   actor#<actor>#<work>             the plan: into how many parts it was cut, and when;
//!                                                      when the last of them was done
//!                     actor#<actor>#<work>#<range>     a part: the place it has reached, or that it is done
//!                     actor#<actor>#recheck#<work>#<range>#<message>
//!                                                      how far the recheck after a crash has come
//! ```
//!
//! A part that is done stays done: whoever follows or unfollows later brings their own timeline in
//! line. So delivering a part again costs a read of it, and one of the others, to see whether it
//! was the last.
//!
//! A recheck looks behind deliveries that died. It is noted for each message that was delivered
//! again, because the message knows that all of its earlier deliveries are over: what one message has
//! rechecked says nothing about a delivery of another message that dies later.

use aws_sdk_dynamodb::types::ReturnValuesOnConditionCheckFailure as OnFailure;

use super::activities::{is_condition_failure, old_item};
use super::item::{Item, Row, ledger_key, number, text, truth};
use super::{Deadline, Store, StoreError};
use crate::activity::ActivityKey;
use crate::command::Origin;
use crate::keys::{self, FollowerRange, LedgerKey};
use crate::timestamp::Timestamp;

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
    /// When that was.
    pub begun_at: Option<Timestamp>,
    /// When the last of them was done, once it was.
    pub ended_at: Option<Timestamp>,
    /// Those that have begun.
    pub begun: Vec<(FollowerRange, Progress)>,
}

impl FanOut {
    /// Timelines that its parts have written.
    #[must_use]
    pub fn written(&self) -> u64 {
        self.begun.iter().map(|(_, progress)| progress.written).sum()
    }

    /// Parts that are not done.
    #[must_use]
    pub fn parts_left(&self) -> usize {
        let done = self.begun.iter().filter(|(_, progress)| progress.done).count();
        self.parts.saturating_sub(done)
    }
}

/// Whose progress it is: of a part, or of the recheck of a part that a message asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pass<'a> {
    /// Every follower's timeline is brought in line.
    Main,
    /// What deliveries that died may have left is looked for.
    Recheck {
        /// The id of the message that was delivered again.
        origin: &'a Origin,
    },
}

impl Work {
    fn name(self) -> &'static str {
        match self {
            Self::Spread => "spread",
            Self::Erase => "erase",
        }
    }

    fn prefix(self, key: &ActivityKey) -> String {
        format!("actor#{}#{}", key.actor_id, self.name())
    }
}

fn part_key(key: &ActivityKey, work: Work, range: FollowerRange, pass: Pass<'_>) -> LedgerKey {
    let sk = match pass {
        Pass::Main => format!("{}#{range}", work.prefix(key)),
        Pass::Recheck { origin } => {
            format!("actor#{}#recheck#{}#{range}#{origin}", key.actor_id, work.name())
        }
    };
    LedgerKey { pk: keys::progress(&key.activity_id), sk }
}

fn plan(key: &ActivityKey, work: Work, parts: usize) -> Item {
    let pk = keys::progress(&key.activity_id);
    let mut item = ledger_key(LedgerKey { pk, sk: work.prefix(key) });
    item.insert("parts".to_owned(), number(parts));
    item
}

fn write_progress(key: LedgerKey, progress: &Progress) -> Item {
    let mut item = ledger_key(key);
    item.insert("done".to_owned(), truth(progress.done));
    item.insert("written".to_owned(), number(progress.written));
    // What is done needs no position, which would name a follower permanently.
    let place = progress.place.as_ref().filter(|_| !progress.done);
    item.extend(place.map(|place| ("place".to_owned(), text(place))));
    item
}

impl Store {
    /// Records into how many parts a fan-out is cut at `now`, unless that was decided before. Returns
    /// how many it is.
    ///
    /// # Errors
    /// [`StoreError`]; it may have been recorded even so.
    pub async fn plan_fan_out(
        &self,
        key: &ActivityKey,
        work: Work,
        parts: usize,
        now: Timestamp,
        deadline: Deadline,
    ) -> Result<usize, StoreError> {
        let mut item = plan(key, work, parts);
        item.insert("begun_at".to_owned(), text(now.to_string()));
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
        planned_before.map_or(Ok(parts), |item| Ok(self.read_plan(item)?.parts))
    }

    /// Ends a fan-out at `now` if each of its parts is done. It is returned to the one who ended it
    /// and to nobody after that, so that what is counted then is counted once.
    ///
    /// # Errors
    /// [`StoreError`]; it may have ended even so.
    pub async fn end_fan_out(
        &self,
        key: &ActivityKey,
        work: Work,
        now: Timestamp,
        deadline: Deadline,
    ) -> Result<Option<FanOut>, StoreError> {
        let fan_out = self.fan_out(key, work, deadline).await?;
        let over = |fan_out: &FanOut| fan_out.ended_at.is_none() && fan_out.parts_left() == 0;
        let Some(mut fan_out) = fan_out.filter(over) else { return Ok(None) };
        fan_out.ended_at = Some(now);
        let mut item = plan(key, work, fan_out.parts);
        for (name, at) in [("begun_at", fan_out.begun_at), ("ended_at", fan_out.ended_at)] {
            item.extend(at.map(|at| (name.to_owned(), text(at.to_string()))));
        }
        let first = self.attempt(deadline, || async {
            let put = self
                .client
                .put_item()
                .table_name(&self.tables.ledger)
                .set_item(Some(item.clone()))
                .condition_expression("attribute_not_exists(ended_at)");
            match put.send().await {
                Ok(_) => Ok(true),
                Err(e) if is_condition_failure(&e) => Ok(false),
                Err(e) => Err(e),
            }
        });
        Ok(first.await?.then_some(fan_out))
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
        pass: Pass<'_>,
        deadline: Deadline,
    ) -> Result<Progress, StoreError> {
        let row = self.ledger_row(part_key(key, work, range, pass), deadline).await?;
        row.as_ref().map_or(Ok(Progress::default()), read_progress)
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
        pass: Pass<'_>,
        progress: &Progress,
        deadline: Deadline,
    ) -> Result<(), StoreError> {
        let item = write_progress(part_key(key, work, range, pass), progress);
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
            // The plan sorts before its parts. Parts of a spread that come to know of a delete erase, and
            // there may be no plan for that yet, or never.
            for item in answer.items.unwrap_or_default() {
                let is_plan = item.get("sk").is_some_and(|sk| *sk == text(&prefix));
                match found.as_mut() {
                    None if is_plan => found = Some(self.read_plan(item)?),
                    None => {}
                    Some(FanOut { begun, .. }) => begun.push(self.read_part(item)?),
                }
            }
            start = answer.last_evaluated_key;
            if start.is_none() {
                return Ok(found);
            }
        }
    }

    fn read_plan(&self, item: Item) -> Result<FanOut, StoreError> {
        let row = Row { table: &self.tables.ledger, item };
        let parts = usize::try_from(row.number("parts")?)
            .map_err(|_| row.corrupt("parts", "a number of parts"))?;
        let begun_at = row.optional("begun_at", "an instant")?;
        let ended_at = row.optional("ended_at", "an instant")?;
        Ok(FanOut { parts, begun_at, ended_at, begun: Vec::new() })
    }

    fn read_part(&self, item: Item) -> Result<(FollowerRange, Progress), StoreError> {
        let row = Row { table: &self.tables.ledger, item };
        let range = row.text("sk")?.rsplit_once('#').and_then(|(_, range)| range.parse().ok());
        let range = range.ok_or_else(|| row.corrupt("sk", "a part of a fan-out"))?;
        Ok((range, read_progress(&row)?))
    }
}

fn read_progress(row: &Row<'_>) -> Result<Progress, StoreError> {
    let written = u64::try_from(row.number("written")?)
        .map_err(|_| row.corrupt("written", "a number of entries"))?;
    let place = row.optional_text("place")?.map(ToOwned::to_owned);
    Ok(Progress { place, written, done: row.flag("done")? })
}
