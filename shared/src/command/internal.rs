//! What the functions send to themselves, in an envelope that only they can seal: the writer, and the projectors.
//!
//! A change that a projector could not fold comes back as a command, once its dead letter is redriven. Segments of
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
//!
//! A message that goes back as it came is another message. It takes the id of the first one along, sealed with its body, so that
//! whatever is noted or counted of it is noted and counted once.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use super::Command;
use crate::platform::crypto::seal::{SEAL_LENGTH, Seal, Secrets};
use crate::platform::message::CommandError;
use crate::platform::values::{Origin, Timestamp};

/// The type of the rest of a command.
pub(super) const CONTINUED: &str = "command.continued";
/// The type of envelopes.
pub(super) const INTERNAL: &str = "internal";
/// The longest envelope, in bytes: more than two images of a row of the facts, some ids, and their names. Nothing
/// longer is looked into.
pub const MAX_INTERNAL_LENGTH: usize = 320_000;
const PURPOSE: &str = "nagare internal command";
const ORIGIN_PURPOSE: &str = "nagare origin";
const SEAL_CHARACTERS: usize = (SEAL_LENGTH * 8).div_ceil(6);

/// Seals internal commands and opens them, and the origins of messages that go back. Only the functions that are behind the
/// queues have the secret.
#[derive(Debug, Clone)]
pub struct InternalSeal {
    commands: Seal,
    origins: Seal,
}

impl InternalSeal {
    /// A seal made of secrets that all writers share.
    pub fn new(secrets: &Secrets) -> Self {
        let [commands, origins] = [PURPOSE, ORIGIN_PURPOSE].map(|it| Seal::new(it, secrets));
        Self { commands, origins }
    }

    /// The message body that [`parse`](Self::parse) reads back: a producer's command as it is, an
    /// internal one sealed.
    pub fn to_body(&self, command: &Command) -> String {
        let body = command.to_body();
        match command.is_internal() {
            false => body,
            true => {
                let seal = URL_SAFE_NO_PAD.encode(self.commands.sign(&[body.as_bytes()]));
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

    /// The origin of a message that goes back with this body, sealed.
    pub fn to_origin(&self, origin: &Origin, body: &str) -> String {
        let seal = self.origins.sign(&pieces(origin.as_str(), body));
        format!("{}{origin}", URL_SAFE_NO_PAD.encode(seal))
    }

    /// Reads the origin of a message with this body, if it was sealed with one of the secrets.
    pub fn parse_origin(&self, text: &str, body: &str) -> Option<Origin> {
        let (seal, origin) = text.split_at_checked(SEAL_CHARACTERS)?;
        let is_sealed = self.origins.fits(&pieces(origin, body), &bytes(seal)?);
        origin.parse().ok().filter(|_| is_sealed)
    }

    fn fits(&self, seal: &str, command: &str) -> bool {
        bytes(seal).is_some_and(|seal| self.commands.fits(&[command.as_bytes()], &seal))
    }
}

/// An origin and a body, with what no origin contains between them.
fn pieces<'a>(origin: &'a str, body: &'a str) -> [&'a [u8]; 3] {
    [origin.as_bytes(), b"\0", body.as_bytes()]
}

fn bytes(text: &str) -> Option<[u8; SEAL_LENGTH]> {
    URL_SAFE_NO_PAD.decode(text).ok()?.try_into().ok()
}
