//! The bodies of requests, as the API reference of DynamoDB describes them.
//!
//! Calls are made with a [`RequestTemplate`](super::transport::RequestTemplate) and not with the SDK's operations, which take several
//! times as long. The tests compare each body with the one that the SDK sends.

use aws_sdk_dynamodb::types::{AttributeValue, TransactWriteItem};
use bytes::Bytes;
use serde::Serialize;

use super::answer::WrittenValue;
use super::item::Item;
use super::{Condition, DynamoError};

/// What a failed condition answers with: the item that is there.
pub(super) const ALL_OLD: &str = "ALL_OLD";
/// Room for a request of ordinary length.
const BYTES: usize = 512;

/// A request that is being written: an object, member by member.
#[derive(Debug)]
pub(super) struct Request {
    body: Vec<u8>,
    /// The first value that could not be written. None of the types that are given here is one.
    failure: Option<serde_json::Error>,
}

impl Request {
    /// About one table.
    pub(super) fn to_table(table: &str) -> Self {
        let mut request = Self { body: Vec::with_capacity(BYTES), failure: None };
        request.body.push(b'{');
        request.member("TableName", table);
        request
    }

    /// Adds a member.
    pub(super) fn with(mut self, name: &str, value: impl Serialize) -> Self {
        self.body.push(b',');
        self.member(name, value);
        self
    }

    /// Adds a member, if there is one.
    pub(super) fn maybe(self, name: &str, value: Option<impl Serialize>) -> Self {
        match value {
            Some(value) => self.with(name, value),
            None => self,
        }
    }

    pub(super) fn key(self, key: &Item) -> Self {
        self.with("Key", WrittenValue(key))
    }

    pub(super) fn item(self, item: &Item) -> Self {
        self.with("Item", WrittenValue(item))
    }

    /// Adds the placeholders of expressions.
    pub(super) fn placeholders<'a>(
        self,
        names: impl IntoIterator<Item = (&'a str, &'a str)>,
        values: impl IntoIterator<Item = (&'a str, &'a AttributeValue)>,
    ) -> Self {
        let values = values.into_iter().map(|(name, value)| (name, WrittenValue(value)));
        self.members("ExpressionAttributeNames", names).members("ExpressionAttributeValues", values)
    }

    /// Adds the condition. If it does not hold, the answer has the item that is there.
    pub(super) fn under(self, condition: &Condition<'_>) -> Self {
        let Condition { expression, names, values } = condition;
        self.with("ConditionExpression", expression)
            .with("ReturnValuesOnConditionCheckFailure", ALL_OLD)
            .placeholders(names.iter().copied(), pairs(values))
    }

    /// The body.
    ///
    /// # Errors
    /// [`DynamoError::Rejected`]: a value could not be written.
    pub(super) fn body(mut self) -> Result<Bytes, DynamoError> {
        self.body.push(b'}');
        match self.failure {
            None => Ok(self.body.into()),
            Some(failure) => Err(DynamoError::not_built(&failure.to_string())),
        }
    }

    /// The body of a transaction.
    ///
    /// # Errors
    /// As of [`Self::body`].
    pub(super) fn transaction(items: &[TransactWriteItem]) -> Result<Bytes, DynamoError> {
        let mut body = Vec::with_capacity(BYTES * items.len());
        let mut separator = r#"{"TransactItems":["#;
        for item in items {
            let (kind, request) = part(item)?;
            body.extend(format!(r#"{separator}{{"{kind}":"#).bytes());
            body.extend(request.body()?);
            body.push(b'}');
            separator = ",";
        }
        body.extend(b"]}");
        Ok(body.into())
    }

    /// Adds an object, unless it is empty, which is refused.
    fn members<'a>(
        mut self,
        name: &str,
        members: impl IntoIterator<Item = (&'a str, impl Serialize)>,
    ) -> Self {
        let mut members = members.into_iter().peekable();
        if members.peek().is_none() {
            return self;
        }
        self.body.push(b',');
        self.text(name);
        let mut separator: &[u8] = b":{";
        for (name, value) in members {
            self.body.extend(separator);
            self.member(name, value);
            separator = b",";
        }
        self.body.push(b'}');
        self
    }

    fn member(&mut self, name: &str, value: impl Serialize) {
        self.text(name);
        self.body.push(b':');
        self.text(value);
    }

    fn text(&mut self, value: impl Serialize) {
        let written = serde_json::to_writer(&mut self.body, &value);
        self.failure = self.failure.take().or(written.err());
    }
}

/// Placeholders with their values.
pub(super) fn pairs<'a>(
    values: &'a [(&'a str, AttributeValue)],
) -> impl Iterator<Item = (&'a str, &'a AttributeValue)> {
    values.iter().map(|(placeholder, value)| (*placeholder, value))
}

