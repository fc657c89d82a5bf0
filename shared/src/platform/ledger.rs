//! The ledger: the one table of what must not be lost.
//!
//! Each feature makes its own keys in its file `keys.rs`, declares what is [stored](crate::platform::stored) under them, and parses them in
//! `of_key`, by one table (`dynamo::keys`). The prefixes are distinct, and [`LedgerItem`] knows all of them. No id contains `#`, so no id can
//! collide with the keys of another one.
//!
//! **Why one ledger.** Follows, activities and outboxes must not be lost. They are backed up, restored and protected
//! together; otherwise a restore would separate edges from activities. Timelines are a table of their own because they are
//! derived: they expire, they are written most, and a lost one can be rebuilt. Dead letters are a third table because they are
//! raw input for operators, and the function that stores them needs no access to the ledger.
//!
//! **Items about one person** are all erased in one way: everything except the key and the text `at` is removed ([`PERSON`]).
//! So such an item has the instant of its change in `at`, or another text after each change. It only replaces older items, and
//! counts as absent once it is [marked as expired](FORGET_AT) and has no content.
//!
//! The exception is what clients [have seen](crate::platform::paging) of lists about one person. Those items never change, expire by
//! themselves, and are deleted by an erasure.
//!
//! [`LedgerItem`]: crate::ledger_item::LedgerItem

use aws_sdk_dynamodb::types::AttributeValue;

use crate::platform::dynamo::item::{Item, Row, text};
use crate::platform::dynamo::{Condition, Dynamo, DynamoError, Put, Table};
use crate::platform::values::{Payload, Timestamp};

/// The TTL attribute of ledger, facts and views, in unix seconds. The erasure of a person sets it on the remaining items. The
/// stored sets of what clients have seen have it, the tombstones of messages, and counts of refusals. No other item in force has it.
pub const FORGET_AT: &str = "forget_at";

/// The index of edges by follower. It has keys only, so a follow costs it one write and a change of the edge none. Only
/// operators read it.
pub const BY_FOLLOWER: &str = "by_follower";

/// The prefix of the partition keys of items about one person, which are erased with the person.
pub const PERSON: &str = "person#";

pub use crate::platform::dynamo::item::Key as LedgerKey;

/// The ledger. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Ledger(Table);

impl Ledger {
    pub fn new(table: Table) -> Self {
        Self(table)
    }

    /// The same ledger, with the client of a piece of work.
    #[must_use]
    pub fn over(&self, dynamo: &Dynamo) -> Self {
        Self(self.0.over(dynamo))
    }

    pub fn table(&self) -> &Table {
        &self.0
    }

    /// The item at a key, if there is one.
    pub async fn get(&self, key: LedgerKey) -> Result<Option<Row<'_>>, DynamoError> {
        self.0.get(key.into_item()).await
    }

    /// Puts an item, whatever is there. Only for items that are written once, or of which nothing should stay; others are
    /// [replaced](Self::replace).
    ///
    /// # Errors
    /// [`DynamoError`]; it may have been written.
    pub async fn put(
        &self,
        key: LedgerKey,
        attributes: impl IntoIterator<Item = (String, AttributeValue)>,
    ) -> Result<(), DynamoError> {
        self.0.put(item(key, attributes)).await
    }

    /// Puts an item if a condition holds.
    ///
    /// # Errors
    /// [`DynamoError`]; it may have been written.
    pub async fn put_if(
        &self,
        key: LedgerKey,
        attributes: impl IntoIterator<Item = (String, AttributeValue)>,
        condition: Condition<'_>,
    ) -> Result<Put, DynamoError> {
        self.0.put_if(item(key, attributes), condition).await
    }

    /// Writes the known attributes of an item if a condition holds. Removes those of `optional` that are not among them, and the
    /// mark that it expires. [All other attributes stay](Table::replace).
    ///
    /// # Errors
    /// [`DynamoError`]; it may have been written.
    pub async fn replace(
        &self,
        key: LedgerKey,
        attributes: impl IntoIterator<Item = (String, AttributeValue)>,
        optional: &[&str],
        condition: Option<Condition<'_>>,
    ) -> Result<Put, DynamoError> {
        let attributes = attributes.into_iter().collect();
        // An erased item that is written again does not expire.
        let optional = [optional, &[FORGET_AT]].concat();
        self.0.replace(key.into_item(), attributes, &optional, condition).await
    }

    /// Writes a payload with its instant, unless one that wins over it is on record. The latest wins, and on a tie the payload that
    /// is greater byte by byte. An erased item has no payload, and wins a tie.
    ///
    /// # Errors
    /// [`DynamoError`]; it may have been written.
    pub async fn put_latest(
        &self,
        key: LedgerKey,
        at: Timestamp,
        payload: &Payload,
    ) -> Result<(), DynamoError> {
        let (at, payload) = (text(at.to_string()), text(payload.as_json()));
        let said = [("at".to_owned(), at.clone()), ("payload".to_owned(), payload.clone())];
        let wins = Condition::new(
            "attribute_not_exists(#at) OR #at < :at OR (#at = :at AND payload < :payload)",
        );
        let wins = wins.name("#at", "at").value(":at", at).value(":payload", payload);
        self.replace(key, said, &[], Some(wins)).await.map(|_| ())
    }

    /// Like [`put_if`](Self::put_if). Writes nothing and returns `None` if the partition is throttled.
    ///
    /// # Errors
    /// [`DynamoError`]; it may have been written.
    pub async fn put_unless_hot(
        &self,
        key: LedgerKey,
        attributes: impl IntoIterator<Item = (String, AttributeValue)>,
        condition: Condition<'_>,
    ) -> Result<Option<Put>, DynamoError> {
        self.0.put_unless_hot(item(key, attributes), condition).await
    }

    /// Deletes an item unconditionally.
    ///
    /// # Errors
    /// [`DynamoError`]; it may have been deleted.
    pub async fn delete(&self, key: LedgerKey) -> Result<(), DynamoError> {
        self.0.delete(key.into_item(), None).await.map(|_| ())
    }
}

fn item(key: LedgerKey, attributes: impl IntoIterator<Item = (String, AttributeValue)>) -> Item {
    let mut item = key.into_item();
    item.extend(attributes);
    item
}
