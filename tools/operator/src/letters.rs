//! Sending a dead letter's command again, and whether that can help.

use nagare_client::failure::Failure;
use nagare_client::sender::Sender;
use shared::command::Command;
use shared::platform::dead_letters::{DeadLetter, DeadLetters, ORIGIN, StreamBatch, fits};
use shared::platform::queue::Message;
use shared::platform::values::{RefusalReason, Timestamp};

/// Sends a letter's command again, then removes the letter. If it is interrupted in between, the letter
/// stays, and running it again is safe.
///
/// # Errors
/// [`Failure`]; the command may have been sent.
pub async fn redrive(
    letters: &DeadLetters,
    sender: &Sender,
    letter: &DeadLetter,
) -> Result<(), Failure> {
    // One that Lambda sent when it gave up changes says which changes they are, but does not contain them.
    if let Some(batch) = StreamBatch::read(&letter.body) {
        return Err(Failure::No(format!(
            "this is no command; it stands for {batch}. docs/OPERATIONS.md says how to set the views right: \
             \"Changes of facts that were given up\". Then drop it"
        )));
    }
    let mut attributes = vec![(ORIGIN, letter.id.clone())];
    // The longest bodies leave no room for the id; such a letter comes back under another one.
    attributes.retain(|attribute| fits(&letter.body, std::slice::from_ref(attribute)));
    let (body, group) = (letter.body.clone(), letter.group.clone());
    let message = Message { body, group, attributes, delay_seconds: None };
    sender.send_batch(&[message]).await?;
    // A letter that has come back already stays.
    letters.remove(letter).await?;
    Ok(())
}

/// False for a letter that is refused again whenever it is sent: its reason is final, or this version cannot read its body either.
pub fn can_apply(letter: &DeadLetter, now: Timestamp) -> bool {
    let Some(reason) = RefusalReason::parse(&letter.reason) else { return true };
    !reason.is_final() && Command::parse_unverified(&letter.body, now).is_ok()
}
