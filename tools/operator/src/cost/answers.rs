//! The bytes that an answer to a viewer has on its way.
//!
//! `tests/functions/platform/answers.rs` compares them with what the reader answers, for pages of different lengths.

use std::io::{self, Write};

use flate2::Compression;
use flate2::write::DeflateEncoder;
use function_http::encoding::COMPRESSED_FROM;

use super::sizes::Activity;

/// Status line and headers, API Gateway's included.
const HEADERS: f64 = 250.0;
/// What a page has besides its activities and cursors: names, the viewer and an instant.
const AROUND: f64 = 124.0;
/// The bytes of a page's two cursors, without the ids in them: tags and instants, and seven bytes in each cursor for
/// every activity that was published within an hour of the newest. Nine such activities are assumed.
const CURSORS: f64 = 77.0 + 9.0 * 14.0;
/// The ids in both of them.
const CURSOR_IDS: f64 = 1.0;
/// Letters for a byte.
const LETTERS: f64 = 4.0 / 3.0;
/// The names of an activity's members, and its instant.
const MEMBERS: f64 = 96.0;
/// What is left of these after compression, with the tables of the format. Of cursors it is the bytes that they are
/// made of: they are sealed.
const AROUND_LEFT: f64 = 243.0;
const MEMBERS_LEFT: f64 = 16.0;
/// The share that is left of payloads as people write them: some prose, a link, a number.
const PAYLOADS_LEFT: f64 = 0.43;

/// The share that is left of ids which are random letters and digits: six bits each. No ids cost more.
pub const RANDOM_IDS_LEFT: f64 = 0.75;
/// How many ids tell what is left of them: those of a page.
pub const ID_SAMPLE: usize = 20;

/// Which callers take answers compressed, and how much that helps.
#[derive(Debug, Clone, Copy)]
pub struct Gzip {
    /// The share of the callers who accept it.
    pub share: f64,
    /// The share that is left of ids.
    pub ids_left: f64,
}

/// The share that is left of ids such as these, each an activity's and its actor's.
#[must_use]
pub fn ids_left<'a>(ids: impl IntoIterator<Item = &'a str>) -> f64 {
    let text = ids.into_iter().collect::<Vec<_>>().join(" ");
    let left = deflated(&text).map_or(text.len(), |bytes| bytes.len());
    (left as f64 / text.len().max(1) as f64).min(RANDOM_IDS_LEFT)
}

fn deflated(text: &str) -> io::Result<Vec<u8>> {
    let mut encoder = DeflateEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(text.as_bytes())?;
    encoder.finish()
}

/// The body of a page with N activities.
#[must_use]
pub fn body(activities: f64, each: &Activity) -> f64 {
    AROUND
        + cursors(each) * LETTERS
        + activities * (MEMBERS + each.id + each.actor + each.kind + each.payload)
}

fn cursors(each: &Activity) -> f64 {
    CURSORS + CURSOR_IDS * each.id
}

/// The same for a caller who accepts gzip.
#[must_use]
pub fn body_for_gzip(activities: f64, each: &Activity, ids_left: f64) -> f64 {
    if compressed(activities, each) == 0.0 {
        return body(activities, each);
    }
    let ids = ids_left * (each.id + each.actor);
    AROUND_LEFT + cursors(each) + activities * (MEMBERS_LEFT + ids + PAYLOADS_LEFT * each.payload)
}

/// The bytes that are compressed of it: all, or none of a short one.
pub(super) fn compressed(activities: f64, each: &Activity) -> f64 {
    let bytes = body(activities, each);
    if bytes < COMPRESSED_FROM as f64 { 0.0 } else { bytes }
}

/// The answer with its headers, on average over those callers.
pub(super) fn answer(activities: f64, each: &Activity, gzip: Gzip) -> f64 {
    let packed = body_for_gzip(activities, each, gzip.ids_left);
    HEADERS + packed * gzip.share + body(activities, each) * (1.0 - gzip.share)
}
