//! Bodies in signed chunks (`aws-chunked`), as some SDKs send them. Signatures and trailers are not checked.

/// The bytes that the chunks carry. None if they are not chunks, or end early.
pub(super) fn decoded(body: &[u8]) -> Option<Vec<u8>> {
    let (mut rest, mut bytes) = (body, Vec::with_capacity(body.len()));
    loop {
        let end = rest.windows(2).position(|two| two == b"\r\n")?;
        let head = std::str::from_utf8(&rest[..end]).ok()?;
        let size = usize::from_str_radix(head.split(';').next()?, 16).ok()?;
        rest = &rest[end + 2..];
        if size == 0 {
            return Some(bytes);
        }
        bytes.extend_from_slice(rest.get(..size)?);
        rest = rest.get(size..)?.strip_prefix(b"\r\n")?;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_are_put_together() {
        let body = b"5;chunk-signature=ab\r\nhello\r\n1\r\n!\r\n0;chunk-signature=cd\r\n\r\n";
        assert_eq!(decoded(body).as_deref(), Some(&b"hello!"[..]));
        assert_eq!(decoded(b"0\r\nx-amz-checksum-crc32:AAAA\r\n\r\n").as_deref(), Some(&b""[..]));
        for wrong in [&b"5\r\nhel"[..], b"hello", b"5\r\nhello", b"x\r\n"] {
            assert_eq!(decoded(wrong), None);
        }
    }
}
