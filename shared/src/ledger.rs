//! The ledger: the one table of what must not be lost.
//!
//! ```text
//! pk                       sk                          what                        whose
//! activity#<activity>      claim                       the owner of the id         activities
//! activity#<activity>      actor#<actor>               the activity record         activities
//! outbox#<actor>           <sort key>                  the actor published this    activities
//! followers#<followee>     <hash>#<follower>           an edge                     follows
//! fanout#<activity>        actor#<actor>#<what>#…      progress of a long fan-out  fanout
//! settle#<viewer>#<actor>  <message>                   progress of a long follow   fanout
//! person#<viewer>#<what>   …                           what is about one person    several
//! changes#<copy>           changes                     which records have changed  activities
//! tags#<activity>          <person>                    who is tagged in it         tags
//! listing#<activity>       <message>                   progress of a long publish  tags
//! message#<room>#<message> claim, deleted#<author>     whose a message is; deletes rooms
//! room#<room>              room                        what is known of a room     rooms
//! room#<room>#<shard>      <sort key>                  a message                   rooms
//! said#<room>#<author>     <sort key>                  the same, by author         rooms
//! events#<what>            …                           periods and their archives  events
//! tenant#<tenant>#<what>   …                           rules, payloads, alerts     tenants
//! tenants#daily            <tenant>                    daily decisions: progress   tenants
//! ```
//!
//! Each feature makes its own keys, in its file `keys.rs`, and reads them back in `of_key`; the prefixes
//! above are distinct, and [`LedgerItem`] knows all of them. No id contains `#`, so no id can reach into
//! another's keys.
//!
//! **Why one ledger.** Follows, activities and outboxes are what must not be lost. They are backed
//! up, restored and protected together, or a restore would tear edges from activities. Timelines
//! are a table of their own because they are derived: they expire, they are the hot one, and a lost
//! one can be rebuilt. Dead letters are a third because they are raw input, kept for operators, and
//! the function that stores them has no business in the ledger.
//!
//! **What is about one person** is erased in one way, whatever it is: everything but its key and the
//! text `at` goes ([`PERSON`]). So an item there has in `at` the instant of its change, or another text after
//! each; it is written only over what is older, and counts as absent once it is [marked as expired](FORGET_AT) and
//! has no content.
//!
//! The exception is what clients [have seen](crate::paging) of lists about one person: items that never change, expire by
//! themselves, and are deleted by the erasure.
//!
//! [`LedgerItem`]: crate::ledger_item::LedgerItem

use aws_sdk_dynamodb::types::AttributeValue;

use crate::dynamo::item::{Item, Row, text};
use crate::dynamo::{Condition, Dynamo, DynamoError, Put, Table};
use crate::runtime::deadline::Deadline;
use crate::values::{Payload, Timestamp};

/// The attribute that the TTL of ledger, facts and views goes by, in unix seconds. The erasure of a person sets it on
/// what is left of them; what a viewer's clients have seen is written with it, and what is left of a deleted message
/// in its place. Nothing in force has it.
pub const FORGET_AT: &str = "forget_at";

/// The index of edges by follower: keys only, so that a follow costs it one write and a change of the
/// edge none. Operators read it; no request does.
pub const BY_FOLLOWER: &str = "by_follower";

/// How the partition keys begin that hold what is about one person and goes with them.
pub const PERSON: &str = "person#";

/// A key of the ledger.
pub use crate::dynamo::item::Key as LedgerKey;

/// The ledger. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Ledger(Table);

impl Ledger {
    /// The ledger in this table.
    #[must_use]
    pub fn new(table: Table) -> Self {
        Self(table)
    }

    /// The same for another piece of work, whose usage counts there.
    #[must_use]
    pub fn over(&self, dynamo: &Dynamo) -> Self {
        Self(self.0.over(dynamo))
    }

    /// The table.
    #[must_use]
    pub fn table(&self) -> &Table {
        &self.0
    }

    /// The item at a key, if there is one.
    ///
    /// # Errors
    /// [`DynamoError`]
    pub async fn get(
        &self,
        key: LedgerKey,
        deadline: Deadline,
    ) -> Result<Option<Row<'_>>, DynamoError> {
        self.0.get(key.into_item(), deadline).await
    }

    /// Writes an item whole, whatever is there: one that is written once, or of which nothing is to stay. Others are
    /// [replaced](Self::replace).
    ///
    /// # Errors
    /// [`DynamoError`]; it may have been written.
    pub async fn put(
        &self,
        key: LedgerKey,
        attributes: impl IntoIterator<Item = (String, AttributeValue)>,
        deadline: Deadline,
    ) -> Result<(), DynamoError> {
        self.0.put(item(key, attributes), deadline).await
    }

    /// Writes an item whole if a condition holds.
    ///
    /// # Errors
    /// [`DynamoError`]; it may have been written.
    pub async fn put_if(
        &self,
        key: LedgerKey,
        attributes: impl IntoIterator<Item = (String, AttributeValue)>,
        condition: Condition<'_>,
        deadline: Deadline,
    ) -> Result<Put, DynamoError> {
        self.0.put_if(item(key, attributes), condition, deadline).await
    }

    /// Writes all that is known of an item if a condition holds: sets attributes, and takes out those of `optional` that are not
    /// among them, and that it expires. [Whatever else it has stays](Table::replace).
    ///
    /// # Errors
    /// [`DynamoError`]; it may have been written.
    pub async fn replace(
        &self,
        key: LedgerKey,
        attributes: impl IntoIterator<Item = (String, AttributeValue)>,
        optional: &[&str],
        condition: Option<Condition<'_>>,
        deadline: Deadline,
    ) -> Result<Put, DynamoError> {
        let attributes = attributes.into_iter().collect();
        // What was erased and is there again does not expire.
        let optional = [optional, &[FORGET_AT]].concat();
        self.0.replace(key.into_item(), attributes, &optional, condition, deadline).await
    }

    /// Writes a payload that is said at an instant, unless what wins over it is on record: the latest wins, and on a tie the payload that is greater
    /// byte by byte. One that was erased has no payload, and none of that instant is greater than none.
    ///
    /// # Errors
    /// [`DynamoError`]; it may have been written.
    pub async fn put_latest(
        &self,
        key: LedgerKey,
        at: Timestamp,
        payload: &Payload,
        deadline: Deadline,
    ) -> Result<(), DynamoError> {
        let (at, payload) = (text(at.to_string()), text(payload.as_json()));
        let said = [("at".to_owned(), at.clone()), ("payload".to_owned(), payload.clone())];
        let wins = Condition::new(
            "attribute_not_exists(#at) OR #at < :at OR (#at = :at AND payload < :payload)",
        );
        let wins = wins.name("#at", "at").value(":at", at).value(":payload", payload);
        self.replace(key, said, &[], Some(wins), deadline).await.map(|_| ())
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
        deadline: Deadline,
    ) -> Result<Option<Put>, DynamoError> {
        self.0.put_unless_hot(item(key, attributes), condition, deadline).await
    }

    /// Deletes an item, whatever it is.
    ///
    /// # Errors
    /// [`DynamoError`]; it may have been deleted.
    pub async fn delete(&self, key: LedgerKey, deadline: Deadline) -> Result<(), DynamoError> {
        self.0.delete(key.into_item(), None, deadline).await.map(|_| ())
    }
}

fn item(key: LedgerKey, attributes: impl IntoIterator<Item = (String, AttributeValue)>) -> Item {
    let mut item = key.into_item();
    item.extend(attributes);
    item
}
