//! Sends changes that a view cannot fold to the dead-letter queue. A letter contains everything that is needed to fold the
//! change later, sealed, so that nobody can make one up.

use shared::command::{Command, InternalSeal};
use shared::dead_letters::{DETAIL, LetterSeal, ORIGIN, REASON, RECEIVES, SENT, UNFOLDABLE, cut};
use shared::dynamo::item::Key;
use shared::projection::{Change, Shard, Unfolded, UnfoldedChange};
use shared::queue::{Message, SendError, Sender};
use shared::runtime::deadline::Deadline;
use shared::summaries::NO_ROOM_FOR_A_NAME;
use shared::values::RefusalReason;

/// The dead-letter queue. The alerter reads it.
#[derive(Debug, Clone)]
pub struct DeadLetterQueue {
    sender: Sender,
    seal: InternalSeal,
    letters: LetterSeal,
}

impl DeadLetterQueue {
    /// A queue to send to, and the seals of the commands and letters that go there.
    #[must_use]
    pub fn new(sender: Sender, seal: InternalSeal, letters: LetterSeal) -> Self {
        Self { sender, seal, letters }
    }

    /// Sends changes of a shard that a view has set aside. Once they are accepted, the batch may be acknowledged.
    ///
    /// # Errors
    /// [`SendError`]: some may not be on the queue. The batch must not be acknowledged.
    pub(crate) async fn send(
        &self,
        view: &Key,
        shard: Shard,
        changes: &[Change],
        unfolded: &[Unfolded],
        deadline: Deadline,
    ) -> Result<(), SendError> {
        let letters = unfolded.iter().filter_map(|Unfolded { sequence, why }| {
            let change = changes.iter().find(|change| change.sequence == *sequence)?;
            Some(self.letter(change, UnfoldedChange::of(change, shard, view.clone()), why))
        });
        let letters: Vec<_> = letters.collect();
        self.sender.send(&letters, deadline).await
    }

    /// The dead letter of a change.
    fn letter(&self, change: &Change, unfolded: UnfoldedChange, why: &str) -> Message {
        // A redriven change comes back as the same letter.
        let former = change.redriven.as_ref().map(|redriven| redriven.letter.clone());
        let attributes = vec![
            (REASON, reason(why).to_owned()),
            (DETAIL, cut(why.to_owned())),
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

/// The reason of a letter. That a tenant has named too much is not a fault, so it pages nobody.
fn reason(why: &str) -> &'static str {
    match why.contains(NO_ROOM_FOR_A_NAME) {
        true => RefusalReason::TOO_MANY_NAMES.as_str(),
        false => UNFOLDABLE,
    }
}
