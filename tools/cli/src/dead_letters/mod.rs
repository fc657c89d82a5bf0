//! `nagare dead-letters`: the commands that gave up, and what can be done about them.
//!
//! ```text
//! reason   reasons as they are grouped and selected
//! list     the list: a line for each reason, or for each letter
//! which    the letters that a command is about
//! act      redrive and drop: many letters at once, each on its own
//! ```
//!
//! A list for people begins with the reasons, because thousands of letters seldom have more than two or three. Lists are scans, read
//! page by page; what is kept in memory never holds a body.
//!
//! A letter's text may come from a stranger, so it is escaped when it is printed. A letter is marked if nothing shows that it comes
//! from the queue of commands or from the functions. Such a letter is sent again only if its id is named.

mod act;
mod list;
mod reason;
mod which;

use std::collections::HashSet;
use std::future::ready;
use std::pin::pin;

use clap::Subcommand;
use futures::TryStreamExt;
use nagare_client::clock::clock;
use nagare_client::remote::Remote;
use nagare_operator::progress;
use serde::Serialize;
use shared::history::refusals::Refusals;
use shared::platform::dead_letters::{DeadLetter, DeadLetters as Letters};
use shared::platform::dynamo::DynamoError;
use shared::platform::values::{Timestamp, is_message_id};

use super::Failure;
use super::print::{print_pretty_json, tell};
use list::ListLetters;
use which::Which;

/// Letters that are noted as looked at at once.
const AT_ONCE: usize = 16;

#[derive(Debug, Subcommand)]
pub(super) enum DeadLetters {
    /// List them by reason: how many, the latest, and one as an example.
    List(ListLetters),
    /// Show them completely.
    Show(Which),
    /// Send them to the command queue again; unverified ones only if their ids are named.
    Redrive(Which),
    /// Remove them permanently.
    Drop(Which),
}

#[derive(Serialize)]
struct PrintedLetter<'a> {
    id: &'a str,
    reason: &'a str,
    detail: &'a str,
    verified: bool,
    receive_count: i64,
    sent_at: Timestamp,
    stored_at: Timestamp,
    #[serde(skip_serializing_if = "Option::is_none")]
    group: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    body: Option<&'a str>,
    /// Refusals of the same reason that are only counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    refusals_without_letter: Option<u64>,
}

impl DeadLetters {
    pub(super) async fn run(self) -> Result<(), Failure> {
        let remote = Remote::from_environment().await?;
        let letters = remote.dead_letters()?;
        match self {
            Self::List(list) => list.run(&letters, &Refusals::new(&remote.ledger()?)).await,
            Self::Show(which) => show(&which, &letters).await,
            Self::Redrive(which) => act::redrive_all(&which, &letters, &remote.sender()?).await,
            Self::Drop(which) => act::drop_all(&which, &letters).await,
        }
    }
}

/// Prints letters one after the other, each as JSON over several lines.
async fn show(which: &Which, letters: &Letters) -> Result<(), Failure> {
    let mut missing = 0;
    for id in which.ids(letters).await? {
        match read(letters, &id).await? {
            Some(letter) => {
                tell_unnoted(letters.note_looked_at(&id, clock().now()).await);
                print_pretty_json(&PrintedLetter {
                    body: Some(&letter.body),
                    ..PrintedLetter::from(&letter)
                })?;
            }
            // One that is gone from a selection was redriven or dropped by somebody else.
            None if which.is_selection() => {}
            None => {
                tell!("there is no dead letter {id:.80}");
                missing += 1;
            }
        }
    }
    match missing {
        0 => Ok(()),
        _ => Err(Failure::No(format!("{missing} of the ids are no dead letters"))),
    }
}

/// Goes through all letters, without their bodies, and shows how many were read. An operator has
/// looked at them then.
async fn each_letter(letters: &Letters, mut take: impl FnMut(DeadLetter)) -> Result<(), Failure> {
    let (bar, mut ids) = (progress::counter("dead letters read"), HashSet::new());
    let mut all = pin!(letters.all());
    while let Some(letter) = all.try_next().await? {
        bar.inc(1);
        ids.insert(letter.id.clone());
        take(letter);
    }
    bar.finish_and_clear();
    looked_at(letters, ids).await;
    Ok(())
}

/// Notes that these letters were looked at, for `nagare status --check`. An operator who may only
/// read is told that it was not noted.
async fn looked_at(letters: &Letters, ids: HashSet<String>) {
    let now = clock().now();
    let news = letters.not_looked_at().try_filter(|id| ready(ids.contains(id)));
    let note = async |id: String| letters.note_looked_at(&id, now).await;
    tell_unnoted(news.try_for_each_concurrent(AT_ONCE, note).await);
}

fn tell_unnoted(noted: Result<(), DynamoError>) {
    if let Err(error) = noted {
        tell!("it is not noted that dead letters were looked at: {}", error.unredacted());
    }
}

async fn read(letters: &Letters, id: &str) -> Result<Option<DeadLetter>, Failure> {
    match is_message_id(id) {
        true => Ok(letters.get(id).await?),
        false => Ok(None),
    }
}

impl<'a> From<&'a DeadLetter> for PrintedLetter<'a> {
    fn from(letter: &'a DeadLetter) -> Self {
        Self {
            id: &letter.id,
            reason: &letter.reason,
            detail: &letter.detail,
            verified: letter.is_verified(),
            receive_count: letter.receive_count,
            sent_at: letter.sent_at,
            stored_at: letter.stored_at,
            group: letter.group.as_deref(),
            body: None,
            refusals_without_letter: None,
        }
    }
}
