//! What becomes of what functions count.

use std::io::Write;

use super::sink::LATE;
use super::*;
use crate::cost::prices::Prices;

/// Lines as the writer, the reader, the projector and the alerter write them, at the beginning of 2026-11-20.
const LINES: &str = concat!(
    r#"{"_aws":{"CloudWatchMetrics":[],"Timestamp":1795132800000},"CommandsApplied":3,"CommandsRefused":1,"EntriesWritten":250,"EntriesRepeated":5,"FanOutDuration":{"Values":[12.5],"Counts":[1]},"Stage":"local"}"#,
    "\n",
    r#"{"_aws":{"CloudWatchMetrics":[],"Timestamp":1795132800000},"PageLatency":{"Values":[1.5,4.0],"Counts":[9,1]},"Problems":2,"Stage":"local"}"#,
    "\n",
    r#"{"_aws":{"CloudWatchMetrics":[],"Timestamp":1795132815000},"ChangesFolded":4,"ProjectionLag":310,"Stage":"local"}"#,
    "\n",
    r#"{"_aws":{"CloudWatchMetrics":[],"Timestamp":1795132815000},"DeadLetters":1,"Reason":"conflict","Stage":"local"}"#,
    "\n",
    r#"{"_aws":{"CloudWatchMetrics":[],"Timestamp":1795132815000},"DeadLetters":1,"Reason":"whatever","Stage":"local"}"#,
    "\nnot json\n{}\n",
);

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_unix_millis(1_795_132_800_000 + seconds * 1_000)
}

fn close(found: f64, expected: f64) {
    assert!((found - expected).abs() < 1e-9, "{found}, expected {expected}");
}

#[test]
fn lines_of_metrics_are_read_in_whatever_pieces_they_come() {
    for size in [1, 7, 100_000] {
        let numbers = Numbers::new(Clock::manual(at(20)));
        let mut sink = Sink::new(numbers.clone());
        LINES.as_bytes().chunks(size).for_each(|piece| sink.write_all(piece).unwrap());
        let sum = |name| numbers.ever(name, None).sum;
        assert_eq!((sum("CommandsApplied"), sum("CommandsRefused")), (3.0, 1.0));
        assert_eq!((sum("EntriesWritten"), sum("EntriesRepeated")), (250.0, 5.0));
        assert_eq!((sum("Problems"), sum("ChangesFolded")), (2.0, 4.0));
        assert_eq!(numbers.ever("PageLatency", None), Total { sum: 17.5, count: 10 });
        assert_eq!(numbers.kinds("DeadLetters"), ["conflict", "other"]);
        let hour = numbers.hour("ProjectionLag", None);
        let lag = hour[POINTS - 1].percentile(0.5).unwrap();
        assert!((280.0..340.0).contains(&lag), "{lag}");
    }
}

#[test]
fn a_publish_that_was_dated_back_says_nothing_about_how_long_it_took() {
    let numbers = Numbers::new(Clock::manual(at(20)));
    let mut sink = Sink::new(numbers.clone());
    for millis in [40.0, LATE, LATE + 1.0, 1_293_700.0] {
        let second = at(20).unix_millis();
        let line = format!(r#"{{"_aws":{{"Timestamp":{second}}},"FanOutLatency":{millis}}}"#);
        sink.write_all(format!("{line}\n").as_bytes()).unwrap();
    }
    assert_eq!(numbers.ever("FanOutLatency", None), Total { sum: 40.0 + LATE, count: 2 });
}

#[test]
fn what_is_no_line_is_let_go() {
    let mut sink = Sink::new(Numbers::default());
    (0..1_000).for_each(|_| sink.write_all(&[b'x'; 1_000]).unwrap());
    assert!(sink.write(b"x").is_ok_and(|written| written == 1));
    assert!(format!("{sink:?}").len() < 500_000);
}

#[test]
fn a_month_is_made_of_the_time_there_was() {
    let clock = Clock::manual(at(0));
    let numbers = Numbers::new(clock.clone());
    numbers.add(WRITE_UNITS, "ledger", 600_000.0);
    numbers.add(WRITE_UNITS, "timelines", 400_000.0);
    numbers.invocation(READER, 0);
    numbers.invocation("fan-out writer", 2);
    clock.set(at(1_800));
    let prices = Prices::default();
    let Cost { lines, dollars, month } = numbers.cost(&prices);
    let amounts: Vec<_> = lines.iter().map(|line| (line.amount * 1e6).round()).collect();
    assert_eq!(amounts, [1e6, 0.0, 2.0, 2.0, 1.0]);
    let requests = (2.0 * 0.2 + 2.0 * 0.4 + 1.0) / 1e6;
    close(dollars, 0.625 + requests);
    close(month, dollars * 2.0 * 24.0 * 30.0);
    clock.set(at(4_000));
    let later = numbers.cost(&prices);
    assert_eq!((later.dollars, later.month), (dollars, 0.0), "the last hour had nothing");
}
