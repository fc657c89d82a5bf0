//! How a change that could not be folded comes back.
//!
//! ```text
//! projector   a change that a view cannot fold    a dead letter, whose body is a sealed `fact.changed`
//! operator    redrives it                         the same body, on the queue of commands
//! writer      records it                          a row of the facts, once however often it is redriven
//! projectors  open that row                       the change that it was, for that view alone
//! ```
//!
//! The row is new, so its own change is in the stream once, and is folded exactly once by its sequence number there
//! ([`super`]). The row stays as the record that this change has come back. A change that fails again is set aside under its
//! new sequence number, and can be redriven again.
//!
//! Other changes were folded meanwhile, so a fold must not depend on order.

use super::{Change, UnfoldedChange};
use crate::platform::dynamo::item::{Key, Row, text};
use crate::platform::dynamo::keys;
use crate::platform::dynamo::{Condition, DynamoError};
use crate::platform::facts::Facts;
use crate::platform::message::{Body, CommandPayload, MemberNames, Members};
use crate::platform::stored::BLOCK;
use crate::platform::values::Origin;

/// The prefix of the partition keys of such rows. The partition key of the row that changed follows.
pub const PREFIX: &str = "changed#";
/// The attribute with the change, as in the command.
pub const CHANGE: &str = "change";
/// The id of the dead letter.
const LETTER: &str = "letter";
const NAMES: MemberNames = &[UnfoldedChange::MEMBERS];

keys! {stored
    (row: String, change: String) = "changed#{row}", "{change}" in Facts as "changed" {
        says: "a change that comes back",
        most: BLOCK, grows: "the row before and after, up to 64,000 bytes of JSON each: the largest, of votes, has 63,400",
        at_bound: "a longer one, which no writer makes, is a dead letter that says so",
        test: "`votes::a_change_of_a_full_row_comes_back`",
        later: Never, erased: Gone,
    };
}

/// Why a change came back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Redriven {
    /// The view that could not fold it. All others have.
    pub view: Key,
    pub letter: String,
}

/// Records among the facts that a change comes back, unless it has before. `letter` is the id of its dead letter.
///
/// # Errors
/// [`DynamoError`]; it may have been recorded.
pub async fn bring_back(
    change: &UnfoldedChange,
    letter: &Origin,
    facts: &Facts,
) -> Result<(), DynamoError> {
    let Key { pk, sk } = &change.key;
    let key = Key { pk: format!("{PREFIX}{pk}"), sk: format!("{sk}#{}", change.id()) };
    let mut row = key.into_item();
    row.insert(CHANGE.to_owned(), text(change.write(Body::new(change.type_name())).end()));
    row.insert(LETTER.to_owned(), text(letter.as_str()));
    let absent = Condition::new("attribute_not_exists(pk)");
    facts.table().put_if(row, absent).await.map(|_| ())
}

/// The key of the row that changed, if `key` is that of a row that brings a change back.
pub fn brought_back(key: &Key) -> Option<Key> {
    let (sk, _id) = key.sk.rsplit_once('#')?;
    Some(Key { pk: key.pk.strip_prefix(PREFIX)?.to_owned(), sk: sk.to_owned() })
}

impl Change {
    /// The change to fold: this one, or the one that its row brings back. `None` if such a row was changed or deleted.
    ///
    /// # Errors
    /// [`DynamoError::Corrupt`]: the row is not what the writer writes.
    pub fn open(self, facts: &str) -> Result<Option<Self>, DynamoError> {
        if !self.key.pk.starts_with(PREFIX) {
            return Ok(Some(self));
        }
        let (None, Some(item)) = (&self.before, &self.after) else { return Ok(None) };
        let row = Row { table: facts, item: item.clone() };
        let (change, letter) = (row.text(CHANGE)?, row.text(LETTER)?);
        let opened = self.brought_by(change, letter);
        opened.map(Some).ok_or_else(|| row.corrupt(CHANGE, "a change of a fact"))
    }

    /// The change that the changed row contains.
    fn brought_by(&self, change: &str, letter: &str) -> Option<Self> {
        let members = Members::read(change, NAMES, self.at).ok()?;
        let change = UnfoldedChange::read(UnfoldedChange::TYPES[0], &members).ok()?;
        let [before, after] = change.images()?;
        let redriven = Some(Redriven { view: change.view, letter: letter.to_owned() });
        let UnfoldedChange { key, at, .. } = change;
        Some(Self { key, before, after, sequence: self.sequence, at, redriven })
    }
}
