//! A bucket in memory, beside the tables and queues.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use aws_smithy_runtime_api::client::http::{
    HttpConnector, HttpConnectorFuture, SharedHttpConnector,
};
use aws_smithy_runtime_api::client::orchestrator::{HttpRequest, HttpResponse};
use aws_smithy_runtime_api::http::StatusCode;
use aws_smithy_types::body::SdkBody;

/// Where it answers.
pub(crate) const ENDPOINT: &str = "http://s3.local";
/// What it is called.
pub(crate) const NAME: &str = "archive";

/// The objects of a bucket, by key. Clones have the same.
#[derive(Debug, Clone, Default)]
pub struct Bucket(Arc<Mutex<BTreeMap<String, Vec<u8>>>>);

impl Bucket {
    #[must_use]
    pub fn objects(&self) -> BTreeMap<String, Vec<u8>> {
        self.0.lock().unwrap().clone()
    }

    /// Changes an object by hand. It has to be there.
    pub fn change(&self, key: &str, change: impl FnOnce(&mut Vec<u8>)) {
        change(self.0.lock().unwrap().get_mut(key).unwrap());
    }

    pub fn remove(&self, key: &str) {
        self.0.lock().unwrap().remove(key).unwrap();
    }

    fn answer(&self, request: &HttpRequest) -> HttpResponse {
        let key = key(request).unwrap();
        let mut objects = self.0.lock().unwrap();
        let (status, body) = match request.method() {
            "PUT" => {
                objects.insert(key, request.body().bytes().unwrap().to_vec());
                (200, Vec::new())
            }
            "GET" => match objects.get(&key) {
                Some(bytes) => (200, bytes.clone()),
                None => (404, b"<Error><Code>NoSuchKey</Code></Error>".to_vec()),
            },
            "DELETE" => {
                objects.remove(&key);
                (204, Vec::new())
            }
            other => panic!("nothing asks a bucket to {other}"),
        };
        let length = body.len().to_string();
        let status = StatusCode::try_from(status).unwrap();
        let mut response = HttpResponse::new(status, SdkBody::from(body));
        response.headers_mut().insert("content-length", length);
        response
    }
}

/// The object that a request is about, if it is about one. No key of a test has to be escaped.
pub(crate) fn key(request: &HttpRequest) -> Option<String> {
    let path = request.uri().strip_prefix(ENDPOINT)?.strip_prefix('/')?;
    Some(path.strip_prefix(NAME)?.strip_prefix('/')?.to_owned())
}

/// Answers what is for the bucket; the rest goes inside.
#[derive(Debug)]
pub(crate) struct BucketConnector {
    pub(crate) bucket: Bucket,
    pub(crate) inside: SharedHttpConnector,
}

impl HttpConnector for BucketConnector {
    fn call(&self, request: HttpRequest) -> HttpConnectorFuture {
        match key(&request) {
            Some(_) => HttpConnectorFuture::ready(Ok(self.bucket.answer(&request))),
            None => self.inside.call(request),
        }
    }
}
