//! The checks of each request before it is executed.

use std::collections::HashMap;

use dynoxide::DynoxideError;
use dynoxide::actions::batch_get_item::BatchGetItemRequest;
use dynoxide::actions::batch_write_item::BatchWriteItemRequest;
use dynoxide::actions::delete_item::DeleteItemRequest;
use dynoxide::actions::describe_time_to_live::DescribeTimeToLiveRequest;
use dynoxide::actions::get_item::GetItemRequest;
use dynoxide::actions::list_tables::ListTablesRequest;
use dynoxide::actions::put_item::PutItemRequest;
use dynoxide::actions::query::QueryRequest;
use dynoxide::actions::scan::ScanRequest;
use dynoxide::actions::transact_get_items::TransactGetItemsRequest;
use dynoxide::actions::transact_write_items::{TransactWriteItem, TransactWriteItemsRequest};
use dynoxide::actions::update_item::UpdateItemRequest;
use dynoxide::types::{AttributeValue, item_size};
use shared::platform::dynamo::Limits;

use super::expressions::Expressions;
use super::{are_shrunk, check_item, refusal};

/// The most bytes of a hash key. The engine checks those of other requests.
const HASH_KEY_BYTES: usize = 2_048;
const CONDITION: &str = "ConditionExpression";
const FILTER: &str = "FilterExpression";
const KEYS: &str = "KeyConditionExpression";
const PROJECTION: &str = "ProjectionExpression";
const UPDATE: &str = "UpdateExpression";

const NONE: (&str, Option<&str>) = ("", None);

/// The expressions of a request that gives them names and values.
macro_rules! expressions {
    ($of:expr, $texts:expr) => {
        Expressions {
            texts: $texts,
            names: $of.expression_attribute_names.as_ref(),
            values: $of.expression_attribute_values.as_ref(),
        }
    };
}

/// A request that may be beyond a limit.
pub(in super::super) trait Limited {
    /// Refuses what DynamoDB refuses of what the request says.
    fn check(&self, limits: &Limits) -> Result<(), DynoxideError>;
}

impl Limited for PutItemRequest {
    fn check(&self, limits: &Limits) -> Result<(), DynoxideError> {
        check_item(&self.item, limits)?;
        let texts = [(CONDITION, self.condition_expression.as_deref()), NONE, NONE];
        expressions!(self, texts).check(limits)
    }
}

impl Limited for UpdateItemRequest {
    fn check(&self, limits: &Limits) -> Result<(), DynoxideError> {
        let update = (UPDATE, self.update_expression.as_deref());
        let texts = [update, (CONDITION, self.condition_expression.as_deref()), NONE];
        expressions!(self, texts).check(limits)
    }
}

impl Limited for DeleteItemRequest {
    fn check(&self, limits: &Limits) -> Result<(), DynoxideError> {
        let texts = [(CONDITION, self.condition_expression.as_deref()), NONE, NONE];
        expressions!(self, texts).check(limits)
    }
}

impl Limited for GetItemRequest {
    fn check(&self, limits: &Limits) -> Result<(), DynoxideError> {
        let texts = [(PROJECTION, self.projection_expression.as_deref()), NONE, NONE];
        let names = self.expression_attribute_names.as_ref();
        Expressions { texts, names, values: None }.check(limits)
    }
}

impl Limited for QueryRequest {
    fn check(&self, limits: &Limits) -> Result<(), DynoxideError> {
        let keys = self.key_condition_expression.as_deref().unwrap_or_default();
        let mut values = self.expression_attribute_values.iter().flatten();
        if values.any(|(name, value)| value.size() > HASH_KEY_BYTES && keys.contains(name.as_str()))
        {
            return Err(refusal(
                "One or more parameter values were invalid: Size of hashkey has exceeded the maximum size limit \
                 of2048 bytes",
            ));
        }
        let texts = [
            (KEYS, self.key_condition_expression.as_deref()),
            (FILTER, self.filter_expression.as_deref()),
            (PROJECTION, self.projection_expression.as_deref()),
        ];
        expressions!(self, texts).check(limits)
    }
}

impl Limited for ScanRequest {
    fn check(&self, limits: &Limits) -> Result<(), DynoxideError> {
        let filter = (FILTER, self.filter_expression.as_deref());
        let texts = [filter, (PROJECTION, self.projection_expression.as_deref()), NONE];
        expressions!(self, texts).check(limits)
    }
}

