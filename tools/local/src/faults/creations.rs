//! Tables that take a while to be created. Until then, calls are answered as if they were not there.

use std::collections::HashMap;
use std::time::Duration;

use aws_smithy_runtime_api::client::orchestrator::HttpRequest;
use serde_json::Value;
use tokio::time::Instant;

use super::injection::Fault;
use crate::tables_http::TARGET;

/// When the tables that were asked for will exist.
#[derive(Debug, Default)]
pub(super) struct Creations(HashMap<String, Instant>);

impl Creations {
    /// The fault of a call, if tables take up to `longest` to be created.
    pub(super) fn fault(
        &mut self,
        request: &HttpRequest,
        longest: Duration,
        now: Instant,
    ) -> Option<Fault> {
        let operation = operation(request)?;
        let is_create = operation == "CreateTable" && !longest.is_zero();
        self.0.retain(|_, there| *there > now);
        if !is_create && self.0.is_empty() {
            return None;
        }
        let body: Value = serde_json::from_slice(request.body().bytes()?).ok()?;
        let table = body["TableName"].as_str()?;
        if is_create {
            // One that is asked for again is not made again.
            self.0.entry(table.to_owned()).or_insert(now + longest);
            return Some(Fault::Creating);
        }
        self.0.contains_key(table).then_some(match operation {
            "DescribeTable" => Fault::Creating,
            "UpdateTable" | "DeleteTable" => Fault::InUse,
            _ => Fault::TableMissing,
        })
    }
}

/// The operation of DynamoDB that a request is.
fn operation(request: &HttpRequest) -> Option<&str> {
    request.headers().get("x-amz-target")?.strip_prefix(TARGET)
}

/// True for an operation on a table itself.
pub(super) fn is_of_table(request: &HttpRequest) -> bool {
    operation(request).is_some_and(|it| {
        matches!(
            it,
            "CreateTable"
                | "UpdateTable"
                | "DeleteTable"
                | "DescribeTable"
                | "UpdateContinuousBackups"
                | "DescribeContinuousBackups"
                | "PutResourcePolicy"
                | "GetResourcePolicy"
                | "DeleteResourcePolicy"
        )
    })
}

#[cfg(test)]
mod tests {
    use aws_smithy_types::body::SdkBody;

    use super::*;

    fn call(operation: &str) -> HttpRequest {
        let mut request = HttpRequest::new(SdkBody::from(r#"{"TableName":"t"}"#));
        request.headers_mut().insert("x-amz-target", format!("{TARGET}{operation}"));
        request
    }

    #[tokio::test(start_paused = true)]
    async fn a_table_is_there_when_its_time_has_come() {
        let (mut creations, hour) = (Creations::default(), Duration::from_secs(3_600));
        let mut of = |operation, now| creations.fault(&call(operation), hour, now);
        let start = Instant::now();
        assert_eq!(of("PutItem", start), None, "nobody has asked for it");
        assert_eq!(of("CreateTable", start), Some(Fault::Creating));
        assert_eq!(of("CreateTable", start + hour / 2), Some(Fault::Creating), "once more");
        assert_eq!(of("DescribeTable", start + hour / 2), Some(Fault::Creating));
        assert_eq!(of("PutItem", start + hour / 2), Some(Fault::TableMissing));
        assert_eq!(of("DeleteTable", start + hour / 2), Some(Fault::InUse));
        for operation in ["DescribeTable", "PutItem", "DeleteTable"] {
            assert_eq!(of(operation, start + hour), None, "{operation}");
        }
    }
}
