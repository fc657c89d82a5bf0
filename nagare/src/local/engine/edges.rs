//! Pages of followers, on a fast path: a large fan-out reads thousands of edges at once, and twice.
//! The engine would make maps of all of them, and everybody else would wait meanwhile.

use dynoxide::DynoxideError;
use dynoxide::storage::Storage;
use parking_lot::MutexGuard;
use rusqlite::params_from_iter;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use shared::follows::EDGES_QUERY;

use super::super::schema;
use super::Engine;

/// Where DynamoDB ends a page, in bytes looked at.
const PAGE: usize = 1024 * 1024;
/// Edges that are read before others are let in: all of them, for most actors.
const AT_ONCE: usize = 200;
/// What the engine puts before a key that is a text.
const TEXT: &str = "S:";
/// How a false is stored.
const FALSE: &str = r#"{"BOOL":false}"#;

/// The query that [`shared::follows::Follows`] makes, recognised by the very expressions it makes it with.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase", deny_unknown_fields)]
pub(crate) struct EdgesQuery<'a> {
    table_name: &'a str,
    #[serde(rename = "ConsistentRead")]
    _consistent: bool,
    key_condition_expression: &'a str,
    filter_expression: Option<&'a str>,
    projection_expression: &'a str,
    #[serde(borrow)]
    expression_attribute_values: Values<'a>,
    exclusive_start_key: Option<Key<'a>>,
    limit: Option<u16>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Values<'a> {
    #[serde(rename = ":pk", borrow)]
    pk: Text<&'a str>,
    #[serde(rename = ":first")]
    first: Text<&'a str>,
    #[serde(rename = ":last")]
    last: Text<&'a str>,
    #[serde(rename = ":no")]
    no: Option<Truth>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Key<'a> {
    #[serde(borrow)]
    pk: Text<&'a str>,
    sk: Text<&'a str>,
}

#[derive(Debug, Serialize, Deserialize)]
struct Text<T> {
    #[serde(rename = "S")]
    text: T,
}

#[derive(Debug, Deserialize)]
struct Truth {
    #[serde(rename = "BOOL")]
    truth: bool,
}

impl<'a> EdgesQuery<'a> {
    /// Reads a query. None if it is another one, or may be wrong.
    pub(crate) fn read(body: &'a [u8]) -> Option<Self> {
        let query: Self = serde_json::from_slice(body).ok()?;
        let Values { pk, first, last, no } = &query.expression_attribute_values;
        let filters = match (query.filter_expression, no) {
            (None, None) => true,
            (Some(filter), Some(no)) => filter == EDGES_QUERY.former && !no.truth,
            _ => false,
        };
        let begins_inside = query.exclusive_start_key.as_ref().is_none_or(|start| {
            start.pk.text == pk.text && (first.text..=last.text).contains(&start.sk.text)
        });
        let right = query.table_name == schema::names().ledger
            && query.key_condition_expression == EDGES_QUERY.keys
            && query.projection_expression == EDGES_QUERY.projection
            && query.limit != Some(0)
            && !pk.text.is_empty()
            && !first.text.is_empty()
            && first.text <= last.text;
        (right && filters && begins_inside).then_some(query)
    }

    /// Whose followers.
    pub(crate) fn partition(&self) -> &str {
        self.expression_attribute_values.pk.text
    }

    /// True for a place that the answer begins behind.
    pub(crate) fn is_before(&self, place: &str) -> bool {
        place < self.expression_attribute_values.first.text || place <= self.start()
    }

    /// True for a place that is no longer asked for.
    pub(crate) fn is_behind(&self, place: &str) -> bool {
        place > self.expression_attribute_values.last.text
    }

