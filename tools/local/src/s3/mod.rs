//! An S3 front for the archive of events: one bucket that any S3 client reads, in memory or in the data directory.
//!
//! ```text
//! front      requests, for the bucket or for an object
//! answer     responses, and errors with S3's codes
//! presigned  whether a presigned URL is valid
//! chunked    bodies in signed chunks
//! range      the header `Range`
//! list       pages of keys
//! store      objects, by key
//! ```
//!
//! # What is served
//!
//! `ListBuckets`, `HeadBucket`, `GetBucketLocation`, `ListObjectsV2`, `GetObject`, `HeadObject`, `PutObject` and `DeleteObject`,
//! path-style. These are the calls by which boto3, `aws s3 ls` and `cp`, DuckDB's httpfs and Polars read an archive, and by which the
//! keeper writes one. Every other call is answered with 501 `NotImplemented`, never with an empty success. Versions, user metadata
//! and multipart uploads are not supported.
//!
//! Credentials in headers are not checked, like those of calls to the tables and queues. Presigned URLs are checked: the signature
//! against the stack's secret key, the expiry against the stack's clock. So they behave here as they do on AWS.
//!
//! # Why there is no library for it
//!
//! The only maintained crate that serves S3 is `s3s`, with `s3s-fs` for the storage. It brings twenty crates that nothing else here
//! needs, among them an XML library and a second implementation of signatures, and all of S3's types as generated source. It has its
//! own file system layout, and neither the stack's clock nor its faults. The calls above take 600 lines over the HTTP server that is
//! here anyway.
//!
//! # What bounds it
//!
//! An object has at most [`LARGEST`] bytes, and is in memory while it is sent. The metadata of all objects is in memory: a key, a
//! length, a digest and an instant for each.

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

pub(crate) const BUCKET: &str = "nagare-archive";
/// The largest object, in bytes.
pub(super) const LARGEST: usize = 64 * 1024 * 1024;

/// Serves S3 at every path.
pub(super) fn router(s3: S3) -> Router {
    Router::new().fallback(serve).with_state((s3, Intake::up_to(LARGEST)))
}

async fn serve(State((s3, intake)): State<(S3, Intake)>, request: Request) -> Response {
    let (head, body) = request.into_parts();
    let answer = match intake.read(body).await {
        Ok(body) => s3.answer(&http::Request::from_parts(head, Bytes::from(body.bytes))),
        Err(refused) => Refusal::of_body(refused).answer(),
    };
    answer.map(Body::from)
}
