//! Sends changes that a view cannot fold to the dead-letter queue. A letter contains everything that is needed to fold the
//! change later, sealed, so that nobody can make one up.

use shared::command::{Command, InternalSeal};
use shared::platform::dead_letters::{DETAIL, LetterSeal, ORIGIN, REASON, RECEIVES, SENT, cut};
use shared::platform::dynamo::item::Key;
use shared::platform::projection::{Change, Shard, UnfoldedChange};
use shared::platform::queue::{Message, SendError, Sender};
use shared::platform::runtime::deadline::Deadline;

/// A change that becomes a dead letter.
#[derive(Debug)]
pub struct LetterOf<'a> {
    pub change: &'a Change,
    pub reason: &'static str,
    pub why: &'a str,
}

/// The dead-letter queue. The alerter reads it.
#[derive(Debug, Clone)]
pub struct DeadLetterQueue {
    sender: Sender,
    seal: InternalSeal,
    letters: LetterSeal,
}

impl DeadLetterQueue {
    /// A queue to send to, and the seals of the commands and letters that go there.
    pub fn new(sender: Sender, seal: InternalSeal, letters: LetterSeal) -> Self {
        Self { sender, seal, letters }
    }

    /// Sends changes of a shard that a view has passed without folding them. Once they are accepted, the batch may be acknowledged.
    ///
    /// # Errors
    /// [`SendError`]: some may not be on the queue. The batch must not be acknowledged.
    pub async fn send(
        &self,
        view: &Key,
        shard: Shard,
        letters: impl Iterator<Item = LetterOf<'_>>,
        deadline: Deadline,
    ) -> Result<(), SendError> {
        let letters: Vec<_> = letters.map(|of| self.letter(&of, shard, view)).collect();
        self.sender.send(&letters, deadline).await
    }

    /// The dead letter of a change.
    fn letter(&self, of: &LetterOf<'_>, shard: Shard, view: &Key) -> Message {
        let LetterOf { change, reason, why } = of;
        let unfolded = UnfoldedChange::of(change, shard, view.clone());
        // A redriven change comes back as the same letter.
        let former = change.redriven.as_ref().map(|redriven| redriven.letter.clone());
        let attributes = vec![
            (REASON, (*reason).to_owned()),
            (DETAIL, cut((*why).to_owned())),
            (ORIGIN, former.unwrap_or_else(|| unfolded.id())),
            (RECEIVES, "1".to_owned()),
            (SENT, unfolded.at.unix_millis().to_string()),
        ];
        let command = Command::Changed(unfolded);
        let (body, group) = (self.seal.to_body(&command), Some(command.group().to_owned()));
        let attributes = self.letters.sealed(&body, attributes);
        Message { body, group, attributes, delay_seconds: None }
    }
}
