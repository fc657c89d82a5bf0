//! Unknown members never matter: every command of the schema, with members at every object of it
//! that are no business of its type.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::Command;
use crate::platform::values::Timestamp;

/// Names that no string can hold, that hold escapes, and that are nothing.
const STRANGE: [&str; 6] = ["", "\\ud800", "\\udc00\\ud800", "x\\ud83dy", "\\u0000", "\\\"{}"];
/// Values that some reader of JSON refuses.
const VALUES: [&str; 5] =
    ["1", "1e99999999", r#""\ud800""#, r#"{"a":1,"a":2,"\udfff":[null]}"#, ""];

fn schema() -> Value {
    serde_json::from_str(include_str!("../../../docs/schemas/command.schema.json")).expect("JSON")
}

/// The names of the members that a definition has, at any depth.
fn names(definition: &Value, schema: &Value, found: &mut BTreeSet<String>) {
    match definition {
        Value::Object(members) => {
            for (name, value) in members {
                if let (Some(path), "$ref") = (value.as_str(), name.as_str()) {
                    let target = schema.pointer(path.trim_start_matches('#')).expect("a target");
                    names(target, schema, found);
                } else if let (Some(properties), "properties") = (value.as_object(), name.as_str())
                {
                    found.extend(properties.keys().cloned());
                    properties.values().for_each(|value| names(value, schema, found));
                } else if name != "examples" {
                    names(value, schema, found);
                }
            }
        }
        Value::Array(all) => all.iter().for_each(|value| names(value, schema, found)),
        _ => {}
    }
}

/// The examples of commands, each with the names of its members. Their payloads are no objects.
fn examples(schema: &Value) -> Vec<(Value, BTreeSet<String>)> {
    let definitions = schema["$defs"].as_object().expect("definitions").values();
    let examples = definitions.filter_map(|definition| {
        let mut example = definition["examples"].get(0)?.clone();
        let mut own = BTreeSet::new();
        names(definition, schema, &mut own);
        flatten(&mut example);
        Some((example, own))
    });
    examples.collect()
}

/// Makes payloads scalars.
fn flatten(value: &mut Value) {
    match value {
        Value::Object(members) => {
            for (name, value) in members {
                match name.as_str() {
                    "payload" | "properties" => *value = json!(1),
                    _ => flatten(value),
                }
            }
        }
        Value::Array(all) => all.iter_mut().for_each(flatten),
        _ => {}
    }
}

/// The members of a command, without the texts of its events.
fn read(body: &str) -> Result<String, String> {
    let now: Timestamp = "2026-11-21T12:00:00.000Z".parse().expect("an instant");
    match Command::parse(body, now) {
        Ok(Command::RecordEvents(sent)) => {
            let events: Vec<_> = sent.events.into_iter().map(|sent| sent.event).collect();
            Ok(format!("{events:?}"))
        }
        Ok(command) => Ok(format!("{command:?}")),
        Err(error) => Err(format!("{body}: {error}")),
    }
}

#[test]
fn never_matter() {
    let schema = schema();
    let (mut all, examples) = (BTreeSet::new(), examples(&schema));
    names(&schema, &schema, &mut all);
    assert!(all.len() > 40 && examples.len() > 25, "{all:?}");
    for (example, own) in examples {
        let plain = example.to_string();
        let expected = read(&plain);
        assert!(expected.is_ok(), "{expected:?}");
        let others = all.difference(&own).map(String::as_str);
        let strange = STRANGE.into_iter().chain(["events\\u0000", "Type", "typ"]);
        for name in others.chain(super::INTERNAL_MEMBERS.iter().copied()).chain(strange) {
            for value in VALUES {
                let value = if value.is_empty() { plain.as_str() } else { value };
                let surplus = format!("\"{name}\":{value},\"{name}\":null,");
                for (at, _) in plain.match_indices('{') {
                    let body = format!("{}{surplus}{}", &plain[..=at], &plain[at + 1..]);
                    assert_eq!(read(&body), expected, "{body}");
                }
            }
        }
    }
}

/// The members that a command asks for are read however their names are escaped, and once.
#[test]
fn own_members_matter() {
    for (example, _) in examples(&schema()) {
        let plain = example.to_string();
        for (name, value) in example.as_object().expect("an object") {
            let escaped = name.replace('e', "\\u0065");
            let body = plain.replacen(&format!("\"{name}\":"), &format!("\"{escaped}\":"), 1);
            assert_eq!(read(&body), read(&plain), "{body}");
            let body = format!("{{\"{escaped}\":{value},{}", &plain[1..]);
            assert!(read(&body).is_err_and(|error| error.contains("given twice")), "{body}");
        }
    }
}
