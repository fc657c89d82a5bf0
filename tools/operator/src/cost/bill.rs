//! The monthly bill: counts, times the rows of `units.csv`, times prices.

use function_http::reader::{METRICS_PAGES, METRICS_WINDOW};
use serde::Serialize;
use shared::history::events::{EventSettings, PeriodLength};

use super::DAYS;
use super::counts::Counts;
use super::month::{Assumed, KB, Month, Requests};
use super::prices::Prices;

/// The template's resources that are paid for. `tests/template` compares the two.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct Deployed {
    /// Metrics that alarms watch. Each is paid for, also where several make one alarm.
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
    /// One of this many successful requests is logged.
    pub log_one_in: f64,
    /// Bytes that API Gateway logs of a request.
    pub access_line: f64,
}

/// The template's.
pub const DEPLOYED: Deployed = Deployed {
    alarm_metrics: 83.0,
    alarm_metrics_without_history: 58.0,
    secrets: 4.0,
    keys: 1.0,
    writer_memory: 1769.0,
    reader_memory: 512.0,
    projector_memory: 1769.0,
    log_one_in: 100.0,
    access_line: 99.0,
};

/// Seconds of an invocation besides its calls.
const INVOCATION: f64 = 0.002;
/// Polls of the two empty queues by Lambda in a month: five at a time, twenty seconds each.
const IDLE_POLLS: f64 = 2.0 * 5.0 * 3.0 * 60.0 * 24.0 * DAYS;
/// Requests of a message that is sent, received and deleted.
const MESSAGE: f64 = 3.0;
/// Bytes of the headers of a response.
const HEADERS: f64 = 250.0;

/// Bytes of the writer's line for a message, and of the metrics of its invocation.
const WRITER_LINE: f64 = 517.0;
const WRITER_METRICS: f64 = 390.0;
/// Bytes of the metrics of an invocation of the projector, which logs nothing else.
pub const PROJECTOR_METRICS: f64 = 260.0;
/// Bytes of a line of the reader.
const READER_LINE: f64 = 375.0;
/// Bytes of a line of the reader's metrics, and those that each page adds to one.
const READER_METRICS: f64 = 197.0;
const READER_METRICS_PAGE: f64 = 7.0;
/// The lengths above by their names, as they are printed with a bill.
pub const LOG_BYTES: [(&str, f64); 5] = [
    ("writer_line", WRITER_LINE),
    ("writer_metrics", WRITER_METRICS),
    ("reader_line", READER_LINE),
    ("reader_metrics", READER_METRICS),
    ("reader_metrics_page", READER_METRICS_PAGE),
];
/// Bytes of the level and the time that Lambda adds to a line of metrics.
const ADDED: f64 = 60.0;
/// The share of the logs that remains after compression.
const LOGS_COMPRESSED: f64 = 0.15;
/// Metrics of an ordinary hour, each with each value of its dimensions. CloudWatch charges for the hours in which a metric is
/// sent, so metrics of failures hardly cost anything.
pub const METRICS: f64 = 7.0;
/// Metrics of the projector, if it has anything to fold.
pub const PROJECTED_METRICS: f64 = 2.0;

/// Bytes that DynamoDB adds to a stored item.
pub const ITEM: f64 = 100.0;
/// The share of an archive's lines that remains after gzip: 15.9 bytes of 206 (`python lab/bench/flights.py`).
const ARCHIVE_COMPRESSED: f64 = 15.9 / 206.0;
/// The used share of provisioned capacity (`python lab/bench/capacity.py`).
const CAPACITY_USED: f64 = 0.754;
/// Series that the keeper requests every quarter of an hour: those of two tables for four weeks and a day, and three more.
const CAPACITY_SERIES: f64 = 4.0 * 24.0 * DAYS * 11.0;

const GB: f64 = KB * KB * KB;
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

/// The cost of a month without commands and pages, by the template's `History`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct FixedDollars {
    pub history_on: f64,
    pub history_off: f64,
}

/// The bill for a month.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Bill {
    pub lines: Vec<Line>,
    pub dollars: f64,
    pub fixed_dollars: FixedDollars,
    pub write_units: f64,
    pub read_units: f64,
    /// The sum if the table of the current period is provisioned, if there are events.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub provisioned_dollars: Option<f64>,
    /// The cost of a million events, on demand and provisioned.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub million_events_dollars: Option<[f64; 2]>,
    /// The cost of importing the follows, once.
    pub import_dollars: f64,
}

