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

use super::super::Failure;
use super::super::input::{Input, good};
use super::super::print::{counted, print_json, say};
use super::grouped::Grouped;
use super::rows::events_in;

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
        let input = Input::of(&self.file)?;
        let (events, bad_lines) = input.check(events_in(&input)?, self.skip_bad)?;
        let mut counts = Counts { events, messages: 0, bad_lines };
        let remote = Remote::from_environment().await?;
        let (sender, drain) = (remote.sender()?, remote.drain()?);
        let bar = progress::bar(counts.events, "events sent");
        // Of the messages that are being sent, which are accepted in their order.
        let sizes = Mutex::new(VecDeque::new());
        let messages = Grouped::of(good(events_in(&input)?)).map(|events| {
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
}
