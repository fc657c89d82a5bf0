use super::*;
use proptest::prelude::*;

const NOW: &str = "2026-11-20T12:00:00.000Z";

fn parse(body: &str) -> Result<Command, CommandError> {
    Command::parse(body, NOW.parse().expect("a fixed instant"))
}

/// A publish with one member replaced (or added).
fn publish_with(member: &str, value: &str) -> String {
    let mut members = vec![
        ("type", r#""activity.published""#),
        ("activity_id", r#""live-1""#),
        ("actor_id", r#""anna""#),
        ("published_at", r#""2026-11-20T12:00:00Z""#),
    ];
    members.retain(|(name, _)| *name != member);
    if !value.is_empty() {
        members.push((member, value));
    }
    let body: Vec<_> = members.iter().map(|(n, v)| format!("\"{n}\":{v}")).collect();
    format!("{{{}}}", body.join(","))
}

#[test]
fn reads_the_contract_s_examples() {
    let bodies = [
        r#"{"type":"activity.published","activity_id":"live-8391","actor_id":"anna","published_at":"2026-11-20T12:00:00.000Z","kind":"live","payload":{"title":"Speedrun"}}"#,
        r#"{"type":"activity.updated","activity_id":"live-8391","actor_id":"anna","at":"2026-11-20T12:01:00.000Z","payload":{"title":"Speedrun, part 2"}}"#,
        r#"{"type":"activity.deleted","activity_id":"live-8391","actor_id":"anna"}"#,
        r#"{"type":"follow.created","follower_id":"bob","followee_id":"anna","at":"2026-11-20T12:00:01.000Z"}"#,
        r#"{"type":"follow.deleted","follower_id":"bob","followee_id":"anna","at":"2026-11-20T12:05:00.000Z"}"#,
    ];
    for body in bodies {
        let command = parse(body).unwrap_or_else(|e| panic!("{body}: {e}"));
        assert_eq!(parse(&command.to_body()), Ok(command));
    }
}

#[test]
fn refuses_and_says_what_was_expected() {
    let id129 = format!("\"{}\"", "x".repeat(129));
    let big = format!("\"{}\"", "x".repeat(4095));
    let cases: Vec<(String, &str, &str)> = vec![
        ("hello".into(), "not-json", "not a JSON object"),
        (String::new(), "not-json", "not a JSON object"),
        ("[]".into(), "not-json", "not a JSON object"),
        (r#"["activity.deleted","a","b"]"#.into(), "not-json", "not a JSON object"),
        ("{} {}".into(), "not-json", "column 4"),
        ("\"secret\"".into(), "not-json", "another type"),
        ("{".into(), "not-json", "too early"),
        ("{}".into(), "malformed", "`type` is missing"),
        (r#"{"type":5}"#.into(), "malformed", "`type`: expected a string"),
        (r#"{"type":"activity.exploded"}"#.into(), "unknown-type", "activity.exploded"),
        (publish_with("actor_id", ""), "malformed", "`actor_id` is missing"),
        (publish_with("actor_id", "7"), "malformed", "`actor_id`: expected a string"),
        (publish_with("actor_id", r#""""#), "malformed", "got 0"),
        (publish_with("actor_id", &id129), "malformed", "got 129"),
        (publish_with("actor_id", r#""a#b""#), "malformed", "'#' as character 2"),
        (publish_with("actor_id", r#""a\nb""#), "malformed", "'\\n' as character 2"),
        (publish_with("published_at", r#""2026-11-20T12:00:00""#), "malformed", "RFC 3339"),
        (publish_with("published_at", r#""2014-12-31T23:59:59.999Z""#), "malformed", "2015"),
        (publish_with("published_at", r#""2026-11-20T12:05:00.001Z""#), "malformed", "five minutes"),
        (publish_with("kind", r#""a b""#), "malformed", "`kind`"),
        (publish_with("payload", &big), "malformed", "4096 bytes of JSON, got 4097"),
        (r#"{"type":"activity.deleted","actor_id":"a","actor_id":"b","activity_id":"c"}"#.into(), "malformed", "given twice"),
        (r#"{"type":"activity.updated","activity_id":"a","actor_id":"b","at":"2026-11-20T12:00:00Z"}"#.into(), "malformed", "`payload` is missing"),
    ];
    for (body, reason, words) in cases {
        let error = parse(&body).expect_err(&body);
        assert_eq!(error.reason(), reason, "{body}: {error}");
        assert!(error.in_full().contains(words), "{body}: {error}");
    }
}

#[test]
fn accepts_the_borders() {
    let big = format!("\"{}\"", "x".repeat(4094));
    for body in [
        publish_with("published_at", r#""2015-01-01T00:00:00Z""#),
        publish_with("published_at", r#""2026-11-20T12:05:00.000Z""#),
        publish_with("published_at", r#""2016-12-31T23:59:60Z""#),
        publish_with("payload", &big),
        publish_with("payload", "1.000000000000000000000000000000001"),
        publish_with("kind", "null"),
        publish_with("surplus", r#"{"deep":[1,2,{}]}"#),
    ] {
        assert!(parse(&body).is_ok(), "{body}: {:?}", parse(&body));
    }
}

proptest! {
    #[test]
    fn never_panics(body in "\\PC*") {
        let _ = parse(&body);
    }

    #[test]
    fn what_is_accepted_round_trips(
        id in "[A-Za-z0-9._:@-]{1,128}",
        millis in EARLIEST_MILLIS..1_795_000_000_000,
        payload in proptest::option::of("[a-z0-9 ]{0,40}"),
        following in any::<bool>(),
    ) {
        let at = Timestamp::from_unix_millis(millis);
        let payload = payload.map_or_else(Payload::default, |text| {
            Payload::parse(&format!("\"{text}\"")).expect("a short string")
        });
        let commands = [
            Command::Publish(Publish {
                activity_id: ActivityId::new(id.clone()).expect("an id"),
                actor_id: ActorId::new(id.clone()).expect("an id"),
                published_at: at, kind: Kind::default(), payload,
            }),
            Command::Follow(FollowChange {
                follower_id: ViewerId::new(id.clone()).expect("an id"),
                followee_id: ActorId::new(id.clone()).expect("an id"),
                state: FollowState { following, changed_at: at },
            }),
            Command::Part(Part {
                activity_id: ActivityId::new(id.clone()).expect("an id"),
                actor_id: ActorId::new(id).expect("an id"),
                published_at: at,
                followers: FollowerRange::split(7)[3],
                redelivered: following,
            }),
        ];
        for command in commands {
            let body = command.to_body();
            prop_assert_eq!(Command::parse(&body, Timestamp::LAST.plus_millis(-MAX_FUTURE_MILLIS)), Ok(command));
        }
    }
}
