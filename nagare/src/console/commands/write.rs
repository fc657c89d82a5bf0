//! A command's body as a form says it.

use serde_json::Value;
use serde_json::value::RawValue;
use shared::values::Timestamp;
use uuid::Uuid;

use super::schema::{Form, Kind, Member};
use crate::console::fields::Fields;

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
        match value(member, fields.get(&format!("{PREFIX}{}", member.name)), now) {
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

fn value(member: &Member, text: Option<&str>, now: Timestamp) -> Result<Option<String>, String> {
    let Some(text) = text else { return Ok(default(member, now)) };
    let value = match member.form {
        Form::Text | Form::Instant => quoted(text),
        Form::Number => {
            let number = text.parse::<u64>();
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

/// What a member says of which nothing is said: instants are now, and what is named for the first time gets a name.
fn default(member: &Member, now: Timestamp) -> Option<String> {
    match (member.form, member.is_required) {
        (Form::Instant, true) => Some(quoted(&now.to_string())),
        (Form::Text, true) if matches!(member.name.as_str(), "hit_id" | "message_id") => {
            Some(quoted(&Uuid::new_v4().to_string()))
        }
        (Form::Json, true) => Some("null".to_owned()),
        _ => None,
    }
}

fn quoted(text: &str) -> String {
    Value::from(text).to_string()
}
