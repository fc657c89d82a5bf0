//! Pages of followers, on a fast path. A large fan-out reads thousands of edges at once, and reads them twice. The engine would build
//! a map for each of them, and all other calls would wait meanwhile.

use dynoxide::DynoxideError;
use dynoxide::storage::Storage;
use dynoxide::types::read_capacity_units_with_consistency;
use nagare_telemetry::numbers::READ_UNITS;
use parking_lot::MutexGuard;
use rusqlite::params_from_iter;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use shared::social::follows::EDGES_QUERY;

use super::super::schema;
use super::{Engine, units};

/// The number of edges that are read before other calls are let in: all of them, for most actors.
const AT_ONCE: usize = 200;
/// The prefix that the engine stores before a key of type text.
pub(super) const TEXT: &str = "S:";
/// A stored `false`.
const FALSE: &str = r#"{"BOOL":false}"#;

/// The query that [`shared::social::follows::Follows`] makes, recognised by its exact expressions.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase", deny_unknown_fields)]
pub struct EdgesQuery<'a> {
    table_name: &'a str,
    consistent_read: bool,
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
pub(super) struct Key<'a> {
    #[serde(borrow)]
    pub(super) pk: Text<&'a str>,
    pub(super) sk: Text<&'a str>,
}

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Text<T> {
    #[serde(rename = "S")]
    pub(super) text: T,
}

#[derive(Debug, Deserialize)]
struct Truth {
    #[serde(rename = "BOOL")]
    truth: bool,
}

impl<'a> EdgesQuery<'a> {
    /// Parses a query. None if it is a different one, or may be invalid.
    pub fn read(body: &'a [u8]) -> Option<Self> {
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

    /// The partition key of the actor's edges.
    pub fn partition(&self) -> &str {
        self.expression_attribute_values.pk.text
    }

    /// True for a sort key that comes before the answer.
    pub fn is_before(&self, sort_key: &str) -> bool {
        sort_key < self.expression_attribute_values.first.text || sort_key <= self.start()
    }

    /// True for a sort key after the requested range.
    pub fn is_behind(&self, sort_key: &str) -> bool {
        sort_key > self.expression_attribute_values.last.text
    }

    /// An answer without edges yet, of at most this number of bytes.
    pub fn page(&self, page_bytes: usize) -> EdgesPage<'_> {
        EdgesPage {
            query: self,
            page_bytes,
            items: Vec::new(),
            looked_at: 0,
            bytes: 0,
            reached: self.start().to_owned(),
            is_full: false,
        }
    }

    /// Answers from the tables, and lets other calls in after every few edges.
    pub(super) fn answer(&self, engine: &Engine) -> Result<String, DynoxideError> {
        let mut page = self.page(engine.limits.page_bytes);
        if self.read_on(engine, &mut page)? {
            engine.on_blocking_thread(|| {
                while self.read_on(engine, &mut page)? {}
                Ok::<_, DynoxideError>(())
            })?;
        }
        if let Some(numbers) = &engine.numbers {
            let units = read_capacity_units_with_consistency(page.bytes, self.consistent_read);
            numbers.add(READ_UNITS, units::table(self.table_name), units);
        }
        page.print().map_err(|e| broken(&e))
    }

    /// Reads the next few edges. Returns false if the page is full or there are no more.
    fn read_on(&self, engine: &Engine, page: &mut EdgesPage<'_>) -> Result<bool, DynoxideError> {
        let storage = engine.storage();
        let has_more = self.read_some(&storage, page);
        // The next waiting call gets the lock; otherwise this one would be the first to lock it again.
        MutexGuard::unlock_fair(storage);
        has_more
    }

    fn read_some(
        &self,
        storage: &Storage,
        page: &mut EdgesPage<'_>,
    ) -> Result<bool, DynoxideError> {
        let Values { pk, first, last, .. } = &self.expression_attribute_values;
        // One lower bound: with two, SQLite may start at the lower one and read past everything before
        // the other.
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
            let sort_key = text(0)?.strip_prefix(TEXT).unwrap_or_default();
            let size = row.get::<_, i64>(2)?.try_into().unwrap_or(usize::MAX);
            if !page.add(sort_key, edge.following, size) {
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

/// What is read of a stored edge.
#[derive(Deserialize)]
struct Stored<'a> {
    #[serde(borrow)]
    following: Option<&'a RawValue>,
}

/// A page of edges under construction.
pub struct EdgesPage<'q> {
    query: &'q EdgesQuery<'q>,
    /// The bytes read at which DynamoDB ends a page.
    page_bytes: usize,
    items: Vec<Shown>,
    looked_at: usize,
    bytes: usize,
    /// The last sort key that was read, or the start of the query.
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
    /// Adds the next edge: its sort key, its `following`, and its size. False if there is no room for
    /// another.
    pub fn add(&mut self, sort_key: &str, following: Option<&RawValue>, bytes: usize) -> bool {
        self.is_full = self.looked_at > 0 && self.bytes.saturating_add(bytes) > self.page_bytes;
        if self.is_full {
            return false;
        }
        self.bytes += bytes;
        self.looked_at += 1;
        self.reached.clear();
        self.reached.push_str(sort_key);
        let is_former = following.is_some_and(|value| value.get() == FALSE);
        if is_former || self.query.filter_expression.is_none() {
            let sk = Text { text: sort_key.to_owned() };
            self.items.push(Shown { following: following.map(ToOwned::to_owned), sk });
        }
        self.is_full = self.query.limit.is_some_and(|limit| usize::from(limit) == self.looked_at);
        !self.is_full
    }

    /// The answer, in JSON.
    ///
    /// # Errors
    /// None is expected.
    pub fn print(self) -> serde_json::Result<String> {
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
