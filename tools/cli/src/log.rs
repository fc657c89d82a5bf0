//! The log of `nagare up`: lines for people, on standard error, that nothing waits for.
//!
//! Whoever started the stack may not read its standard error. A full pipe would block whichever task
//! logs next, and soon all of them. So a thread of its own writes the lines, and lines that it cannot
//! write in time are dropped and counted.

use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;
use std::time::Duration;

use nagare_client::visible::visible;
use nagare_telemetry::journal::Journal;
use shared::platform::runtime::telemetry::{self, WithInvocation};
use tracing_subscriber::Layer;
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

/// The target of the SDK's events about its connections.
const SDK_CONNECTIONS: &str = "aws_smithy_runtime::client::http::connection_poisoning";
/// Lines waiting to be written.
const WAITING: usize = 1_024;
/// How long the last lines may take when the process ends.
const GOODBYE: Duration = Duration::from_millis(500);

/// Sends lines to the thread that writes them. Cheap to clone.
#[derive(Debug, Clone)]
pub(super) struct Log {
    lines: SyncSender<LogMessage>,
    dropped: Arc<AtomicU64>,
}

#[derive(Debug)]
enum LogMessage {
    Line(Vec<u8>),
    /// Answered once everything before it is written.
    Flush(SyncSender<()>),
}

/// Warnings and worse on standard error, panics too; `NAGARE_LOG=info` shows every command. The journal has every command
/// anyway.
pub(super) fn start(journal: &Journal) -> Log {
    let log = Log::to(io::stderr());
    // After a failed call the SDK wants to close its connection, and reports an error if there is none.
    // In this process there never is one.
    let quiet = |filter: Targets| filter.with_target(SDK_CONNECTIONS, LevelFilter::OFF);
    let writer = log.clone();
    let lines = tracing_subscriber::fmt::layer().compact().with_writer(move || writer.clone());
    // Colours are sequences that steer a terminal, and what steers one is escaped.
    let lines = lines.map_event_format(|format| WithInvocation::text(format.with_ansi(false)));
    let lines = lines.with_filter(quiet(telemetry::filter(LevelFilter::WARN)));
    let journal = journal.clone().with_filter(quiet(Journal::filter()));
    let _ = tracing_subscriber::registry().with(lines).with(journal).try_init();
    std::panic::set_hook(Box::new(|panic| tracing::error!("{panic}")));
    log
}

impl Log {
    fn to(output: impl Write + Send + 'static) -> Self {
        let (lines, waiting) = sync_channel(WAITING);
        let dropped = Arc::new(AtomicU64::new(0));
        let counter = Arc::clone(&dropped);
        thread::spawn(move || write_lines(output, &waiting, &counter));
        Self { lines, dropped }
    }

    /// Writes one line that is not an event.
    pub(super) fn say(&self, line: &str) {
        self.send(LogMessage::Line(format!("{line}\n").into_bytes()));
    }

    /// Waits briefly until all lines are written, for a process that is about to end.
    pub(super) fn flush(&self) {
        let (done, written) = sync_channel(1);
        if self.send(LogMessage::Flush(done)) {
            let _ = written.recv_timeout(GOODBYE);
        }
    }

    fn send(&self, message: LogMessage) -> bool {
        let sent = self.lines.try_send(message).is_ok();
        if !sent {
            self.dropped.fetch_add(1, Ordering::Relaxed);
        }
        sent
    }
}

/// Takes whole lines, as the subscriber writes them.
impl Write for Log {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        self.send(LogMessage::Line(line.to_owned()));
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn write_lines(mut output: impl Write, waiting: &Receiver<LogMessage>, dropped: &AtomicU64) {
    for message in waiting {
        // If standard error is closed, there is nowhere to report that.
        match message {
            LogMessage::Line(line) => {
                drop(output.write_all(visible(&String::from_utf8_lossy(&line)).as_bytes()));
            }
            LogMessage::Flush(done) => drop(done.try_send(())),
        }
        match dropped.swap(0, Ordering::Relaxed) {
            0 => {}
            lines => drop(writeln!(output, "{lines} log lines were dropped: nobody read them")),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{Sender, channel};

    use super::*;

    /// Accepts one write for each permit it receives, and passes on what was written.
    struct Slow(Receiver<()>, Sender<String>);

    impl Write for Slow {
        fn write(&mut self, text: &[u8]) -> io::Result<usize> {
            let _ = self.0.recv();
            let _ = self.1.send(String::from_utf8_lossy(text).into_owned());
            Ok(text.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn lines_that_nobody_reads_are_dropped_and_counted() {
        let (permit, permits) = channel();
        let (written, lines) = channel();
        let log = Log::to(Slow(permits, written));
        (0..WAITING + 101).for_each(|n| log.say(&n.to_string()));
        drop(permit);
        log.say("the end");
        let mut all = String::new();
        while !all.contains("were dropped") {
            all.push_str(&lines.recv().unwrap());
        }
        let notice = all.lines().find(|line| line.contains("dropped")).unwrap();
        let count: usize = notice.split(' ').next().unwrap().parse().unwrap();
        assert!((99..=102).contains(&count), "{notice}");
        assert!(all.starts_with("0\n"));
    }
}
