//! Receipt handles: the right to delete or hide one message, won by receiving it.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;

use super::error::QueueError;
use super::schema::QueueKey;

/// Proof of one receive of one message.
///
/// It names the message's row and a number drawn for that receive, so that the next receive makes
/// it worthless and a row number that is used again never revives it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReceiptHandle {
    pub(super) queue: QueueKey,
    pub(super) seq: i64,
    pub(super) nonce: [u8; 16],
}

impl ReceiptHandle {
    /// Reads back what `Display` wrote.
    pub(super) fn parse(text: &str) -> Result<Self, QueueError> {
        Self::decode(text).ok_or(QueueError::ReceiptHandleIsInvalid)
    }

    fn decode(text: &str) -> Option<Self> {
        let bytes: [u8; 32] = BASE64.decode(text).ok()?.try_into().ok()?;
        let (queue, rest) = bytes.split_first_chunk()?;
        let (seq, nonce) = rest.split_first_chunk()?;
        Some(Self {
            queue: QueueKey(i64::from_be_bytes(*queue)),
            seq: i64::from_be_bytes(*seq),
            nonce: nonce.try_into().ok()?,
        })
    }
}

impl fmt::Display for ReceiptHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut bytes = [0; 32];
        bytes[..8].copy_from_slice(&self.queue.0.to_be_bytes());
        bytes[8..16].copy_from_slice(&self.seq.to_be_bytes());
        bytes[16..].copy_from_slice(&self.nonce);
        f.write_str(&BASE64.encode(bytes))
    }
}
