//! Objects: S3, as much of it as archives need. Five calls, [signed](super::signed).
//!
//! All of them may be done twice without harm: who puts an object puts the same bytes again.
//!
//! An object is at most what a chunk of an archive becomes, tens of megabytes, and is held in memory as a whole. Its digest is
//! signed with it, so what arrives is what was sent; what is read is as long as S3 says, or is asked for again.
//!
//! With an endpoint the bucket is the first part of the path, otherwise of the host.

mod error;
#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures::future::BoxFuture;

pub use self::error::ObjectError;
use crate::platform::runtime::deadline::Deadline;
use crate::platform::runtime::retry;
use crate::platform::signed::{HttpAnswer, HttpCall, Services, SignedHttp, escaped};
use crate::platform::values::Timestamp;

/// As signatures name it.
const SERVICE: &str = "s3";

/// A call of S3, in a box: it is compiled once, here.
type ObjectCalling<'a, T> = BoxFuture<'a, Result<T, ObjectError>>;

/// The objects of one bucket. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Objects(Arc<Bucket>);

#[derive(Debug)]
struct Bucket {
    s3: SignedHttp,
    /// Scheme, host, and the bucket if it is part of the path; without a slash at the end.
    base: String,
}

impl Objects {
    pub fn new(services: &Services, bucket: &str) -> Self {
        let s3 = SignedHttp::new(SERVICE, services);
        let base = s3.address(Some(bucket));
        Self(Arc::new(Bucket { s3, base }))
    }

    /// Writes an object, whatever is there.
    ///
    /// # Errors
    /// [`ObjectError`]; it may have been written.
    pub fn put<'a>(
        &'a self,
        key: &'a str,
        bytes: Bytes,
        deadline: Deadline,
    ) -> ObjectCalling<'a, ()> {
        Box::pin(async move { self.0.call("PUT", key, bytes, deadline).await.map(|_| ()) })
    }

    /// An object, if there is one.
    pub fn get<'a>(&'a self, key: &'a str, deadline: Deadline) -> ObjectCalling<'a, Option<Bytes>> {
        Box::pin(async move {
            let found = self.0.call("GET", key, Bytes::new(), deadline).await?;
            Ok(found.map(|answer| answer.body))
        })
    }

    /// How many bytes an object has, if there is one.
    pub fn head<'a>(&'a self, key: &'a str, deadline: Deadline) -> ObjectCalling<'a, Option<u64>> {
        Box::pin(async move {
            let found = self.0.call("HEAD", key, Bytes::new(), deadline).await?;
            found.map(|answer| answer.length.ok_or_else(ObjectError::unreadable)).transpose()
        })
    }

    /// Deletes an object. It may have been absent.
    ///
    /// # Errors
    /// [`ObjectError`]; it may have been deleted.
    pub fn delete<'a>(&'a self, key: &'a str, deadline: Deadline) -> ObjectCalling<'a, ()> {
        Box::pin(
            async move { self.0.call("DELETE", key, Bytes::new(), deadline).await.map(|_| ()) },
        )
    }

    /// An address by which anybody reads an object from `now` on for so long, as far as whoever signs it may, and no
    /// longer than their credentials are valid.
    ///
    /// # Errors
    /// [`ObjectError`] if there is nothing to sign with.
    pub fn presigned<'a>(
        &'a self,
        key: &'a str,
        now: Timestamp,
        valid: Duration,
    ) -> ObjectCalling<'a, String> {
        Box::pin(async move { Ok(self.0.s3.presigned(&self.0.url(key), now, valid).await?) })
    }
}

impl Bucket {
    fn url(&self, key: &str) -> String {
        format!("{}/{}", self.base, escaped(key))
    }

    /// Calls until it succeeds, fails permanently, or the deadline passes. None if there is no such object.
    async fn call(
        &self,
        method: &'static str,
        key: &str,
        body: Bytes,
        deadline: Deadline,
    ) -> Result<Option<HttpAnswer>, ObjectError> {
        let url = self.url(key);
        let attempt = retry::transfer;
        let call = HttpCall { method, url: &url, body, content_type: None, target: None, attempt };
        let read = |answer: HttpAnswer| match answer.status {
            200..300 => Ok(Some(answer)),
            status => ObjectError::answered(status, &answer.body).map(|()| None),
        };
        self.s3.call(call, deadline, read).await
    }
}
