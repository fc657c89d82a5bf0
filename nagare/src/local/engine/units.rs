//! What calls consume, counted where the sizes of items are known anyway.
//!
//! The engine reports what a call consumes if it is asked. So every call of an engine that
//! [counts](super::Engine::counted) is asked, and answers as if it were not.

use dynoxide::DynoxideError;
use dynoxide::actions::batch_get_item::{BatchGetItemRequest, BatchGetItemResponse};
use dynoxide::actions::batch_write_item::{BatchWriteItemRequest, BatchWriteItemResponse};
use dynoxide::actions::delete_item::{DeleteItemRequest, DeleteItemResponse};
use dynoxide::actions::describe_table::{DescribeTableRequest, DescribeTableResponse};
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
use dynoxide::types::{ConsumedCapacity, Item, item_size, write_capacity_units};

use super::super::schema;
use crate::console::numbers::{Numbers, READ_UNITS, WRITE_UNITS};

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
    DescribeTableRequest DescribeTableResponse,
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

/// Whether a request asks for nothing, or for a sum and nothing else.
pub(super) fn asks_at_most_a_sum(mode: Option<&str>) -> bool {
    matches!(mode, None | Some(TOTAL))
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

/// What a new item of the ledger consumes, together with its row in the index, which has nothing but keys.
pub(super) fn of_new_ledger_item(item: &Item) -> f64 {
    let is_indexed = ["follower_id", "followee_id"].iter().all(|name| item.contains_key(*name));
    write_capacity_units(item_size(item)) + f64::from(u8::from(is_indexed))
}

/// A table, as the console calls it.
pub(super) fn table(name: &str) -> &'static str {
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
