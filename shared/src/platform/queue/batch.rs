//! Answering for a batch of messages: each by itself, by its id.

/// The event cannot be answered message by message, so the whole batch has to come again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum BatchError {
    /// Without its id a message could not be reported, and not reporting it would lose it.
    #[error("record {0} of the batch has no messageId")]
    MessageWithoutId(usize),
}

/// The ids of a batch of messages, all of which have one.
///
/// # Errors
/// [`BatchError`] if one of them has none.
pub fn message_ids<'a>(
    ids: impl IntoIterator<Item = Option<&'a str>>,
) -> Result<Vec<String>, BatchError> {
    let ids = ids.into_iter().enumerate().map(|(index, id)| {
        let id = id.filter(|id| !id.is_empty()).map(ToOwned::to_owned);
        id.ok_or(BatchError::MessageWithoutId(index))
    });
    ids.collect()
}
