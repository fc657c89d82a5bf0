//! What the forms know of commands: `docs/schemas/command.schema.json`, which producers check their messages with. And the
//! body of a command as a form says it.

use std::sync::LazyLock;

use serde_json::Value;
use serde_json::value::RawValue;
use shared::platform::values::Timestamp;
use uuid::Uuid;

use crate::fields::Fields;
use crate::layout;

static COMMANDS: LazyLock<Vec<CommandKind>> = LazyLock::new(|| {
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

#[derive(Debug)]
pub(super) struct CommandKind {
    /// Such as `activity.published`.
    pub(super) name: String,
    pub(super) meaning: String,
    /// But for the type.
    pub(super) members: Vec<Member>,
}

#[derive(Debug)]
pub(super) struct Member {
    pub(super) name: String,
    pub(super) meaning: String,
    pub(super) form: Form,
    pub(super) unsaid: Unsaid,
    /// What the schema's example has.
    pub(super) example: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
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

/// What a member is of which nothing is said.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unsaid {
    /// The command is refused.
    Missing,
    LeftOut,
    /// This instant. An end never is.
    Now,
    /// `null`, of a payload.
    Null,
    /// An id that begins with this: of what a command brings into the world, which may be any that is new.
    Made(&'static str),
}

/// All commands, in the order of the schema.
pub(super) fn all() -> &'static [CommandKind] {
    &COMMANDS
}

/// The commands by what they are about, the most used first, and those of no group.
pub(super) fn groups() -> impl Iterator<Item = (&'static str, Vec<&'static CommandKind>)> {
    let is_about =
        |kind: &CommandKind, stems: &[&str]| stems.iter().any(|it| kind.name.starts_with(it));
    let others = move |kind: &&CommandKind| !GROUPS.iter().any(|(_, stems)| is_about(kind, stems));
    let groups = GROUPS.iter().map(move |(about, stems)| {
        (*about, all().iter().filter(|kind| is_about(kind, stems)).collect())
    });
    let groups = groups.chain([("Others", all().iter().filter(others).collect())]);
    groups.filter(|(_, kinds): &(_, Vec<_>)| !kinds.is_empty())
}

pub(super) fn named(name: &str) -> Option<&'static CommandKind> {
    COMMANDS.iter().find(|kind| kind.name == name)
}

fn kinds(schema: &Value) -> Vec<CommandKind> {
    let each = schema["oneOf"].as_array().into_iter().flatten();
    each.filter_map(|reference| kind(schema, reference)).collect()
}

fn kind(schema: &Value, reference: &Value) -> Option<CommandKind> {
    let (kind, command) = definition(schema, reference);
    let required = command["required"].as_array()?;
    let members = command["properties"].as_object()?.iter().filter(|(name, _)| *name != "type");
    let members = members.map(|(name, member)| {
        let form = form(schema, member);
        let is_required = required.iter().any(|required| required == name);
        let example = match &command["examples"][0][name] {
            Value::Array(texts) if texts.iter().all(Value::is_string) => {
                texts.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(", ")
            }
            other => layout::json(other),
        };
        let meaning = meaning(schema, member);
        let unsaid = unsaid(kind, name, form, is_required);
        Member { name: name.clone(), meaning, form, unsaid, example }
    });
    let meaning = command["description"].as_str().unwrap_or_default().to_owned();
    Some(CommandKind { name: kind.to_owned(), meaning, members: members.collect() })
}

/// What stands at a reference, and its name; anything else is its own definition, without a name.
fn definition<'a>(schema: &'a Value, member: &'a Value) -> (&'a str, &'a Value) {
    let name = member["$ref"].as_str().and_then(|path| path.strip_prefix("#/$defs/"));
    name.map_or(("", member), |name| (name, &schema["$defs"][name]))
}

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

fn unsaid(kind: &str, member: &str, form: Form, is_required: bool) -> Unsaid {
    match (kind, member) {
        ("activity.published", "activity_id") => Unsaid::Made("activity"),
        ("poll.opened", "poll_id") => Unsaid::Made("poll"),
        ("battle.opened", "battle_id") => Unsaid::Made("battle"),
        ("battle.hit", "hit_id") => Unsaid::Made("hit"),
        ("message.posted", "message_id") => Unsaid::Made("message"),
        ("event.recorded", "event_id") => Unsaid::Made("event"),
        _ if !is_required => Unsaid::LeftOut,
        (_, "payload") if form == Form::Json => Unsaid::Null,
        (_, name) if form == Form::Instant && name != "closes_at" => Unsaid::Now,
        _ => Unsaid::Missing,
    }
}

/// What names a member in a form begins with.
pub(super) const PREFIX: &str = "f.";

/// The body that a form says, or what is wrong with its fields, by member.
pub(super) fn body(
    kind: &CommandKind,
    fields: &Fields,
    now: Timestamp,
) -> Result<String, Vec<(String, String)>> {
    let (mut members, mut wrong) = (vec![("type", quoted(&kind.name))], Vec::new());
    for member in &kind.members {
        let said = (member.form == Form::Json).then(|| said(fields)).flatten();
        let text = said.as_deref().or(fields.get(&format!("{PREFIX}{}", member.name)));
        match value(member, text, now) {
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

fn value(member: &Member, text: Option<&str>, now: Timestamp) -> Result<Option<String>, String> {
    let Some(text) = text else {
        return Ok(match member.unsaid {
            Unsaid::Missing | Unsaid::LeftOut => None,
            Unsaid::Now => Some(quoted(&now.to_string())),
            Unsaid::Null => Some("null".to_owned()),
            Unsaid::Made(stem) => Some(quoted(&format!("{stem}-{}", Uuid::new_v4()))),
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
