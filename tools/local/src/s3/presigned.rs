//! Checks presigned URLs: their signature (Signature Version 4) and their expiry.

use std::collections::BTreeMap;

use http::{HeaderMap, Request};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use ring::digest::{SHA256, digest};
use ring::hmac;
use shared::platform::crypto::hash::hex;
use shared::platform::values::Timestamp;
use subtle::ConstantTimeEq;

use super::answer::Refusal;

const ALGORITHM: &str = "AWS4-HMAC-SHA256";
/// What is escaped in a canonical query.
const ESCAPED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');
const SIGNATURE: &str = "X-Amz-Signature";

/// Lets a request through that has no signature in its query, or a good one.
pub(super) fn check<T>(
    request: &Request<T>,
    query: &[(String, String)],
    secret: &str,
    now: Timestamp,
) -> Result<(), Refusal> {
    let of = |name: &str| {
        let found = query.iter().find(|(other, _)| other == name);
        found.map(|(_, value)| value.as_str())
    };
    let Some(given) = of(SIGNATURE) else { return Ok(()) };
    let part = |name: &str| of(name).ok_or_else(|| incomplete(name));
    let (date, expires) = (part("X-Amz-Date")?, part("X-Amz-Expires")?);
    let (credential, signed) = (part("X-Amz-Credential")?, part("X-Amz-SignedHeaders")?);
    if part("X-Amz-Algorithm")? != ALGORITHM {
        return Err(incomplete("X-Amz-Algorithm"));
    }
    let expected = signature(request, query, Signing { date, credential, signed, secret });
    let expected = expected.ok_or_else(|| incomplete("X-Amz-Credential"))?;
    if !bool::from(expected.as_bytes().ct_eq(given.as_bytes())) {
        return Err(wrong());
    }
    let signed_at = instant(date).ok_or_else(|| incomplete("X-Amz-Date"))?;
    let seconds = expires.parse::<i64>().ok().filter(|seconds| (1..=604_800).contains(seconds));
    let seconds = seconds.ok_or_else(|| incomplete("X-Amz-Expires"))?;
    match now > signed_at.plus_millis(seconds * 1_000) {
        true => Err(Refusal::denied("Request has expired")),
        false => Ok(()),
    }
}

struct Signing<'a> {
    date: &'a str,
    credential: &'a str,
    signed: &'a str,
    secret: &'a str,
}

fn signature<T>(
    request: &Request<T>,
    query: &[(String, String)],
    Signing { date, credential, signed, secret }: Signing<'_>,
) -> Option<String> {
    let (_, scope) = credential.split_once('/')?;
    let mut parts = scope.split('/');
    let (day, region, service) = (parts.next()?, parts.next()?, parts.next()?);
    let canonical = format!(
        "{}\n{}\n{}\n{}\n{signed}\nUNSIGNED-PAYLOAD",
        request.method(),
        request.uri().path(),
        canonical_query(query),
        canonical_headers(request.headers(), signed),
    );
    let hashed = hex(digest(&SHA256, canonical.as_bytes()).as_ref());
    let to_sign = format!("{ALGORITHM}\n{date}\n{scope}\n{hashed}");
    let mut key = format!("AWS4{secret}").into_bytes();
    for part in [day, region, service, "aws4_request"] {
        key = mac(&key, part.as_bytes());
    }
    Some(hex(&mac(&key, to_sign.as_bytes())))
}

fn mac(key: &[u8], text: &[u8]) -> Vec<u8> {
    hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, key), text).as_ref().to_vec()
}

fn canonical_query(query: &[(String, String)]) -> String {
    let escaped = |text: &str| utf8_percent_encode(text, ESCAPED).to_string();
    let signed = query.iter().filter(|(name, _)| name != SIGNATURE);
    let mut pairs: Vec<_> = signed.map(|(n, v)| (escaped(n), escaped(v))).collect();
    pairs.sort();
    pairs.iter().map(|(n, v)| format!("{n}={v}")).collect::<Vec<_>>().join("&")
}

fn canonical_headers(headers: &HeaderMap, signed: &str) -> String {
    let mut lines = BTreeMap::new();
    for name in signed.split(';') {
        let values = headers.get_all(name).iter().filter_map(|value| value.to_str().ok());
        let values = values.map(|value| value.split_whitespace().collect::<Vec<_>>().join(" "));
        lines.insert(name, values.collect::<Vec<_>>().join(","));
    }
    lines.iter().map(|(name, value)| format!("{name}:{value}\n")).collect()
}

/// `20130524T000000Z`
fn instant(date: &str) -> Option<Timestamp> {
    let part = |range| date.get(range);
    let (year, month, day) = (part(0..4)?, part(4..6)?, part(6..8)?);
    let (hour, minute, second) = (part(9..11)?, part(11..13)?, part(13..15)?);
    let text = format!("{year}-{month}-{day}T{hour}:{minute}:{second}Z");
    (date.len() == 16).then(|| Timestamp::parse(&text).ok())?
}

fn incomplete(name: &str) -> Refusal {
    let message = format!("Query-string authentication needs a valid {name}");
    Refusal::new(http::StatusCode::BAD_REQUEST, "AuthorizationQueryParametersError", &message)
}

fn wrong() -> Refusal {
    let message = "The request signature we calculated does not match the signature you provided. Check your key \
                   and signing method.";
    Refusal::new(http::StatusCode::FORBIDDEN, "SignatureDoesNotMatch", message)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example in the documentation of S3 ("Authenticating Requests: Using Query Parameters").
    const EXAMPLE: &str = "/test.txt?X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential=AKIAIOSFODNN7EXAMPLE%2F20130524%2F\
        us-east-1%2Fs3%2Faws4_request&X-Amz-Date=20130524T000000Z&X-Amz-Expires=86400&X-Amz-SignedHeaders=host&\
        X-Amz-Signature=aeeed9bbccd4d02ee5c0109b86d86835f995330da4c265957d157751f604d404";
    const SECRET: &str = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY";

    fn checked(address: &str, now: &str) -> Result<(), Refusal> {
        let request = Request::get(address).header("host", "examplebucket.s3.amazonaws.com");
        let request = request.body(()).unwrap();
        let query = form_urlencoded::parse(request.uri().query().unwrap_or_default().as_bytes());
        let query: Vec<_> = query.into_owned().collect();
        check(&request, &query, SECRET, Timestamp::parse(now).unwrap())
    }

    #[test]
    fn the_example_of_the_documentation_is_good_for_a_day() {
        assert_eq!(checked(EXAMPLE, "2013-05-24T00:00:00Z"), Ok(()));
        assert_eq!(checked(EXAMPLE, "2013-05-25T00:00:00Z"), Ok(()));
        let late = checked(EXAMPLE, "2013-05-25T00:00:00.001Z");
        assert_eq!(late, Err(Refusal::denied("Request has expired")));
    }

    #[test]
    fn it_is_good_for_nothing_else() {
        for (from, to) in
            [("/test.txt", "/other.txt"), ("Expires=86400", "Expires=86401"), ("aeee", "beee")]
        {
            let other = EXAMPLE.replacen(from, to, 1);
            assert_eq!(checked(&other, "2013-05-24T00:00:00Z"), Err(wrong()), "{from}");
        }
        assert_eq!(checked("/test.txt", "2013-05-24T00:00:00Z"), Ok(()), "there is no signature");
    }
}
