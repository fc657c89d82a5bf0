//! What the tables report of each write that reached them.

use aws_smithy_runtime_api::client::http::{
    HttpConnector, HttpConnectorFuture, SharedHttpConnector,
};
use aws_smithy_runtime_api::client::orchestrator::{HttpRequest, HttpResponse};
use aws_smithy_types::body::SdkBody;
use nagare_local::tables_http::TARGET;
use serde::Deserialize;
use tokio::time::Instant;

use super::{Fact, Measured, Meter};

/// The last member of a transaction, as the SDK writes it.
const TOKEN: &str = r#","ClientRequestToken":""#;

/// Notes what each write consumes.
#[derive(Debug)]
pub(super) struct Consumption {
    pub(super) inside: SharedHttpConnector,
    /// The table of facts.
    pub(super) facts: String,
    pub(super) meter: Meter,
}

/// A put, as far as it tells which fact it states.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct FactPut<'a> {
    table_name: &'a str,
    #[serde(borrow)]
    item: FactItem<'a>,
}

#[derive(Deserialize)]
struct FactItem<'a> {
    #[serde(borrow)]
    pk: TextValue<'a>,
    #[serde(borrow)]
    at: TextValue<'a>,
}

/// An update, as far as it tells which fact it states.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct FactUpdate<'a> {
    table_name: &'a str,
    #[serde(borrow)]
    key: FactKey<'a>,
    #[serde(borrow)]
    expression_attribute_values: Values<'a>,
}

#[derive(Deserialize)]
struct FactKey<'a> {
    #[serde(borrow)]
    pk: TextValue<'a>,
}

#[derive(Deserialize)]
struct Values<'a> {
    #[serde(borrow, rename = ":at")]
    at: TextValue<'a>,
}

#[derive(Deserialize)]
struct TextValue<'a> {
    #[serde(rename = "S")]
    text: &'a str,
}

#[derive(Deserialize)]
struct CapacityAnswer {
    #[serde(rename = "ConsumedCapacity")]
    consumed: Option<Consumed>,
}

/// One table's, or those of a transaction.
#[derive(Deserialize)]
#[serde(untagged)]
enum Consumed {
    One(TableCapacity),
    Many(Vec<TableCapacity>),
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct TableCapacity {
    table_name: String,
    capacity_units: f64,
}

impl Consumption {
    /// The fact that a call states, if it is one.
    fn fact(&self, operation: &str, body: &[u8]) -> Option<Fact> {
        let (table, pk, at) = match operation {
            "UpdateItem" => {
                let update: FactUpdate<'_> = serde_json::from_slice(body).ok()?;
                (update.table_name, update.key.pk, update.expression_attribute_values.at)
            }
            "PutItem" => {
                let put: FactPut<'_> = serde_json::from_slice(body).ok()?;
                (put.table_name, put.item.pk, put.item.at)
            }
            _ => return None,
        };
        (table == self.facts).then(|| (pk.text.to_owned(), at.text.to_owned()))
    }
}

impl HttpConnector for Consumption {
    fn call(&self, mut request: HttpRequest) -> HttpConnectorFuture {
        let target = request.headers().get("x-amz-target").unwrap_or_default().to_owned();
        let operation = target.strip_prefix(TARGET).unwrap_or_default();
        let writes =
            ["PutItem", "UpdateItem", "DeleteItem", "BatchWriteItem", "TransactWriteItems"];
        let body = request.body().bytes().filter(|_| writes.contains(&operation));
        let Some(body) = body.map(<[u8]>::to_owned) else { return self.inside.call(request) };
        let fact = self.fact(operation, &body);
        if let Some(fact) = &fact {
            // Before the call: the projector may be told of the row before its writer is.
            self.meter.lock().facts.entry(fact.clone()).or_insert_with(Instant::now);
        }
        if let Some(body) = asking(&body) {
            request.headers_mut().insert("content-length", body.len().to_string());
            *request.body_mut() = SdkBody::from(body);
        }
        let (call, meter) = (self.inside.call(request), self.meter.clone());
        HttpConnectorFuture::new(async move {
            let answer = call.await?;
            let mut measured = meter.lock();
            let stored = measured.consume(&answer) && fact.is_some();
            measured.stored += usize::from(stored);
            drop(measured);
            Ok(answer)
        })
    }
}

/// The same call, which asks what it consumes. A transaction goes without its token: no answer is lost here, and to
/// store one takes the embedded tables longer than all the rest.
fn asking(body: &[u8]) -> Option<Vec<u8>> {
    let body = std::str::from_utf8(body).ok()?;
    let body = body.rsplit_once(TOKEN).map_or(body, |(body, _)| body).strip_prefix('{')?;
    let end = if body.ends_with('}') { "" } else { "}" };
    Some(format!(r#"{{"ReturnConsumedCapacity":"TOTAL",{body}{end}"#).into_bytes())
}

impl Measured {
    /// Notes what a write consumed. True if it was done.
    fn consume(&mut self, answer: &HttpResponse) -> bool {
        let body = answer.body().bytes().unwrap_or_default();
        if !answer.status().is_success() {
            let units = units_of_refusal(body);
            self.refused += u64::from(units > 0.0);
            self.refused_units += units;
            return false;
        }
        let consumed =
            serde_json::from_slice(body).ok().and_then(|answer: CapacityAnswer| answer.consumed);
        let each = match consumed {
            None => Vec::new(),
            Some(Consumed::One(one)) => vec![one],
            Some(Consumed::Many(many)) => many,
        };
        for TableCapacity { table_name, capacity_units } in each {
            *self.units.entry(table_name).or_default() += capacity_units;
        }
        true
    }
}

/// The engine does not report them. DynamoDB charges a refused put for what is there, which is one unit here,
/// and a cancelled transaction twice that for the item that refused it, at least.
fn units_of_refusal(body: &[u8]) -> f64 {
    let says = |what: &str| body.windows(what.len()).any(|window| window == what.as_bytes());
    match () {
        () if says("ConditionalCheckFailedException") => 1.0,
        () if says("TransactionCanceledException") && says("ConditionalCheckFailed") => 2.0,
        () => 0.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_that_a_refusal_costs() {
        for (body, units) in [
            (
                r#"{"__type":"com.amazonaws.dynamodb.v20120810#ConditionalCheckFailedException"}"#,
                1.0,
            ),
            (
                concat!(
                    r#"{"__type":"TransactionCanceledException","#,
                    r#""CancellationReasons":[{"Code":"ConditionalCheckFailed"},{"Code":"None"}]}"#
                ),
                2.0,
            ),
            (r#"{"__type":"ProvisionedThroughputExceededException"}"#, 0.0),
        ] {
            assert_eq!(units_of_refusal(body.as_bytes()), units, "{body}");
        }
    }

    #[test]
    fn calls_are_asked_what_they_consume() {
        for (body, asked) in [
            (r#"{"TableName":"t"}"#, r#"{"ReturnConsumedCapacity":"TOTAL","TableName":"t"}"#),
            (
                r#"{"TransactItems":[],"ClientRequestToken":"1-2"}"#,
                r#"{"ReturnConsumedCapacity":"TOTAL","TransactItems":[]}"#,
            ),
        ] {
            let body = asking(body.as_bytes()).unwrap_or_default();
            assert_eq!(String::from_utf8_lossy(&body), asked);
        }
    }
}
