//! What calls of the tables consume: asking for it, and reading the answer.

use aws_smithy_runtime_api::client::result::ConnectorError;
use aws_smithy_types::body::SdkBody;
use aws_smithy_types::byte_stream::ByteStream;
use serde_json::Value;

/// The body of the same call, which also asks for the capacity that it consumes. `None` if the body is not a JSON object.
pub fn asking(body: &[u8]) -> Option<Vec<u8>> {
    let rest = std::str::from_utf8(body).ok()?.strip_prefix('{')?;
    let comma = if rest.starts_with('}') { "" } else { "," };
    Some(format!(r#"{{"ReturnConsumedCapacity":"TOTAL"{comma}{rest}"#).into_bytes())
}

/// The units that an answer reports, by table.
pub fn consumed(answer: &[u8]) -> Vec<(String, f64)> {
    // What is no answer of the tables took nothing.
    let answer: Value = serde_json::from_slice(answer).unwrap_or(Value::Null);
    let consumed = &answer["ConsumedCapacity"];
    let tables = consumed.as_array().map_or(std::slice::from_ref(consumed), Vec::as_slice);
    let each = tables.iter().filter_map(|table| {
        Some((table["TableName"].as_str()?.to_owned(), table["CapacityUnits"].as_f64()?))
    });
    each.collect()
}

/// All of a body, which may still be on its way.
///
/// # Errors
/// The connection ends before it is whole.
pub async fn whole(body: SdkBody) -> Result<Vec<u8>, ConnectorError> {
    let collected = ByteStream::new(body).collect().await;
    Ok(collected.map_err(|e| ConnectorError::io(e.into()))?.to_vec())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn calls_are_asked_what_they_consume() {
        for body in [r#"{"TableName":"t"}"#, "{}"] {
            let asked: Value = serde_json::from_slice(&asking(body.as_bytes()).unwrap()).unwrap();
            assert_eq!(asked["ReturnConsumedCapacity"], "TOTAL");
            assert_eq!(
                asked["TableName"],
                serde_json::from_str::<Value>(body).unwrap()["TableName"]
            );
        }
        assert_eq!(asking(b"[]"), None);
    }

    #[test]
    fn one_table_and_several() {
        let one = br#"{"ConsumedCapacity":{"TableName":"t","CapacityUnits":1.5}}"#;
        assert_eq!(consumed(one), [("t".to_owned(), 1.5)]);
        let two = br#"{"ConsumedCapacity":[{"TableName":"t","CapacityUnits":1},{"TableName":"u","CapacityUnits":2}]}"#;
        assert_eq!(consumed(two), [("t".to_owned(), 1.0), ("u".to_owned(), 2.0)]);
        assert_eq!(consumed(b"no JSON"), []);
    }
}
