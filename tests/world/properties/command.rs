//! Bodies of commands.

use serde_json::Value;
use shared::command::Command;
use shared::platform::values::{MAX_PAYLOAD_DEPTH, Payload, Timestamp};
use shared::social::activities::{ActivityUpdate, Publish};
use shared::social::fanout::FanOutSegment;

use crate::{NOW, internal_seal};

/// A body is a command that survives being printed, or is refused with a reason that can travel.
pub fn command(data: &[u8]) {
    let Ok(body) = std::str::from_utf8(data) else { return };
    let now: Timestamp = NOW.parse().unwrap();
    check_seals(body, now);
    match Command::parse_unverified(body, now) {
        Ok(command) => {
            let printed = internal_seal().to_body(&command);
            assert_eq!(internal_seal().parse(&printed, now).as_ref(), Ok(&command), "{printed}");
            // Down to its bytes.
            assert!(payload(&command).is_none_or(|payload| body.contains(payload.as_json())));
            // Not even a parser that recurses, or that wants whole surrogate pairs, fails on it.
            assert!(payload(&command).is_none_or(every_parser_takes));
            assert!(command.group().len() <= 128);
            if let Command::Segment(FanOutSegment { followers, .. }) = command {
                assert!((1..=65_536).contains(&followers.width()));
            }
        }
        Err(refused) => {
            assert!(["not-json", "unknown-type", "malformed"].contains(&refused.reason()));
            check_detail(&refused.to_string());
        }
    }
}

/// Nobody without the secret makes an internal command, and everything else is read like a producer's.
fn check_seals(body: &str, now: Timestamp) {
    let (sent, received) = (Command::parse(body, now), internal_seal().parse(body, now));
    assert!(!received.as_ref().is_ok_and(Command::is_internal), "forged: {body}");
    assert_eq!(sent, received);
}

fn payload(command: &Command) -> Option<&Payload> {
    match command {
        // One that was not sent is the default.
        Command::Publish(Publish { payload, .. }) if *payload != Payload::default() => {
            Some(payload)
        }
        Command::Update(ActivityUpdate { payload, .. }) => Some(payload),
        _ => None,
    }
}

/// True if `serde_json` makes a value of it, which it does of at most 127 levels and of whole
/// surrogate pairs, and counts at most 64 levels. Numbers beyond a double are another matter.
fn every_parser_takes(payload: &Payload) -> bool {
    match serde_json::from_str::<Value>(payload.as_json()) {
        Ok(value) => levels(&value) <= MAX_PAYLOAD_DEPTH,
        Err(error) => error.to_string().starts_with("number out of range"),
    }
}

fn levels(value: &Value) -> usize {
    let inside = match value {
        Value::Array(values) => values.iter().map(levels).max(),
        Value::Object(members) => members.values().map(levels).max(),
        _ => return 0,
    };
    1 + inside.unwrap_or(0)
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
