//! Listing dead letters: page by page, so that a list needs no more memory than its reader keeps.
//!
//! There is no index. A list is a scan: DynamoDB reads every letter with its body, whatever of it is
//! asked for, and only what is asked for travels. An index by reason would make every letter two
//! writes, to save a cent a gigabyte of a list that somebody looks at when something went wrong.

use futures::{Stream, TryStreamExt, stream};

use super::store::{LETTER, read_letter};
use super::{DeadLetter, DeadLetters};
use crate::dynamo::item::{Item, number, text};
use crate::dynamo::{DynamoError, Query};
use crate::runtime::deadline::Deadline;

/// The attributes of a letter but for its body, and with it.
const HEAD: &str =
    "id, #part, message_id, reason, detail, verified, receive_count, sent_at, stored_at, #group";
const WITH_BODY: &str = "id, #part, message_id, reason, detail, verified, receive_count, sent_at, \
                         stored_at, #group, body";

/// Some dead letters, in no order, without their bodies.
#[derive(Debug, Clone, Default)]
pub struct DeadLetterPage {
    /// The letters.
    pub letters: Vec<DeadLetter>,
    /// Where to go on, if there is more.
    pub next: Option<Item>,
}

impl DeadLetters {
    /// Lists letters without their bodies, on from where the last page ended.
    ///
    /// # Errors
    /// [`DynamoError`]
    pub async fn page(
        &self,
        after: Option<Item>,
        deadline: Deadline,
    ) -> Result<DeadLetterPage, DynamoError> {
        self.scan(Query { projection: Some(HEAD), ..letters() }, after, deadline).await
    }

    /// Lists all letters, without their bodies and in no order. `deadline` makes the deadline of each
    /// page.
    pub fn all(
        &self,
        deadline: impl Fn() -> Deadline,
    ) -> impl Stream<Item = Result<DeadLetter, DynamoError>> {
        self.pages(Query { projection: Some(HEAD), ..letters() }, deadline)
    }

    /// Lists the letters whose bodies are shorter than `bytes`, with their bodies and in no order.
    /// `deadline` makes the deadline of each page.
    pub fn all_shorter_than(
        &self,
        bytes: usize,
        deadline: impl Fn() -> Deadline,
    ) -> impl Stream<Item = Result<DeadLetter, DynamoError>> {
        let mut query = Query { projection: Some(WITH_BODY), ..letters() };
        query.filter = Some("#part = :letter AND size(body) < :bytes");
        query.values.push((":bytes", number(bytes)));
        self.pages(query, deadline)
    }

    fn pages(
        &self,
        query: Query<'static>,
        deadline: impl Fn() -> Deadline,
    ) -> impl Stream<Item = Result<DeadLetter, DynamoError>> {
        let pages = stream::try_unfold((Some(None), deadline), move |(after, deadline)| {
            let query = query.clone();
            async move {
                let Some(after) = after else { return Ok::<_, DynamoError>(None) };
                let page = self.scan(query, after, deadline()).await?;
                let letters = stream::iter(page.letters.into_iter().map(Ok));
                Ok(Some((letters, (page.next.map(Some), deadline))))
            }
        });
        pages.try_flatten()
    }

    async fn scan(
        &self,
        query: Query<'_>,
        after: Option<Item>,
        deadline: Deadline,
    ) -> Result<DeadLetterPage, DynamoError> {
        let page = self.table.page(&Query { start: after, ..query }, deadline).await?;
        let letters = page.rows.iter().map(read_letter).collect::<Result<_, _>>()?;
        Ok(DeadLetterPage { letters, next: page.next })
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
