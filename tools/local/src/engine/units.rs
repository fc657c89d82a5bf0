//! The capacity that calls consume, counted where the sizes of items are known anyway.
//!
//! The engine reports consumed capacity only if a request asks for it. So an engine that [counts](super::Engine::counted) asks in
//! every call, and its answers are the same as if it did not.

use dynoxide::DynoxideError;
use dynoxide::actions::batch_get_item::{BatchGetItemRequest, BatchGetItemResponse};
use dynoxide::actions::batch_write_item::{BatchWriteItemRequest, BatchWriteItemResponse};
use dynoxide::actions::delete_item::{DeleteItemRequest, DeleteItemResponse};
use dynoxide::actions::describe_time_to_live::{
    DescribeTimeToLiveRequest, DescribeTimeToLiveResponse,
};
use dynoxide::actions::get_item::{GetItemRequest, GetItemResponse};
use dynoxide::actions::list_tables::{ListTablesRequest, ListTablesResponse};
use dynoxide::actions::put_item::{PutItemRequest, PutItemResponse};
use dynoxide::actions::query::{QueryRequest, QueryResponse};
use dynoxide::actions::scan::{ScanRequest, ScanResponse};
use dynoxide::actions::transact_get_items::{TransactGetItemsRequest, TransactGetItemsResponse};
use dynoxide::actions::transact_write_items::{
    TransactWriteItemsRequest, TransactWriteItemsResponse,
};
use dynoxide::actions::update_item::{UpdateItemRequest, UpdateItemResponse};
use dynoxide::types::ConsumedCapacity;
use nagare_telemetry::numbers::{Numbers, READ_UNITS, WRITE_UNITS};

use crate::schema;

/// Asks for the sum of what a call consumes.
const TOTAL: &str = "TOTAL";
/// What writes that a condition refused are counted by.
const REFUSED: &str = "refused by a condition";

/// A request.
pub(super) trait Asking {
    /// The kind of units that it takes.
    const UNITS: &'static str;

    /// Whether it asks what it consumes, if it can.
    fn mode(&mut self) -> Option<&mut Option<String>>;
}

/// The answer.
pub(super) trait Reporting {
    /// Takes out what it reports.
    fn report(&mut self) -> Vec<ConsumedCapacity>;
}

macro_rules! reporting {
    ($($request:ident $response:ident $units:ident,)*) => {$(
        impl Asking for $request {
            const UNITS: &'static str = $units;

            fn mode(&mut self) -> Option<&mut Option<String>> {
                Some(&mut self.return_consumed_capacity)
            }
        }

        impl Reporting for $response {
            fn report(&mut self) -> Vec<ConsumedCapacity> {
                self.consumed_capacity.take().into_iter().flatten_report()
            }
        }
    )*};
}

macro_rules! silent {
    ($($request:ident $response:ident,)*) => {$(
        impl Asking for $request {
            const UNITS: &'static str = READ_UNITS;

            fn mode(&mut self) -> Option<&mut Option<String>> {
                None
            }
        }

        impl Reporting for $response {
            fn report(&mut self) -> Vec<ConsumedCapacity> {
                Vec::new()
            }
        }
    )*};
}

reporting! {
    BatchGetItemRequest BatchGetItemResponse READ_UNITS,
    BatchWriteItemRequest BatchWriteItemResponse WRITE_UNITS,
    DeleteItemRequest DeleteItemResponse WRITE_UNITS,
    GetItemRequest GetItemResponse READ_UNITS,
    PutItemRequest PutItemResponse WRITE_UNITS,
    QueryRequest QueryResponse READ_UNITS,
    ScanRequest ScanResponse READ_UNITS,
    TransactGetItemsRequest TransactGetItemsResponse READ_UNITS,
    TransactWriteItemsRequest TransactWriteItemsResponse WRITE_UNITS,
    UpdateItemRequest UpdateItemResponse WRITE_UNITS,
}
silent! {
    DescribeTimeToLiveRequest DescribeTimeToLiveResponse,
    ListTablesRequest ListTablesResponse,
}

/// One table's report, or those of several.
trait FlattenReport {
    fn flatten_report(self) -> Vec<ConsumedCapacity>;
}

