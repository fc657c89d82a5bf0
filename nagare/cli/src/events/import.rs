//! `nagare events import`: a file of events, up to a hundred of one tenant in a message.
//!
//! Importing a file again, or after an interruption, is safe: an event with the same identity is recorded once. The whole file is
//! read before the first event is sent, so a bad line is found before anything has happened. The writer decides whether an event
//! comes too late, or whether another event has its identity. Each such event becomes a dead letter of its own.

use std::collections::VecDeque;
use std::path::PathBuf;

use clap::Args;
use nagare_client::remote::Remote;
use nagare_client::sender::commands;
use nagare_operator::progress;
use parking_lot::Mutex;
use serde::Serialize;
use shared::command::Command;
use shared::events::SentEvent;
use shared::values::TenantId;

use super::super::Failure;
use super::super::csv_file::RowError;
use super::super::print::{counted, print_json, say, tell};
use super::grouped::Grouped;
use super::rows::EventFile;

#[derive(Debug, Args)]
pub(in super::super) struct Import {
    /// The file; `-` is standard input.
    file: PathBuf,
    /// Report bad lines and leave them out, instead of refusing the file.
    #[arg(long)]
    skip_bad: bool,
    /// Print one JSON object.
    #[arg(long)]
    json: bool,
}

/// What a file holds.
#[derive(Debug, Clone, Copy, Default, Serialize)]
struct Counts {
    events: u64,
    messages: u64,
    bad_lines: u64,
}

impl Import {
    pub(super) async fn run(self) -> Result<(), Failure> {
        let file = EventFile::of(&self.file)?;
        let mut counts = self.check(&file)?;
        let remote = Remote::from_environment().await?;
        let (sender, drain) = (remote.sender()?, remote.drain()?);
        let bar = progress::bar(counts.events, "events sent");
        // Of the messages that are being sent, which are accepted in their order.
        let sizes = Mutex::new(VecDeque::new());
        let messages = Grouped::of(good(&file)?).map(|events| {
            events.map(|events| {
                sizes.lock().push_back(events.events.len() as u64);
                Command::RecordEvents(events)
            })
        });
        let accepted = |messages: u64| {
            let mut sizes = sizes.lock();
            (0..messages).filter_map(|_| sizes.pop_front()).for_each(|events| bar.inc(events));
        };
        counts.messages = sender.send_all(commands(messages), accepted).await?;
        bar.finish_and_clear();

        let bar = progress::bar(counts.messages, "messages done");
        let done = |left| bar.set_position(counts.messages.saturating_sub(left));
        drain.wait(done).await?;
        bar.finish_and_clear();
        if self.json {
            return print_json(&counts);
        }
        let events = counted(counts.events, "event", "events");
        say!("{events} sent in {}", counted(counts.messages, "message", "messages"))
    }

    /// Reads the whole file without sending anything, and counts what it holds.
    fn check(&self, file: &EventFile) -> Result<Counts, Failure> {
        let mut counts = Counts::default();
        for row in file.rows()? {
            match row {
                Ok(_) => counts.events += 1,
                Err(RowError::File(failure)) => return Err(failure),
                Err(RowError::Line(line)) => {
                    tell!("{file}: {line}");
                    counts.bad_lines += 1;
                }
            }
        }
        if counts.bad_lines > 0 && !self.skip_bad {
            let problem = "nothing was imported; correct what is named above, or pass --skip-bad";
            let bad = counted(counts.bad_lines, "bad line", "bad lines");
            return Err(Failure::Usage(format!("{file} has {bad}: {problem}")));
        }
        Ok(counts)
    }
}

/// The events of a file. Its bad lines were reported when it was checked.
fn good(
    file: &EventFile,
) -> Result<impl Iterator<Item = Result<(TenantId, SentEvent), Failure>> + use<>, Failure> {
    Ok(file.rows()?.filter_map(|row| match row {
        Ok(event) => Some(Ok(event)),
        Err(RowError::File(failure)) => Some(Err(failure)),
        Err(RowError::Line(_)) => None,
    }))
}