/// A part of a transaction: what it does, and its request.
fn part(item: &TransactWriteItem) -> Result<(&'static str, Request), DynamoError> {
    // The four types have the same settings.
    macro_rules! request {
        ($part:expr) => {{
            let names = $part.expression_attribute_names().into_iter().flatten();
            let values = $part.expression_attribute_values().into_iter().flatten();
            let failure = $part.return_values_on_condition_check_failure();
            Request::to_table($part.table_name())
                .maybe("ReturnValuesOnConditionCheckFailure", failure.map(|what| what.as_str()))
                .placeholders(
                    names.map(|(placeholder, name)| (placeholder.as_str(), name.as_str())),
                    values.map(|(placeholder, value)| (placeholder.as_str(), value)),
                )
        }};
    }
    const CONDITION: &str = "ConditionExpression";
    Ok(match (item.put(), item.update(), item.delete(), item.condition_check()) {
        (Some(put), ..) => {
            let request = request!(put).item(put.item());
            ("Put", request.maybe(CONDITION, put.condition_expression()))
        }
        (_, Some(update), ..) => {
            let request = request!(update).key(update.key());
            let request = request.with("UpdateExpression", update.update_expression());
            ("Update", request.maybe(CONDITION, update.condition_expression()))
        }
        (_, _, Some(delete), _) => {
            let request = request!(delete).key(delete.key());
            ("Delete", request.maybe(CONDITION, delete.condition_expression()))
        }
        (_, _, _, Some(check)) => {
            let request = request!(check).key(check.key());
            ("ConditionCheck", request.with(CONDITION, check.condition_expression()))
        }
        _ => return Err(DynamoError::not_built("a part of a transaction does nothing")),
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

    use std::time::Duration;

    use aws_sdk_dynamodb::types::{
        ConditionCheck, Delete, Put as TransactPut, ReturnValue,
        ReturnValuesOnConditionCheckFailure as OnFailure, Update as TransactUpdate,
    };
    use aws_smithy_types::Blob;
    use serde_json::{Value, json};

    use super::*;
    use crate::platform::dynamo::item::{list, number, text, truth};
    use crate::platform::dynamo::tests::{Wiretap, run};
    use crate::platform::dynamo::{Changed, Dynamo, Put, Query, Table, Update};
    use crate::platform::runtime::deadline::Deadline;

    const TABLE: &str = "a \"table\"";

    fn table(tap: &Wiretap) -> Table {
        Dynamo::new(tap.client()).table(TABLE)
    }

    fn item() -> Item {
        let values = [
            ("pk", text("\u{0}\"\\é流")),
            ("sk", number("-1.50")),
            ("truth", truth(true)),
            ("nothing", AttributeValue::Null(true)),
            ("bytes", AttributeValue::B(Blob::new([0, 255]))),
            ("list", list(vec![text(""), AttributeValue::L(Vec::new())])),
            ("map", AttributeValue::M(Item::from([("a b".to_owned(), truth(false))]))),
            ("texts", AttributeValue::Ss(vec!["a".to_owned()])),
            ("numbers", AttributeValue::Ns(vec!["1".to_owned(), "2".to_owned()])),
            ("blobs", AttributeValue::Bs(vec![Blob::new("x")])),
        ];
        values.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
    }

    fn condition() -> Condition<'static> {
        Condition::new("#a < :a OR attribute_exists(b)").name("#a", "at").value(":a", number(7))
    }

    fn update() -> Update<'static> {
        Update {
            expression: "SET #a = :a",
            condition: Some("x = :x"),
            names: vec![("#a", "at")],
            values: vec![(":a", number(7)), (":x", list(vec![truth(true)]))],
        }
    }

    /// The body of the request that was sent last.
    fn sent(tap: &Wiretap) -> (String, Value) {
        let request = tap.request();
        let body = serde_json::from_slice(request.body().bytes().unwrap()).unwrap();
        (request.headers().get("x-amz-target").unwrap().to_owned(), body)
    }

    /// Compares what we send with what the SDK sends.
    macro_rules! assert_same {
        ($tap:expr, $ours:expr, $theirs:expr) => {{
            let _ = run($ours);
            let ours = sent(&$tap);
            let _ = run($theirs.send());
            let mut theirs = sent(&$tap);
            // The SDK makes up a token for each call. Here each attempt is a call.
            theirs.1.as_object_mut().unwrap().remove("ClientRequestToken");
            assert_eq!(ours, theirs);
        }};
    }

    #[test]
    fn bodies_are_those_of_the_sdk() {
        let tap = Wiretap::answering(json!({"Items": []}));
        let (table, sdk) = (table(&tap), tap.client());
        let get = sdk.get_item().table_name(TABLE).set_key(Some(item())).consistent_read(true);
        assert_same!(tap, table.get(item()), get);
        let put = sdk.put_item().table_name(TABLE).set_item(Some(item()));
        assert_same!(tap, table.put(item()), put.clone());
        let conditional = put
            .condition_expression(condition().expression)
            .expression_attribute_names("#a", "at")
            .expression_attribute_values(":a", number(7))
            .return_values_on_condition_check_failure(OnFailure::AllOld);
        assert_same!(tap, table.put_if(item(), condition()), conditional.clone());
        assert_same!(tap, table.put_unless_hot(item(), condition()), conditional);
        let delete = sdk.delete_item().table_name(TABLE).set_key(Some(item()));
        assert_same!(tap, table.delete(item(), None), delete.clone());
        let conditional = delete
            .condition_expression(condition().expression)
            .expression_attribute_names("#a", "at")
            .expression_attribute_values(":a", number(7))
            .return_values_on_condition_check_failure(OnFailure::AllOld);
        assert_same!(tap, table.delete(item(), Some(condition())), conditional);
        let changed = sdk
            .update_item()
            .table_name(TABLE)
            .set_key(Some(item()))
            .update_expression("SET #a = :a")
            .condition_expression("x = :x")
            .expression_attribute_names("#a", "at")
            .expression_attribute_values(":a", number(7))
            .expression_attribute_values(":x", list(vec![truth(true)]))
            .return_values(ReturnValue::AllNew)
            .return_values_on_condition_check_failure(OnFailure::AllOld);
        assert_same!(tap, table.change(item(), update()), changed);
    }

    #[test]
    fn queries_are_those_of_the_sdk() {
        let tap = Wiretap::answering(json!({"Items": []}));
        let (table, sdk) = (table(&tap), tap.client());
        let whole =
            Query { keys: Some("pk = :pk"), values: vec![(":pk", text("x"))], ..Query::default() };
        let query = sdk.query().table_name(TABLE).key_condition_expression("pk = :pk");
        let query = query.expression_attribute_values(":pk", text("x"));
        assert_same!(tap, table.page(&whole), query.clone().consistent_read(true));
        let page = Query {
            index: Some("by_time"),
            filter: Some("#f > :pk"),
            projection: Some("pk, #f"),
            names: vec![("#f", "from")],
            start: Some(item()),
            descending: true,
            limit: Some(5),
            ..whole
        };
        let query = query
            .index_name("by_time")
            .filter_expression("#f > :pk")
            .projection_expression("pk, #f")
            .expression_attribute_names("#f", "from")
            .set_exclusive_start_key(Some(item()))
            .scan_index_forward(false)
            .limit(5);
        assert_same!(tap, table.page(&page), query);
        let all = Query { segment: Some((1, 4)), eventual: true, ..Query::default() };
        let scan = sdk.scan().table_name(TABLE).segment(1).total_segments(4);
        assert_same!(tap, table.page(&all), scan);
    }

    #[test]
    fn transactions_are_those_of_the_sdk() {
        let tap = Wiretap::answering("{}");
        let put = TransactPut::builder()
            .table_name(TABLE)
            .set_item(Some(item()))
            .condition_expression("attribute_not_exists(pk)")
            .return_values_on_condition_check_failure(OnFailure::AllOld);
        let update = TransactUpdate::builder()
            .table_name("b")
            .set_key(Some(item()))
            .update_expression("SET #a = :a")
            .expression_attribute_names("#a", "at")
            .expression_attribute_values(":a", number(7));
        let delete = Delete::builder().table_name("c").set_key(Some(item()));
        let check = ConditionCheck::builder()
            .table_name("d")
            .set_key(Some(item()))
            .condition_expression("x = :x")
            .expression_attribute_values(":x", truth(false));
        let items = vec![
            TransactWriteItem::builder().put(put.build().unwrap()).build(),
            TransactWriteItem::builder().update(update.build().unwrap()).build(),
            TransactWriteItem::builder().delete(delete.build().unwrap()).build(),
            TransactWriteItem::builder().condition_check(check.build().unwrap()).build(),
        ];
        let theirs = tap.client().transact_write_items().set_transact_items(Some(items.clone()));
        assert_same!(tap, table(&tap).transact(items.clone()), theirs.clone());
        assert_same!(tap, table(&tap).transact_again(items), theirs);
        let nothing = run(table(&tap).transact(vec![TransactWriteItem::builder().build()]));
        assert!(nothing.unwrap_err().is_refusal());
    }

    #[test]
    fn answers_are_read() {
        let json = json!({"pk": {"S": "a"}, "n": {"N": "1"}});
        let there = Item::from([("pk".to_owned(), text("a")), ("n".to_owned(), number(1))]);
        let answering = |answer: Value| table(&Wiretap::answering(answer));
        let got = run(answering(json!({"Item": json})).get(item())).unwrap().map(|row| row.item);
        assert_eq!(got, Some(there.clone()));
        assert!(run(answering(json!({})).get(item())).unwrap().is_none());
        let changed = run(answering(json!({"Attributes": json})).change(item(), update())).unwrap();
        assert_eq!(changed, Changed::Done(there.clone()));
        let page = json!({"Items": [json], "ScannedCount": 9, "LastEvaluatedKey": json});
        let table = answering(page);
        let page = run(table.page(&Query::default())).unwrap();
        assert_eq!((page.scanned, page.next), (9, Some(there.clone())));
        assert_eq!(page.rows[0].item, there);
    }

    #[test]
    fn a_condition_that_does_not_hold_is_an_answer() {
        let refused = |answer: Value| table(&Wiretap::failing(400, answer));
        let json = json!({"pk": {"S": "a"}});
        let there = Item::from([("pk".to_owned(), text("a"))]);
        let failed = json!({"__type": "com.amazonaws.dynamodb.v20120810#ConditionalCheckFailedException",
            "message": "The conditional request failed", "Item": json});
        let table = refused(failed);
        assert_eq!(run(table.put_if(item(), condition())).unwrap(), Put::Refused(there.clone()));
        assert_eq!(run(table.change(item(), update())).unwrap(), Changed::Refused(there));
        assert!(!run(table.delete(item(), Some(condition()))).unwrap());
        let cancelled = |codes: &[&str]| {
            let reasons: Vec<_> = codes.iter().map(|code| json!({"Code": code})).collect();
            let table = refused(
                json!({"__type": "x#TransactionCanceledException", "CancellationReasons": reasons}),
            );
            run(table.transact(Vec::new()))
        };
        assert!(!cancelled(&["None", "ConditionalCheckFailed"]).unwrap());
        assert!(cancelled(&["None", "ValidationError"]).unwrap_err().is_refusal());
        assert!(cancelled(&["TransactionConflict", "None"]).unwrap_err().is_retryable());
        assert!(cancelled(&[]).unwrap_err().is_retryable());
    }

    /// A proxy says 200 too, and a body may be cut.
    #[test]
    fn what_is_no_answer_is_no_success() {
        for answer in ["<html></html>", "{\"Items\"", "[]", "null"] {
            let table = table(&Wiretap::answering(answer)).until(soon());
            let failures = [
                run(table.get(item())).err(),
                run(table.put(item())).err(),
                run(table.put_if(item(), condition())).err(),
                run(table.put_unless_hot(item(), condition())).err(),
                run(table.delete(item(), None)).err(),
                run(table.change(item(), update())).err(),
                run(table.page(&Query::default())).err(),
                run(table.transact(Vec::new())).err(),
                run(table.transact_again(Vec::new())).err(),
            ];
            for failure in failures {
                assert!(
                    matches!(failure, Some(DynamoError::Unavailable(_))),
                    "{answer}: {failure:?}"
                );
            }
        }
    }

    fn soon() -> Deadline {
        Deadline::after(Duration::from_millis(20))
    }

    #[test]
    fn a_partition_is_hot_where_that_is_said_or_nothing_is() {
        let is_hot = |answer: Value| {
            let table = table(&Wiretap::failing(400, answer));
            let table = table.until(soon());
            matches!(run(table.put_unless_hot(item(), condition())), Ok(None))
        };
        let throttled = |code: &str, member: &str, reasons: &[&str]| {
            let reasons: Vec<_> = reasons.iter().map(|reason| json!({"reason": reason})).collect();
            is_hot(json!({"__type": code, member: reasons}))
        };
        let hot = "TableWriteKeyRangeThroughputExceeded";
        for (code, member) in [
            ("x#ProvisionedThroughputExceededException", "ThrottlingReasons"),
            ("x#ThrottlingException", "throttlingReasons"),
        ] {
            assert!(throttled(code, member, &[]));
            assert!(throttled(code, member, &[hot]));
            assert!(throttled(code, member, &["TableWriteAccountLimitExceeded", hot]));
            assert!(!throttled(code, member, &["TableWriteMaxOnDemandThroughputExceeded"]));
        }
        assert!(!is_hot(json!({"__type": "x#RequestLimitExceeded"})));
        assert!(!is_hot(json!({"__type": "x#InternalServerError"})));
    }
}
