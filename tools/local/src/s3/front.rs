//! Requests: which call is made, and on what. It is a call on the bucket if the path has no key, and otherwise on an object.

use std::sync::Arc;

use axum::body::Bytes;
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use http::header::{
    ACCEPT_RANGES, CONTENT_LENGTH, CONTENT_RANGE, CONTENT_TYPE, ETAG, IF_MATCH, IF_NONE_MATCH,
    LAST_MODIFIED, RANGE,
};
use http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode};
use nagare_client::local_stack::ACCESS_KEY;
use nagare_client::local_stack::REGION;
use percent_encoding::percent_decode_str;
use ring::digest::{SHA256, digest};
use shared::platform::crypto::hash::hex;
use shared::platform::runtime::clock::Clock;
use shared::platform::values::Timestamp;
use time::OffsetDateTime;

use super::answer::{Refusal, plain, xml};
use super::list::ListQuery;
use super::range::{self, ByteRange};
use super::store::{About, ObjectStore, StoreError};
use super::{BUCKET, chunked, presigned};
use crate::data_dir::DataDir;

/// The value of `x-amz-content-sha256` for a body that is not signed.
const UNSIGNED: &str = "UNSIGNED-PAYLOAD";
/// Its prefix for a body in chunks.
const STREAMING: &str = "STREAMING-";
/// The longest key, in bytes.
const LONGEST_KEY: usize = 1_024;

/// A fault: changes the bytes of an object before they are stored.
pub(crate) type Mangle = Arc<dyn Fn(Bytes) -> Bytes + Send + Sync>;

/// The archive's bucket. Cheap to clone: clones share it.
#[derive(Clone)]
pub(crate) struct S3 {
    store: ObjectStore,
    clock: Clock,
    mangle: Option<Mangle>,
}

impl S3 {
    /// Opens the objects in a data directory. Without one, starts with none, in memory.
    pub(crate) fn open(dir: Option<&DataDir>, clock: &Clock) -> Result<Self, StoreError> {
        let store = match dir {
            Some(dir) => ObjectStore::open(dir.objects()?)?,
            None => ObjectStore::in_memory(),
        };
        Ok(Self { store, clock: clock.clone(), mangle: None })
    }

    /// The same bucket, where a fault changes each object that is put.
    #[must_use]
    pub(crate) fn mangled_by(self, mangle: Mangle) -> Self {
        Self { mangle: Some(mangle), ..self }
    }

    pub(crate) fn answer(&self, request: &Request<Bytes>) -> Response<Bytes> {
        self.result(request).unwrap_or_else(|refusal| {
            let mut answer = refusal.answer();
            if *request.method() == Method::HEAD {
                *answer.body_mut() = Bytes::new();
            }
            answer
        })
    }

    fn result(&self, request: &Request<Bytes>) -> Result<Response<Bytes>, Refusal> {
        let query = form_urlencoded::parse(request.uri().query().unwrap_or_default().as_bytes());
        let query: Vec<_> = query.into_owned().collect();
        presigned::check(request, &query, ACCESS_KEY, self.clock.now())?;
        let path = request.uri().path().trim_start_matches('/');
        let (bucket, key) = path.split_once('/').unwrap_or((path, ""));
        let key = percent_decode_str(key).decode_utf8();
        let key = key.map_err(|_| Refusal::invalid("the key is not UTF-8"))?;
        match (bucket, &*key) {
            ("", "") if *request.method() == Method::GET => Ok(buckets(self.clock.now())),
            (BUCKET, "") => self.bucket(request.method(), &query),
            (BUCKET, key) => self.object(request, key, &query),
            _ => Err(Refusal::no_such_bucket()),
        }
    }

    fn bucket(
        &self,
        method: &Method,
        query: &[(String, String)],
    ) -> Result<Response<Bytes>, Refusal> {
        let has = |name: &str| query.iter().any(|(other, _)| other == name);
        match *method {
            Method::HEAD => {
                let mut answer = plain(StatusCode::OK, Bytes::new());
                let region = HeaderValue::from_static(REGION);
                answer.headers_mut().insert("x-amz-bucket-region", region);
                Ok(answer)
            }
            Method::GET if has("location") => Ok(xml(
                StatusCode::OK,
                &format!(
                    "<LocationConstraint xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">{REGION}</LocationConstraint>"
                ),
            )),
            Method::GET if query.iter().any(|(name, kind)| name == "list-type" && kind == "2") => {
                Ok(ListQuery::parse(query)?.answer(&self.store))
            }
            _ => Err(Refusal::not_implemented("This call on a bucket")),
        }
    }

