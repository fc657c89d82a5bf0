//! The monthly bill: what is used, times its price.

use serde::Serialize;

use super::month::{DAYS, Month};
use super::prices::Prices;
use super::work::Work;

/// The template that is deployed; it gives the number of alarms and the memory of the functions.
const TEMPLATE: &str = include_str!("../../../template.yaml");

/// Seconds of a call to a table in the same region.
const ROUND_TRIP: f64 = 0.005;
/// Seconds of an invocation besides its calls.
const OVERHEAD: f64 = 0.002;
/// Processor seconds of compressing a byte (docs/PERFORMANCE.md).
const PER_COMPRESSED_BYTE: f64 = 0.000_000_03;
/// The memory, in gigabytes, with which a function has a whole processor; with less it has a share.
const WHOLE_PROCESSOR: f64 = 1769.0 / 1024.0;
/// Processor seconds of an entry (`nagare bench fanout` measures them).
const PER_ENTRY: f64 = 0.000_006;
/// Polls of an empty queue by Lambda in a month: five at a time, twenty seconds each.
const IDLE_POLLS: f64 = 5.0 * 3.0 * 60.0 * 24.0 * DAYS;
/// Bytes that Lambda itself logs for an invocation.
const PLATFORM_LOG: f64 = 310.0;
/// Bytes that the writer logs for a message, with the metrics of its invocation.
const WRITER_LOG: f64 = 470.0 + 630.0;
/// Bytes that the reader logs for a page, with its metrics.
const READER_LOG: f64 = 330.0 + 310.0;
/// Bytes that the API logs for a request.
const ACCESS_LOG: f64 = 480.0;
/// The share of the logs that is left after compression.
const COMPRESSED: f64 = 0.15;
/// Metrics in an ordinary month, each counted once for each value of its dimension (docs/OPERATIONS.md,
/// "What the functions tell"). This is an estimate.
const METRICS: f64 = 50.0;
const GB: f64 = 1_073_741_824.0;
const MILLION: f64 = 1e6;

/// One line of the bill.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Line {
    /// The AWS service.
    pub service: &'static str,
    /// What it is used for.
    pub what: &'static str,
    /// The amount in a month.
    pub amount: f64,
    /// The unit of the amount.
    pub unit: &'static str,
    /// The price of one unit.
    pub price: f64,
    /// The amount times the price.
    pub dollars: f64,
}

/// The bill for a month.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Bill {
    /// Its lines.
    pub lines: Vec<Line>,
    /// Their sum.
    pub dollars: f64,
    /// What importing the graph costs, once.
    pub import_dollars: f64,
}

impl Bill {
    /// The bill for a month at these prices.
    #[must_use]
    pub fn of(month: &Month, prices: &Prices) -> Self {
        let groups = [
            tables(month, prices),
            functions(month, prices),
            queue(month, prices),
            api(month, prices),
            watching(month, prices),
        ];
        let lines: Vec<_> = groups.into_iter().flatten().collect();
        let dollars = lines.iter().map(|line| line.dollars).sum();
        Self { lines, dollars, import_dollars: import(&month.import, prices) }
    }
}

