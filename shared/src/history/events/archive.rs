//! The format of archives: the content and the keys of objects.
//!
//! An object has the events of one tenant and one chunk of a table, in the order of customer, instant and id, with a line of JSON for
//! each. It consists of gzip members of 256 KiB of lines, without a name or a time in their headers. Gzip readers read all members as one
//! text, and fast readers read several in parallel. The same events give the same bytes.
//!
//! A cut or changed object is detected: gzip has a checksum of each member, the tally counts lines and adds up their digests, and the
//! digest of the object is stored in the ledger.

use std::collections::BTreeMap;
use std::io::{self, BufRead, BufReader, Read, Write};

use bytes::Bytes;
use flate2::bufread::MultiGzDecoder;
use flate2::{Compression, GzBuilder};
use serde::{Deserialize, Serialize};

use super::{Event, EventKey, Period, Tally};
use crate::platform::crypto::hash::sha256;
use crate::platform::values::TenantId;

/// The prefix of all keys.
pub const PREFIX: &str = "events/";
/// A member ends with the line that reaches this size, in bytes.
pub const MEMBER_BYTES: usize = 256 * 1024;
/// Objects that one file of a manifest lists.
pub const MOST_LISTED: usize = 10_000;
/// The compression level. It must not change, so that the same events give the same bytes.
const LEVEL: u32 = 6;
/// The longest line: ids, a name, an instant, and properties of 4 KiB.
const LONGEST_LINE: u64 = 8 * 1024;
/// The memory of an event of a chunk besides its line, in bytes.
const KEY_BYTES: usize = 256;

/// The key of an object: the nth chunk of a segment.
pub fn object_key(period: Period, tenant: &TenantId, segment: u32, chunk: u32) -> String {
    format!("{PREFIX}{period}/{tenant}/{segment:04}-{chunk:06}.jsonl.gz")
}

/// The key of an edition: what is left of an object after events were removed. An edition is named by its content, so two of them never
/// have the same key.
pub fn edition_key(
    period: Period,
    tenant: &TenantId,
    (segment, chunk): (u32, u32),
    edition: &str,
) -> String {
    format!("{PREFIX}{period}/{tenant}/{segment:04}-{chunk:06}-{edition}.jsonl.gz")
}

/// The key of the manifest of a period, or of its nth further file. The key of an object of a tenant has another slash, so it is never
/// one of these.
pub fn manifest_key(period: Period, file: usize) -> String {
    match file {
        0 => format!("{PREFIX}{period}/manifest.json"),
        file => format!("{PREFIX}{period}/manifest-{file}.json"),
    }
}

/// An object that was made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Packed {
    pub bytes: Bytes,
    /// Its SHA-256, in hex.
    pub sha256: String,
    pub tally: Tally,
}

/// Makes an object from lines, in order.
pub fn pack<'a>(lines: impl IntoIterator<Item = &'a str>) -> Packed {
    let (mut packed, mut tally) = (Vec::new(), Tally::default());
    let mut member = Vec::with_capacity(MEMBER_BYTES + 8 * 1024);
    for line in lines {
        tally.add(Tally::of_line(line));
        member.extend_from_slice(line.as_bytes());
        member.push(b'\n');
        if member.len() >= MEMBER_BYTES {
            compress(&member, &mut packed);
            member.clear();
        }
    }
    if !member.is_empty() {
        compress(&member, &mut packed);
    }
    Packed { sha256: sha256(&packed), bytes: Bytes::from(packed), tally }
}

fn compress(member: &[u8], packed: &mut Vec<u8>) {
    // Without a time, a name, or the operating system.
    let header = GzBuilder::new().mtime(0).operating_system(255);
    let mut encoder = header.write(packed, Compression::new(LEVEL));
    // Writing into memory never fails.
    let _ = encoder.write_all(member);
    let _ = encoder.finish();
}

