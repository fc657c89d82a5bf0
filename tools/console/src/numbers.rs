//! What the units and requests so far would have cost on AWS.

use nagare_operator::cost::DAYS;
use nagare_operator::cost::bill::Line;
use nagare_operator::cost::prices::Prices;
use nagare_telemetry::numbers::{
    HISTORY_READER, INTAKE, INVOCATIONS, Numbers, QUEUE_REQUESTS, READ_UNITS, READER, Total,
    WRITE_UNITS,
};

/// Of a month.
const HOURS: f64 = 24.0 * DAYS;
const MILLISECONDS_OF_AN_HOUR: f64 = 3_600_000.0;

/// What units and requests cost. Computing, storage, logs and what costs the same in any month are not among it: `nagare
/// estimate` has these.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Cost {
    pub(crate) lines: Vec<Line>,
    /// Their sum.
    pub(crate) dollars: f64,
    /// A month in which every hour is like the last.
    pub(crate) month: f64,
}

impl Cost {
    /// What units and requests have cost, at these prices.
    pub(crate) fn of(numbers: &Numbers, prices: &Prices) -> Self {
        let lines = lines(prices, |name, by| numbers.ever(name, by));
        let hour = lines_sum(&self::lines(prices, |name, by| numbers.recent(name, by, 60)));
        let hours = numbers.observed_millis() as f64 / MILLISECONDS_OF_AN_HOUR;
        Self { dollars: lines_sum(&lines), month: hour / hours * HOURS, lines }
    }
}

// What is paid for by the piece, of which service.
const WRITES: (&str, &str) = ("DynamoDB", "write units");
const READS: (&str, &str) = ("DynamoDB", "read units");
const API: (&str, &str) = ("API Gateway", "requests");

/// A number of something, at a price of a million.
fn line((service, what): (&'static str, &'static str), price: f64, number: f64) -> Line {
    let amount = number / 1e6;
    Line { service, what, amount, unit: "million", price, dollars: amount * price }
}

fn lines(prices: &Prices, total: impl Fn(&str, Option<&str>) -> Total) -> Vec<Line> {
    let sum = |name| total(name, None).sum;
    let answered = [READER, HISTORY_READER, INTAKE].map(|by| total(INVOCATIONS, Some(by)).sum);
    vec![
        line(WRITES, prices.dynamodb_million_writes, sum(WRITE_UNITS)),
        line(READS, prices.dynamodb_million_reads, sum(READ_UNITS)),
        line(("Lambda", "requests"), prices.lambda_million_requests, sum(INVOCATIONS)),
        line(("SQS", "requests"), prices.sqs_million_requests, sum(QUEUE_REQUESTS)),
        line(API, prices.http_api_million_requests, answered.iter().sum()),
    ]
}

fn lines_sum(lines: &[Line]) -> f64 {
    lines.iter().map(|line| line.dollars).sum()
}

#[cfg(test)]
mod tests {
    use shared::platform::runtime::clock::Clock;
    use shared::platform::values::Timestamp;

    use super::*;

    fn close(found: f64, expected: f64) {
        assert!((found - expected).abs() < 1e-9, "{found}, expected {expected}");
    }

    #[test]
    fn a_month_is_made_of_the_time_there_was() {
        let clock = Clock::manual(Timestamp::from_unix_millis(0));
        let numbers = Numbers::new(clock.clone());
        numbers.add(WRITE_UNITS, "ledger", 600_000.0);
        numbers.add(WRITE_UNITS, "timelines", 400_000.0);
        numbers.invocation(READER, 0);
        numbers.invocation("fan-out writer", 2);
        clock.set(Timestamp::from_unix_millis(1_800_000));
        let prices = Prices::default();
        let Cost { lines, dollars, month } = Cost::of(&numbers, &prices);
        let amounts: Vec<_> = lines.iter().map(|line| (line.amount * 1e6).round()).collect();
        assert_eq!(amounts, [1e6, 0.0, 2.0, 2.0, 1.0]);
        let requests = (2.0 * 0.2 + 2.0 * 0.4 + 1.0) / 1e6;
        close(dollars, 0.625 + requests);
        close(month, dollars * 2.0 * 24.0 * 30.0);
        clock.set(Timestamp::from_unix_millis(4_000_000));
        let later = Cost::of(&numbers, &prices);
        assert_eq!((later.dollars, later.month), (dollars, 0.0), "the last hour had nothing");
    }
}
