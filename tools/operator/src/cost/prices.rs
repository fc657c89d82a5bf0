//! What AWS charges, in dollars: us-east-1, on demand, x86, first tier, without free tiers, as of
//! November 2026. One table; `nagare estimate --prices FILE.json` replaces any of it.

use serde::{Deserialize, Serialize};

/// Prices. Each field is named in the file as it is here.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Prices {
    /// A million write units. <https://aws.amazon.com/dynamodb/pricing/on-demand/>, as all of DynamoDB but one.
    pub dynamodb_million_writes: f64,
    pub dynamodb_million_reads: f64,
    /// A provisioned write unit a second, for an hour. <https://aws.amazon.com/dynamodb/pricing/provisioned/>
    pub dynamodb_write_capacity_hour: f64,
    pub dynamodb_gb_month: f64,
    /// A gigabyte kept for a month in a table that is read rarely.
    pub dynamodb_infrequent_gb_month: f64,
    pub dynamodb_recovery_gb_month: f64,
    /// A million invocations. <https://aws.amazon.com/lambda/pricing/>, as the next.
    pub lambda_million_requests: f64,
    pub lambda_gb_second: f64,
    /// A million requests to a standard queue. <https://aws.amazon.com/sqs/pricing/>, as the next.
    pub sqs_million_requests: f64,
    /// The surcharge for requests with a message group, which fair queues need.
    pub sqs_million_fair_requests: f64,
    /// A million requests to an HTTP API. <https://aws.amazon.com/api-gateway/pricing/>
    pub http_api_million_requests: f64,
    /// A gigabyte of logs taken in. <https://aws.amazon.com/cloudwatch/pricing/>, as the next five.
    pub logs_gb: f64,
    /// A gigabyte of logs kept for a month, compressed.
    pub logs_gb_month: f64,
    /// A metric that an alarm looks at, for a month.
    pub alarm_month: f64,
    /// A series that `GetMetricData` is asked for.
    pub metric_data_series: f64,
    /// A metric of one's own for a month.
    pub metric_month: f64,
    pub dashboard_month: f64,
    /// A secret for a month. <https://aws.amazon.com/secrets-manager/pricing/>
    pub secret_month: f64,
    /// A key of one's own for a month. <https://aws.amazon.com/kms/pricing/>
    pub key_month: f64,
    /// A gigabyte in S3 for a month. <https://aws.amazon.com/s3/pricing/>
    pub s3_gb_month: f64,
    /// A gigabyte sent to the internet. <https://aws.amazon.com/ec2/pricing/on-demand/>
    pub transfer_gb: f64,
}

impl Default for Prices {
    fn default() -> Self {
        Self {
            dynamodb_million_writes: 0.625,
            dynamodb_million_reads: 0.125,
            dynamodb_write_capacity_hour: 0.000_65,
            dynamodb_gb_month: 0.25,
            dynamodb_infrequent_gb_month: 0.10,
            dynamodb_recovery_gb_month: 0.20,
            lambda_million_requests: 0.20,
            lambda_gb_second: 0.000_016_666_7,
            sqs_million_requests: 0.40,
            sqs_million_fair_requests: 0.10,
            http_api_million_requests: 1.00,
            logs_gb: 0.50,
            logs_gb_month: 0.03,
            alarm_month: 0.10,
            metric_data_series: 0.000_01,
            metric_month: 0.30,
            dashboard_month: 3.00,
            secret_month: 0.40,
            key_month: 1.00,
            s3_gb_month: 0.023,
            transfer_gb: 0.09,
        }
    }
}
