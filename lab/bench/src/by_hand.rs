//! `nagare-bench by-hand`: the least that a client takes which does nothing but write these entries. What `nagare-bench fanout` takes
//! above it is the price of the SDK's configuration and credentials, pacing, leftovers, retries and deadlines.
//!
//! Each call in flight has a connection of hyper's to itself. Bodies, headers and signatures are written here, with a key that is derived
//! once. Whatever is not written is the end of the run.

use std::sync::atomic::{AtomicU64, Ordering};

use axum::body::Bytes;
use clap::Args;
use futures::future::try_join_all;
use http::{HeaderValue, Method, Request, Uri};
use http_body_util::{BodyExt, Full};
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper_util::rt::TokioIo;
use nagare::Failure;
use nagare::print::print_json;
use nagare_local::schema;
use ring::hmac::{self, HMAC_SHA256};
use shared::platform::crypto::hash::{hex, sha256};
use shared::platform::dynamo::{BATCH_WRITE, IN_FLIGHT, Usage};
use shared::platform::runtime::clock::Clock;
use shared::platform::runtime::env;
use shared::platform::values::Retention;
use tokio::net::TcpStream;

use super::report::Measurement;
use super::{ACTOR, follower, in_flight, on_one_thread};

const SCOPE: [&str; 3] = ["us-east-1", "dynamodb", "aws4_request"];
const TARGET: &str = "DynamoDB_20120810.BatchWriteItem";
const ALL_WRITTEN: &[u8] = br#"{"UnprocessedItems":{}}"#;

#[derive(Debug, Args)]
pub(crate) struct ByHand {
    /// How many followers.
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..))]
    followers: u64,
    /// A DynamoDB endpoint over plain HTTP that checks no signatures, such as a `nagare-bench table`'s. Its timelines table is
    /// `nagare-timelines`, or the one that NAGARE_TIMELINES_TABLE names.
    #[arg(long)]
    endpoint: Uri,
    /// Calls in flight at once.
    #[arg(long, default_value_t = IN_FLIGHT, value_parser = in_flight)]
    in_flight: usize,
}

/// What all calls have in common.
struct Calls {
    host: HeaderValue,
    /// `20261121`, and the whole instant.
    day: String,
    instant: String,
    key: hmac::Key,
    /// Of each body: what comes before its first item, and of each item what comes behind its viewer.
    begin: String,
    behind: String,
    followers: u64,
    /// Followers that are written to, or about to be.
    taken: AtomicU64,
}

impl ByHand {
    /// Runs on one thread, as `nagare-bench fanout` does.
    pub(super) async fn run(self) -> Result<(), Failure> {
        on_one_thread(|| self.measure()).await
    }

    async fn measure(self) -> Result<(), Failure> {
        let host = self.endpoint.authority().ok_or_else(|| {
            Failure::Usage("--endpoint: expected a URL such as http://127.0.0.1:8000".to_owned())
        })?;
        let calls = Calls::new(host.as_str(), self.followers)?;
        let measurement = Measurement::start()?;
        let connections = (0..self.in_flight).map(|_| calls.on_a_connection(host.as_str()));
        let sends = try_join_all(connections).await?.into_iter().sum();
        let usage = Usage { written: self.followers, sends, ..Usage::default() };
        print_json(&measurement.report(usage)?)
    }
}

