//! The types of commands and their members, for forms and command lines, and the body of a command
//! from the texts that were given. `docs/schemas/command.schema.json` lists them.

use std::sync::LazyLock;

use serde_json::Value;
use serde_json::value::RawValue;
use shared::platform::values::Timestamp;
use uuid::Uuid;

static COMMANDS: LazyLock<Vec<CommandKind>> = LazyLock::new(|| {
    let schema = include_str!("../../../docs/schemas/command.schema.json");
    // It is JSON, as the test below sees to.
    kinds(&serde_json::from_str(schema).unwrap_or(Value::Null))
});

#[derive(Debug)]
pub struct CommandKind {
    /// Such as `activity.published`.
    pub name: String,
    /// The heading of its group, such as `Activities`.
    pub group: String,
    pub meaning: String,
    /// Without the type. Required members are first, in the order of the declaration.
    pub members: Vec<Member>,
}

#[derive(Debug)]
pub struct Member {
    pub name: String,
    /// Its own description, which may be empty.
    pub about: String,
    /// All that is known of it: its own description, and that of its value.
    pub meaning: String,
    pub form: Form,
    pub unsaid: Unsaid,
    /// Its text in the example of the schema.
    pub example: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    Text,
    Instant,
    /// A whole number.
    Number,
    /// Texts with blanks or commas between them.
    Texts,
    Truth,
    /// Any JSON.
    Json,
}

/// The value of a member for which no text is given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unsaid {
    /// The command is refused.
    Missing,
    LeftOut,
    /// This instant, except for an end.
    Now,
    /// `null`, of a payload.
    Null,
    /// A new id: that of what the command creates.
    Made,
}

/// All commands, in the order of the schema.
pub fn all() -> &'static [CommandKind] {
    &COMMANDS
}

/// The commands of each group, in the order of the schema.
pub fn groups() -> impl Iterator<Item = (&'static str, &'static [CommandKind])> {
    let groups = COMMANDS.chunk_by(|one, next| one.group == next.group);
    groups.filter_map(|kinds| Some((kinds.first()?.group.as_str(), kinds)))
}

pub fn named(name: &str) -> Option<&'static CommandKind> {
    COMMANDS.iter().find(|kind| kind.name == name)
}

fn kinds(schema: &Value) -> Vec<CommandKind> {
    let each = schema["oneOf"].as_array().into_iter().flatten();
    each.filter_map(|reference| kind(schema, reference)).collect()
}

fn kind(schema: &Value, reference: &Value) -> Option<CommandKind> {
    let (name, command) = definition(schema, reference);
    let text = |keyword: &str| command[keyword].as_str().unwrap_or_default().to_owned();
    let (group, meaning, created) = (text("x-group"), text("description"), text("x-creates"));
    let required: Vec<_> =
        command["required"].as_array()?.iter().filter_map(Value::as_str).collect();
    let properties = command["properties"].as_object()?.iter().filter(|(name, _)| *name != "type");
    let members = properties.map(|(name, member)| {
        let (form, is_required) = (form(schema, member), required.contains(&name.as_str()));
        let made = (*name == created).then_some(Unsaid::Made);
        Member {
            name: name.clone(),
            about: member["description"].as_str().unwrap_or_default().to_owned(),
            meaning: meaning_of(schema, member),
            form,
            unsaid: made.unwrap_or_else(|| unsaid(name, form, is_required)),
            example: example(&command["examples"][0][name]),
        }
    });
    let mut members: Vec<_> = members.collect();
    let place = |name: &str| required.iter().position(|it| *it == name).unwrap_or(usize::MAX);
    members.sort_by_key(|member| place(&member.name));
    Some(CommandKind { name: name.to_owned(), group, meaning, members })
}

/// An example as it is typed.
fn example(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        Value::Array(texts) if texts.iter().all(Value::is_string) => {
            texts.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(", ")
        }
        other => other.to_string(),
    }
}

/// The definition that a reference names, and its name. Anything else is its own definition, without
/// a name.
fn definition<'a>(schema: &'a Value, member: &'a Value) -> (&'a str, &'a Value) {
    let name = member["$ref"].as_str().and_then(|path| path.strip_prefix("#/$defs/"));
    name.map_or(("", member), |name| (name, &schema["$defs"][name]))
}

fn meaning_of(schema: &Value, member: &Value) -> String {
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
        Value::Array(all) => all.iter().any(|text| text == kind),
        text => text == kind,
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

fn unsaid(member: &str, form: Form, is_required: bool) -> Unsaid {
    match member {
        _ if !is_required => Unsaid::LeftOut,
        "payload" if form == Form::Json => Unsaid::Null,
        name if form == Form::Instant && name != "closes_at" => Unsaid::Now,
        _ => Unsaid::Missing,
    }
}

/// The body of a command with what was given for its members, or what is wrong, by member.
///
/// # Errors
/// The name of each wrong member, and what was expected of it.
pub fn body(
    kind: &CommandKind,
    given: impl Fn(&Member) -> Option<String>,
    now: Timestamp,
) -> Result<String, Vec<(String, String)>> {
    let (mut members, mut wrong) = (vec![("type", quoted(&kind.name))], Vec::new());
    for member in &kind.members {
        match value(member, given(member).as_deref(), now) {
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
    let Some(text) = text else {
        return Ok(match member.unsaid {
            Unsaid::Missing | Unsaid::LeftOut => None,
            Unsaid::Now => Some(quoted(&now.to_string())),
            Unsaid::Null => Some("null".to_owned()),
            Unsaid::Made => {
                let stem = member.name.trim_end_matches("_id");
                Some(quoted(&format!("{stem}-{}", Uuid::new_v4())))
            }
        });
    };
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

fn quoted(text: &str) -> String {
    Value::from(text).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_group_is_there_once() {
        let mut names: Vec<_> = groups().map(|(name, _)| name).collect();
        assert_eq!(names.first(), Some(&"Activities"));
        names.sort_unstable();
        let count = names.len();
        names.dedup();
        assert_eq!((names.len(), names.contains(&"")), (count, false));
    }

    #[test]
    fn each_command_has_its_members() {
        assert!(all().len() >= 20, "{}", all().len());
        assert!(all().iter().all(|kind| !kind.members.is_empty() && !kind.meaning.is_empty()));
        let forms = |name| {
            let members = named(name).into_iter().flat_map(|kind| &kind.members);
            members.map(|member| (member.name.as_str(), member.form)).collect::<Vec<_>>()
        };
        let names = |name| forms(name).into_iter().map(|(name, _)| name).collect::<Vec<_>>();
        assert_eq!(names("follow.created"), ["follower_id", "followee_id", "at"]);
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
