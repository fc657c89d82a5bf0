//! Lists dead letters page by page, so that a list needs no more memory than its reader keeps.
//!
//! There is no index. A list is a scan: DynamoDB reads every letter with its body, and returns only what is requested. An index by
//! reason would double the writes of every letter, to save a cent a gigabyte of a list that is only read when something went wrong.

use futures::{Stream, TryStreamExt, stream};

use super::store::{LETTER, read_letter};
use super::{DeadLetter, DeadLetters};
use crate::platform::dynamo::item::text;
use crate::platform::dynamo::{DynamoError, Page, Query};

/// The attributes of a letter, without and with its body.
const HEAD: &str =
    "id, #part, message_id, reason, detail, evidence, receive_count, sent_at, stored_at, #group";

impl DeadLetters {
    /// Lists all letters, without their bodies and in no order.
    pub fn all(&self) -> impl Stream<Item = Result<DeadLetter, DynamoError>> {
        self.listed(Query { projection: Some(HEAD), ..letters() })
    }

    /// Lists the ids of the letters that no operator has looked at, in no order.
    pub fn not_looked_at(&self) -> impl Stream<Item = Result<String, DynamoError>> {
        let mut query = Query { projection: Some("id"), ..letters() };
        query.filter = Some("#part = :letter AND attribute_not_exists(looked_at)");
        query.names.retain(|(_, attribute)| *attribute == "part");
        let ids = self.table.pages(query).and_then(async |page: Page<'_>| {
            let ids = page.rows.iter().map(|row| row.text("id").map(ToOwned::to_owned));
            Ok(stream::iter(ids.collect::<Result<Vec<_>, _>>()?.into_iter().map(Ok)))
        });
        ids.try_flatten()
    }

    fn listed(&self, query: Query<'static>) -> impl Stream<Item = Result<DeadLetter, DynamoError>> {
        let letters = self.table.pages(query).and_then(async |page: Page<'_>| {
            let letters: Result<Vec<_>, _> = page.rows.iter().map(read_letter).collect();
            Ok(stream::iter(letters?.into_iter().map(Ok)))
        });
        letters.try_flatten()
    }
}

/// All letters: the items of the table that are no parts of bodies.
fn letters() -> Query<'static> {
    Query {
        filter: Some("#part = :letter"),
        names: vec![("#part", "part"), ("#group", "group_id")],
        values: vec![(":letter", text(LETTER))],
        ..Query::default()
    }
}