/// An object differs from what was written.
#[derive(Debug, thiserror::Error)]
pub enum ArchiveError {
    /// It is not gzip, incomplete, or has a wrong checksum.
    #[error("it is damaged: {0}")]
    Damaged(#[from] io::Error),
    /// Its last line has no end, or a line is longer than any event.
    #[error("line {0} is no line of an archive")]
    Line(u64),
}

/// Reads the lines of an object, one at a time, without their ends.
///
/// # Errors
/// [`ArchiveError`]. The lines before the error are valid.
pub fn read(object: &[u8], mut each: impl FnMut(&str)) -> Result<(), ArchiveError> {
    let mut text = BufReader::new(MultiGzDecoder::new(object));
    let mut line = Vec::new();
    for number in 1.. {
        line.clear();
        let read = text.by_ref().take(LONGEST_LINE).read_until(b'\n', &mut line)?;
        if read == 0 {
            break;
        }
        let line = line.strip_suffix(b"\n").and_then(|line| std::str::from_utf8(line).ok());
        each(line.ok_or(ArchiveError::Line(number))?);
    }
    Ok(())
}

/// The identity of the event of a line.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
pub struct Line<'a> {
    pub tenant_id: &'a str,
    pub customer_id: &'a str,
    /// When, as it is written in all lines.
    pub at: &'a str,
    pub event_id: &'a str,
}

impl<'a> Line<'a> {
    /// Parses a line; `None` if it is malformed.
    pub fn parse(line: &'a str) -> Option<Self> {
        // Ids and instants have no escapes, so they can be borrowed.
        serde_json::from_str(line).ok()
    }
}

pub fn tally(object: &[u8]) -> Result<Tally, ArchiveError> {
    let mut tally = Tally::default();
    read(object, |line| tally.add(Tally::of_line(line)))?;
    Ok(tally)
}

/// The events of one chunk of a table, in memory.
#[derive(Debug, Default)]
pub struct Chunk {
    lines: BTreeMap<EventKey, String>,
    weight: usize,
}

impl Chunk {
    pub fn add(&mut self, event: Event) {
        let line = event.line();
        self.weight += line.len() + KEY_BYTES;
        self.lines.insert(event.key, line);
    }

    /// Its approximate size in memory, in bytes.
    pub fn weight(&self) -> usize {
        self.weight
    }

    /// Its objects, one for each tenant.
    pub fn objects(&self) -> impl Iterator<Item = (TenantId, Packed)> {
        let mut rest = self.lines.iter().peekable();
        std::iter::from_fn(move || {
            let tenant = rest.peek()?.0.customer.tenant_id.clone();
            let of_tenant = std::iter::from_fn(|| {
                let next = rest.next_if(|(key, _)| key.customer.tenant_id == tenant)?;
                Some(next.1.as_str())
            });
            let packed = pack(of_tenant);
            Some((tenant, packed))
        })
    }
}

/// A file of the manifest of a period.
#[derive(Debug, Serialize)]
pub struct Manifest {
    pub period: String,
    /// The number of this file, from 0 on.
    pub file: usize,
    pub files: usize,
    /// Events of the period, in all files.
    pub events: u64,
    /// Bytes of their lines, uncompressed.
    pub line_bytes: u64,
    /// The sum of the digests of the lines, 32 digits in hex: see [`Tally`].
    pub sum: String,
    pub objects: Vec<ManifestObject>,
}

#[derive(Debug, Serialize)]
pub struct ManifestObject {
    pub key: String,
    /// Its size in bytes.
    pub bytes: u64,
    /// Its SHA-256, in hex.
    pub sha256: String,
    pub events: u64,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::history::events::Customer;
    use crate::platform::values::{CustomerId, EventId, EventName, Payload};

