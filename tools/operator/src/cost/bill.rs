//! The monthly bill: what is used, times its price.

use function_http::reader::{METRICS_PAGES, METRICS_WINDOW};
use serde::Serialize;
use shared::platform::runtime::hold::Hold;

use super::month::Month;
use super::prices::Prices;
use super::work::{DAYS, Work};

/// What the template says of what is paid for. `tests/template` compares the two.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct Deployed {
    /// Metrics that alarms look at: each is paid for, also where several make one alarm.
    pub alarm_metrics: f64,
    /// The same with `History=off`.
    pub alarm_metrics_without_history: f64,
    pub secrets: f64,
    /// Keys of KMS.
    pub keys: f64,
    /// Megabytes of memory of each function.
    pub writer_memory: f64,
    pub reader_memory: f64,
    pub projector_memory: f64,
    /// Of how many requests that went well one is logged.
    pub log_one_in: f64,
    /// What API Gateway logs of a request.
    pub access_line: &'static str,
}

/// The one that is deployed.
pub const DEPLOYED: Deployed = Deployed {
    alarm_metrics: 83.0,
    alarm_metrics_without_history: 58.0,
    secrets: 4.0,
    keys: 1.0,
    writer_memory: 1769.0,
    reader_memory: 512.0,
    projector_memory: 1769.0,
    log_one_in: 100.0,
    access_line: r#"{"requestId":"$context.requestId","subject":"$context.authorizer.claims.sub","status":"$context.status","error":"$context.error.responseType","latency":"$context.responseLatency"}"#,
};

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
/// Bytes of the line that the writer logs for a message, and of the metrics of its invocation.
const WRITER_LINE: f64 = 517.0;
const WRITER_METRICS: f64 = 390.0;
/// Bytes of the metrics of an invocation of the projector, which logs nothing else.
pub const PROJECTOR_METRICS: f64 = 260.0;
/// Bytes of a line that the reader logs.
const READER_LINE: f64 = 375.0;
/// Bytes of a line of the reader's metrics, and of what each page adds to one.
const READER_METRICS: f64 = 197.0;
const READER_METRICS_PAGE: f64 = 7.0;
/// The lengths above by their names, as they are printed beside a bill.
pub const LOG_BYTES: [(&str, f64); 5] = [
    ("writer_line", WRITER_LINE),
    ("writer_metrics", WRITER_METRICS),
    ("reader_line", READER_LINE),
    ("reader_metrics", READER_METRICS),
    ("reader_metrics_page", READER_METRICS_PAGE),
];
/// Bytes of the level and the time that Lambda adds to a line of metrics, which has neither.
const ADDED: f64 = 60.0;
/// Requests come in bursts: the busiest minutes have this many times the average, spread over as many readers.
const BURST: f64 = 10.0;
/// Lengths of what API Gateway puts into its log for a request that went well.
const ACCESS: [(&str, f64); 4] = [
    ("$context.requestId", 16.0),
    ("$context.status", 3.0),
    ("$context.error.responseType", 1.0),
    ("$context.responseLatency", 2.0),
];
/// The share of the logs that is left after compression.
const COMPRESSED: f64 = 0.15;
/// Metrics that an ordinary hour sees, each with each value of its dimensions (docs/OPERATIONS.md, "What the functions
/// tell"). A metric is paid for in the hours in which it is sent: those of what goes wrong hardly cost anything.
pub const METRICS: f64 = 7.0;
/// The projector's, where there is anything for it to fold.
pub const LIKE_METRICS: f64 = 2.0;
const GB: f64 = 1_073_741_824.0;
const MILLION: f64 = 1e6;

/// One line of the bill.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Line {
    pub service: &'static str,
    pub what: &'static str,
    pub amount: f64,
    pub unit: &'static str,
    pub price: f64,
    pub dollars: f64,
}

/// Lines that are the same whatever happens.
const FIXED: [&str; 5] = ["polls of empty queues", "alarms", "dashboard", "secrets", "keys"];

/// What a month costs in which nothing happens, by the template's `History`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct FixedDollars {
    pub history_on: f64,
    pub history_off: f64,
}

impl FixedDollars {
    fn of(lines: &[Line], prices: &Prices) -> Self {
        let fixed = lines.iter().filter(|line| FIXED.contains(&line.what));
        let history_on = fixed.map(|line| line.dollars).sum();
        let spared = DEPLOYED.alarm_metrics - DEPLOYED.alarm_metrics_without_history;
        Self { history_on, history_off: history_on - spared * prices.alarm_month }
    }
}

