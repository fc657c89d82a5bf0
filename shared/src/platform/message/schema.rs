//! The parts of `docs/schemas/command.schema.json` that commands and values declare. Only the test of
//! that file reads them, so no program contains them.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::ops::RangeInclusive;

use serde_json::Value;

/// A type of command.
#[derive(Debug)]
pub struct TypeSchema {
    pub name: &'static str,
    pub doc: &'static str,
    pub members: Vec<MemberSchema>,
    /// The example, without its type.
    pub example: &'static str,
    /// The member with the id of what the command creates, if it creates anything.
    pub creates: &'static str,
}

/// A member of an object.
#[derive(Debug)]
pub struct MemberSchema {
    pub name: &'static str,
    pub doc: &'static str,
    pub value: ValueSchema,
    /// Keywords of the object that the member belongs to.
    pub rule: Option<&'static str>,
}

/// A value, in the keywords of JSON Schema.
#[derive(Debug, Clone)]
pub struct ValueSchema {
    /// The name of its definition, if it has one.
    name: Option<&'static str>,
    keywords: String,
    is_required: bool,
    default: Option<&'static str>,
    /// The values that its keywords refer to.
    parts: Vec<ValueSchema>,
}

impl ValueSchema {
    /// A value with these keywords.
    pub fn new(keywords: impl Into<String>) -> Self {
        let (keywords, parts) = (keywords.into(), Vec::new());
        Self { name: None, keywords, is_required: true, default: None, parts }
    }

    fn text(doc: &str, pattern: &str) -> Self {
        Self::new(format!(r#""type": "string", "pattern": {}"#, quoted(pattern))).described(doc)
    }

    pub fn id(most: usize) -> Self {
        let doc = format!(
            "1 to {most} characters of A-Z a-z 0-9 . _ : @ - | +, and neither . nor .. alone"
        );
        Self::text(&doc, &format!(r"^(?!\.\.?$)[A-Za-z0-9._:@|+-]{{1,{most}}}$"))
    }

    pub fn word(about: &str, most: usize) -> Self {
        let doc = format!("{about}1 to {most} characters of A-Z a-z 0-9 . _ + -");
        Self::text(&doc, &format!("^[A-Za-z0-9._+-]{{1,{most}}}$"))
    }

    /// An instant.
    pub fn instant(doc: &str) -> Self {
        // RFC 3339.
        let pattern = "^[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt][0-9]{2}:[0-9]{2}:[0-9]{2}([.][0-9]+)?([Zz]|[+-][0-9]{2}:[0-9]{2})$";
        Self::new(format!(
            r#""type": "string", "format": "date-time", "pattern": {}"#,
            quoted(pattern)
        ))
        .described(doc)
    }

    /// A whole number.
    pub fn integer(bounds: RangeInclusive<impl Display>) -> Self {
        let (least, most) = (bounds.start(), bounds.end());
        Self::new(format!(r#""type": "integer", "minimum": {least}, "maximum": {most}"#))
    }

    /// A list of any length.
    pub fn any_list(item: Self) -> Self {
        let keywords = format!(r#""type": "array", "items": {{ {} }}"#, item.reference());
        Self { parts: vec![item], ..Self::new(keywords) }
    }

    pub fn list(item: Self, lengths: RangeInclusive<usize>) -> Self {
        let (least, most) = (lengths.start(), lengths.end());
        Self::any_list(item).with(&format!(r#""minItems": {least}, "maxItems": {most}"#))
    }

    pub fn one_of(forms: Vec<Self>) -> Self {
        let each: Vec<_> = forms.iter().map(|form| format!("{{ {} }}", form.reference())).collect();
        let keywords = format!(r#""oneOf": [{}]"#, each.join(", "));
        Self { parts: forms, ..Self::new(keywords) }
    }

    /// With more keywords.
    #[must_use]
    pub fn with(self, keywords: &str) -> Self {
        Self { keywords: format!("{}, {keywords}", self.keywords), ..self }
    }

    /// An object with these members, and any others.
    pub fn object(members: Vec<MemberSchema>) -> Self {
        let required = MemberSchema::required(&members.iter().collect::<Vec<_>>());
        let properties: Vec<_> = members.iter().map(MemberSchema::property).collect();
        let mut keywords = format!(
            r#""type": "object", "required": [{}], "properties": {{ {} }}"#,
            required,
            properties.join(", ")
        );
        for rule in members.iter().filter_map(|it| it.rule) {
            keywords = format!("{keywords}, {rule}");
        }
        let parts = members.into_iter().map(|it| it.value).collect();
        Self { parts, ..Self::new(keywords) }
    }

    #[must_use]
    pub fn described(self, doc: &str) -> Self {
        let keywords = format!(r#""description": {}, {}"#, quoted(doc), self.keywords);
        Self { keywords: keywords.trim_end_matches(", ").to_owned(), ..self }
    }

    /// Of one type, or `null`, which stands for not given.
    #[must_use]
    pub fn or_null(self) -> Self {
        let (before, after) = self.keywords.split_once(r#""type": ""#).expect("a type");
        let (kind, after) = after.split_once('"').expect("its end");
        Self { keywords: format!(r#"{before}"type": ["{kind}", "null"]{after}"#), ..self }
    }

    /// With a definition of its own.
    #[must_use]
    pub fn named(self, name: &'static str) -> Self {
        Self { name: Some(name), ..self }
    }

    #[must_use]
    pub fn required(self) -> Self {
        Self { is_required: true, default: None, ..self }
    }

    #[must_use]
    pub fn optional(self) -> Self {
        Self { is_required: false, ..self }
    }

    /// Optional, with the JSON of the value that it has then.
    #[must_use]
    pub fn or(self, default: &'static str) -> Self {
        Self { is_required: false, default: Some(default), ..self }
    }

    /// The keywords of a place with the value.
    pub fn reference(&self) -> String {
        match self.name {
            Some(name) => format!(r##""$ref": "#/$defs/{name}""##),
            None => self.keywords.clone(),
        }
    }

    /// Adds its definition, and those of what it contains. Two values with one name have to be the
    /// same.
    pub fn define(&self, definitions: &mut BTreeMap<&'static str, String>) {
        if let Some(name) = self.name {
            let known = definitions.entry(name).or_insert_with(|| self.keywords.clone());
            assert_eq!(*known, self.keywords, "two definitions of {name}");
        }
        self.parts.iter().for_each(|part| part.define(definitions));
    }
}

impl MemberSchema {
    pub fn new(name: &'static str, doc: &'static str, value: ValueSchema) -> Self {
        Self { name, doc, value, rule: None }
    }

    /// The content of `required`.
    pub fn required(members: &[&Self]) -> String {
        let required = members.iter().filter(|it| it.value.is_required);
        required.map(|it| quoted(it.name)).collect::<Vec<_>>().join(", ")
    }

    /// The member of `properties`.
    pub fn property(&self) -> String {
        let mut keywords = self.value.reference();
        if !self.doc.is_empty() {
            keywords = format!(r#"{keywords}, "description": {}"#, quoted(&prose(self.doc)));
        }
        if let Some(default) = self.value.default {
            keywords = format!(r#"{keywords}, "default": {default}"#);
        }
        format!("{}: {{ {keywords} }}", quoted(self.name))
    }
}

/// A doc comment as the schema has it.
pub(crate) fn prose(doc: &str) -> String {
    doc.trim().replace('`', "")
}

pub(crate) fn quoted(text: &str) -> String {
    Value::from(text).to_string()
}
