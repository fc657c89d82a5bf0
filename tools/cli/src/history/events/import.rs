//! `nagare events import`: a file of events, up to a hundred of one tenant in a message.
//!
//! Importing a file again, or after an interruption, is safe: an event with the same identity is recorded once. The whole file is
//! read before the first event is sent, so a bad line is found before anything has happened. The writer decides whether an event
//! comes too late, or whether another event has its identity. Each such event becomes a dead letter of its own.

use std::path::PathBuf;

use clap::Args;
use nagare_client::remote::Remote;
use nagare_client::sender::commands;
use nagare_operator::completion::complete;
use nagare_operator::progress;
use serde::Serialize;
use shared::command::Command;

use super::grouped::Grouped;
use super::rows::events_in;
use crate::Failure;
use crate::input::{Input, good};
use crate::print::{counted, print_json, say};

#[derive(Debug, Args)]
pub(crate) struct ImportEvents {
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
struct ImportCounts {
    events: u64,
    messages: u64,
    bad_lines: u64,
}

impl ImportEvents {
    pub(super) async fn run(self) -> Result<(), Failure> {
        let input = Input::of(&self.file)?;
        let (events, bad_lines) = input.check(events_in(&input)?, self.skip_bad)?;
        let mut counts = ImportCounts { events, messages: 0, bad_lines };
        let remote = Remote::from_environment().await?;
        // How many messages they make is known at the end.
        let bar = progress::counter("messages recorded");
        let messages = Grouped::new(good(events_in(&input)?));
        let messages = messages.map(|events| events.map(Command::RecordEvents));
        let completed = complete(&remote, commands(messages), |done| bar.inc(done)).await?;
        bar.finish_and_clear();
        counts.messages = completed.sent;
        if self.json {
            print_json(&counts)?;
        } else {
            let events = counted(counts.events, "event", "events");
            say!("{events} sent in {}", counted(counts.messages, "message", "messages"))?;
        }
        completed.conclude()
    }
}
