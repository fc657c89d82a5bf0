//! Bodies compressed with gzip, for callers who accept it.
//!
//! An HTTP API of API Gateway hands bodies on as they are, so whoever wants small answers has to write them small.
//! Callers choose as RFC 9110 (12.5.3) says: codings with weights, `*` for all that are not named, and a weight of
//! nought for what they do not take. A caller who takes nothing that we have gets the body as it is, which the RFC
//! prefers to a refusal. Browsers and the HTTP stacks of phones ask for gzip by themselves.
//!
//! A page of 20 shrinks to less than half; compressing it takes a tenth of a millisecond or two of a processor
//! (docs/PERFORMANCE.md). No secret of ours is in a body beside what others have written, so the length of an answer
//! says nothing of one (docs/SECURITY.md has what it can say).

use std::io::{self, Write};

use aws_lambda_events::http::HeaderMap;
use aws_lambda_events::http::header::ACCEPT_ENCODING;
use flate2::Compression;
use flate2::write::GzEncoder;

/// The length in bytes from which compressing a body is worth its while. What is shorter fits into one packet
/// anyway.
pub const COMPRESSED_FROM: usize = 1024;

/// How much a caller wants each of the codings that we have; nought is not at all.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Accepted {
    gzip: f32,
    /// The body as it is. `None` if the caller does not say: then it is taken, and anything that is named is
    /// preferred to it.
    identity: Option<f32>,
}

impl Accepted {
    /// What the headers of a request say.
    #[must_use]
    pub fn of(headers: &HeaderMap) -> Self {
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

    /// Whether a body of this length is sent compressed.
    fn compresses(self, length: usize) -> bool {
        let identity = self.identity.unwrap_or(0.0);
        let is_refused = self.identity == Some(0.0);
        self.gzip > 0.0 && self.gzip >= identity && (length >= COMPRESSED_FROM || is_refused)
    }

    /// The body compressed; `None` if it is sent as it is.
    #[must_use]
    pub fn compressed(self, body: &str) -> Option<Vec<u8>> {
        // Writing to memory does not fail. If it ever did, the body itself is an answer too.
        self.compresses(body.len()).then(|| gzip(body.as_bytes()).ok()).flatten()
    }
}

/// A coding, and how much it is wanted: `gzip;q=0.5`. What is written wrongly is not wanted.
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
