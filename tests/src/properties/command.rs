//! Bodies of commands.

use shared::command::{Command, Part, Publish, Update};
use shared::{Payload, Timestamp};

use crate::NOW;

/// A body is a command that survives being printed, or is refused with a reason that can travel.
pub fn command(data: &[u8]) {
    let Ok(body) = std::str::from_utf8(data) else { return };
    let now: Timestamp = NOW.parse().unwrap();
    match Command::parse(body, now) {
        Ok(command) => {
            let printed = command.to_body();
            assert_eq!(Command::parse(&printed, now).as_ref(), Ok(&command), "{printed}");
            // Down to its bytes.
            assert!(payload(&command).is_none_or(|payload| body.contains(payload.as_json())));
            assert!(command.group().as_str().len() <= 128);
            if let Command::Part(Part { followers, .. }) = command {
                assert!((1..=65_536).contains(&followers.width()));
            }
        }
        Err(refused) => {
            assert!(["not-json", "unknown-type", "malformed"].contains(&refused.reason()));
            check_detail(&refused.to_string());
        }
    }
}

fn payload(command: &Command) -> Option<&Payload> {
    match command {
        // One that was not sent is the default.
        Command::Publish(Publish { payload, .. }) if *payload != Payload::default() => {
            Some(payload)
        }
        Command::Update(Update { payload, .. }) => Some(payload),
        _ => None,
    }
}

/// The detail of a dead letter is a message attribute: short, and of characters that SQS takes.
pub(super) fn check_detail(detail: &str) {
    assert!((1..=2_000).contains(&detail.len()), "{} bytes of detail", detail.len());
    assert!(sqs_takes(detail), "{detail:?}");
}

/// True for a text of the characters that SQS takes, in bodies and in attributes.
pub(super) fn sqs_takes(text: &str) -> bool {
    text.chars().all(|c| {
        matches!(c, '\t' | '\n' | '\r' | ' '..='\u{d7ff}' | '\u{e000}'..='\u{fffd}' | '\u{10000}'..)
    })
}
