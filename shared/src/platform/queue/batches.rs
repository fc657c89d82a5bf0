//! Messages, cut into calls: as many to a call as SQS takes, by number and by size.

use super::{BATCH, MAX_BYTES, Message};

/// Cuts messages into calls, in their order. A message that is too large for any call gets one of its
/// own, which SQS refuses with its reason.
pub(super) fn batches(messages: &[Message]) -> impl Iterator<Item = &[Message]> {
    let mut rest = messages;
    std::iter::from_fn(move || {
        let (batch, after) = rest.split_at(first_batch(rest));
        rest = after;
        (!batch.is_empty()).then_some(batch)
    })
}

/// How many of the messages the next call takes.
fn first_batch(messages: &[Message]) -> usize {
    let mut room = MAX_BYTES;
    let fitting = messages.iter().take(BATCH).take_while(|message| {
        let left = room.checked_sub(message.bytes());
        room = left.unwrap_or_default();
        left.is_some()
    });
    fitting.count().max(messages.len().min(1))
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::{ProptestConfig, Strategy, prop_oneof};
    use proptest::{prop_assert, prop_assert_eq, proptest};

    use super::*;

    fn message(bytes: usize) -> Message {
        Message::new("x".repeat(bytes))
    }

    /// Sizes of which a few, about ten, or more than ten fit into one call; and one that never does.
    fn sizes() -> impl Strategy<Value = Vec<usize>> {
        let size = prop_oneof![1..50_usize, 50_000..400_000_usize, MAX_BYTES - 2..=MAX_BYTES + 1];
        vec(size, 0..30)
    }

    proptest! {
        // Each of them is megabytes.
        #![proptest_config(ProptestConfig::with_cases(40))]
        #[test]
        fn each_call_is_as_large_as_it_may_be_and_no_larger(sizes in sizes()) {
            let messages: Vec<_> = sizes.into_iter().map(message).collect();
            let batches: Vec<_> = batches(&messages).collect();
            prop_assert_eq!(&batches.concat(), &messages, "nothing is lost, doubled or moved");
            let bytes = |batch: &[Message]| batch.iter().map(Message::bytes).sum::<usize>();
            for batch in &batches {
                prop_assert!((1..=BATCH).contains(&batch.len()));
                prop_assert!(batch.len() == 1 || bytes(batch) <= MAX_BYTES);
            }
            for pair in batches.windows(2) {
                let full = pair[0].len() == BATCH || bytes(pair[0]) + pair[1][0].bytes() > MAX_BYTES;
                prop_assert!(full, "the next message had room");
            }
        }
    }

    #[test]
    fn attributes_count() {
        let mut large = message(MAX_BYTES - 9);
        large.attributes = vec![("n", "xy".to_owned())];
        assert_eq!(large.bytes(), MAX_BYTES, "a name, `String` and a text beside the body");
        assert_eq!(batches(&[large, message(1)]).count(), 2);
    }
}
