//! Receipts of messages whose producers wait for them ([`shared::platform::receipts`]).

use aws_lambda_events::event::sqs::SqsMessage;
use shared::platform::dynamo::DynamoError;
use shared::platform::receipts::{MessageEnd, RECEIPT, Receipt, Receipts};
use shared::platform::runtime::deadline::Deadline;

use crate::disposition::Disposition;
use crate::message::Handled;
use crate::writer::Writer;

/// Notes what became of the messages that carry a receipt. If it cannot be noted, these messages
/// are to be delivered again.
pub(crate) async fn note(
    writer: &Writer,
    messages: &[SqsMessage],
    handled: &mut [Handled],
    deadline: Deadline,
) {
    let with_receipts = messages.iter().zip(handled.iter()).enumerate();
    let ended: Vec<_> = with_receipts
        .filter_map(|(n, (message, handled))| {
            let receipt = message.message_attributes.get(RECEIPT)?.string_value.as_deref()?;
            Some((n, receipt.parse::<Receipt>().ok()?, end(&handled.disposition)?))
        })
        .collect();
    if ended.is_empty() {
        return;
    }
    let dynamo = writer.ledger.table().dynamo().until(deadline);
    let receipts = Receipts::new(&writer.ledger.over(&dynamo));
    let notes: Vec<_> = ended.iter().map(|(_, receipt, end)| (*receipt, *end)).collect();
    if let Err(error) = receipts.note(&notes, writer.clock.now()).await {
        for (n, ..) in ended {
            let error = DynamoError::Unavailable(error.unredacted());
            handled[n].disposition = Disposition::Retry(error.into(), None);
        }
    }
}

/// What became of a message, unless it is delivered again.
fn end(disposition: &Disposition) -> Option<MessageEnd> {
    match disposition {
        Disposition::Applied(_)
        | Disposition::Unseen
        | Disposition::AppliedBut(_)
        | Disposition::Expired
        | Disposition::Suppressed => Some(MessageEnd::Done),
        Disposition::Split(_) | Disposition::Continued | Disposition::Undecided => {
            Some(MessageEnd::HandedOn)
        }
        Disposition::Refused(_) | Disposition::GivenUp(_) => Some(MessageEnd::Refused),
        Disposition::Retry(..) => None,
    }
}
