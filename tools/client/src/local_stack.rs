//! Constants of every local stack, and clients for one. The clients read no variable and no profile, so they never call an AWS
//! account.

use aws_sdk_dynamodb::config::{BehaviorVersion, Region, StalledStreamProtectionConfig};
use aws_smithy_types::retry::RetryConfig;
use serde::{Deserialize, Serialize};
use shared::platform::dynamo::timeouts;
use shared::platform::values::Timestamp;

use crate::tables::TableNames;

/// The region that local queues and tables are in.
pub const REGION: &str = "us-local-1";
/// Credentials for a stack that checks none.
pub const ACCESS_KEY: &str = "local";
/// The prefix of the names of the tables of events; the period follows. These tables are made and dropped while the stack runs.
pub const EVENTS_PREFIX: &str = "nagare-events-";
/// The path of its clock, below the queue's address.
pub const CLOCK_PATH: &str = "/local/clock";
/// The path at which it takes what was erased out of its files.
pub const COMPACT_PATH: &str = "/local/compact";

/// The names of its tables.
pub fn names() -> TableNames {
    TableNames {
        timelines: "nagare-timelines".to_owned(),
        ledger: "nagare-ledger".to_owned(),
        facts: "nagare-facts".to_owned(),
        views: "nagare-views".to_owned(),
        dead_letters: "nagare-dead-letters".to_owned(),
        events: EVENTS_PREFIX.to_owned(),
    }
}

/// What time it is, and whether somebody has set it.
#[derive(Debug, Serialize, Deserialize)]
pub struct Time {
    /// What time it is.
    pub now: Timestamp,
    /// True if somebody has set it, so that it can be moved on.
    pub is_set: bool,
    /// True while it is moved on: the same request again waits for that.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub moves: bool,
}

/// A request to move the clock on.
#[derive(Debug, Serialize, Deserialize)]
pub struct Advance {
    /// The instant to stop at. `None`: only to the next step of any period.
    pub to: Option<Timestamp>,
    /// It waits for the move that the request before began.
    #[serde(default)]
    pub continues: bool,
}

/// An SQS client over plain HTTP.
pub fn sqs_over_http(endpoint: &str) -> aws_sdk_sqs::Client {
    let http = aws_smithy_http_client::Builder::new().build_http();
    let config = sqs_config(endpoint).http_client(http).timeout_config(timeouts());
    aws_sdk_sqs::Client::from_conf(config.build())
}

/// A DynamoDB client over plain HTTP.
pub fn dynamodb_over_http(endpoint: &str) -> aws_sdk_dynamodb::Client {
    let http = aws_smithy_http_client::Builder::new().build_http();
    let config = dynamodb_config(endpoint).http_client(http).timeout_config(timeouts());
    aws_sdk_dynamodb::Client::from_conf(config.build())
}

/// Settings of a DynamoDB client, without its HTTP client. It does not sign: nobody would check the signature.
pub fn dynamodb_config(endpoint: &str) -> aws_sdk_dynamodb::config::Builder {
    aws_sdk_dynamodb::Config::builder()
        .behavior_version(BehaviorVersion::v2026_01_12())
        .region(Region::new(REGION))
        .allow_no_auth()
        .endpoint_url(endpoint)
        .retry_config(RetryConfig::disabled())
        .stalled_stream_protection(StalledStreamProtectionConfig::disabled())
}

/// Settings of an SQS client, as [`dynamodb_config`].
pub fn sqs_config(endpoint: &str) -> aws_sdk_sqs::config::Builder {
    aws_sdk_sqs::Config::builder()
        .behavior_version(BehaviorVersion::v2026_01_12())
        .region(Region::new(REGION))
        .allow_no_auth()
        .endpoint_url(endpoint)
        .retry_config(RetryConfig::disabled())
        .stalled_stream_protection(StalledStreamProtectionConfig::disabled())
}
