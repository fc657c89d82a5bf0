//! The members of a JSON object, found without reading their values.
//!
//! A member that is not asked for never matters, whatever is in it: other commands' members, names
//! given twice, and names with half of a surrogate pair, which no string can hold. Therefore names
//! are compared as they were sent, and a name that is given twice is an error only for the reader
//! that asks for it.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt;

use serde::de::DeserializeOwned;
use serde_json::value::RawValue;

use super::{CommandError, MemberError};

/// Names of members to look for, in lists.
pub type MemberNames = &'static [&'static [&'static str]];

/// The members of an object that have one of some names, unread.
#[derive(Debug)]
pub struct Object<'a>(HashMap<&'static str, FoundMember<'a>>);

#[derive(Debug, Clone, Copy)]
enum FoundMember<'a> {
    Once(&'a RawValue),
    Repeatedly,
}

impl<'a> Object<'a> {
    /// Reads an object.
    ///
    /// # Errors
    /// [`CommandError::NotAnObject`]
    pub fn read(json: &'a str, names: MemberNames) -> Result<Self, CommandError> {
        let mut found = HashMap::with_capacity(16);
        each_member(json, |name, value| {
            if let Some(name) = known(name, names) {
                let once = |found: &mut FoundMember<'a>| *found = FoundMember::Repeatedly;
                found.entry(name).and_modify(once).or_insert(FoundMember::Once(value));
            }
        })?;
        Ok(Self(found))
    }

    /// Reads the objects of a list; `None` if it is not a list of objects.
    pub fn list(json: &'a str, names: MemberNames) -> Option<Vec<Self>> {
        let list: Vec<&RawValue> = serde_json::from_str(json).ok()?;
        list.into_iter().map(|object| Self::read(object.get(), names).ok()).collect()
    }

    /// A member as sent, if it is there.
    ///
    /// # Errors
    /// [`CommandError`] if it is given twice.
    pub fn raw(&self, member: &'static str) -> Result<Option<&'a RawValue>, CommandError> {
        match self.0.get(member) {
            None => Ok(None),
            Some(FoundMember::Once(value)) => Ok(Some(value)),
            Some(FoundMember::Repeatedly) => Err(malformed(member, MemberError::Repeated)),
        }
    }

    /// A member as sent.
    ///
    /// # Errors
    /// [`CommandError`] if it is missing or given twice.
    pub fn required(&self, member: &'static str) -> Result<&'a RawValue, CommandError> {
        self.raw(member)?.ok_or(CommandError::Missing(member))
    }

    /// The value of a member; `None` if it is missing or `null`.
    ///
    /// # Errors
    /// [`CommandError`] if it is given twice, or of another type.
    pub fn value<T: DeserializeOwned>(
        &self,
        member: &'static str,
    ) -> Result<Option<T>, CommandError> {
        let Some(json) = self.raw(member)? else { return Ok(None) };
        let other = |_| malformed(member, MemberError::Expected("a value of another type"));
        serde_json::from_str(json.get()).map_err(other)
    }
}

fn malformed(member: &'static str, problem: MemberError) -> CommandError {
    CommandError::Malformed { member, problem }
}

/// The name among these that a name as sent stands for.
fn known(sent: &RawValue, names: MemberNames) -> Option<&'static str> {
    let text = text_of(sent)?;
    names.iter().flat_map(|names| names.iter()).copied().find(|name| *name == text)
}

/// The text of a name as sent; `None` if no string can hold it.
pub(crate) fn text_of(sent: &RawValue) -> Option<Cow<'_, str>> {
    let text = sent.get().strip_prefix('"')?.strip_suffix('"')?;
    match text.contains('\\') {
        false => Some(Cow::from(text)),
        true => serde_json::from_str(sent.get()).ok(),
    }
}

/// Calls `found` with the name and the value of each member of an object, as sent and in their
/// order.
///
/// # Errors
/// [`CommandError::NotAnObject`]
pub(crate) fn each_member<'a>(
    json: &'a str,
    found: impl FnMut(&'a RawValue, &'a RawValue),
) -> Result<(), CommandError> {
    let mut json = serde_json::Deserializer::from_str(json);
    serde::Deserializer::deserialize_map(&mut json, ObjectVisitor(found))
        .and_then(|()| json.end())
        .map_err(|e| CommandError::NotAnObject(position(&e)))
}

struct ObjectVisitor<F>(F);

impl<'a, F: FnMut(&'a RawValue, &'a RawValue)> serde::de::Visitor<'a> for ObjectVisitor<F> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: serde::de::MapAccess<'a>>(mut self, mut map: A) -> Result<(), A::Error> {
        while let Some((name, value)) = map.next_entry()? {
            (self.0)(name, value);
        }
        Ok(())
    }
}

/// Where the parser stopped, without its words: those would quote the body, which stays out of
/// logs.
fn position(error: &serde_json::Error) -> String {
    match error.classify() {
        serde_json::error::Category::Data => "it is JSON of another type".to_owned(),
        serde_json::error::Category::Eof => "it ends too early".to_owned(),
        _ => format!("it breaks at line {}, column {}", error.line(), error.column()),
    }
}
