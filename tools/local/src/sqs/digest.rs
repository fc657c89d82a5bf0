//! The MD5 digests by which SDKs check that a message arrived whole.

use md5::{Digest as _, Md5};
use shared::platform::crypto::hash::hex;

use super::attribute::{AttributeValue, Attributes};

pub(super) fn of_body(body: &str) -> String {
    hex(&Md5::digest(body))
}

/// SQS's digest of attributes, over the sorted names: each of name, type and value with its length
/// in front, and a byte that says whether the value is text or binary. No attributes, no digest.
pub(super) fn of_attributes(attributes: &Attributes) -> Option<String> {
    if attributes.is_empty() {
        return None;
    }
    let mut md5 = Md5::new();
    for (name, attribute) in attributes.iter() {
        let value = attribute.value();
        update_sized(&mut md5, name.as_bytes());
        update_sized(&mut md5, attribute.data_type().as_bytes());
        md5.update(match value {
            AttributeValue::Text(_) => [1],
            AttributeValue::Binary(_) => [2],
        });
        update_sized(&mut md5, value.bytes());
    }
    Some(hex(&md5.finalize()))
}

fn update_sized(md5: &mut Md5, part: &[u8]) {
    // A message has at most 1 MiB, so the length always fits.
    let length = u32::try_from(part.len()).unwrap_or(u32::MAX);
    md5.update(length.to_be_bytes());
    md5.update(part);
}