impl FlattenReport for std::option::IntoIter<ConsumedCapacity> {
    fn flatten_report(self) -> Vec<ConsumedCapacity> {
        self.collect()
    }
}

impl FlattenReport for std::option::IntoIter<Vec<ConsumedCapacity>> {
    fn flatten_report(self) -> Vec<ConsumedCapacity> {
        self.flatten().collect()
    }
}

/// Has a request ask what it consumes. False if it cannot, or does anyway: then its answer stays as it is.
pub(super) fn ask<Q: Asking>(request: &mut Q) -> bool {
    match request.mode() {
        Some(mode @ None) => {
            *mode = Some(TOTAL.to_owned());
            true
        }
        _ => false,
    }
}

/// Counts what a call has consumed.
pub(super) fn count<Q: Asking>(numbers: &Numbers, answer: &mut impl Reporting) {
    for ConsumedCapacity { table_name, capacity_units, .. } in answer.report() {
        numbers.add(Q::UNITS, table(&table_name), capacity_units);
    }
}

/// Counts what a call has consumed that a condition refused. The engine does not report it. DynamoDB charges a refused
/// write for what is there, which is one unit here, and a cancelled transaction twice that for the item that refused it, at
/// least.
pub(super) fn count_refusal(numbers: &Numbers, error: &DynoxideError) {
    let units = match error {
        DynoxideError::ConditionalCheckFailedException(..) => 1.0,
        DynoxideError::TransactionCanceledException(_, reasons)
            if reasons.iter().any(|reason| reason.code == "ConditionalCheckFailed") =>
        {
            2.0
        }
        _ => return,
    };
    numbers.add(WRITE_UNITS, REFUSED, units);
}

