//! Bodies compressed with gzip, for callers who accept it.
//!
//! An HTTP API of API Gateway does not compress bodies, so the functions do. Callers choose by RFC 9110 (12.5.3): codings with weights, `*`
//! for all others, and a weight of 0 for codings that they do not accept. A caller who accepts none of ours gets the body uncompressed,
//! which the RFC prefers to a refusal. Browsers and the HTTP stacks of phones ask for gzip by themselves.
//!
//! A page of 20 shrinks to less than half; compressing it takes 0.1 to 0.2 ms of CPU time (docs/PERFORMANCE.md). No body has a secret of
//! ours together with input of others, so the length of an answer reveals no secret (docs/SECURITY.md: what it can reveal).

use std::io::{self, Write};

use aws_lambda_events::http::HeaderMap;
use aws_lambda_events::http::header::ACCEPT_ENCODING;
use flate2::Compression;
use flate2::write::GzEncoder;

/// The minimum length of a compressed body, in bytes. Shorter ones fit into one packet anyway.
pub const COMPRESSED_FROM: usize = 1024;

/// The weights of our codings in a request; 0: not accepted.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Accepted {
    gzip: f32,
    /// The uncompressed body. `None` if the caller does not name it: then it is accepted, and every named coding is preferred to it.
    identity: Option<f32>,
}

impl Accepted {
    /// Reads the headers of a request.
    pub fn from_headers(headers: &HeaderMap) -> Self {
        let (mut gzip, mut identity, mut any) = (None, None, None);
        let values =
            headers.get_all(ACCEPT_ENCODING).iter().filter_map(|value| value.to_str().ok());
        for (coding, weight) in values.flat_map(|value| value.split(',')).map(weighted) {
            match coding.to_ascii_lowercase().as_str() {
                "gzip" | "x-gzip" => gzip = Some(weight),
                "identity" => identity = Some(weight),
                "*" => any = Some(weight),
                _ => {}
            }
        }
        Self { gzip: gzip.or(any).unwrap_or(0.0), identity: identity.or(any) }
    }

    /// The compressed body; `None` if it is sent uncompressed.
    #[must_use]
    pub fn compressed(self, body: &str) -> Option<Vec<u8>> {
        let is_needed = body.len() >= COMPRESSED_FROM || self.identity == Some(0.0);
        let is_preferred = self.gzip > 0.0 && self.gzip >= self.identity.unwrap_or(0.0);
        // Writing to memory never fails. If it did, the uncompressed body is valid too.
        (is_needed && is_preferred).then(|| gzip(body.as_bytes()).ok()).flatten()
    }
}

/// A coding and its weight: `gzip;q=0.5`. A malformed weight is 0.
fn weighted(element: &str) -> (&str, f32) {
    let mut parts = element.split(';').map(str::trim);
    let coding = parts.next().unwrap_or_default();
    let weight = parts.find_map(|part| part.strip_prefix("q=").or(part.strip_prefix("Q=")));
    let parsed = |text: &str| text.parse().ok().filter(|weight| (0.0..=1.0).contains(weight));
    (coding, weight.map_or(1.0, |text| parsed(text).unwrap_or(0.0)))
}

fn gzip(body: &[u8]) -> io::Result<Vec<u8>> {
    let mut encoder = GzEncoder::new(Vec::with_capacity(body.len() / 2), Compression::default());
    encoder.write_all(body)?;
    encoder.finish()
}