/// The bill for a month.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Bill {
    pub lines: Vec<Line>,
    pub dollars: f64,
    pub fixed_dollars: FixedDollars,
    /// The sum where the table of the current period is provisioned, if there are events.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub provisioned_dollars: Option<f64>,
    /// What importing the graph costs, once.
    pub import_dollars: f64,
}

impl Bill {
    pub fn of(month: &Month, prices: &Prices) -> Self {
        let groups = [
            tables(month, prices),
            history(month, prices),
            functions(month, prices),
            queue(month, prices),
            api(month, prices),
            watching(month, prices),
        ];
        let lines: Vec<_> = groups.into_iter().flatten().collect();
        let dollars = lines.iter().map(|line| line.dollars).sum();
        let saved = (month.events.events > 0.0).then(|| saved_by_provisioning(month, prices));
        Self {
            fixed_dollars: FixedDollars::of(&lines, prices),
            lines,
            dollars,
            provisioned_dollars: saved.map(|saved| dollars - saved),
            import_dollars: import(&month.import, prices),
        }
    }
}

/// What the write units of events cost less if the table of the current period is provisioned. Late events, which go to earlier tables,
/// are taken for current ones.
fn saved_by_provisioning(month: &Month, prices: &Prices) -> f64 {
    let events = &month.events;
    let on_demand = events.writes / MILLION * prices.dynamodb_million_writes;
    let provisioned = events.capacity_hours * prices.dynamodb_write_capacity_hour;
    let measuring = events.series * prices.metric_data_series + prices.alarm_month;
    on_demand - provisioned - measuring
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
    let Month { writing, reading, folding, folds, .. } = month;
    let writes = writing.writes + folding.writes + reading.writes;
    let kept = month.timeline_bytes + month.ledger_bytes + month.index_bytes;
    let line = |what, amount, price| line("DynamoDB", what, amount, price);
    let mut lines = vec![
        line("write units", millions(writes), prices.dynamodb_million_writes),
        line("read units, writer", millions(writing.reads), prices.dynamodb_million_reads),
        line("read units, reader", millions(reading.reads), prices.dynamodb_million_reads),
        line("storage", gigabytes(kept), prices.dynamodb_gb_month),
        line(
            "point-in-time recovery",
            gigabytes(month.ledger_bytes),
            prices.dynamodb_recovery_gb_month,
        ),
        line("deletes by TTL", millions(writing.entries), 0.0),
    ];
    if *folds > 0.0 {
        let reads = millions(folding.reads);
        lines.insert(2, line("read units, projector", reads, prices.dynamodb_million_reads));
    }
    lines
}

/// The tables of events and their archives, where there are events.
fn history(month: &Month, prices: &Prices) -> Vec<Line> {
    let events = &month.events;
    if events.events == 0.0 {
        return Vec::new();
    }
    let table = |what, amount, price| line("DynamoDB", what, amount, price);
    vec![
        table("events, write units", millions(events.writes), prices.dynamodb_million_writes),
        table("events, scans to archive", millions(events.scans), prices.dynamodb_million_reads),
        table("events, storage", gigabytes(events.fresh_bytes), prices.dynamodb_gb_month),
        table("events, recovery", gigabytes(events.fresh_bytes), prices.dynamodb_recovery_gb_month),
        table(
            "events, storage once archived",
            gigabytes(events.archived_bytes),
            prices.dynamodb_infrequent_gb_month,
        ),
        line("S3", "archives of events", gigabytes(events.archive_bytes), prices.s3_gb_month),
    ]
}

fn functions(month: &Month, prices: &Prices) -> Vec<Line> {
    let requests = month.writing.messages + month.pages + month.folds;
    let messages = month.writing.messages;
    let [likes, arena, events] =
        [month.likes.writing, month.arena.writing, month.events.writing].map(|work| work.messages);
    let shown = messages - likes - arena - events;
    let writer = seconds(&month.writing, messages) + holds(shown + 2.0 * month.follows);
    let writer = writer * gb(DEPLOYED.writer_memory);
    let compressing = month.compressed_bytes * PER_COMPRESSED_BYTE * WHOLE_PROCESSOR;
    let reader = seconds(&month.reading, month.pages) * gb(DEPLOYED.reader_memory) + compressing;
    let projector = seconds(&month.folding, month.folds) * gb(DEPLOYED.projector_memory);
    let line = |what, amount, price| line("Lambda", what, amount, price);
    let mut lines = vec![
        line("requests", millions(requests), prices.lambda_million_requests),
        line("compute, writer", (writer, "GB-second"), prices.lambda_gb_second),
        line("compute, reader", (reader, "GB-second"), prices.lambda_gb_second),
    ];
    if month.folds > 0.0 {
        let compute = (projector, "GB-second");
        lines.push(line("compute, projector", compute, prices.lambda_gb_second));
    }
    lines
}