    fn object(
        &self,
        request: &Request<Bytes>,
        key: &str,
        query: &[(String, String)],
    ) -> Result<Response<Bytes>, Refusal> {
        let is_known = |name: &str| {
            name == "x-id" || name.starts_with("X-Amz-") || name.starts_with("response-")
        };
        if let Some((name, _)) = query.iter().find(|(name, _)| !is_known(name)) {
            return Err(Refusal::not_implemented(&format!("{} ?{name}", request.method())));
        }
        match *request.method() {
            Method::GET => self.get(key, request.headers()),
            Method::HEAD => self.head(key, request.headers()),
            Method::PUT => self.put(key, request),
            Method::DELETE => {
                self.store.delete(key).map_err(failed)?;
                Ok(plain(StatusCode::NO_CONTENT, Bytes::new()))
            }
            _ => Err(Refusal::not_implemented("This call on an object")),
        }
    }

    fn get(&self, key: &str, headers: &HeaderMap) -> Result<Response<Bytes>, Refusal> {
        let found = self.store.get(key).map_err(failed)?;
        let (about, bytes) = found.ok_or_else(Refusal::no_such_key)?;
        if let Some(answer) = unmodified(&about, headers)? {
            return Ok(answer);
        }
        let range = headers.get(RANGE).and_then(|range| range.to_str().ok());
        let (status, body, range) = match range::asked(range, bytes.len()) {
            ByteRange::Whole => (StatusCode::OK, bytes, None),
            ByteRange::Part(part) => {
                let range = format!("bytes {}-{}/{}", part.start, part.end - 1, bytes.len());
                (StatusCode::PARTIAL_CONTENT, bytes.slice(part), Some(range))
            }
            ByteRange::Nowhere => return Err(nowhere()),
        };
        let mut answer = plain(status, body);
        describe(answer.headers_mut(), key, &about);
        let range = range.and_then(|range| HeaderValue::try_from(range).ok());
        answer.headers_mut().extend(range.map(|range| (CONTENT_RANGE, range)));
        Ok(answer)
    }

    fn head(&self, key: &str, headers: &HeaderMap) -> Result<Response<Bytes>, Refusal> {
        let about = self.store.about(key).ok_or_else(Refusal::no_such_key)?;
        if let Some(answer) = unmodified(&about, headers)? {
            return Ok(answer);
        }
        let mut answer = plain(StatusCode::OK, Bytes::new());
        describe(answer.headers_mut(), key, &about);
        answer.headers_mut().insert(CONTENT_LENGTH, HeaderValue::from(about.length));
        Ok(answer)
    }

    fn put(&self, key: &str, request: &Request<Bytes>) -> Result<Response<Bytes>, Refusal> {
        let headers = request.headers();
        refuse_unknown(headers)?;
        if key.len() > LONGEST_KEY {
            return Err(too_long());
        }
        if let Some(only_if) = headers.get(IF_NONE_MATCH) {
            if only_if != "*" {
                return Err(Refusal::not_implemented("A put with an If-None-Match other than *"));
            }
            if self.store.about(key).is_some() {
                return Err(Refusal::precondition());
            }
        }
        let bytes = whole(headers, request.body())?;
        let bytes = match &self.mangle {
            Some(mangle) => mangle(bytes),
            None => bytes,
        };
        let etag = self.store.put(key, bytes, self.clock.now()).map_err(failed)?;
        let mut answer = plain(StatusCode::OK, Bytes::new());
        let etag = quoted(&etag.ok_or_else(too_long)?);
        answer.headers_mut().extend(etag.map(|etag| (ETAG, etag)));
        Ok(answer)
    }
}

impl std::fmt::Debug for S3 {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("S3")
    }
}