impl Bill {
    pub fn of(counts: &Counts, assumed: &Assumed, prices: &Prices) -> Self {
        let month = Month::of(counts, assumed);
        let lines = lines(&month, prices);
        let dollars = sum(&lines);
        let units = |what| {
            let found = lines.iter().filter(|line| line.what.contains(what));
            found.map(|line| line.amount * MILLION).sum()
        };
        let saved = (counts.events > 0.0).then(|| saved_by_provisioning(&month, prices));
        let millions = counts.events / MILLION;
        let only_events = Counts { events: counts.events, ..Counts::default() };
        let of_events = alone(&only_events, assumed, prices);
        Self {
            fixed_dollars: FixedDollars::of(assumed, prices),
            dollars,
            write_units: units("write units"),
            read_units: units("read units") + units("scans"),
            provisioned_dollars: saved.map(|saved| dollars - saved),
            million_events_dollars: saved
                .map(|saved| [of_events, of_events - saved].map(|dollars| dollars / millions)),
            import_dollars: import(&month.imported, counts.imported, prices),
            lines,
        }
    }
}

impl FixedDollars {
    fn of(assumed: &Assumed, prices: &Prices) -> Self {
        let nothing = Counts::default();
        let nothing = sum(&lines(&Month::of(&nothing, assumed), prices));
        let history_on = nothing - METRICS * prices.metric_month;
        let spared = DEPLOYED.alarm_metrics - DEPLOYED.alarm_metrics_without_history;
        Self { history_on, history_off: history_on - spared * prices.alarm_month }
    }
}

/// The cost of these follows while nothing is published.
fn import(follows: &Requests, number: f64, prices: &Prices) -> f64 {
    let seconds = follows.seconds() + number * INVOCATION;
    let sent = MESSAGE * (prices.sqs_million_requests + prices.sqs_million_fair_requests);
    let millions = follows.sum(|each| each.writes) * prices.dynamodb_million_writes
        + follows.sum(|each| each.reads) * prices.dynamodb_million_reads
        + number * (prices.lambda_million_requests + sent);
    millions / MILLION + seconds * DEPLOYED.writer_memory / KB * prices.lambda_gb_second
}

/// The additional cost of these counts over a month without any.
fn alone(counts: &Counts, assumed: &Assumed, prices: &Prices) -> f64 {
    let of = |counts| sum(&lines(&Month::of(counts, assumed), prices));
    of(counts) - of(&Counts::default())
}

fn sum(lines: &[Line]) -> f64 {
    lines.iter().map(|line| line.dollars).sum()
}