    fn event(tenant: &str, customer: &str, millis: i64, id: &str) -> Event {
        let customer = Customer {
            tenant_id: TenantId::new(tenant).expect("an id"),
            customer_id: CustomerId::new(customer).expect("an id"),
        };
        let key = EventKey {
            customer,
            at: crate::platform::values::Timestamp::from_unix_millis(millis),
            event_id: EventId::new(id).expect("an id"),
        };
        let properties = Payload::parse(r#"{"plan": "pro", "n": 1.50}"#).expect("JSON");
        Event { key, name: EventName::new("login").expect("a name"), properties }
    }

    fn many(number: i64) -> Vec<Event> {
        let of = |n: i64| {
            let (tenant, customer) = (format!("t{}", n % 3), format!("c{}", n % 7));
            event(&tenant, &customer, 1_795_176_000_000 + n * 977 % 100_000, &format!("e{n}"))
        };
        (0..number).map(of).collect()
    }

    fn chunk(events: impl IntoIterator<Item = Event>) -> Chunk {
        let mut chunk = Chunk::default();
        events.into_iter().for_each(|event| chunk.add(event));
        chunk
    }

    #[test]
    fn the_same_events_are_the_same_bytes_in_whatever_order_they_come() {
        let (there, mut back) = (many(5_000), many(5_000));
        back.reverse();
        let (there, back) = (chunk(there), chunk(back));
        let [there, back] = [&there, &back].map(|chunk| chunk.objects().collect::<Vec<_>>());
        assert_eq!(there.len(), 3);
        assert_eq!(there, back);
    }

    /// Another compressor makes other bytes of the same events, and every object that is archived again another one.
    #[test]
    fn the_bytes_never_change() {
        let chunk = chunk(many(5_000));
        let digests: Vec<_> = chunk.objects().map(|(_, packed)| packed.sha256).collect();
        assert_eq!(digests, DIGESTS);
    }

    const DIGESTS: [&str; 3] = [
        "f9a7c325372c4d5674be6814ce708a6dfc1a88dfa1ff31a2d4343b99edb0c025",
        "2ab93b0fd66d441b73f8b679784941c9ba6fd23d9952f8d54e3aa7a49a718074",
        "de4ae052e752d94925c8970df98cf19902ef682da9d898a8587ef416b511d488",
    ];

    #[test]
    fn members_end_with_lines_and_are_read_as_one() {
        let events = many(9_000);
        let chunk =
            chunk(events.iter().filter(|e| e.key.customer.tenant_id.as_str() == "t1").cloned());
        let (_, packed) = chunk.objects().next().expect("an object");
        let members = packed.bytes.windows(4).filter(|it| *it == [0x1f, 0x8b, 8, 0]).count();
        assert!(members > 1, "{members}");
        let mut lines = Vec::new();
        read(&packed.bytes, |line| lines.push(line.to_owned())).expect("an object");
        let mut sorted: Vec<_> =
            events.iter().filter(|e| e.key.customer.tenant_id.as_str() == "t1").collect();
        sorted.sort_by_key(|event| event.key.clone());
        assert!(
            lines.iter().eq(sorted.iter().map(|event| event.line()).collect::<Vec<_>>().iter())
        );
        assert_eq!(tally(&packed.bytes).expect("an object"), packed.tally);
        assert_eq!(packed.tally.events, 3_000);
    }

    /// Each cut and each flipped bit shows in the digest of the object, and as damage or in the tally, but for those bits
    /// that mean nothing: of the header, and of the last byte of what is compressed.
    #[test]
    fn what_is_cut_or_flipped_is_found_out() {
        let chunk = chunk(many(40));
        let (_, packed) = chunk.objects().next().expect("an object");
        let whole = packed.bytes.as_ref();
        for length in 0..whole.len() {
            let read = tally(&whole[..length]);
            assert!(read.is_err() || read.is_ok_and(|it| it != packed.tally), "cut at {length}");
        }
        let mut meaningless = 0;
        for bit in 0..whole.len() * 8 {
            let mut flipped = whole.to_vec();
            flipped[bit / 8] ^= 1 << (bit % 8);
            let read = tally(&flipped);
            let differs = read.is_err() || read.is_ok_and(|it| it != packed.tally);
            meaningless += usize::from(!differs);
            let is_in_header = bit / 8 < 10;
            assert!(differs || is_in_header || bit / 8 == whole.len() - 9, "bit {bit}");
            assert_ne!(sha256(&flipped), packed.sha256);
        }
        assert!(meaningless < 64, "{meaningless}");
    }

    #[test]
    fn keys_do_not_meet() {
        let period: Period = "2026-11".parse().expect("a period");
        let tenant = TenantId::new("manifest.json").expect("an id");
        assert_eq!(
            object_key(period, &tenant, 2, 3),
            "events/2026-11/manifest.json/0002-000003.jsonl.gz"
        );
        assert_eq!(manifest_key(period, 0), "events/2026-11/manifest.json");
        assert_eq!(manifest_key(period, 7), "events/2026-11/manifest-7.json");
    }
}
