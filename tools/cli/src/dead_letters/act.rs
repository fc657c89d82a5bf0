//! Redrive and drop: what is done to many letters at once, and to each on its own.
//!
//! A redrive sends the command again and only then removes the letter, and only the letter that it read. If it is interrupted, it can
//! be run again. The command carries the letter's id, so if it gives up once more, it comes back as the same letter. A letter that
//! fails is reported and kept, and holds up no other.

use std::pin::pin;
use std::sync::atomic::{AtomicU64, Ordering};

use futures::{StreamExt, stream};
use nagare_client::clock::clock;
use nagare_client::sender::Sender;
use nagare_operator::letters::{can_apply, redrive};
use nagare_operator::progress;
use shared::platform::dead_letters::DeadLetters;
use shared::platform::values::is_message_id;

use super::read;
use super::which::Which;
use crate::Failure;
use crate::print::{counted, say, tell};

/// Letters at work at once. A letter may be a megabyte.
const AT_ONCE: usize = 16;
/// A stack that does not answer for this many letters in a row is unreachable.
const GIVE_UP_AFTER: u64 = 3;

/// What became of one letter.
enum Outcome {
    Done,
    /// It is gone, or has come back as another.
    Gone,
}

/// Sends the letters' commands again.
pub(super) async fn redrive_all(
    which: &Which,
    letters: &DeadLetters,
    sender: &Sender,
) -> Result<(), Failure> {
    let (now, hopeless) = (clock().now(), AtomicU64::new(0));
    let one = async |id: &str| match read(letters, id).await? {
        Some(letter) if which.is_all() && !can_apply(&letter, now) => {
            hopeless.fetch_add(1, Ordering::Relaxed);
            Ok(Outcome::Gone)
        }
        Some(letter) if which.redrives(&letter) => {
            redrive(letters, sender, &letter).await?;
            Ok(Outcome::Done)
        }
        _ => Ok(Outcome::Gone),
    };
    let (ids, unverified) = which.ids_to_redrive(letters).await?;
    if unverified > 0 {
        tell!("{}", left_out(unverified));
    }
    let done = each(which, &ids, "sent again", one).await;
    let hopeless = hopeless.into_inner();
    if hopeless > 0 {
        let what = counted(hopeless, "dead letter is", "dead letters are");
        tell!(
            "{what} left out: what they ask for is refused whenever it is sent. `redrive ID` or --reason sends them all the \
             same, `drop` removes them"
        );
    }
    done
}

/// Says that letters are not sent again unless they are named.
pub(super) fn left_out(unverified: u64) -> String {
    let what = counted(unverified, "dead letter is", "dead letters are");
    format!(
        "{what} unverified: nothing shows that they come from the command queue or the functions. Look at them \
         with `show`; `redrive ID` sends one again, --all and --reason leave them out"
    )
}

/// Removes the letters.
pub(super) async fn drop_all(which: &Which, letters: &DeadLetters) -> Result<(), Failure> {
    let one = async |id: &str| {
        let head = match is_message_id(id) {
            true => letters.head(id).await?,
            false => None,
        };
        let Some(head) = head.filter(|head| which.selects(&head.letter)) else {
            return Ok(Outcome::Gone);
        };
        match letters.remove_unread(&head).await? {
            true => Ok(Outcome::Done),
            false if which.is_selection() => Ok(Outcome::Gone),
            false => Err(Failure::No("it has come back meanwhile, and stays".to_owned())),
        }
    };
    each(which, &which.ids(letters).await?, "dropped", one).await
}

/// Does something to each letter, several at once.
async fn each(
    which: &Which,
    ids: &[String],
    done: &'static str,
    one: impl AsyncFn(&str) -> Result<Outcome, Failure>,
) -> Result<(), Failure> {
    let bar = progress::bar(ids.len() as u64, "dead letters");
    let mut count = Count::default();
    let outcomes = stream::iter(ids).map(async |id| (id, one(id).await));
    let mut outcomes = pin!(outcomes.buffer_unordered(AT_ONCE));
    while let Some((id, outcome)) = outcomes.next().await {
        let outcome = match outcome {
            Ok(Outcome::Gone) if !which.is_selection() => {
                Err(Failure::No("there is no such dead letter".to_owned()))
            }
            outcome => outcome,
        };
        if let Err(failure) = &outcome {
            bar.suspend(|| tell!("{id:.80}: {failure}"));
        }
        count.add(&outcome);
        if count.unreachable_in_a_row == GIVE_UP_AFTER {
            break;
        }
        bar.inc(1);
    }
    bar.finish_and_clear();
    // Nobody may be reading any more; the exit code is right anyway.
    let said = say!("{} {done}", counted(count.done, "dead letter", "dead letters"));
    count.conclude(done).and(said)
}

/// What became of the letters.
#[derive(Default)]
struct Count {
    done: u64,
    refused: u64,
    unreachable: u64,
    unreachable_in_a_row: u64,
}

impl Count {
    fn add(&mut self, outcome: &Result<Outcome, Failure>) {
        match outcome {
            Err(Failure::Unreachable(_)) => {
                self.unreachable += 1;
                self.unreachable_in_a_row += 1;
                return;
            }
            Err(_) => self.refused += 1,
            Ok(Outcome::Done) => self.done += 1,
            Ok(Outcome::Gone) => {}
        }
        self.unreachable_in_a_row = 0;
    }

    fn conclude(&self, done: &str) -> Result<(), Failure> {
        match (self.refused, self.unreachable) {
            (0, 0) => Ok(()),
            (refused, 0) => Err(Failure::No(format!(
                "{} not {done}, for the reasons above",
                counted(refused, "dead letter was", "dead letters were")
            ))),
            _ => Err(Failure::Unreachable(
                "the stack did not answer for all of them; run it again".to_owned(),
            )),
        }
    }
}
