//! What the units and requests so far would have cost on AWS.

use super::{INVOCATIONS, Numbers, QUEUE_REQUESTS, READ_UNITS, READER, Total, WRITE_UNITS};
use crate::cost::bill::Line;
use crate::cost::month::DAYS;
use crate::cost::prices::Prices;

const MILLISECONDS_OF_A_DAY: f64 = 86_400_000.0;

/// What units and requests cost. Computing, storage, logs and what costs the same in any month are not among it: `nagare
/// estimate` has these.
#[derive(Debug, Clone, PartialEq)]
pub struct Cost {
    /// Its lines, since the start.
    pub lines: Vec<Line>,
    /// Their sum.
    pub dollars: f64,
    /// A month in which every hour is like the last.
    pub month: f64,
}

impl Numbers {
    /// What units and requests have cost, at these prices.
    #[must_use]
    pub fn cost(&self, prices: &Prices) -> Cost {
        let lines = lines(prices, |name, by| self.ever(name, by));
        let hour = lines_sum(&self::lines(prices, |name, by| self.recent(name, by, 60)));
        let months = DAYS * MILLISECONDS_OF_A_DAY / self.observed_millis() as f64;
        Cost { dollars: lines_sum(&lines), month: hour * months, lines }
    }
}

fn lines(prices: &Prices, total: impl Fn(&str, Option<&str>) -> Total) -> Vec<Line> {
    let line = |service, what, (name, by), price: f64| {
        let amount = total(name, by).sum / 1e6;
        Line { service, what, amount, unit: "million", price, dollars: amount * price }
    };
    let api_requests = (INVOCATIONS, Some(READER));
    vec![
        line("DynamoDB", "write units", (WRITE_UNITS, None), prices.dynamodb_million_writes),
        line("DynamoDB", "read units", (READ_UNITS, None), prices.dynamodb_million_reads),
        line("Lambda", "requests", (INVOCATIONS, None), prices.lambda_million_requests),
        line("SQS", "requests", (QUEUE_REQUESTS, None), prices.sqs_million_requests),
        line("API Gateway", "requests", api_requests, prices.http_api_million_requests),
    ]
}

fn lines_sum(lines: &[Line]) -> f64 {
    lines.iter().map(|line| line.dollars).sum()
}
