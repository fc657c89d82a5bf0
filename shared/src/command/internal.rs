//! What the functions send to themselves, in an envelope that only they can seal: the writer, and the projector.
//!
//! A change that the projector could not fold comes back as a command, once its dead letter is redriven. Segments of
//! fan-outs and rests of commands go back to the queue that producers send to, so that whoever
//! waits for it to drain waits for them too. Producers must not be able to send such commands: ranges of
//! their own choosing would rewrite every entry again and again. So on the queue they look like this,
//! with a seal over the bytes of `command` as they stand there:
//!
//! ```text
//! {"type":"internal","seal":"l0ngB4se64urlOf16Bytes","command":{"type":"fanout.part",…}}
//! ```
//!
//! A body without a valid seal is of an unknown type, like any other that is not documented. An
//! envelope holds no envelope. A seal does not expire: a dead letter that is sent again as it was is
//! opened as it was.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use super::Command;
use crate::crypto::seal::{SEAL_LENGTH, Seal, Secrets};
use crate::message::CommandError;
use crate::values::Timestamp;

/// The type of the rest of a command.
pub(super) const CONTINUED: &str = "command.continued";
/// The type of envelopes.
pub(super) const INTERNAL: &str = "internal";
/// The longest envelope, in bytes: more than two images of a row of the facts, some ids, and their names. Nothing
/// longer is looked into.
pub const MAX_INTERNAL_LENGTH: usize = 320_000;
const PURPOSE: &str = "nagare internal command";

/// Seals internal commands and opens them. Only the functions that are behind the queues have the secret.
#[derive(Debug, Clone)]
pub struct InternalSeal(Seal);

impl InternalSeal {
    /// A seal made of secrets that all writers share.
    #[must_use]
    pub fn new(secrets: &Secrets) -> Self {
        Self(Seal::new(PURPOSE, secrets))
    }

    /// The message body that [`parse`](Self::parse) reads back: a producer's command as it is, an
    /// internal one sealed.
    #[must_use]
    pub fn to_body(&self, command: &Command) -> String {
        let body = command.to_body();
        match command.is_internal() {
            false => body,
            true => {
                let seal = URL_SAFE_NO_PAD.encode(self.0.of(&[body.as_bytes()]));
                format!("{{\"type\":\"{INTERNAL}\",\"seal\":\"{seal}\",\"command\":{body}}}")
            }
        }
    }

    /// Reads a producer's command, or an internal one that was sealed with one of the secrets, at the
    /// instant `now`.
    ///
    /// # Errors
    /// [`CommandError`] names the member and what was expected; it is permanent.
    pub fn parse(&self, body: &str, now: Timestamp) -> Result<Command, CommandError> {
        Command::open(body, now, |seal, command| self.fits(seal, command))
    }

    fn fits(&self, seal: &str, command: &str) -> bool {
        let seal = URL_SAFE_NO_PAD.decode(seal).ok();
        let seal = seal.and_then(|seal| <[u8; SEAL_LENGTH]>::try_from(seal).ok());
        seal.is_some_and(|seal| self.0.fits(&[command.as_bytes()], &seal))
    }
}