/// Seconds of N invocations, each for one message, though in a burst ten messages share one.
fn seconds(work: &Work, invocations: f64) -> f64 {
    work.rounds * ROUND_TRIP + work.entries * PER_ENTRY + invocations * OVERHEAD
}

/// Seconds that N holds take. There is one after each message that changes what timelines or lists of activities show; a like does not. A
/// follow has another once the actor is hidden, and if it brings something in a third once everything is there.
fn holds(number: f64) -> f64 {
    number * Hold::default().length().as_secs_f64()
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
    let logged = logged(month);
    let metrics = METRICS + if month.folds > 0.0 { LIKE_METRICS } else { 0.0 };
    let Deployed { alarm_metrics, secrets, keys, .. } = DEPLOYED;
    let cloudwatch = |what, amount, price| line("CloudWatch", what, amount, price);
    vec![
        cloudwatch("logs taken in", gigabytes(logged), prices.logs_gb),
        cloudwatch("logs kept", gigabytes(logged * COMPRESSED), prices.logs_gb_month),
        cloudwatch("alarms", (alarm_metrics, "metric"), prices.alarm_month),
        cloudwatch("metrics", (metrics, "metric"), prices.metric_month),
        cloudwatch("dashboard", (1.0, "dashboard"), prices.dashboard_month),
        line("Secrets Manager", "secrets", (secrets, "secret"), prices.secret_month),
        line("KMS", "keys", (keys, "key"), prices.key_month),
    ]
}

/// Bytes of all logs. Lambda itself writes of invocations that failed only (`SystemLogLevel` in the template).
fn logged(month: &Month) -> f64 {
    let Month { writing, pages, folds, .. } = month;
    let writer = writing.messages * (WRITER_LINE + WRITER_METRICS + ADDED);
    let lines = pages / DEPLOYED.log_one_in * READER_LINE;
    let metrics = metric_lines(month) * (READER_METRICS + ADDED) + pages * READER_METRICS_PAGE;
    let projector = folds * (PROJECTOR_METRICS + ADDED);
    writer + projector + lines + metrics + pages * access_line(month.subject)
}

/// Lines of metrics that readers write: one for as many pages as there is room for, and one for what each reader has
/// gathered when its window ends.
fn metric_lines(month: &Month) -> f64 {
    let span = DAYS * 86_400.0;
    let at_once = seconds(&month.reading, month.pages) / span;
    let readers = (BURST * at_once).ceil();
    let windows = readers * span / METRICS_WINDOW.as_secs_f64();
    (month.pages / METRICS_PAGES as f64 + windows).min(month.pages)
}

/// Bytes of a line in API Gateway's log, by the template's format.
fn access_line(subject: f64) -> f64 {
    let lengths = ACCESS.into_iter().chain([("$context.authorizer.claims.sub", subject)]);
    let grown = lengths.map(|(variable, length)| length - variable.len() as f64);
    DEPLOYED.access_line.len() as f64 + grown.sum::<f64>()
}

fn import(work: &Work, prices: &Prices) -> f64 {
    // Each message is a follow that brings nothing in.
    let seconds = seconds(work, work.messages) + holds(2.0 * work.messages);
    let compute = seconds * gb(DEPLOYED.writer_memory) * prices.lambda_gb_second;
    let per_request = prices.sqs_million_requests + prices.sqs_million_fair_requests;
    let millions = work.writes * prices.dynamodb_million_writes
        + work.reads * prices.dynamodb_million_reads
        + work.messages * prices.lambda_million_requests
        + requests(work) * per_request;
    compute + millions / MILLION
}

fn gb(megabytes: f64) -> f64 {
    megabytes / 1024.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_the_access_log_is_as_long_as_one_that_was_seen() {
        let line = r#"{"requestId":"JKJaXmPLvHcESHA=","subject":"bob","status":"200","error":"-","latency":"12"}"#;
        assert_eq!(access_line(3.0), line.len() as f64);
    }
}
