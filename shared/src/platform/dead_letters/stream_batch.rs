//! What Lambda sends for changes of facts that it gave up: their position in the stream, without their content.

use std::fmt;

use serde::Deserialize;

/// A batch of changes that was given up because it was too old or had been tried too often.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct StreamBatch {
    #[serde(rename = "requestContext", default)]
    context: Context,
    #[serde(rename = "DDBStreamBatchInfo")]
    info: Info,
}

#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
struct Context {
    #[serde(default)]
    condition: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Info {
    shard_id: String,
    start_sequence_number: String,
    end_sequence_number: String,
    batch_size: u64,
}

impl StreamBatch {
    /// Reads a body, if it is one of these.
    pub fn read(body: &str) -> Option<Self> {
        serde_json::from_str(body).ok()
    }
}

/// The position of the changes, and Lambda's word for why they were given up.
impl fmt::Display for StreamBatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { context: Context { condition }, info } = self;
        let Info { shard_id, start_sequence_number: start, end_sequence_number: end, .. } = info;
        let changes = if info.batch_size == 1 { "change" } else { "changes" };
        write!(f, "{} {changes} of {shard_id}, {start} to {end}", info.batch_size)?;
        if condition.is_empty() { Ok(()) } else { write!(f, ": {condition}") }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example of Lambda's documentation.
    const SENT: &str = r#"{
        "requestContext": {
            "requestId": "316aa6d0-8154-xmpl-9af7-85d5f4a6bc81",
            "functionArn": "arn:aws:lambda:us-east-2:123456789012:function:myfunction:$LATEST",
            "condition": "RetryAttemptsExhausted",
            "approximateInvokeCount": 1
        },
        "responseContext": {"statusCode": 200, "executedVersion": "$LATEST", "functionError": "Unhandled"},
        "version": "1.0",
        "timestamp": "2019-11-14T00:13:49.717Z",
        "DDBStreamBatchInfo": {
            "shardId": "shardId-00000001573689847184-864758bb",
            "startSequenceNumber": "800000000003126276362",
            "endSequenceNumber": "800000000003126276362",
            "approximateArrivalOfFirstRecord": "2019-11-14T00:13:19Z",
            "approximateArrivalOfLastRecord": "2019-11-14T00:13:19Z",
            "batchSize": 1,
            "streamArn": "arn:aws:dynamodb:us-east-2:123456789012:table/mytable/stream/2019-11-14T00:04:06.388"
        }
    }"#;

    #[test]
    fn says_which_changes_it_stands_for() {
        let batch = StreamBatch::read(SENT).expect("what Lambda sends");
        let said = "1 change of shardId-00000001573689847184-864758bb, 800000000003126276362 to \
                    800000000003126276362: RetryAttemptsExhausted";
        assert_eq!(batch.to_string(), said);
    }

    #[test]
    fn a_command_is_none() {
        for body in ["", "{}", r#"{"type":"activity.deleted"}"#, r#"{"DDBStreamBatchInfo":{}}"#] {
            assert_eq!(StreamBatch::read(body), None, "{body}");
        }
    }
}
