//! An S3 front for the archive of events: one bucket that any S3 client reads, in memory or in the data directory.
//!
//! ```text
//! front      what is asked: a bucket, a list, an object
//! answer     an answer, and an error as S3 names it
//! presigned  whether a signed address is still good
//! chunked    bodies that come in signed chunks
//! range      which part of an object is asked for
//! list       pages of keys
//! store      objects, by key
//! ```
//!
//! # What is served
//!
//! `ListBuckets`, `HeadBucket`, `GetBucketLocation`, `ListObjectsV2`, and `GetObject`, `HeadObject`, `PutObject`,
//! `DeleteObject`, path-style. That is what boto3, `aws s3 ls` and `cp`, DuckDB's httpfs and Polars ask to read an archive, and what the
//! keeper needs to write one. All else is 501 `NotImplemented`, and never an empty success. There are no versions, no
//! metadata of users, no uploads in parts.
//!
//! Credentials are not looked at, as at the tables and queues beside it. A presigned address is: it has a signature by the stack's
//! secret key, and a time by the stack's clock, so that whoever gives such addresses away sees here what they do on AWS.
//!
//! # Why it is our own
//!
//! `s3s` with `s3s-fs`, the one kept crate that serves S3, was weighed: it brings twenty crates that nothing else here needs (an XML
//! library and a second way to sign among them) and all of S3's types as generated source, for a file system layout of
//! its own, without the stack's clock and faults. The calls of this list are 600 lines over the HTTP server that is here.
//!
//! # What bounds it
//!
//! An object is at most [`LARGEST`] bytes, and is in memory while it is sent. What is known of all objects is in memory
//! as well: a key, a length and a digest for each.

mod answer;
mod chunked;
mod front;
mod list;
mod presigned;
mod range;
pub(super) mod store;
#[cfg(test)]
mod tests;

use axum::Router;
use axum::body::Body;
use axum::body::Bytes;
use axum::extract::{Request, State};
use axum::response::Response;
use nagare_gateway::ports::intake::Intake;

use answer::Refusal;

pub(crate) use front::S3;

/// The bucket of the archive.
pub(crate) const BUCKET: &str = "nagare-archive";
/// The largest object, in bytes.
pub(super) const LARGEST: usize = 64 * 1024 * 1024;

/// Serves it at every path.
pub(super) fn router(s3: S3) -> Router {
    Router::new().fallback(serve).with_state((s3, Intake::of(LARGEST)))
}

async fn serve(State((s3, intake)): State<(S3, Intake)>, request: Request) -> Response {
    let (head, body) = request.into_parts();
    let answer = match intake.read(body).await {
        Ok(body) => s3.answer(&http::Request::from_parts(head, Bytes::from(body.bytes))),
        Err(refused) => Refusal::of_body(refused).answer(),
    };
    answer.map(Body::from)
}
