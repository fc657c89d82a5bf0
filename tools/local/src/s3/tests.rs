//! Requests as clients send them, and what they get.
#![allow(clippy::unwrap_used)]

use axum::body::Bytes;
use http::{Method, Request, Response};
use shared::platform::runtime::clock::Clock;
use shared::platform::values::Timestamp;

use super::S3;

fn bucket() -> S3 {
    let now = Timestamp::parse("2013-05-06T07:08:09Z").unwrap();
    S3::open(None, &Clock::manual(now)).unwrap()
}

fn send(
    s3: &S3,
    method: Method,
    path: &str,
    headers: &[(&str, &str)],
    body: &str,
) -> Response<Bytes> {
    let mut request = Request::builder().method(method).uri(path);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    s3.answer(&request.body(Bytes::from(body.to_owned())).unwrap())
}

fn put(s3: &S3, key: &str, body: &str) -> Response<Bytes> {
    send(s3, Method::PUT, &format!("/nagare-archive/{key}"), &[], body)
}

fn get(s3: &S3, path: &str) -> Response<Bytes> {
    send(s3, Method::GET, path, &[], "")
}

fn text(answer: &Response<Bytes>) -> &str {
    std::str::from_utf8(answer.body()).unwrap()
}

/// What stands between two marks, each time.
fn between<'a>(text: &'a str, start: &str, end: &str) -> Vec<&'a str> {
    text.split(start).skip(1).filter_map(|rest| rest.split_once(end)).map(|(it, _)| it).collect()
}

#[test]
fn an_object_is_read_as_a_whole_and_in_part() {
    let s3 = bucket();
    let etag = put(&s3, "a/b.gz", "0123456789").headers()["etag"].clone();
    assert_eq!(etag, "\"781e5e245d69b566979b86e28d23f2c7\"");
    let whole = get(&s3, "/nagare-archive/a/b.gz");
    assert_eq!((whole.status().as_u16(), text(&whole)), (200, "0123456789"));
    assert_eq!(whole.headers()["last-modified"], "Mon, 06 May 2013 07:08:09 GMT");
    let ask = |headers: &[(&str, &str)]| {
        let answer = send(&s3, Method::GET, "/nagare-archive/a%2Fb.gz", headers, "");
        (answer.status().as_u16(), text(&answer).to_owned())
    };
    assert_eq!(ask(&[("range", "bytes=2-4")]), (206, "234".to_owned()));
    assert_eq!(ask(&[("range", "bytes=10-")]).0, 416);
    let etag = etag.to_str().unwrap();
    assert_eq!(ask(&[("if-match", etag)]).0, 200);
    assert_eq!(ask(&[("if-match", "\"other\"")]).0, 412);
    assert_eq!(ask(&[("if-none-match", etag)]).0, 304);
    let head = send(&s3, Method::HEAD, "/nagare-archive/a/b.gz", &[], "");
    assert_eq!((head.headers()["content-length"].as_bytes(), head.body().len()), (&b"10"[..], 0));
    assert_eq!(send(&s3, Method::DELETE, "/nagare-archive/a/b.gz", &[], "").status(), 204);
    let gone = get(&s3, "/nagare-archive/a/b.gz");
    assert_eq!((gone.status().as_u16(), text(&gone).contains("NoSuchKey")), (404, true));
}

#[test]
fn what_arrives_otherwise_than_it_was_sent_is_refused() {
    let s3 = bucket();
    let put = |name: &str, value: &str, body| {
        send(&s3, Method::PUT, "/nagare-archive/k", &[(name, value)], body).status().as_u16()
    };
    let of_abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
    assert_eq!(put("x-amz-content-sha256", of_abc, "abd"), 400);
    assert_eq!(put("x-amz-checksum-sha256", "AAAA", "abc"), 400);
    assert_eq!(put("x-amz-meta-owner", "me", "abc"), 501);
    assert_eq!(get(&s3, "/nagare-archive/k").status(), 404, "nothing was stored");
    assert_eq!(put("x-amz-content-sha256", of_abc, "abc"), 200);
    assert_eq!(put("if-none-match", "*", "abc"), 412);
    assert_eq!(
        put("x-amz-content-sha256", "STREAMING-UNSIGNED-PAYLOAD-TRAILER", "2\r\nhi\r\n0\r\n\r\n"),
        200
    );
    assert_eq!(text(&get(&s3, "/nagare-archive/k")), "hi");
}

#[test]
fn lists_are_walked_without_a_gap_and_without_a_repetition() {
    let s3 = bucket();
    for n in 0..25 {
        put(&s3, &format!("events/t%26{}/2013-01-{n:02}.gz", n % 3), "x");
    }
    put(&s3, "other", "x");
    let walk = |query: &str| {
        let (mut found, mut token) = (Vec::new(), String::new());
        loop {
            let page = get(&s3, &format!("/nagare-archive?list-type=2&{query}{token}"));
            let page = text(&page);
            found.extend(between(page, "<Key>", "</Key>").into_iter().map(str::to_owned));
            let prefixes = between(page, "<CommonPrefixes><Prefix>", "</Prefix>");
            found.extend(prefixes.into_iter().map(str::to_owned));
            match between(page, "<NextContinuationToken>", "<").first() {
                Some(next) => {
                    let next = next.replace("&amp;", "&");
                    let next = form_urlencoded::byte_serialize(next.as_bytes()).collect::<String>();
                    token = format!("&continuation-token={next}");
                }
                None => return found,
            }
        }
    };
    for most in [1, 2, 7, 1_000] {
        let all = walk(&format!("max-keys={most}"));
        assert_eq!((all.len(), all.is_sorted()), (26, true), "{most}");
        let tenants = walk(&format!("prefix=events/&delimiter=/&max-keys={most}"));
        assert_eq!(tenants, ["events/t&amp;0/", "events/t&amp;1/", "events/t&amp;2/"], "{most}");
        assert_eq!(walk(&format!("prefix=events/t%261/&max-keys={most}")).len(), 8);
    }
    assert_eq!(walk("delimiter=/"), ["other", "events/"]);
    assert_eq!(walk("prefix=other"), ["other"]);
    let escaped = walk("prefix=events/&delimiter=/&encoding-type=url");
    assert_eq!(escaped, ["events/t%260/", "events/t%261/", "events/t%262/"]);
}

#[test]
fn buckets_are_found_and_what_is_not_served_says_so() {
    let s3 = bucket();
    assert_eq!(send(&s3, Method::HEAD, "/nagare-archive", &[], "").status(), 200);
    assert_eq!(send(&s3, Method::HEAD, "/other", &[], "").status(), 404);
    assert!(text(&get(&s3, "/nagare-archive?location")).contains(">us-local-1<"));
    assert!(text(&get(&s3, "/")).contains("<Name>nagare-archive</Name>"));
    for (method, path) in [
        (Method::GET, "/nagare-archive?versions"),
        (Method::GET, "/nagare-archive"),
        (Method::POST, "/nagare-archive/k?uploads"),
        (Method::PUT, "/nagare-archive/k?partNumber=1&uploadId=x"),
        (Method::GET, "/nagare-archive/k?acl"),
        (Method::PUT, "/nagare-archive"),
    ] {
        let answer = send(&s3, method, path, &[], "");
        assert_eq!(answer.status(), 501, "{path}: {}", text(&answer));
    }
}