fn line(
    service: &'static str,
    what: &'static str,
    (amount, unit): (f64, &'static str),
    price: f64,
) -> Line {
    Line { service, what, amount, unit, price, dollars: amount * price }
}

fn millions(amount: f64) -> (f64, &'static str) {
    (amount / MILLION, "million")
}

fn gigabytes(bytes: f64) -> (f64, &'static str) {
    (bytes / GB, "GB")
}

fn tables(month: &Month, prices: &Prices) -> Vec<Line> {
    let Month { writing, reading, .. } = month;
    let kept = month.timeline_bytes + month.ledger_bytes + month.index_bytes;
    let line = |what, amount, price| line("DynamoDB", what, amount, price);
    vec![
        line("write units", millions(writing.writes), prices.dynamodb_million_writes),
        line("read units, writer", millions(writing.reads), prices.dynamodb_million_reads),
        line("read units, reader", millions(reading.reads), prices.dynamodb_million_reads),
        line("storage", gigabytes(kept), prices.dynamodb_gb_month),
        line(
            "point-in-time recovery",
            gigabytes(month.ledger_bytes),
            prices.dynamodb_recovery_gb_month,
        ),
        line("deletes by TTL", millions(writing.entries), 0.0),
    ]
}

fn functions(month: &Month, prices: &Prices) -> Vec<Line> {
    let requests = month.writing.messages + month.pages;
    let writer = seconds(&month.writing, month.writing.messages) * memory("FanoutWriter");
    let compressing = month.compressed_bytes * PER_COMPRESSED_BYTE * WHOLE_PROCESSOR;
    let reader = seconds(&month.reading, month.pages) * memory("TimelineReader") + compressing;
    let line = |what, amount, price| line("Lambda", what, amount, price);
    vec![
        line("requests", millions(requests), prices.lambda_million_requests),
        line("compute, writer", (writer, "GB-second"), prices.lambda_gb_second),
        line("compute, reader", (reader, "GB-second"), prices.lambda_gb_second),
    ]
}

/// Seconds of N invocations, each for one message, though in a burst ten messages share one.
fn seconds(work: &Work, invocations: f64) -> f64 {
    work.rounds * ROUND_TRIP + work.entries * PER_ENTRY + invocations * OVERHEAD
}

fn queue(month: &Month, prices: &Prices) -> Vec<Line> {
    let line = |what, amount, price| line("SQS", what, amount, price);
    let requests = requests(&month.writing);
    vec![
        line("requests", millions(requests), prices.sqs_million_requests),
        line("requests with a group", millions(requests), prices.sqs_million_fair_requests),
        line("polls of empty queues", millions(2.0 * IDLE_POLLS), prices.sqs_million_requests),
    ]
}

/// Requests for messages that are sent, received and deleted alone; batches of ten cost a tenth.
fn requests(work: &Work) -> f64 {
    work.sends + 2.0 * work.messages
}

fn api(month: &Month, prices: &Prices) -> Vec<Line> {
    vec![
        line("API Gateway", "requests", millions(month.pages), prices.http_api_million_requests),
        line("Data transfer", "answers", gigabytes(month.answered_bytes), prices.transfer_gb),
    ]
}

fn watching(month: &Month, prices: &Prices) -> Vec<Line> {
    let writer = month.writing.messages * (PLATFORM_LOG + WRITER_LOG);
    let logged = writer + month.pages * (PLATFORM_LOG + READER_LOG + ACCESS_LOG);
    let [alarms, secrets] =
        ["AWS::CloudWatch::Alarm", "AWS::SecretsManager::Secret"].map(resources);
    let cloudwatch = |what, amount, price| line("CloudWatch", what, amount, price);
    vec![
        cloudwatch("logs taken in", gigabytes(logged), prices.logs_gb),
        cloudwatch("logs kept", gigabytes(logged * COMPRESSED), prices.logs_gb_month),
        cloudwatch("alarms", (alarms, "alarm"), prices.alarm_month),
        cloudwatch("metrics", (METRICS, "metric"), prices.metric_month),
        cloudwatch("dashboard", (1.0, "dashboard"), prices.dashboard_month),
        line("Secrets Manager", "secrets", (secrets, "secret"), prices.secret_month),
    ]
}

/// How many resources of a type the template declares.
fn resources(kind: &str) -> f64 {
    let declaration = format!("Type: {kind}");
    TEMPLATE.lines().filter(|line| line.trim() == declaration).count() as f64
}

fn import(work: &Work, prices: &Prices) -> f64 {
    let compute = seconds(work, work.messages) * memory("FanoutWriter") * prices.lambda_gb_second;
    let per_request = prices.sqs_million_requests + prices.sqs_million_fair_requests;
    let millions = work.writes * prices.dynamodb_million_writes
        + work.reads * prices.dynamodb_million_reads
        + work.messages * prices.lambda_million_requests
        + requests(work) * per_request;
    compute + millions / MILLION
}

/// The memory of a function, in gigabytes.
fn memory(function: &str) -> f64 {
    let (_, properties) = TEMPLATE.split_once(&format!("\n  {function}:\n")).unwrap_or_default();
    let (_, rest) = properties.split_once("MemorySize:").unwrap_or_default();
    let megabytes = rest.lines().next().and_then(|digits| digits.trim().parse::<f64>().ok());
    megabytes.unwrap_or_default() / 1024.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_template_gives_resources_and_memory() {
        for function in ["FanoutWriter", "TimelineReader"] {
            assert!((0.125..=10.0).contains(&memory(function)), "{function}");
        }
        assert!(resources("AWS::CloudWatch::Alarm") > 10.0);
        assert_eq!(resources("AWS::SecretsManager::Secret"), 4.0);
    }
}
