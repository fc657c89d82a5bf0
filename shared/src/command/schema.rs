//! `docs/schemas/command.schema.json` follows from the declarations of commands. If it differs,
//! `UPDATE=1 cargo test -p shared --lib command::schema` writes it.

use std::collections::BTreeMap;
use std::fs;

use serde_json::Value;

use super::types;
use crate::platform::message::{MemberSchema, TYPE, TypeSchema, ValueSchema, prose, quoted};

const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/schemas/command.schema.json");
const TITLE: &str = "A command";
const ABOUT: &str = "The body of one message on Nagare's command queue: UTF-8, one JSON object. Unknown members are ignored, whatever is in them. Every command may arrive many times and in any order. A body that this schema refuses becomes a dead letter, and so do some bodies that it accepts:";
/// Bodies that no schema can refuse.
const UNSEEN: [&str; 12] = [
    "a payload of more than 4096 bytes as sent, white space included",
    "a payload of more than 64 arrays and objects inside each other",
    r"a payload with an escape such as \ud800 without its other half, in a member name too",
    "properties of an event with a name twice in one object, or with a number beyond the range of a double",
    "a notification_id with such an escape",
    "a through, hp or damage that is not written in digits alone, such as 5.0",
    "a published_at or at before 2015-01-01T00:00:00Z or more than five minutes after the moment it is processed",
    "an opens_at or closes_at before 2015-01-01T00:00:00Z or more than 366 days after that moment",
    "a closes_at that is not after its opens_at",
    "events of two tenants in one message",
    "a member of its type given twice",
    "an id that belongs to something else: an activity_id that was published before by another actor or with another published_at, a poll_id, battle_id or hit_id that was used before with another content, a message_id that was used before in the same room by another author or with another at",
];
const HINT: &str =
    "Validate with format assertion switched on, or days that a month does not have pass.";

/// The definition of a type of command.
fn definition(about: &str, of: &TypeSchema) -> String {
    let kind = ValueSchema::new(format!(r#""const": {}"#, quoted(of.name)));
    let kind = MemberSchema::new(TYPE, "", kind);
    let members: Vec<_> = [&kind].into_iter().chain(&of.members).collect();
    let properties: Vec<_> = members.iter().map(|it| it.property()).collect();
    let example = of.example.trim_start_matches('{').trim_start();
    let mut lines = vec![
        format!(r#""description": {}"#, quoted(&prose(of.doc))),
        r#""type": "object""#.to_owned(),
        format!(r#""required": [{}]"#, MemberSchema::required(&members)),
        format!("\"properties\": {{\n        {}\n      }}", properties.join(",\n        ")),
    ];
    lines.extend(of.members.iter().filter_map(|it| it.rule).map(str::to_owned));
    lines.push(format!(r#""x-group": {}"#, quoted(about)));
    if !of.creates.is_empty() {
        lines.push(format!(r#""x-creates": {}"#, quoted(of.creates)));
    }
    let kind = format!(r#""type": {}"#, quoted(of.name));
    lines.push(format!("\"examples\": [\n        {{ {kind}, {example}\n      ]"));
    format!("    {}: {{\n      {}\n    }}", quoted(of.name), lines.join(",\n      "))
}

fn text() -> String {
    let types = types();
    let names = types.iter().map(|(_, of)| format!(r##"    {{ "$ref": "#/$defs/{}" }}"##, of.name));
    let names: Vec<_> = names.collect();
    let mut values = BTreeMap::new();
    for member in types.iter().flat_map(|(_, of)| &of.members) {
        member.value.define(&mut values);
    }
    let values = values.into_iter();
    let values = values.map(|(name, keywords)| format!("    {}: {{ {keywords} }}", quoted(name)));
    let definitions = types.iter().map(|(about, of)| definition(about, of));
    let definitions: Vec<_> = definitions.chain(values).collect();
    let about = format!("{ABOUT} {}. {HINT}", UNSEEN.join("; "));
    format!(
        r#"{{
  "$schema": "https://json-schema.org/draft/2020-12/schema",
  "$id": "urn:nagare:schema:command",
  "title": {},
  "description": {},
  "oneOf": [
{}
  ],
  "$defs": {{
{}
  }}
}}
"#,
        quoted(TITLE),
        quoted(&about),
        names.join(",\n"),
        definitions.join(",\n")
    )
}

/// Adds the path of each difference.
fn differences(path: &str, one: &Value, other: &Value, found: &mut Vec<String>) {
    match (one, other) {
        (Value::Object(ones), Value::Object(others)) => {
            let names = ones.keys().chain(others.keys().filter(|name| !ones.contains_key(*name)));
            for name in names {
                let path = format!("{path}/{name}");
                differences(&path, &one[name], &other[name], found);
            }
        }
        _ if one == other => {}
        _ => found.push(format!("{path}\n  declared: {one}\n  in the file: {other}")),
    }
}

#[test]
fn follows_from_the_declarations() {
    let declared = text();
    if std::env::var_os("UPDATE").is_some() {
        fs::write(FILE, &declared).expect("the file is writable");
    }
    let file = fs::read_to_string(FILE).expect("the file");
    let [one, other] = [&declared, &file].map(|text| serde_json::from_str(text).expect("JSON"));
    let mut found = Vec::new();
    differences("", &one, &other, &mut found);
    let hint = "UPDATE=1 cargo test -p shared --lib command::schema";
    assert!(found.is_empty(), "{hint} writes the file; it differs at\n{}", found.join("\n"));
    assert!(declared == file, "{hint} writes the file; it differs in its order or its white space");
}
