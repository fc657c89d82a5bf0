//! `nagare dead-letters`: the commands that gave up, and what can be done about them.
//!
//! A redrive sends the command again and only then removes the letter, and only the letter that it read.
//! Interrupted anywhere, it can be run again. The command carries the letter's id, so if it gives up
//! once more it comes back as the same letter.
//!
//! A letter's text may come from a stranger, so it is escaped when it is printed.

use clap::{Args, Subcommand};
use serde::Serialize;
use shared::dead_letters::{DeadLetter, DeadLetters as Letters, ORIGIN, fits};
use shared::queue::Message;
use shared::values::{Timestamp, is_message_id};

use super::Failure;
use super::print::{counted, print_json, print_pretty_json, printable, say};
use super::remote::{Remote, soon};
use super::sender::Sender;
use crate::progress;

/// A stack that does not answer for this many letters in a row is unreachable.
const GIVE_UP_AFTER: u64 = 3;

#[derive(Debug, Subcommand)]
pub(super) enum DeadLetters {
    /// List them, the oldest first.
    List {
        /// Print one JSON object for each.
        #[arg(long)]
        json: bool,
    },
    /// Show one completely.
    Show {
        /// Its id.
        id: String,
    },
    /// Send them to the command queue again.
    Redrive(Which),
    /// Remove one permanently.
    Drop {
        /// Its id.
        id: String,
    },
}

#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
pub(super) struct Which {
    /// Their ids.
    ids: Vec<String>,
    /// All that there are now.
    #[arg(long)]
    all: bool,
}

#[derive(Serialize)]
struct Printed<'a> {
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
}

impl DeadLetters {
    pub(super) async fn run(self) -> Result<(), Failure> {
        let remote = Remote::from_environment().await?;
        let letters = remote.dead_letters()?;
        match self {
            Self::List { json } => list(&letters, json).await,
            Self::Show { id } => {
                let letter = find(&letters, &id).await?;
                print_pretty_json(&Printed { body: Some(&letter.body), ..Printed::from(&letter) })
            }
            Self::Redrive(which) => which.redrive(&letters, &remote.sender()?).await,
            Self::Drop { id } => {
                let letter = find(&letters, &id).await?;
                if !letters.remove(&letter, soon()).await? {
                    return Err(Failure::No(format!("{id} has come back meanwhile, and stays")));
                }
                say!("dropped {id}")?;
                Ok(())
            }
        }
    }
}

/// How many there are.
pub(super) async fn count(letters: &Letters) -> Result<u64, Failure> {
    Ok(letters.all(soon).await?.len() as u64)
}

async fn list(letters: &Letters, json: bool) -> Result<(), Failure> {
    let mut listed = letters.all(soon).await?;
    listed.sort_by(|a, b| (a.stored_at, &a.id).cmp(&(b.stored_at, &b.id)));
    for letter in &listed {
        if json {
            print_json(&Printed::from(letter))?;
        } else {
            say!("{}", printable(&line(letter)))?;
        }
    }
    if listed.is_empty() && !json {
        eprintln!("there are no dead letters");
    }
    Ok(())
}

fn line(letter: &DeadLetter) -> String {
    let DeadLetter { id, reason, detail, stored_at, receive_count, .. } = letter;
    let mark = if letter.verified { "" } else { "(unverified) " };
    format!("{id}  {stored_at}  {reason:<18} receives {receive_count}  {mark}{detail}")
}

async fn read(letters: &Letters, id: &str) -> Result<Option<DeadLetter>, Failure> {
    match is_message_id(id) {
        true => Ok(letters.get(id, soon()).await?),
        false => Ok(None),
    }
}

async fn find(letters: &Letters, id: &str) -> Result<DeadLetter, Failure> {
    let letter = read(letters, id).await?;
    letter.ok_or_else(|| Failure::No(format!("there is no dead letter {id:.80}")))
}

impl Which {
    /// Continues past letters that fail: each is reported and kept, and none holds up the others.
    async fn redrive(self, letters: &Letters, sender: &Sender) -> Result<(), Failure> {
        let ids = if self.all {
            letters.all(soon).await?.into_iter().map(|letter| letter.id).collect()
        } else {
            self.ids
        };
        let bar = progress::bar(ids.len() as u64, "dead letters sent again");
        let mut count = Count::default();
        for id in &ids {
            let outcome = match redrive_by_id(letters, sender, id).await {
                // A letter that is gone from the list of all was redriven by somebody else.
                Ok(false) if self.all => continue,
                Ok(false) => Err(Failure::No("there is no such dead letter".to_owned())),
                outcome => outcome,
            };
            if let Err(failure) = &outcome {
                bar.suspend(|| eprintln!("{id:.80}: {failure}"));
            }
            count.add(&outcome);
            if count.unreachable_in_a_row == GIVE_UP_AFTER {
                break;
            }
            bar.inc(1);
        }
        bar.finish_and_clear();
        say!("{} sent again", counted(count.sent, "dead letter", "dead letters"))?;
        count.conclude()
    }
}

/// What became of the letters.
#[derive(Default)]
struct Count {
    sent: u64,
    refused: u64,
    unreachable: u64,
    unreachable_in_a_row: u64,
}

impl Count {
    fn add(&mut self, outcome: &Result<bool, Failure>) {
        match outcome {
            Err(Failure::Unreachable(_)) => {
                self.unreachable += 1;
                self.unreachable_in_a_row += 1;
                return;
            }
            Err(_) => self.refused += 1,
            Ok(_) => self.sent += 1,
        }
        self.unreachable_in_a_row = 0;
    }

    fn conclude(&self) -> Result<(), Failure> {
        match (self.refused, self.unreachable) {
            (0, 0) => Ok(()),
            (refused, 0) => Err(Failure::No(format!(
                "{} not sent again, for the reasons above",
                counted(refused, "dead letter was", "dead letters were")
            ))),
            _ => Err(Failure::Unreachable(
                "the stack did not answer for all of them; run it again".to_owned(),
            )),
        }
    }
}

/// Sends the letter of this id again, if there is one.
async fn redrive_by_id(letters: &Letters, sender: &Sender, id: &str) -> Result<bool, Failure> {
    let Some(letter) = read(letters, id).await? else { return Ok(false) };
    redrive(letters, sender, &letter).await?;
    Ok(true)
}

/// Sends a letter's command again, then removes the letter. If it is interrupted in between, the letter
/// stays, and running it again is safe.
///
/// # Errors
/// [`Failure`]; the command may have been sent.
pub async fn redrive(
    letters: &Letters,
    sender: &Sender,
    letter: &DeadLetter,
) -> Result<(), Failure> {
    let mut attributes = vec![(ORIGIN, letter.id.clone())];
    // The longest bodies leave no room for the id; such a letter comes back under another one.
    attributes.retain(|attribute| fits(&letter.body, std::slice::from_ref(attribute)));
    let (body, group) = (letter.body.clone(), letter.group.clone());
    let message = Message { body, group, attributes, delay_seconds: None };
    sender.send_batch(&[message]).await?;
    // A letter that has come back already stays.
    letters.remove(letter, soon()).await?;
    Ok(())
}

impl<'a> From<&'a DeadLetter> for Printed<'a> {
    fn from(letter: &'a DeadLetter) -> Self {
        Self {
            id: &letter.id,
            reason: &letter.reason,
            detail: &letter.detail,
            verified: letter.verified,
            receive_count: letter.receive_count,
            sent_at: letter.sent_at,
            stored_at: letter.stored_at,
            group: letter.group.as_deref(),
            body: None,
        }
    }
}
