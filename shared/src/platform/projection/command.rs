//! The command that a change becomes if a view could not fold it. It is not for producers: a projector seals it in a
//! dead letter, and the writer accepts it once that is redriven.

use serde::{Deserialize, Serialize};

use super::{Change, Sequence, Shard};
use crate::platform::crypto::hash::sha256;
use crate::platform::dynamo::item::{Item, Key};
use crate::platform::dynamo::{AnsweredItem, to_json};
use crate::platform::message::{Body, CommandError, CommandPayload, LogIds, MemberError, Members};
use crate::platform::values::Timestamp;

/// The longest image, in bytes of JSON. Two images, the keys and the rest stay below the bound of items with many small parts. This
/// version writes no row with a longer one.
const MAX_IMAGE: usize = 64_000;
/// Replaces a longer image. It is not an item, so the writer refuses it.
const TOO_LONG: &str = "\"too long\"";
/// The longest id that groups can have.
const MAX_GROUP: usize = 128;

/// `fact.changed`: a change of a row of the facts that a view could not fold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnfoldedChange {
    pub key: Key,
    pub view: Key,
    /// The shard of the change, or of the row that brought it back.
    pub shard: Shard,
    pub sequence: Sequence,
    /// When the row changed.
    pub at: Timestamp,
    /// The row before, in JSON.
    before: Option<String>,
    after: Option<String>,
}

#[derive(Serialize, Deserialize)]
struct JsonKey {
    pk: String,
    sk: String,
}

impl UnfoldedChange {
    /// The command for a change that a view could not fold.
    pub fn of(change: &Change, shard: Shard, view: Key) -> Self {
        Self {
            key: change.key.clone(),
            view,
            shard,
            sequence: change.sequence,
            at: change.at,
            before: change.before.as_ref().map(image),
            after: change.after.as_ref().map(image),
        }
    }

    /// A unique id.
    pub fn id(&self) -> String {
        let Key { pk, sk } = &self.view;
        let view = sha256(format!("{pk}\0{sk}").as_bytes());
        format!("{}-{}-{}", self.shard, self.sequence, &view[..16])
    }

    /// The row before and after.
    pub(super) fn images(&self) -> Option<[Option<Item>; 2]> {
        let item = |json: &Option<String>| json.as_deref().map(read_image).transpose().ok();
        Some([item(&self.before)?, item(&self.after)?])
    }
}

impl CommandPayload for UnfoldedChange {
    const TYPES: &'static [&'static str] = &["fact.changed"];
    const MEMBERS: &'static [&'static str] =
        &["key", "view", "shard", "sequence", "at", "before", "after"];

    fn read(_: &str, members: &Members<'_>) -> Result<Self, CommandError> {
        let image = |member| match members.raw(member)? {
            Some(json) if read_image(json).is_err() => Err(expected(member, "an item")),
            image => Ok(image.map(ToOwned::to_owned)),
        };
        Ok(Self {
            key: key("key", members)?,
            view: key("view", members)?,
            shard: members
                .string("shard")?
                .parse()
                .map_err(|_| expected("shard", "16 hexadecimal digits"))?,
            sequence: members
                .string("sequence")?
                .parse()
                .map_err(|_| expected("sequence", "a sequence number"))?,
            at: members.parsed("at", |text| Timestamp::parse(&text))?,
            before: image("before")?,
            after: image("after")?,
        })
    }

    fn write(&self, body: Body) -> Body {
        let body = body
            .json("key", &json(&self.key))
            .json("view", &json(&self.view))
            .json("shard", &format!("\"{}\"", self.shard))
            .json("sequence", &format!("\"{}\"", self.sequence))
            .text("at", &self.at);
        let images = [("before", &self.before), ("after", &self.after)];
        images.into_iter().fold(body, |body, (name, image)| match image {
            Some(image) => body.json(name, image),
            None => body,
        })
    }

    /// Empty: only the feature that wrote a row knows whom it is about.
    fn subject(&self) -> LogIds {
        LogIds::default()
    }

    /// The second part of the row's partition key, as in the commands that wrote the row.
    fn group(&self) -> &str {
        let pk = self.key.pk.as_str();
        let group = pk.split_once('#').map_or(pk, |(_, group)| group);
        &group[..group.floor_char_boundary(MAX_GROUP)]
    }
}

fn key(member: &'static str, members: &Members<'_>) -> Result<Key, CommandError> {
    let json = members.required(member)?;
    let JsonKey { pk, sk } =
        serde_json::from_str(json).map_err(|_| expected(member, "`pk` and `sk`"))?;
    Ok(Key { pk, sk })
}

fn json(Key { pk, sk }: &Key) -> String {
    queueable(&serde_json::json!({"pk": pk, "sk": sk}))
}

fn image(item: &Item) -> String {
    let json = queueable(&to_json(item));
    if json.len() > MAX_IMAGE { TOO_LONG.to_owned() } else { json }
}

fn read_image(json: &str) -> serde_json::Result<Item> {
    serde_json::from_str::<AnsweredItem>(json).map(Item::from)
}

/// JSON with escapes for the two characters that JSON takes as they are and a queue does not.
fn queueable(json: &serde_json::Value) -> String {
    json.to_string().replace('\u{fffe}', "\\ufffe").replace('\u{ffff}', "\\uffff")
}

fn expected(member: &'static str, what: &'static str) -> CommandError {
    CommandError::Malformed { member, problem: MemberError::Expected(what) }
}
