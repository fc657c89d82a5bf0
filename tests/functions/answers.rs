//! Answers as they travel: which are compressed, for whom, and how small they get.

use std::io::Read;

use aws_lambda_events::encodings::Body;
use aws_lambda_events::event::apigw::{ApiGatewayV2httpRequest, ApiGatewayV2httpResponse};
use flate2::read::GzDecoder;
use nagare::cost::answers;
use nagare::cost::work::Activity;

use serde_json::{Value, json};
use tests::{World, api_event, follow, publish, soon};
use timeline_reader::COMPRESSED_FROM;

/// English of people, to be cut into payloads.
const PROSE: &str = include_str!("../../docs/ARCHITECTURE.md");
/// The bytes of a payload that the estimate takes for typical.
const PAYLOAD: usize = 200;

/// A world in which bob's timeline holds N activities, each of another actor, with payloads as people write them: a
/// sentence, a link and a number. Ids are random.
async fn with_activities(number: usize) -> World {
    let (world, mut random) = (World::new(), fastrand::Rng::with_seed(7));
    let prose: String = PROSE.split_whitespace().collect::<Vec<_>>().join(" ").replace('"', "");
    let prose: Vec<_> = prose.chars().filter(char::is_ascii).collect();
    for n in 0..number {
        let mut id =
            |length: usize| -> String { (0..length).map(|_| random.alphanumeric()).collect() };
        let (actor, activity, link) = (id(12), id(24), id(11));
        let mut text = prose.iter().skip(n * 300);
        let mut payload =
            json!({"text": "", "url": format!("https://video.example/v/{link}"), "likes": n * n});
        let left = PAYLOAD - payload.to_string().len();
        payload["text"] = text.by_ref().take(left).collect::<String>().into();
        assert_eq!(payload.to_string().len(), PAYLOAD, "nothing in it is escaped: {payload}");
        let at = format!(
            "2026-11-20T{:02}:{:02}:{:02}.{:03}Z",
            n / 3,
            n * 7 % 60,
            n * 11 % 60,
            n * 173 % 1_000
        );
        let mut command = publish(&actor, &activity, &at);
        command["payload"] = payload;
        world.done(&[follow("viewer-00012", &actor, "2026-11-19T00:00:00Z"), command]).await;
    }
    world
}

/// The answer to a request that accepts these codings.
async fn answer(world: &World, query: &str, accepted: Option<&str>) -> ApiGatewayV2httpResponse {
    let mut event = api_event("GET", "/v1/timelines/viewer-00012", query, None);
    if let Some(accepted) = accepted {
        event["headers"]["accept-encoding"] = accepted.into();
    }
    let event: ApiGatewayV2httpRequest = serde_json::from_value(event).unwrap();
    world.reader.handle(&event, soon()).await
}

/// The body as it travels, and whether it is compressed. What the answer says of it is so.
fn body(answer: ApiGatewayV2httpResponse) -> (bool, Vec<u8>) {
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

fn unpacked(bytes: &[u8]) -> Vec<u8> {
    let mut text = Vec::new();
    GzDecoder::new(bytes).read_to_end(&mut text).unwrap();
    text
}

fn page(text: &[u8]) -> Value {
    serde_json::from_slice(text).unwrap()
}

#[tokio::test]
async fn a_caller_gets_the_coding_that_it_asks_for() {
    let world = with_activities(20).await;
    let (_, plain) = body(answer(&world, "", None).await);
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
        let (is_compressed, bytes) = body(answer(&world, "", Some(accepted)).await);
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
        let (_, plain) = body(answer(&world, &query, None).await);
        let (is_compressed, _) = body(answer(&world, &query, Some("gzip")).await);
        assert_eq!(is_compressed, plain.len() >= COMPRESSED_FROM, "{limit}: {}", plain.len());
        // Unless the caller wants nothing else.
        assert!(body(answer(&world, &query, Some("gzip, identity;q=0")).await).0);
    }
    let problem = answer(&world, "limit=0", Some("gzip")).await;
    assert_eq!((problem.status_code, body(problem).0), (400, false));
}

#[tokio::test]
async fn pages_are_as_long_as_the_estimate_says() {
    let world = with_activities(21).await;
    let each = Activity { id: 24.0, actor: 12.0, kind: 4.0, payload: PAYLOAD as f64 };
    for activities in [5, 10, 20] {
        let query = format!("limit={activities}");
        let (_, plain) = body(answer(&world, &query, None).await);
        let (_, packed) = body(answer(&world, &query, Some("gzip")).await);
        let number = f64::from(activities);
        let left = answers::RANDOM_IDS_LEFT;
        let said = [answers::body(number, &each), answers::body_for_gzip(number, &each, left)];
        for (said, bytes) in said.into_iter().zip([plain.len(), packed.len()]) {
            let off = said / bytes as f64 - 1.0;
            assert!(off.abs() < 0.1, "{activities} activities: said {said}, but {bytes}");
        }
    }
}
