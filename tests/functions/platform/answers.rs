//! Answers as they travel: which are compressed, for whom, and how small they get.

use std::io::Read;
use std::ops::Range;

use aws_lambda_events::encodings::Body;
use aws_lambda_events::event::apigw::{ApiGatewayV2httpRequest, ApiGatewayV2httpResponse};
use flate2::read::GzDecoder;
use function_http::encoding::COMPRESSED_FROM;
pub(crate) use nagare_operator::cost::month::PAYLOAD;
use serde_json::{Value, json};
use shared::platform::values::Timestamp;
use tests::{NOW, World, api_event, follow, publish, soon};

/// English of people, to be cut into payloads: 300 letters for each activity.
const PROSE: &str = include_str!("prose.txt");
const TIMELINE: &str = "/v1/timelines/viewer-00012";

/// Letters and digits without any order.
fn random_id(random: &mut fastrand::Rng, length: usize) -> String {
    (0..length).map(|_| random.alphanumeric()).collect()
}

/// A world in which a viewer's timeline holds N activities.
async fn with_activities(number: usize) -> World {
    let world = World::new();
    publish_prose(&world, 0..number, PAYLOAD).await;
    world
}

/// Publishes activities to a viewer, each of another actor, with payloads as people write them: some prose, a link and a number.
pub(crate) async fn publish_prose(world: &World, numbers: Range<usize>, bytes: usize) {
    let prose = PROSE.split_whitespace().collect::<Vec<_>>().join(" ").replace('"', "");
    let prose: Vec<_> = prose.chars().filter(char::is_ascii).collect();
    for n in numbers {
        let mut random = fastrand::Rng::with_seed(n as u64);
        let [activity, actor, link] = [24, 12, 11].map(|length| random_id(&mut random, length));
        let url = format!("https://video.example/v/{link}");
        let mut payload = json!({"text": "", "url": url, "likes": n * n});
        let left = bytes - payload.to_string().len();
        let text = prose.iter().cycle().skip(n * 300).take(left).collect::<String>();
        payload["text"] = text.into();
        assert_eq!(payload.to_string().len(), bytes, "nothing in it is escaped: {payload}");
        let minute = NOW.parse::<Timestamp>().unwrap().plus_millis(n as i64 * 431_000 - 43_200_000);
        let at = minute.plus_millis(random.i64(0..60_000)).to_string();
        let mut command = publish(&actor, &activity, &at);
        command["payload"] = payload;
        world.done(&[follow("viewer-00012", &actor, "2026-11-19T00:00:00Z"), command]).await;
    }
}

/// The answer to a request that accepts these codings.
pub(crate) async fn answer(
    world: &World,
    path: &str,
    query: &str,
    accepted: Option<&str>,
) -> ApiGatewayV2httpResponse {
    let mut event = api_event("GET", path, query, None);
    if let Some(accepted) = accepted {
        event["headers"]["accept-encoding"] = accepted.into();
    }
    let event: ApiGatewayV2httpRequest = serde_json::from_value(event).unwrap();
    world.respond(&event, soon()).await
}

/// The body as it travels, and whether it is compressed. What the answer says of it is so.
pub(crate) fn body(answer: ApiGatewayV2httpResponse) -> (bool, Vec<u8>) {
    let header = |name: &str| answer.headers.get(name).map(|value| value.to_str().unwrap());
    assert_eq!(header("vary"), Some("accept-encoding"));
    let (is_compressed, bytes) = match answer.body.unwrap() {
        Body::Text(text) => (false, text.into_bytes()),
        Body::Binary(bytes) => (true, bytes),
        other => unreachable!("{other:?}"),
    };
    assert_eq!(header("content-encoding"), is_compressed.then_some("gzip"));
    assert_eq!(answer.is_base64_encoded, is_compressed);
    (is_compressed, bytes)
}

pub(crate) fn unpacked(bytes: &[u8]) -> Vec<u8> {
    let mut text = Vec::new();
    GzDecoder::new(bytes).read_to_end(&mut text).unwrap();
    text
}

pub(crate) fn page(text: &[u8]) -> Value {
    serde_json::from_slice(text).unwrap()
}

#[tokio::test]
async fn a_caller_gets_the_coding_that_it_asks_for() {
    let world = with_activities(20).await;
    let (_, plain) = body(answer(&world, TIMELINE, "", None).await);
    for (accepted, expected) in [
        ("gzip", true),
        ("GZIP", true),
        ("x-gzip", true),
        ("gzip, deflate, br, zstd", true),
        ("deflate;q=1, gzip;q=0.001", true),
        ("br;q=1.0 , gzip ; q=0.8, *;q=0.1", true),
        ("*", true),
        ("identity;q=0.5, gzip", true),
        ("identity;q=0, gzip;q=0.2", true),
        ("*;q=0, gzip", true),
        ("", false),
        ("br", false),
        ("identity", false),
        ("gzip;q=0", false),
        ("gzip;q=0.000, *", false),
        ("gzip;q=0.5, identity", false),
        ("gzip;q=much", false),
        ("gzip;q=2", false),
        ("gzipped", false),
        // Nothing that we have is taken: the answer as it is, rather than none.
        ("identity;q=0", false),
        ("*;q=0", false),
    ] {
        let (is_compressed, bytes) = body(answer(&world, TIMELINE, "", Some(accepted)).await);
        assert_eq!(is_compressed, expected, "{accepted}");
        let text = if is_compressed { unpacked(&bytes) } else { bytes };
        assert_eq!(page(&text)["items"], page(&plain)["items"], "{accepted}");
    }
}

#[tokio::test]
async fn what_is_short_is_sent_as_it_is() {
    let world = with_activities(4).await;
    for limit in 1..=4 {
        let query = format!("limit={limit}");
        let (_, plain) = body(answer(&world, TIMELINE, &query, None).await);
        let (is_compressed, _) = body(answer(&world, TIMELINE, &query, Some("gzip")).await);
        assert_eq!(is_compressed, plain.len() >= COMPRESSED_FROM, "{limit}: {}", plain.len());
        // Unless the caller wants nothing else.
        assert!(body(answer(&world, TIMELINE, &query, Some("gzip, identity;q=0")).await).0);
    }
    let problem = answer(&world, TIMELINE, "limit=0", Some("gzip")).await;
    assert_eq!((problem.status_code, body(problem).0), (400, false));
}