/// The bytes of a body, after their digests are checked.
fn whole(headers: &HeaderMap, body: &Bytes) -> Result<Bytes, Refusal> {
    let of = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    let signed = of("x-amz-content-sha256").unwrap_or(UNSIGNED);
    let bytes = match signed.starts_with(STREAMING) {
        true => {
            chunked::decoded(body).ok_or_else(|| Refusal::invalid("the chunks end early"))?.into()
        }
        false => body.clone(),
    };
    let sha256 = digest(&SHA256, &bytes);
    let is_bare = signed == UNSIGNED || signed.starts_with(STREAMING);
    if !is_bare && hex(sha256.as_ref()) != signed {
        return Err(differs("XAmzContentSHA256Mismatch"));
    }
    if of("x-amz-checksum-sha256").is_some_and(|sum| BASE64_STANDARD.encode(sha256) != sum) {
        return Err(differs("BadDigest"));
    }
    Ok(bytes)
}

/// Refuses headers that the store cannot honour: user metadata, tags, and a source to copy from.
fn refuse_unknown(headers: &HeaderMap) -> Result<(), Refusal> {
    let unknown = |name: &str| {
        name.starts_with("x-amz-meta-") || matches!(name, "x-amz-copy-source" | "x-amz-tagging")
    };
    match headers.keys().find(|name| unknown(name.as_str())) {
        Some(name) => Err(Refusal::not_implemented(&format!("A put with {name}"))),
        None => Ok(()),
    }
}

/// Checks the conditions of a read. An `If-Match` that fails is 412; an `If-None-Match` that names the object's ETag is 304.
fn unmodified(about: &About, headers: &HeaderMap) -> Result<Option<Response<Bytes>>, Refusal> {
    let names = |header: &HeaderValue| {
        let tags = header.to_str().unwrap_or("").split(',').map(|tag| tag.trim().trim_matches('"'));
        tags.into_iter().any(|tag| tag == "*" || tag == about.etag)
    };
    if headers.get(IF_MATCH).is_some_and(|tags| !names(tags)) {
        return Err(Refusal::precondition());
    }
    let is_known = headers.get(IF_NONE_MATCH).is_some_and(names);
    Ok(is_known.then(|| plain(StatusCode::NOT_MODIFIED, Bytes::new())))
}

fn describe(headers: &mut HeaderMap, key: &str, about: &About) {
    let kind = if key.ends_with(".gz") { "application/gzip" } else { "binary/octet-stream" };
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    headers.insert(ACCEPT_RANGES, HeaderValue::from_static("bytes"));
    headers.extend(quoted(&about.etag).map(|etag| (ETAG, etag)));
    headers.extend(http_date(about.modified).map(|date| (LAST_MODIFIED, date)));
}

fn quoted(etag: &str) -> Option<HeaderValue> {
    HeaderValue::try_from(format!("\"{etag}\"")).ok()
}

/// `Tue, 15 Nov 1994 08:12:31 GMT`
fn http_date(at: Timestamp) -> Option<HeaderValue> {
    let seconds = at.unix_millis().div_euclid(1_000);
    let at = OffsetDateTime::from_unix_timestamp(seconds).ok()?;
    let (day, month) = (at.weekday().to_string(), at.month().to_string());
    let (hour, minute, second) = at.to_hms();
    let date = format!(
        "{}, {:02} {} {:04} {hour:02}:{minute:02}:{second:02} GMT",
        &day[..3],
        at.day(),
        &month[..3],
        at.year()
    );
    HeaderValue::try_from(date).ok()
}

fn buckets(now: Timestamp) -> Response<Bytes> {
    let body = format!(
        "<ListAllMyBucketsResult xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\"><Owner><ID>local</ID></Owner><Buckets>\
         <Bucket><Name>{BUCKET}</Name><CreationDate>{now}</CreationDate></Bucket></Buckets></ListAllMyBucketsResult>"
    );
    xml(StatusCode::OK, &body)
}

fn nowhere() -> Refusal {
    let message = "The requested range is not satisfiable";
    Refusal::new(StatusCode::RANGE_NOT_SATISFIABLE, "InvalidRange", message)
}

fn too_long() -> Refusal {
    Refusal::new(StatusCode::BAD_REQUEST, "KeyTooLongError", "Your key is too long")
}

fn differs(code: &'static str) -> Refusal {
    let message = "The digest you specified did not match what was received";
    Refusal::new(StatusCode::BAD_REQUEST, code, message)
}

#[allow(clippy::needless_pass_by_value, reason = "for map_err")]
fn failed(failure: StoreError) -> Refusal {
    tracing::error!("{failure}");
    Refusal::internal()
}
