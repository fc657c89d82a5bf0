//! Answers as they travel: which are compressed, for whom, and how small they get.

use std::io::Read;

use aws_lambda_events::encodings::Body;
use aws_lambda_events::event::apigw::{ApiGatewayV2httpRequest, ApiGatewayV2httpResponse};
use flate2::read::GzDecoder;
use function_http::encoding::COMPRESSED_FROM;
use nagare_operator::cost::Activity;
use nagare_operator::cost::answers;
use serde_json::{Value, json};
use shared::platform::values::Timestamp;
use tests::{NOW, World, api_event, follow, publish, soon};

/// English of people, to be cut into payloads: 300 letters for each activity.
const PROSE: &str = include_str!("prose.txt");
/// The bytes of a payload that the estimate takes for typical.
const PAYLOAD: usize = 200;

/// The id of the n-th activity, and its actor's.
type Ids = fn(&mut fastrand::Rng, usize) -> (String, String);

/// Letters and digits without any order.
fn random_ids(random: &mut fastrand::Rng, _: usize) -> (String, String) {
    let mut id = |length: usize| (0..length).map(|_| random.alphanumeric()).collect();
    (id(24), id(12))
}

/// Actors with numbers, and activities named after them and the second, as `nagare replay` has them.
fn numbered_ids(random: &mut fastrand::Rng, n: usize) -> (String, String) {
    let actor = random.u32(100_000..456_000);
    (format!("{actor}-{}", 1_341_100_000 + n * 431), actor.to_string())
}

/// A world in which a viewer's timeline holds N activities, each of another actor, with payloads as people write
/// them: some prose, a link and a number.
async fn with_activities(number: usize, ids: Ids) -> World {
    let (world, mut random) = (World::new(), fastrand::Rng::with_seed(7));
    let prose = PROSE.split_whitespace().collect::<Vec<_>>().join(" ").replace('"', "");
    let prose: Vec<_> = prose.chars().filter(char::is_ascii).collect();
    for n in 0..number {
        let (activity, actor) = ids(&mut random, n);
        let link: String = (0..11).map(|_| random.alphanumeric()).collect();
        let url = format!("https://video.example/v/{link}");
        let mut payload = json!({"text": "", "url": url, "likes": n * n});
        let left = PAYLOAD - payload.to_string().len();
        payload["text"] = prose.iter().skip(n * 300).take(left).collect::<String>().into();
        assert_eq!(payload.to_string().len(), PAYLOAD, "nothing in it is escaped: {payload}");
        let minute = NOW.parse::<Timestamp>().unwrap().plus_millis(n as i64 * 431_000 - 43_200_000);
        let at = minute.plus_millis(random.i64(0..60_000)).to_string();
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
    world.respond(&event, soon()).await
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
    let world = with_activities(20, random_ids).await;
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
    let world = with_activities(4, random_ids).await;
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

async fn check_lengths(ids: Ids) {
    let (world, mut random) = (with_activities(21, ids).await, fastrand::Rng::with_seed(1));
    let (id, actor) = ids(&mut random, 0);
    let [id, actor] = [id, actor].map(|id| id.len() as f64);
    let each = Activity { id, actor, kind: 4.0, payload: PAYLOAD as f64 };
    let sample = (0..answers::ID_SAMPLE).map(|n| ids(&mut random, n * 13));
    let sample: Vec<_> = sample.flat_map(|(id, actor)| [id, actor]).collect();
    let left = answers::ids_left(sample.iter().map(String::as_str));
    for activities in [5, 10, 20] {
        let query = format!("limit={activities}");
        let (_, plain) = body(answer(&world, &query, None).await);
        let (_, packed) = body(answer(&world, &query, Some("gzip")).await);
        let number = f64::from(activities);
        let said = [answers::body(number, &each), answers::body_for_gzip(number, &each, left)];
        for (said, bytes) in said.into_iter().zip([plain.len(), packed.len()]) {
            println!(
                "{activities} activities, ids such as {id}: {bytes} bytes, said {said:.0}",
                id = ids(&mut random, 0).0
            );
            let off = said / bytes as f64 - 1.0;
            // What the prose is moves it by some percent.
            assert!(off.abs() < 0.12, "{activities} activities: said {said}, but {bytes}");
        }
    }
}

#[tokio::test]
async fn pages_are_as_long_as_the_estimate_says() {
    check_lengths(random_ids).await;
    check_lengths(numbered_ids).await;
}
