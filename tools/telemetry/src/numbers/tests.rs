//! What the numbers show of what functions count.

use std::io::Write;

use super::sink::LATE;
use super::*;

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
