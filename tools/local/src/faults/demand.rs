//! What a call demands of a table.

use aws_smithy_runtime_api::client::orchestrator::HttpRequest;
use nagare_telemetry::faults::Rates;
use serde_json::Value;

/// The hash keys of the tables.
const HASH_KEYS: [&str; 3] = ["viewer_id", "pk", "id"];

/// The kind of units that a call takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Units {
    Read,
    Write,
}

impl Units {
    /// The settings for a table and for a partition, by name.
    pub(super) fn rates(self, rates: &Rates) -> [Rate; 2] {
        match self {
            Self::Write => [("writes", rates.writes), ("partition-writes", rates.partition_writes)],
            Self::Read => [("reads", rates.reads), ("partition-reads", rates.partition_reads)],
        }
    }
}

/// The name of a setting, and its rate.
pub(super) type Rate = (&'static str, Option<f64>);

/// A call's demand: one unit for each of its items, whatever their size.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Demand {
    pub(super) units: Units,
    /// The table and the partition of each item, in the order of the request.
    pub(super) items: Vec<(String, String)>,
    /// True if some of the items may be granted when there is not enough for all.
    pub(super) divisible: bool,
}

impl Demand {
    /// Reads a call's demand. `None` if it is not a call to the tables.
    pub(super) fn of(request: &HttpRequest) -> Option<Self> {
        let body = request.body().bytes()?;
        let body: Value = serde_json::from_slice(body).ok()?;
        let operation = operation(request)?;
        let (units, items) = match operation {
            "BatchWriteItem" => (Units::Write, batch(&body, writes)),
            "BatchGetItem" => (Units::Read, batch(&body, keys)),
            "TransactWriteItems" => (Units::Write, transaction(&body)),
            "TransactGetItems" => (Units::Read, transaction(&body)),
            "PutItem" => (Units::Write, one(&body, "Item")),
            "UpdateItem" | "DeleteItem" => (Units::Write, one(&body, "Key")),
            "GetItem" => (Units::Read, one(&body, "Key")),
            "Query" | "Scan" => (Units::Read, one(&body, "ExpressionAttributeValues")),
            _ => return None,
        };
        let divisible = !matches!(operation, "TransactWriteItems" | "TransactGetItems");
        Some(Self { units, items, divisible })
    }
}

/// The operation of a call to the tables.
pub(super) fn operation(request: &HttpRequest) -> Option<&str> {
    request.headers().get("x-amz-target")?.strip_prefix(super::super::tables_http::TARGET)
}

fn one(body: &Value, member: &str) -> Vec<(String, String)> {
    vec![(text(&body["TableName"]), partition(&body[member]))]
}

fn batch(body: &Value, items: fn(&Value) -> Vec<&Value>) -> Vec<(String, String)> {
    let tables = body["RequestItems"].as_object().into_iter().flatten();
    let items = tables.flat_map(|(table, requests)| {
        items(requests).into_iter().map(move |item| (table.clone(), partition(item)))
    });
    items.collect()
}

fn writes(requests: &Value) -> Vec<&Value> {
    let item = |request: &'_ Value| match request.get("PutRequest") {
        Some(_) => "/PutRequest/Item",
        None => "/DeleteRequest/Key",
    };
    let requests = requests.as_array().into_iter().flatten();
    requests.map(|request| request.pointer(item(request)).unwrap_or(&Value::Null)).collect()
}

fn keys(requests: &Value) -> Vec<&Value> {
    requests["Keys"].as_array().into_iter().flatten().collect()
}

/// A transaction takes two units for each item.
fn transaction(body: &Value) -> Vec<(String, String)> {
    let parts = body["TransactItems"].as_array().into_iter().flatten();
    let actions = parts.filter_map(|part| part.as_object()?.values().next());
    let items = actions.map(|action| {
        let item = action.get("Key").or(action.get("Item")).unwrap_or(&Value::Null);
        (text(&action["TableName"]), partition(item))
    });
    items.flat_map(|item| [item.clone(), item]).collect()
}

/// The partition that an item, a key or a query's values belong to.
fn partition(item: &Value) -> String {
    let names = HASH_KEYS.into_iter().map(str::to_owned);
    let mut names = names.chain([":viewer", ":pk"].map(str::to_owned));
    let found = names.find_map(|name| item.get(name));
    found.map_or_else(String::new, |value| text(&value["S"]))
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}
