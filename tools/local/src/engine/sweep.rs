//! Drops items whose TTL has passed.

use dynoxide::DynoxideError;
use dynoxide::actions::delete_item;
use dynoxide::actions::scan::{self, ScanRequest};
use dynoxide::types::Item;
use serde_json::json;
use shared::platform::values::Timestamp;

use super::execute::{refused, run};
use super::tables::{Engine, EngineError};
use super::{stream, transactions};
use crate::schema;

/// Items that a sweep reads before it lets other calls in.
const SWEPT_AT_ONCE: usize = 500;

impl Engine {
    /// Drops the items whose TTL has passed, as DynamoDB does some time later. Returns how many.
    pub fn sweep(&self, now: Timestamp) -> Result<usize, EngineError> {
        transactions::forget(&self.storage(), (self.now)())?;
        stream::forget_old(&self.storage())?;
        let mut swept = 0;
        for (table, attribute, keys) in schema::expiries() {
            swept += self.sweep_table(&table, attribute, keys, now)?;
        }
        Ok(swept)
    }

    fn sweep_table(
        &self,
        table: &str,
        attribute: &str,
        keys: &str,
        now: Timestamp,
    ) -> Result<usize, EngineError> {
        let (mut swept, mut start) = (0, None);
        loop {
            let storage = self.storage();
            let expired = expired(table, attribute, keys, now, start)?;
            let page = run(scan::execute(&*storage, expired))?;
            for item in page.items.unwrap_or_default() {
                let key = json!({"TableName": table, "Key": item});
                let delete = serde_json::from_value(key).map_err(|e| refused(&e))?;
                run(delete_item::execute(&*storage, delete))?;
                swept += 1;
            }
            start = page.last_evaluated_key;
            if start.is_none() {
                return Ok(swept);
            }
        }
    }
}

fn expired(
    table: &str,
    attribute: &str,
    keys: &str,
    now: Timestamp,
    start: Option<Item>,
) -> Result<ScanRequest, DynoxideError> {
    let request = json!({
        "TableName": table,
        "Limit": SWEPT_AT_ONCE,
        "FilterExpression": "#expiry < :now",
        "ExpressionAttributeNames": {"#expiry": attribute},
        "ExpressionAttributeValues": {":now": {"N": (now.unix_millis() / 1000).to_string()}},
        "ProjectionExpression": keys,
        "ExclusiveStartKey": start,
    });
    serde_json::from_value(request).map_err(|e| refused(&e))
}