/// A table, as the console calls it.
pub(super) fn table(name: &str) -> &'static str {
    if name.starts_with(schema::EVENTS_PREFIX) {
        return "events";
    }
    let names = schema::names();
    let tables = [
        (names.timelines, "timelines"),
        (names.ledger, "ledger"),
        (names.facts, "facts"),
        (names.views, "views"),
        (names.dead_letters, "dead letters"),
    ];
    tables.into_iter().find(|(other, _)| other == name).map_or("", |(_, called)| called)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};
    use shared::platform::runtime::clock::Clock;

    use super::super::tables::Engine;
    use super::*;

    /// What is counted of a call.
    fn counted(engine: &Engine, operation: &str, body: &Value, name: &str) -> f64 {
        let numbers = Numbers::new(Clock::system());
        let counting = engine.counted(numbers.clone());
        let (status, answer) = counting.call(operation, body.to_string().as_bytes());
        assert_eq!((status, answer.contains("ConsumedCapacity")), (200, false), "{answer}");
        numbers.ever(name, None).sum
    }

    #[test]
    fn the_capacity_of_each_call_is_counted() {
        let names = schema::names();
        let text = |text: &str| json!({"S": text});
        let put = |item: Value| json!({"TableName": names.ledger, "Item": item, "ConditionExpression": "attribute_not_exists(pk)"});
        let edge = put(json!({"pk": text("e#anna"), "sk": text("bob"), "follower_id": text("bob"),
            "followee_id": text("anna")}));
        let update = json!({"TableName": names.ledger, "Key": {"pk": text("e#anna"), "sk": text("eve")},
            "UpdateExpression": "SET #0=:0,#1=:1", "ConditionExpression": "attribute_not_exists(pk)",
            "ExpressionAttributeNames": {"#0": "follower_id", "#1": "followee_id"},
            "ExpressionAttributeValues": {":0": text("eve"), ":1": text("anna")}});
        let large =
            put(json!({"pk": text("a#1"), "sk": text("a"), "payload": text(&"x".repeat(2_500))}));
        let entries: Vec<_> = (0..25)
            .map(|n| {
                json!({"PutRequest": {"Item": {"viewer_id": text(&format!("v{n}")), "sort_key": text("1"),
                    "actor_id": text("anna"), "expires_at": {"N": "1"}}}})
            })
            .collect();
        let batch = json!({"RequestItems": {&names.timelines: entries}});
        let get = json!({"TableName": names.ledger, "Key": {"pk": text("a#1"), "sk": text("a")}});
        let query = json!({"TableName": names.ledger, "ConsistentRead": true, "KeyConditionExpression": "pk = :pk",
            "ExpressionAttributeValues": {":pk": text("nobody")}});
        let transaction = json!({"TransactItems": [{"Put": {"TableName": names.views,
            "Item": {"pk": text("1"), "sk": text("1")}}}]});
        let engine = Engine::in_memory().unwrap();
        for (operation, body, name, units) in [
            ("PutItem", edge, WRITE_UNITS, 2.0),
            ("PutItem", large, WRITE_UNITS, 3.0),
            ("UpdateItem", update, WRITE_UNITS, 2.0),
            ("BatchWriteItem", batch, WRITE_UNITS, 25.0),
            ("TransactWriteItems", transaction, WRITE_UNITS, 2.0),
            ("GetItem", get, READ_UNITS, 0.5),
            ("Query", query, READ_UNITS, 1.0),
        ] {
            assert_eq!(counted(&engine, operation, &body, name), units, "{operation}");
        }
    }

    #[test]
    fn refused_writes_are_counted_by_the_least_they_cost() {
        let (engine, numbers) = (Engine::in_memory().unwrap(), Numbers::new(Clock::system()));
        let counting = engine.counted(numbers.clone());
        let ledger = schema::names().ledger;
        let put = json!({"TableName": ledger, "Item": {"pk": {"S": "1"}, "sk": {"S": "1"}},
            "ConditionExpression": "attribute_not_exists(pk)"});
        let both = json!({"TransactItems": [{"Put": put}]});
        let call =
            |operation, body: &Value| counting.call(operation, body.to_string().as_bytes()).0;
        assert_eq!(call("PutItem", &put), 200);
        assert_eq!((call("PutItem", &put), call("TransactWriteItems", &both)), (400, 400));
        assert_eq!(numbers.ever(WRITE_UNITS, Some("ledger")).sum, 1.0);
        assert_eq!(numbers.ever(WRITE_UNITS, Some(REFUSED)).sum, 3.0);
    }

    /// `cargo test -p nagare-local --lib what_counting_costs -- --ignored --nocapture`
    #[test]
    #[ignore = "measures"]
    fn what_counting_costs() {
        use std::time::{Duration, Instant};
        const ROUNDS: usize = 2_000;
        let names = schema::names();
        let text = |text: String| json!({"S": text});
        let batch = |round: usize| {
            let entry = |n: usize| {
                json!({"PutRequest": {"Item": {"viewer_id": text(format!("v{round}-{n}")), "sort_key": text("1".into()),
                    "actor_id": text("anna".into()), "expires_at": {"N": "1"}}}})
            };
            json!({"RequestItems": {&names.timelines: (0..25).map(entry).collect::<Vec<_>>()}})
        };
        let put = |round: usize| {
            let item = json!({"pk": text(format!("p{round}")), "sk": text("1".into())});
            json!({"TableName": names.facts, "Item": item})
        };
        let transact = |round: usize| {
            let item = json!({"pk": text(format!("t{round}")), "sk": text("1".into())});
            json!({"TransactItems": [{"Put": {"TableName": names.views, "Item": item}}]})
        };
        let get = |round: usize| json!({"TableName": names.facts, "Key": {"pk": text(format!("p{round}")), "sk": text("1".into())}});
        let calls: [(&str, &dyn Fn(usize) -> Value); 4] = [
            ("BatchWriteItem", &batch),
            ("PutItem", &put),
            ("TransactWriteItems", &transact),
            ("GetItem", &get),
        ];
        let plain = Engine::in_memory().unwrap();
        let other = Engine::in_memory().unwrap();
        let counting = other.counted(Numbers::new(Clock::system()));
        for (operation, body) in calls {
            let mut took = [Duration::ZERO; 2];
            for round in 0..ROUNDS {
                let body = body(round).to_string();
                for (engine, took) in [&plain, &counting].into_iter().zip(&mut took) {
                    let begun = Instant::now();
                    assert_eq!(engine.call(operation, body.as_bytes()).0, 200);
                    *took += begun.elapsed();
                }
            }
            let [without, with] = took.map(|took| took / ROUNDS as u32);
            println!("{operation}: {without:?} without counting, {with:?} with");
        }
    }
}
