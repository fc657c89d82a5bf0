//! When Lambda gives up a batch of a stream, and the message that it sends to a queue then.

use std::time::Duration;

use serde_json::json;
use shared::platform::queue::{Message, SendError, Sender};
use shared::platform::runtime::deadline::Deadline;
use shared::platform::values::Timestamp;

use super::engine::stream::StreamRecord;

/// How often a batch is tried again, as the template sets it.
pub const RETRIES: u32 = 1_000;
/// How old a record may become, as the template sets it.
pub const RECORD_AGE: Duration = Duration::from_secs(43_200);
/// How long to try to send the message.
const PATIENCE: Duration = Duration::from_secs(10);

/// When a batch is given up, and the queue that gets the message.
#[derive(Debug, Clone)]
pub struct GivingUp {
    /// How often a batch is tried again.
    pub retries: u32,
    /// How old a record may become.
    pub record_age: Duration,
    /// The queue that gets the message.
    pub to: Sender,
}

impl GivingUp {
    /// The settings of the template.
    pub fn new(to: Sender) -> Self {
        Self { retries: RETRIES, record_age: RECORD_AGE, to }
    }

    /// The number of records, from the first on, that are given up of a batch that has failed this often, and the reason.
    pub(super) fn given_up(
        &self,
        records: &[StreamRecord],
        failures: u32,
        now: Timestamp,
    ) -> (usize, &'static str) {
        let age = i64::try_from(self.record_age.as_secs()).unwrap_or(i64::MAX);
        let oldest = now.unix_millis().div_euclid(1_000).saturating_sub(age);
        match failures > self.retries {
            true => (records.len(), "RetryAttemptsExhausted"),
            false => (records.iter().take_while(|r| r.at < oldest).count(), "RecordAgeExceeded"),
        }
    }

    /// Sends the message that says which records of a shard were given up.
    ///
    /// # Errors
    /// [`SendError`]: it may not be on the queue.
    pub(super) async fn send(
        &self,
        shard: &str,
        records: &[StreamRecord],
        condition: &str,
        now: Timestamp,
    ) -> Result<(), SendError> {
        let (Some(first), Some(last)) = (records.first(), records.last()) else { return Ok(()) };
        let instant = |at: i64| Timestamp::from_unix_millis(at.saturating_mul(1_000)).to_string();
        let body = json!({
            "requestContext": {"condition": condition},
            "version": "1.0",
            "timestamp": now.to_string(),
            "DDBStreamBatchInfo": {
                "shardId": shard,
                "startSequenceNumber": first.number.to_string(),
                "endSequenceNumber": last.number.to_string(),
                "approximateArrivalOfFirstRecord": instant(first.at),
                "approximateArrivalOfLastRecord": instant(last.at),
                "batchSize": records.len(),
            },
        });
        let message = Message::new(body.to_string());
        self.to.send(&[message], Deadline::after(PATIENCE)).await
    }
}
