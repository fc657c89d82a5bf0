//! A command's body as a form says it.

use serde_json::Value;
use serde_json::value::RawValue;
use shared::values::Timestamp;
use uuid::Uuid;

use super::schema::{Form, Kind, Member};
use crate::fields::Fields;

/// What names a member in a form begins with.
pub(super) const PREFIX: &str = "f.";

/// The body that a form says, or what is wrong with its fields, by member.
pub(super) fn body(
    kind: &Kind,
    fields: &Fields,
    now: Timestamp,
) -> Result<String, Vec<(String, String)>> {
    let (mut members, mut wrong) = (vec![("type", quoted(&kind.name))], Vec::new());
    for member in &kind.members {
        let said = (member.form == Form::Json).then(|| said(fields)).flatten();
        let text = said.as_deref().or(fields.get(&format!("{PREFIX}{}", member.name)));
        match value(kind, member, text, now) {
            Ok(None) => {}
            Ok(Some(value)) => members.push((&member.name, value)),
            Err(expected) => wrong.push((member.name.clone(), expected)),
        }
    }
    let members = members.iter().map(|(name, value)| format!("{}:{value}", quoted(name)));
    match wrong.is_empty() {
        true => Ok(format!("{{{}}}", members.collect::<Vec<_>>().join(","))),
        false => Err(wrong),
    }
}

/// What somebody says in a room, as a payload: their form asks for words.
fn said(fields: &Fields) -> Option<String> {
    fields.get("text").map(|text| serde_json::json!({ "text": text }).to_string())
}

fn value(
    kind: &Kind,
    member: &Member,
    text: Option<&str>,
    now: Timestamp,
) -> Result<Option<String>, String> {
    let Some(text) = text else { return Ok(default(kind, member, now)) };
    let value = match member.form {
        Form::Text | Form::Instant => quoted(text),
        Form::Number => {
            // Points may be taken away. What is too large, or too small, the parser of commands says.
            let number = text.parse::<i128>();
            number.map_err(|_| "expected a whole number, such as 80".to_owned())?.to_string()
        }
        Form::Truth => (text == "true").to_string(),
        Form::Texts => {
            let texts = text.split([',', ' ', '\n', '\r']).filter(|text| !text.is_empty());
            format!("[{}]", texts.map(quoted).collect::<Vec<_>>().join(","))
        }
        // As it was typed: payloads are given back byte for byte.
        Form::Json => {
            let json: Result<Box<RawValue>, _> = serde_json::from_str(text);
            json.map_err(|e| {
                format!("expected JSON, such as {{\"title\":\"Hello\"}} or \"Hello\": {e}")
            })?
            .get()
            .to_owned()
        }
    };
    Ok(Some(value))
}

/// What a member says of which nothing is said: instants are now, but for an end, and what comes into the world gets an id.
fn default(kind: &Kind, member: &Member, now: Timestamp) -> Option<String> {
    if let Some(stem) = stem(kind, member) {
        return Some(quoted(&format!("{stem}-{}", Uuid::new_v4())));
    }
    match member.form {
        Form::Instant if is_now(member) => Some(quoted(&now.to_string())),
        Form::Json if member.is_required && is_null(member) => Some("null".to_owned()),
        _ => None,
    }
}

/// True for an instant that is now unless another is given. An end never is.
pub(super) fn is_now(member: &Member) -> bool {
    member.form == Form::Instant && member.is_required && member.name != "closes_at"
}

/// True for what may be null where nothing is said of it.
pub(super) fn is_null(member: &Member) -> bool {
    member.form == Form::Json && member.name == "payload"
}

/// True for the id of what a command brings into the world, which may be any that is new.
pub(super) fn is_made(kind: &Kind, member: &Member) -> bool {
    stem(kind, member).is_some()
}

/// How such an id begins.
fn stem(kind: &Kind, member: &Member) -> Option<&'static str> {
    match (kind.name.as_str(), member.name.as_str()) {
        ("activity.published", "activity_id") => Some("activity"),
        ("poll.opened", "poll_id") => Some("poll"),
        ("battle.opened", "battle_id") => Some("battle"),
        ("battle.hit", "hit_id") => Some("hit"),
        ("message.posted", "message_id") => Some("message"),
        ("event.recorded", "event_id") => Some("event"),
        _ => None,
    }
}

fn quoted(text: &str) -> String {
    Value::from(text).to_string()
}
