//! What the units and requests so far would have cost on AWS.

use super::{INTAKE, INVOCATIONS, Numbers, QUEUE_REQUESTS, READ_UNITS, READER, Total, WRITE_UNITS};
use crate::cost::bill::Line;
use crate::cost::month::DAYS;
use crate::cost::prices::Prices;

/// Of a month.
const HOURS: f64 = 24.0 * DAYS;
const MILLISECONDS_OF_AN_HOUR: f64 = 3_600_000.0;

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
        let hours = self.observed_millis() as f64 / MILLISECONDS_OF_AN_HOUR;
        Cost { dollars: lines_sum(&lines), month: hour / hours * HOURS, lines }
    }
}

impl Cost {
    /// What an hour costs in which these were counted: requests to the API, and units.
    #[must_use]
    pub fn of_hour(prices: &Prices, written: f64, read: f64, requests: f64) -> Self {
        let lines = vec![
            Counted::WriteUnits.line(prices, written),
            Counted::ReadUnits.line(prices, read),
            Counted::ApiRequests.line(prices, requests),
        ];
        let dollars = lines_sum(&lines);
        Self { dollars, month: dollars * HOURS, lines }
    }
}

/// What is paid for by the piece.
#[derive(Clone, Copy)]
enum Counted {
    WriteUnits,
    ReadUnits,
    Invocations,
    QueueRequests,
    ApiRequests,
}

impl Counted {
    fn line(self, prices: &Prices, number: f64) -> Line {
        let (service, what, price) = match self {
            Self::WriteUnits => ("DynamoDB", "write units", prices.dynamodb_million_writes),
            Self::ReadUnits => ("DynamoDB", "read units", prices.dynamodb_million_reads),
            Self::Invocations => ("Lambda", "requests", prices.lambda_million_requests),
            Self::QueueRequests => ("SQS", "requests", prices.sqs_million_requests),
            Self::ApiRequests => ("API Gateway", "requests", prices.http_api_million_requests),
        };
        let amount = number / 1e6;
        Line { service, what, amount, unit: "million", price, dollars: amount * price }
    }
}

fn lines(prices: &Prices, total: impl Fn(&str, Option<&str>) -> Total) -> Vec<Line> {
    let sum = |name, by: &[Option<&str>]| by.iter().map(|by| total(name, *by).sum).sum();
    let counted = [
        (Counted::WriteUnits, sum(WRITE_UNITS, &[None])),
        (Counted::ReadUnits, sum(READ_UNITS, &[None])),
        (Counted::Invocations, sum(INVOCATIONS, &[None])),
        (Counted::QueueRequests, sum(QUEUE_REQUESTS, &[None])),
        (Counted::ApiRequests, sum(INVOCATIONS, &[Some(READER), Some(INTAKE)])),
    ];
    counted.map(|(counted, number)| counted.line(prices, number)).into()
}

fn lines_sum(lines: &[Line]) -> f64 {
    lines.iter().map(|line| line.dollars).sum()
}
