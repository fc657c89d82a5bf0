//! Receipt handles: the right to delete or hide one message, won by receiving it.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;

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

impl fmt::Display for ReceiptHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut bytes = [0; 32];
        bytes[..8].copy_from_slice(&self.queue.0.to_be_bytes());
        bytes[8..16].copy_from_slice(&self.seq.to_be_bytes());
        bytes[16..].copy_from_slice(&self.nonce);
        f.write_str(&BASE64.encode(bytes))
    }
}