/// The saving of a provisioned table of the current period. Late events go to earlier tables, and are counted as current ones.
fn saved_by_provisioning(month: &Month<'_>, prices: &Prices) -> f64 {
    let writes = month.event_writes();
    let on_demand = writes / MILLION * prices.dynamodb_million_writes;
    let hours = writes / 3_600.0 / CAPACITY_USED;
    let measuring = CAPACITY_SERIES * prices.metric_data_series + prices.alarm_month;
    on_demand - hours * prices.dynamodb_write_capacity_hour - measuring
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

fn lines(month: &Month<'_>, prices: &Prices) -> Vec<Line> {
    let mut lines = tables(month, prices);
    if month.counts.events > 0.0 {
        lines.extend(history(month, prices));
    }
    lines.extend(functions(month, prices));
    lines.extend(around(month, prices));
    lines
}

fn tables(month: &Month<'_>, prices: &Prices) -> Vec<Line> {
    let Month { commands, entries, events, folds, pages, assumed, .. } = month;
    let writes = [commands, entries, folds, pages].map(|it| it.sum(|each| each.writes));
    let reads = [commands, entries, events].map(|it| it.sum(|each| each.reads));
    let timelines = entries.sum(|each| each.stored_bytes) * assumed.retention_days / DAYS;
    let stored = timelines + month.kept(|each| each.stored_bytes);
    let recoverable = month.kept(|each| each.recoverable_bytes);
    let line = |what, amount, price| line("DynamoDB", what, amount, price);
    let read = |what, units| line(what, millions(units), prices.dynamodb_million_reads);
    vec![
        line("write units", millions(writes.iter().sum()), prices.dynamodb_million_writes),
        read("read units, writer", reads.iter().sum()),
        read("read units, projector", folds.sum(|each| each.reads)),
        read("read units, reader", pages.sum(|each| each.reads)),
        line("storage", gigabytes(stored), prices.dynamodb_gb_month),
        line("point-in-time recovery", gigabytes(recoverable), prices.dynamodb_recovery_gb_month),
    ]
}

/// The tables of events and their archives, once all that expires has begun to.
fn history(month: &Month<'_>, prices: &Prices) -> Vec<Line> {
    let Assumed { event_bytes, event_period, .. } = *month.assumed;
    let EventSettings { lateness_days, days, archive_days, .. } = EventSettings::default();
    // On average an event is half of a period old when the period ends.
    let half = match event_period {
        PeriodLength::Day => 0.5,
        PeriodLength::Week => 3.5,
        PeriodLength::Month => DAYS / 2.0,
    };
    let a_day = month.counts.events / DAYS;
    let stored = |days: u32| gigabytes(a_day * (event_bytes + ITEM) * (half + f64::from(days)));
    let fresh = stored(lateness_days);
    let archived = (stored(days.max(lateness_days)).0 - fresh.0, fresh.1);
    let archives = a_day * event_bytes * ARCHIVE_COMPRESSED * f64::from(archive_days);
    let scanned = month.counts.events * event_bytes / (4.0 * KB);
    let table = |what, amount, price| line("DynamoDB", what, amount, price);
    vec![
        table(
            "events, write units",
            millions(month.event_writes()),
            prices.dynamodb_million_writes,
        ),
        table("events, scans to archive", millions(scanned), prices.dynamodb_million_reads),
        table("events, storage", fresh, prices.dynamodb_gb_month),
        table("events, recovery", fresh, prices.dynamodb_recovery_gb_month),
        table("events, storage once archived", archived, prices.dynamodb_infrequent_gb_month),
        line("S3", "archives of events", gigabytes(archives), prices.s3_gb_month),
    ]
}

fn functions(month: &Month<'_>, prices: &Prices) -> Vec<Line> {
    let Month { commands, entries, events, folds, pages, .. } = month;
    let [messages, invocations, requests] =
        [month.messages(), month.invocations(), month.requests()];
    let writing = commands.seconds() + entries.seconds() + events.seconds();
    let compute = |what, seconds: f64, number: f64, memory: f64| {
        let used = (seconds + number * INVOCATION) * memory / KB;
        line("Lambda", what, (used, "GB-second"), prices.lambda_gb_second)
    };
    vec![
        line(
            "Lambda",
            "requests",
            millions(messages + invocations + requests),
            prices.lambda_million_requests,
        ),
        compute("compute, writer", writing, messages, DEPLOYED.writer_memory),
        compute("compute, reader", pages.seconds(), requests, DEPLOYED.reader_memory),
        compute("compute, projector", folds.seconds(), invocations, DEPLOYED.projector_memory),
    ]
}

/// The queue, the API, and everything that watches.
fn around(month: &Month<'_>, prices: &Prices) -> Vec<Line> {
    let (sent, requests) = (millions(MESSAGE * month.messages()), month.requests());
    let answers = month.pages.sum(|each| each.answer_bytes) + requests * HEADERS;
    let logs = logged(month);
    let metrics = METRICS + if month.invocations() > 0.0 { PROJECTED_METRICS } else { 0.0 };
    let Deployed { alarm_metrics, secrets, keys, .. } = DEPLOYED;
    vec![
        line("SQS", "requests", sent, prices.sqs_million_requests),
        line("SQS", "requests with a group", sent, prices.sqs_million_fair_requests),
        line("SQS", "polls of empty queues", millions(IDLE_POLLS), prices.sqs_million_requests),
        line("API Gateway", "requests", millions(requests), prices.http_api_million_requests),
        line("Data transfer", "answers", gigabytes(answers), prices.transfer_gb),
        line("CloudWatch", "logs taken in", gigabytes(logs), prices.logs_gb),
        line("CloudWatch", "logs kept", gigabytes(logs * LOGS_COMPRESSED), prices.logs_gb_month),
        line("CloudWatch", "alarms", (alarm_metrics, "metric"), prices.alarm_month),
        line("CloudWatch", "metrics", (metrics, "metric"), prices.metric_month),
        line("CloudWatch", "dashboard", (1.0, "dashboard"), prices.dashboard_month),
        line("Secrets Manager", "secrets", (secrets, "secret"), prices.secret_month),
        line("KMS", "keys", (keys, "key"), prices.key_month),
    ]
}

/// Bytes of all logs. Lambda itself logs failed invocations only (`SystemLogLevel` in the template).
fn logged(month: &Month<'_>) -> f64 {
    let requests = month.requests();
    let windows = DAYS * 86_400.0 / METRICS_WINDOW.as_secs_f64();
    let metric_lines = (requests / METRICS_PAGES as f64 + windows).min(requests);
    let page = READER_LINE / DEPLOYED.log_one_in + READER_METRICS_PAGE + DEPLOYED.access_line;
    month.messages() * (WRITER_LINE + WRITER_METRICS + ADDED)
        + month.invocations() * (PROJECTOR_METRICS + ADDED)
        + metric_lines * (READER_METRICS + ADDED)
        + requests * page
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_request_of_a_bill_has_a_row() {
        let (retention_days, event_period) = (30.0, PeriodLength::Day);
        let assumed = Assumed {
            payload_bytes: 0.0,
            retention_days,
            months: 0.0,
            event_bytes: 0.0,
            event_period,
        };
        let bill = Bill::of(&Counts::default(), &assumed, &Prices::default());
        assert!(bill.dollars.is_finite() && bill.import_dollars.is_finite());
    }
}
