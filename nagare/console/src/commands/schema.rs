//! What the forms know of commands: `docs/schemas/command.schema.json`, which producers check their messages with.

use std::sync::LazyLock;

use serde_json::Value;

/// The schema of all commands.
static COMMANDS: LazyLock<Vec<Kind>> = LazyLock::new(|| {
    let schema = include_str!("../../../../docs/schemas/command.schema.json");
    // It is JSON, as the test below sees to.
    kinds(&serde_json::from_str(schema).unwrap_or(Value::Null))
});

/// What commands are about, and how the names of those begin.
const GROUPS: [(&str, &[&str]); 10] = [
    ("Activities", &["activity."]),
    ("Follows", &["follow."]),
    ("Likes and notifications", &["like.", "notifications."]),
    ("Polls", &["poll.", "vote."]),
    ("Battles", &["battle."]),
    ("Rooms", &["message.", "room."]),
    ("Profiles", &["profile."]),
    ("Tags", &["tag."]),
    ("Events", &["event.", "events."]),
    ("Tenants", &["customer.", "rule.", "score.", "alerts."]),
];

/// One type of command.
#[derive(Debug)]
pub(super) struct Kind {
    /// Such as `activity.published`.
    pub(super) name: String,
    /// What it means.
    pub(super) meaning: String,
    /// Its members, but for the type.
    pub(super) members: Vec<Member>,
}

/// One member of a command.
#[derive(Debug)]
pub(super) struct Member {
    pub(super) name: String,
    pub(super) meaning: String,
    pub(super) is_required: bool,
    pub(super) form: Form,
    /// What the schema's example has.
    pub(super) example: String,
}

/// How a member is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// A text as it is.
    Text,
    /// An instant; now, if nothing is said.
    Instant,
    /// A whole number.
    Number,
    /// Texts with blanks or commas between them.
    Texts,
    /// True or false.
    Truth,
    /// Any JSON.
    Json,
}

/// All commands, in the order of the schema.
pub(super) fn all() -> &'static [Kind] {
    &COMMANDS
}

/// The commands by what they are about, the most used first.
pub(super) fn groups() -> impl Iterator<Item = (&'static str, Vec<&'static Kind>)> {
    GROUPS.iter().map(|(about, stems)| {
        let is_about = |kind: &&Kind| stems.iter().any(|stem| kind.name.starts_with(stem));
        (*about, all().iter().filter(is_about).collect())
    })
}

/// The command of a name.
pub(super) fn named(name: &str) -> Option<&'static Kind> {
    COMMANDS.iter().find(|kind| kind.name == name)
}

fn kinds(schema: &Value) -> Vec<Kind> {
    let each = schema["oneOf"].as_array().into_iter().flatten();
    each.filter_map(|reference| {
        let name = reference["$ref"].as_str()?.strip_prefix("#/$defs/")?;
        let command = &schema["$defs"][name];
        let required: Vec<_> =
            command["required"].as_array()?.iter().filter_map(Value::as_str).collect();
        let members = command["properties"].as_object()?.iter().filter(|(name, _)| *name != "type");
        let members = members.map(|(name, member)| Member {
            name: name.clone(),
            meaning: meaning(schema, member),
            is_required: required.contains(&name.as_str()),
            form: form(schema, member),
            example: match &command["examples"][0][name] {
                Value::Null => String::new(),
                Value::String(text) => text.clone(),
                Value::Array(texts) if texts.iter().all(Value::is_string) => {
                    texts.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(", ")
                }
                other => other.to_string(),
            },
        });
        let meaning = command["description"].as_str().unwrap_or_default().to_owned();
        Some(Kind { name: name.to_owned(), meaning, members: members.collect() })
    })
    .collect()
}

fn definition<'a>(schema: &'a Value, member: &'a Value) -> (&'a str, &'a Value) {
    let name = member["$ref"].as_str().and_then(|path| path.strip_prefix("#/$defs/"));
    name.map_or(("", member), |name| (name, &schema["$defs"][name]))
}

/// What the member means in this command, and how it is written.
fn meaning(schema: &Value, member: &Value) -> String {
    let (_, definition) = definition(schema, member);
    let texts = [member["description"].as_str(), definition["description"].as_str()];
    let mut texts: Vec<_> = texts.into_iter().flatten().collect();
    texts.dedup();
    // What the schema says of itself is not for forms.
    texts
        .join(" ")
        .replace(" (which a schema cannot say)", "")
        .replace(", which a schema cannot say", "")
}

fn form(schema: &Value, member: &Value) -> Form {
    let (name, definition) = definition(schema, member);
    let is = |kind: &str| match &definition["type"] {
        Value::String(text) => text == kind,
        Value::Array(all) => all.iter().any(|text| text == kind),
        _ => false,
    };
    match name {
        "instant" | "planned" => Form::Instant,
        "payload" => Form::Json,
        _ if is("integer") => Form::Number,
        _ if is("boolean") => Form::Truth,
        _ if is("array") && definition["items"]["$ref"] == "#/$defs/choice" => Form::Texts,
        _ if is("array") || definition["oneOf"].is_array() => Form::Json,
        _ => Form::Text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_command_is_in_one_group() {
        let mut grouped: Vec<_> =
            groups().flat_map(|(_, kinds)| kinds).map(|kind| &kind.name).collect();
        let mut each: Vec<_> = all().iter().map(|kind| &kind.name).collect();
        grouped.sort();
        each.sort();
        assert_eq!(grouped, each);
    }

    #[test]
    fn each_command_has_its_members() {
        assert!(all().len() >= 20, "{}", all().len());
        assert!(all().iter().all(|kind| !kind.members.is_empty() && !kind.meaning.is_empty()));
        let forms = |name| {
            let members = named(name).into_iter().flat_map(|kind| &kind.members);
            members.map(|member| (member.name.as_str(), member.form)).collect::<Vec<_>>()
        };
        assert!(forms("battle.hit").contains(&("damage", Form::Number)));
        assert!(forms("poll.opened").contains(&("choices", Form::Texts)));
        assert!(forms("poll.opened").contains(&("closes_at", Form::Instant)));
        assert!(forms("activity.published").contains(&("payload", Form::Json)));
        assert!(forms("notifications.read").contains(&("all", Form::Truth)));
        assert!(forms("notifications.read").contains(&("read", Form::Json)));
        assert!(forms("rule.defined").contains(&("when", Form::Json)));
        assert!(forms("score.defined").contains(&("measures", Form::Json)));
        assert!(forms("score.defined").contains(&("alert_below", Form::Number)));
    }
}