impl Limited for BatchGetItemRequest {
    fn check(&self, limits: &Limits) -> Result<(), DynoxideError> {
        let keys = self.request_items.values().map(|table| table.keys.len()).sum::<usize>();
        check_number("RequestItems.member.Keys", keys, limits.batch_get_items, limits)?;
        self.request_items.values().try_for_each(|table| {
            let texts = [(PROJECTION, table.projection_expression.as_deref()), NONE, NONE];
            let names = table.expression_attribute_names.as_ref();
            Expressions { texts, names, values: None }.check(limits)
        })
    }
}

impl Limited for BatchWriteItemRequest {
    fn check(&self, limits: &Limits) -> Result<(), DynoxideError> {
        let writes = self.request_items.values().map(Vec::len).sum();
        check_number("requestItems", writes, limits.batch_write_items, limits)?;
        let mut puts = self.request_items.values().flatten().filter_map(|w| w.put_request.as_ref());
        puts.try_for_each(|put| check_item(&put.item, limits))
    }
}

impl Limited for TransactWriteItemsRequest {
    fn check(&self, limits: &Limits) -> Result<(), DynoxideError> {
        let actions = &self.transact_items;
        check_number("transactItems", actions.len(), limits.transaction_items, limits)?;
        actions.iter().try_for_each(|action| action.check(limits))?;
        let bytes = actions.iter().map(bytes_of).sum::<usize>();
        if are_shrunk(limits) && bytes > limits.transaction_bytes {
            return Err(refusal(
                "Collection size of items exceeded, which can also be caused by the aggregate size of the items in \
                 the transaction exceeding the 4MB limit",
            ));
        }
        Ok(())
    }
}

impl Limited for TransactWriteItem {
    fn check(&self, limits: &Limits) -> Result<(), DynoxideError> {
        if let Some(put) = &self.put {
            check_item(&put.item, limits)?;
            let texts = [(CONDITION, put.condition_expression.as_deref()), NONE, NONE];
            expressions!(put, texts).check(limits)?;
        }
        if let Some(update) = &self.update {
            let condition = (CONDITION, update.condition_expression.as_deref());
            let texts = [(UPDATE, Some(update.update_expression.as_str())), condition, NONE];
            expressions!(update, texts).check(limits)?;
        }
        if let Some(delete) = &self.delete {
            let texts = [(CONDITION, delete.condition_expression.as_deref()), NONE, NONE];
            expressions!(delete, texts).check(limits)?;
        }
        if let Some(check) = &self.condition_check {
            let texts = [(CONDITION, Some(check.condition_expression.as_str())), NONE, NONE];
            expressions!(check, texts).check(limits)?;
        }
        Ok(())
    }
}

impl Limited for TransactGetItemsRequest {
    fn check(&self, limits: &Limits) -> Result<(), DynoxideError> {
        check_number("transactItems", self.transact_items.len(), limits.transaction_items, limits)
    }
}

macro_rules! unlimited {
    ($($request:ty,)*) => {$(
        impl Limited for $request {
            fn check(&self, _: &Limits) -> Result<(), DynoxideError> {
                Ok(())
            }
        }
    )*};
}
unlimited! { DescribeTimeToLiveRequest, ListTablesRequest, }

/// DynamoDB's own numbers are checked by the engine.
fn check_number(
    member: &str,
    number: usize,
    most: usize,
    limits: &Limits,
) -> Result<(), DynoxideError> {
    if !are_shrunk(limits) || number <= most {
        return Ok(());
    }
    Err(refusal(format!(
        "1 validation error detected: Value at '{member}' failed to satisfy constraint: Member must have length less \
         than or equal to {most}"
    )))
}

/// What an action counts for in the size of its transaction.
fn bytes_of(action: &TransactWriteItem) -> usize {
    let TransactWriteItem { put, update, delete, condition_check } = action;
    let of_values = |values: Option<&HashMap<String, AttributeValue>>| {
        values.into_iter().flatten().map(|(_, value)| value.size()).sum::<usize>()
    };
    let put = put.as_ref().map(|put| item_size(&put.item));
    let update = update.as_ref().map(|update| {
        item_size(&update.key) + of_values(update.expression_attribute_values.as_ref())
    });
    let delete = delete.as_ref().map(|delete| item_size(&delete.key));
    let check = condition_check.as_ref().map(|check| item_size(&check.key));
    put.or(update).or(delete).or(check).unwrap_or_default()
}
