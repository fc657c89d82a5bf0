//! The same command several times in one batch, as a client sends it that tries again, or one person who does not stop.
//!
//! To apply a command again changes nothing, so its copies share what becomes of the first of them, and cost nothing. Otherwise
//! all of them would begin before one of them has noted that it is complete, and each would do all of the work. What is left is
//! once for each batch that is in flight, which the function's concurrency bounds.
//!
//! A delivery that may not be the first of its message is not a copy, and no other is its copy: it does all of the work again,
//! because an earlier one may have died half-way. Where the first of the copies fails, each is applied by itself, so that each
//! has a receive, a reason and a dead letter of its own.

use std::collections::HashMap;

use aws_lambda_events::event::sqs::SqsMessage;

use crate::{Delivery, Disposition};

/// For each message of a batch, the index of the message that it is a copy of.
pub(crate) fn copies<'a>(messages: &'a [SqsMessage]) -> Vec<Option<usize>> {
    let mut first = HashMap::<&'a str, usize>::new();
    let of = |(index, message): (usize, &'a SqsMessage)| {
        let body = message.body.as_deref().filter(|_| !Delivery::is_again(message))?;
        let earlier = *first.entry(body).or_insert(index);
        (earlier != index).then_some(earlier)
    };
    messages.iter().enumerate().map(of).collect()
}

/// What becomes of a copy, if this became of the first.
pub(crate) fn shared(first: &Disposition) -> Option<Disposition> {
    match first {
        // The fan-out of the first is counted once.
        Disposition::Applied(_) | Disposition::Split(_) => Some(Disposition::Applied(None)),
        Disposition::Unseen => Some(Disposition::Unseen),
        Disposition::Continued => Some(Disposition::Continued),
        Disposition::Expired => Some(Disposition::Expired),
        Disposition::Suppressed => Some(Disposition::Suppressed),
        Disposition::AppliedBut(_)
        | Disposition::Refused(_)
        | Disposition::GivenUp(_)
        | Disposition::Retry(..) => None,
    }
}