impl Calls {
    fn new(host: &str, followers: u64) -> Result<Self, Failure> {
        let now = Clock::system().now();
        // 2026-11-21T18:44:10.123Z
        let instant: String = now.to_string().chars().filter(|c| !matches!(c, '-' | ':')).collect();
        let instant = format!("{}Z", &instant[..15]);
        let day = instant[..8].to_owned();
        let first = hmac::Key::new(HMAC_SHA256, b"AWS4secret");
        let key = std::iter::once(day.as_str()).chain(SCOPE).fold(first, |key, part| {
            hmac::Key::new(HMAC_SHA256, hmac::sign(&key, part.as_bytes()).as_ref())
        });
        let table = env::optional(env::TIMELINES_TABLE);
        let table = table.unwrap_or_else(|| schema::names().timelines);
        let (writer, expires_at) = (std::process::id(), Retention::default().expires_at(now));
        Ok(Self {
            host: HeaderValue::try_from(host).map_err(unreachable)?,
            key,
            begin: format!(r#"{{"RequestItems":{{"{table}":["#),
            behind: format!(
                r#""}},"sort_key":{{"S":"{now}#bench-{writer}"}},"actor_id":{{"S":"{ACTOR}"}},"expires_at":{{"N":"{expires_at}"}}}}}}}}"#
            ),
            day,
            instant,
            followers,
            taken: AtomicU64::default(),
        })
    }

    /// Writes batches until there are no more followers. Returns the number of entries that were sent.
    async fn on_a_connection(&self, host: &str) -> Result<u64, Failure> {
        let socket = TcpStream::connect(host).await?;
        socket.set_nodelay(true)?;
        let (mut connection, driver) =
            handshake(TokioIo::new(socket)).await.map_err(unreachable)?;
        let driver = tokio::spawn(driver);
        let mut sent = 0;
        loop {
            let first = self.taken.fetch_add(BATCH_WRITE as u64, Ordering::Relaxed);
            let batch = first..self.followers.min(first + BATCH_WRITE as u64);
            if batch.is_empty() {
                break;
            }
            sent += batch.end - batch.start;
            self.call(&mut connection, self.body(batch)).await?;
        }
        drop(connection);
        driver.await.map_err(unreachable)?.map_err(unreachable)?;
        Ok(sent)
    }

    fn body(&self, followers: std::ops::Range<u64>) -> String {
        let mut body = String::with_capacity(8_192);
        body.push_str(&self.begin);
        for (place, number) in followers.enumerate() {
            body.push_str(if place > 0 { "," } else { "" });
            body.push_str(r#"{"PutRequest":{"Item":{"viewer_id":{"S":""#);
            body.push_str(&follower(number));
            body.push_str(&self.behind);
        }
        body.push_str("]}}");
        body
    }

    async fn call(
        &self,
        connection: &mut SendRequest<Full<Bytes>>,
        body: String,
    ) -> Result<(), Failure> {
        let (scope, names) = (SCOPE.join("/"), "host;x-amz-date;x-amz-target");
        let host = self.host.to_str().map_err(unreachable)?;
        let hash = sha256(body.as_bytes());
        let canonical = format!(
            "POST\n/\n\nhost:{host}\nx-amz-date:{}\nx-amz-target:{TARGET}\n\n{names}\n{hash}",
            self.instant
        );
        let hash = sha256(canonical.as_bytes());
        let (day, instant) = (&self.day, &self.instant);
        let text = format!("AWS4-HMAC-SHA256\n{instant}\n{day}/{scope}\n{hash}");
        let signature = hex(hmac::sign(&self.key, text.as_bytes()).as_ref());
        let request = Request::builder()
            .method(Method::POST)
            .uri("/")
            .header("host", &self.host)
            .header("content-type", "application/x-amz-json-1.0")
            .header("x-amz-date", instant)
            .header("x-amz-target", TARGET)
            .header(
                "authorization",
                format!(
                    "AWS4-HMAC-SHA256 Credential=key/{day}/{scope}, SignedHeaders={names}, Signature={signature}"
                ),
            )
            .body(Full::new(Bytes::from(body)))
            .map_err(unreachable)?;
        let answer = connection.send_request(request).await.map_err(unreachable)?;
        let answer = answer.into_body().collect().await.map_err(unreachable)?.to_bytes();
        if answer != ALL_WRITTEN {
            let answer = String::from_utf8_lossy(&answer);
            return Err(Failure::Unreachable(format!("not all of a batch was written: {answer}")));
        }
        Ok(())
    }
}

fn unreachable(error: impl std::fmt::Display) -> Failure {
    Failure::Unreachable(error.to_string())
}
