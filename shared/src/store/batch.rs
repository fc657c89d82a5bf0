//! BatchWriteItem as fan-outs send it, written by hand.
//!
//! The SDK builds a map of maps for every item and turns it into JSON; for a million entries that
//! is most of the writer's work. Here the body is written directly, and an interceptor puts it in
//! the place of the SDK's own before the request is signed. Everything else (endpoint, signature,
//! timeouts, error types, the reading of the answer) remains the SDK's. The tests below compare
//! what goes over the wire with what the SDK would have sent.

use std::collections::HashSet;

use aws_runtime::auth::SigV4OperationSigningConfig;
use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::config::interceptors::BeforeTransmitInterceptorContextMut;
use aws_sdk_dynamodb::config::{ConfigBag, Intercept, RuntimeComponents};
use aws_sdk_dynamodb::error::{BoxError, SdkError};
use aws_sdk_dynamodb::operation::batch_write_item::{BatchWriteItemError, BatchWriteItemOutput};

use aws_sdk_dynamodb::types::WriteRequest;
use aws_sigv4::http_request::SignableBody;
use aws_smithy_runtime_api::client::orchestrator::HttpResponse;
use aws_smithy_types::body::SdkBody;
use bytes::Bytes;
use ring::digest::{SHA256, digest};

use super::EntryWrite;

/// Items one call takes.
pub(super) const BATCH: usize = 25;
/// The digits of a hash.
const HEX: &[u8; 16] = b"0123456789abcdef";
/// Room for an entry with ids of ordinary length.
const ENTRY_BYTES: usize = 224;

/// Writes up to [`BATCH`] entries in one call. No two of them may have the same key.
pub(super) async fn write(
    client: &Client,
    table: &str,
    entries: &[EntryWrite<'_>],
) -> Result<BatchWriteItemOutput, SdkError<BatchWriteItemError, HttpResponse>> {
    let body = HandWritten::new(body(table, entries));
    client.batch_write_item().customize().interceptor(body).send().await
}

/// Those of a batch that an answer says were not written. Should it name others than were sent,
/// then nobody knows, and it is all of them.
pub(super) fn unprocessed<'a>(
    batch: &[EntryWrite<'a>],
    answer: BatchWriteItemOutput,
) -> Vec<EntryWrite<'a>> {
    let left: Vec<_> =
        answer.unprocessed_items.into_iter().flatten().flat_map(|(_, l)| l).collect();
    if left.is_empty() {
        return Vec::new();
    }
    let keys: HashSet<_> = left.iter().filter_map(key).collect();
    let named: Vec<_> = batch.iter().filter(|entry| keys.contains(&entry.key())).copied().collect();
    if named.len() == left.len() { named } else { batch.to_vec() }
}

fn key(request: &WriteRequest) -> Option<(&str, &str)> {
    let put = request.put_request().map(|put| put.item());
    let attributes = put.or_else(|| request.delete_request().map(|delete| delete.key()))?;
    let text = |name| attributes.get(name)?.as_s().ok().map(String::as_str);
    Some((text("viewer_id")?, text("sort_key")?))
}

/// Puts a body in the place of the one that the SDK made, and its hash in the place of the one that
/// the signer would calculate: for that it has no assembly, and it would be half of the call.
#[derive(Debug)]
struct HandWritten {
    body: Bytes,
    sha256: String,
}

impl HandWritten {
    fn new(body: String) -> Self {
        let hash = digest(&SHA256, body.as_bytes());
        let sha256 = hash.as_ref().iter().fold(String::with_capacity(64), |mut hex, byte| {
            hex.extend([byte >> 4, byte & 15].map(|digit| char::from(HEX[usize::from(digit)])));
            hex
        });
        Self { body: body.into(), sha256 }
    }
}

impl Intercept for HandWritten {
    fn name(&self) -> &'static str {
        "HandWritten"
    }

    // Before the signature, and once: a body of bytes can be sent again as it is.
    fn modify_before_retry_loop(
        &self,
        context: &mut BeforeTransmitInterceptorContextMut<'_>,
        _components: &RuntimeComponents,
        config: &mut ConfigBag,
    ) -> Result<(), BoxError> {
        let request = context.request_mut();
        request.headers_mut().insert("content-length", self.body.len().to_string());
        *request.body_mut() = SdkBody::from(self.body.clone());
        // Not there where nothing is signed.
        if let Some(mut signing) = config.load::<SigV4OperationSigningConfig>().cloned() {
            let hash = SignableBody::Precomputed(self.sha256.clone());
            signing.signing_options.payload_override = Some(hash);
            config.interceptor_state().store_put(signing);
        }
        Ok(())
    }
}

fn body(table: &str, entries: &[EntryWrite<'_>]) -> String {
    let mut out = String::with_capacity(64 + entries.len() * ENTRY_BYTES);
    out.push_str(r#"{"RequestItems":{"#);
    push_text(&mut out, table);
    out.push_str(":[");
    for (n, entry) in entries.iter().enumerate() {
        if n > 0 {
            out.push(',');
        }
        push_entry(&mut out, entry);
    }
    out.push_str("]}}");
    out
}

fn push_entry(out: &mut String, entry: &EntryWrite<'_>) {
    let (viewer, sort_key) = entry.key();
    out.push_str(match entry {
        EntryWrite::Put { .. } => r#"{"PutRequest":{"Item":{"viewer_id":{"S":"#,
        EntryWrite::Erase { .. } => r#"{"DeleteRequest":{"Key":{"viewer_id":{"S":"#,
    });
    push_text(out, viewer);
    out.push_str(r#"},"sort_key":{"S":"#);
    push_text(out, sort_key);
    if let EntryWrite::Put { actor, expires_at, .. } = entry {
        out.push_str(r#"},"actor_id":{"S":"#);
        push_text(out, actor.as_str());
        out.push_str(r#"},"expires_at":{"N":""#);
        out.push_str(itoa::Buffer::new().format(*expires_at));
        out.push('"');
    }
    out.push_str("}}}}");
}

/// A JSON string. Ids and instants consist of characters that need no escape; whatever else comes
/// is left to serde.
fn push_text(out: &mut String, text: &str) {
    let plain = |byte: u8| (0x20..0x7f).contains(&byte) && byte != b'"' && byte != b'\\';
    if text.bytes().all(plain) {
        out.push('"');
        out.push_str(text);
        out.push('"');
    } else {
        out.push_str(&serde_json::Value::from(text).to_string());
    }
}

#[cfg(test)]
mod tests;
