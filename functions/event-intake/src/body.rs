//! The bytes of a request.
//!
//! API Gateway passes a body as text if its type is text, and otherwise, or if it is compressed, in base64. Only the allowed number of
//! bytes is decompressed, so a few bytes cannot become many.

use std::borrow::Cow;
use std::io::Read;

use aws_lambda_events::event::apigw::ApiGatewayV2httpRequest;
use aws_lambda_events::http::header::CONTENT_ENCODING;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use flate2::read::MultiGzDecoder;
use function_http::Problem;
use function_http::problem::Fault;

use crate::events::MOST_EVENTS;

/// The most bytes of a body, compressed and decompressed: 6 MiB, the limit of an event of Lambda.
pub const MOST_BYTES: usize = 6 * 1024 * 1024;

/// The events that a text is charged as, if they cannot be counted: 1 to 500, by its size.
pub(crate) fn charge(bytes: usize) -> usize {
    (bytes.min(MOST_BYTES) * MOST_EVENTS).div_ceil(MOST_BYTES).max(1)
}

/// The same for a body that cannot be read. A compressed one may have been decompressed up to the
/// limit.
pub(crate) fn charge_unread(request: &ApiGatewayV2httpRequest) -> usize {
    match is_compressed(request) {
        Ok(true) => MOST_EVENTS,
        _ => charge(request.body.as_ref().map_or(0, String::len)),
    }
}

/// The text of a request.
pub(crate) fn read(request: &ApiGatewayV2httpRequest) -> Result<Cow<'_, str>, Problem> {
    let body = request.body.as_deref().unwrap_or_default();
    if !request.is_base64_encoded && !is_compressed(request)? {
        return if body.len() > MOST_BYTES { Err(too_large()) } else { Ok(Cow::from(body)) };
    }
    let bytes = match request.is_base64_encoded {
        true => STANDARD.decode(body).map_err(|_| unreadable("the body is not what was sent"))?,
        false => body.as_bytes().to_vec(),
    };
    if bytes.len() > MOST_BYTES {
        return Err(too_large());
    }
    let bytes = if is_compressed(request)? { decompressed(&bytes)? } else { bytes };
    let text = String::from_utf8(bytes).map_err(|_| unreadable("the body is not UTF-8"))?;
    Ok(Cow::from(text))
}

/// True if the body is compressed with gzip.
fn is_compressed(request: &ApiGatewayV2httpRequest) -> Result<bool, Problem> {
    let mut codings = request.headers.get_all(CONTENT_ENCODING).iter();
    let (first, second) = (codings.next(), codings.next());
    match (first.map(|coding| coding.as_bytes().to_ascii_lowercase()).as_deref(), second) {
        (None | Some(b"" | b"identity"), None) => Ok(false),
        (Some(b"gzip" | b"x-gzip"), None) => Ok(true),
        _ => Err(Problem::UnknownEncoding),
    }
}

fn decompressed(bytes: &[u8]) -> Result<Vec<u8>, Problem> {
    let mut text = Vec::new();
    // One byte more than the limit, to notice that it is exceeded.
    let mut decoder = MultiGzDecoder::new(bytes).take(MOST_BYTES as u64 + 1);
    decoder.read_to_end(&mut text).map_err(|_| unreadable("the body is not gzip, or cut off"))?;
    if text.len() > MOST_BYTES { Err(too_large()) } else { Ok(text) }
}

fn too_large() -> Problem {
    Problem::TooLarge(MOST_BYTES)
}

fn unreadable(detail: &str) -> Problem {
    Problem::Rejected(vec![Fault { index: None, member: None, detail: detail.to_owned() }])
}