    /// The answer, without any edges yet.
    pub(crate) fn page(&self) -> EdgesPage<'_> {
        EdgesPage {
            query: self,
            items: Vec::new(),
            looked_at: 0,
            bytes: 0,
            reached: self.start().to_owned(),
            is_full: false,
        }
    }

    /// Answers it from the tables, and lets others in every few edges.
    pub(super) fn answer(&self, engine: &Engine) -> Result<String, DynoxideError> {
        let mut page = self.page();
        if self.read_on(engine, &mut page)? {
            engine.on_blocking_thread(|| {
                while self.read_on(engine, &mut page)? {}
                Ok::<_, DynoxideError>(())
            })?;
        }
        page.print().map_err(|e| broken(&e))
    }

    /// Reads the next few edges. False if the page is full or there are no more.
    fn read_on(&self, engine: &Engine, page: &mut EdgesPage<'_>) -> Result<bool, DynoxideError> {
        let storage = engine.storage();
        let has_more = self.read_some(&storage, page);
        // Whoever waits is next, or this one would be the first to lock it again.
        MutexGuard::unlock_fair(storage);
        has_more
    }

    fn read_some(
        &self,
        storage: &Storage,
        page: &mut EdgesPage<'_>,
    ) -> Result<bool, DynoxideError> {
        let Values { pk, first, last, .. } = &self.expression_attribute_values;
        // One lower bound: with two SQLite may begin at the lower one and pass over all before the other.
        let (from, start) = match page.reached.as_str() {
            "" => (">=", first.text),
            reached => (">", reached),
        };
        let sql = format!(
            "SELECT sk, item_json, item_size FROM \"{}\" \
             WHERE pk = ?1 AND sk {from} ?2 AND sk <= ?3 ORDER BY sk LIMIT {AT_ONCE}",
            self.table_name
        );
        let keys = [pk.text, start, last.text].map(|key| format!("{TEXT}{key}"));
        let mut statement = storage.conn().prepare_cached(&sql)?;
        let mut rows = statement.query(params_from_iter(keys))?;
        let mut read = 0;
        while let Some(row) = rows.next()? {
            let text = |column| row.get_ref(column)?.as_str().map_err(rusqlite::Error::from);
            let edge: Stored<'_> = serde_json::from_str(text(1)?).map_err(|e| broken(&e))?;
            let place = text(0)?.strip_prefix(TEXT).unwrap_or_default();
            let size = row.get::<_, i64>(2)?.try_into().unwrap_or(PAGE);
            if !page.add(place, edge.following, size) {
                return Ok(false);
            }
            read += 1;
        }
        Ok(read == AT_ONCE)
    }

    fn start(&self) -> &str {
        self.exclusive_start_key.as_ref().map_or("", |start| start.sk.text)
    }
}

/// What is read of an edge in the tables.
#[derive(Deserialize)]
struct Stored<'a> {
    #[serde(borrow)]
    following: Option<&'a RawValue>,
}

/// A page of edges that is being put together.
pub(crate) struct EdgesPage<'q> {
    query: &'q EdgesQuery<'q>,
    items: Vec<Shown>,
    looked_at: usize,
    bytes: usize,
    /// The last place that was looked at, or where the query starts.
    reached: String,
    is_full: bool,
}

#[derive(Serialize)]
struct Shown {
    #[serde(skip_serializing_if = "Option::is_none")]
    following: Option<Box<RawValue>>,
    sk: Text<String>,
}

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct Answer<'a> {
    count: usize,
    items: Vec<Shown>,
    scanned_count: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    last_evaluated_key: Option<Key<'a>>,
}

impl EdgesPage<'_> {
    /// Adds the next edge: its place, what it says of following, and its size. False if there is no
    /// room for another.
    pub(crate) fn add(&mut self, place: &str, following: Option<&RawValue>, bytes: usize) -> bool {
        self.is_full = self.looked_at > 0 && self.bytes + bytes > PAGE;
        if self.is_full {
            return false;
        }
        self.bytes += bytes;
        self.looked_at += 1;
        self.reached.clear();
        self.reached.push_str(place);
        let is_former = following.is_some_and(|value| value.get() == FALSE);
        if is_former || self.query.filter_expression.is_none() {
            let sk = Text { text: place.to_owned() };
            self.items.push(Shown { following: following.map(ToOwned::to_owned), sk });
        }
        self.is_full = self.query.limit.is_some_and(|limit| usize::from(limit) == self.looked_at);
        !self.is_full
    }

    /// The answer, in JSON.
    ///
    /// # Errors
    /// None that could be foreseen.
    pub(crate) fn print(self) -> serde_json::Result<String> {
        let pk = Text { text: self.query.partition() };
        let next = Key { pk, sk: Text { text: &self.reached } };
        serde_json::to_string(&Answer {
            count: self.items.len(),
            items: self.items,
            scanned_count: self.looked_at,
            last_evaluated_key: self.is_full.then_some(next),
        })
    }
}

fn broken(error: &serde_json::Error) -> DynoxideError {
    DynoxideError::InternalServerError(format!("an edge in the tables: {error}"))
}
