//! The header `Range`: which bytes of an object a client asks for (RFC 9110, section 14).

use std::ops::Range;

/// What a header `Range` asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ByteRange {
    /// All: there is no header, or one that is not understood, which is ignored.
    Whole,
    Part(Range<usize>),
    /// Nothing that is there.
    Nowhere,
}

/// What a header asks of so many bytes.
pub(super) fn asked(header: Option<&str>, length: usize) -> ByteRange {
    let spec = header.and_then(|header| header.strip_prefix("bytes="));
    let Some((first, last)) = spec.and_then(|spec| spec.split_once('-')) else {
        return ByteRange::Whole;
    };
    let range = match (first.parse::<usize>(), last.parse::<usize>()) {
        (Ok(first), Ok(last)) if first <= last => first..last.saturating_add(1).min(length),
        (Ok(first), Err(_)) if last.is_empty() => first..length,
        (Err(_), Ok(count)) if first.is_empty() => length.saturating_sub(count)..length,
        _ => return ByteRange::Whole,
    };
    if range.is_empty() { ByteRange::Nowhere } else { ByteRange::Part(range) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_those_of_http() {
        let of_ten = |header| asked(Some(header), 10);
        assert_eq!(asked(None, 10), ByteRange::Whole);
        assert_eq!(of_ten("bytes=0-0"), ByteRange::Part(0..1));
        assert_eq!(of_ten("bytes=2-99"), ByteRange::Part(2..10));
        assert_eq!(of_ten("bytes=9-"), ByteRange::Part(9..10));
        assert_eq!(of_ten("bytes=-3"), ByteRange::Part(7..10));
        assert_eq!(of_ten("bytes=-30"), ByteRange::Part(0..10));
        for nowhere in ["bytes=10-", "bytes=10-11", "bytes=-0"] {
            assert_eq!(of_ten(nowhere), ByteRange::Nowhere, "{nowhere}");
        }
        for ignored in ["bytes=5-2", "bytes=0-1,4-5", "lines=0-1", "bytes=-", "bytes=a-b"] {
            assert_eq!(of_ten(ignored), ByteRange::Whole, "{ignored}");
        }
    }
}
