use super::*;
use crate::platform::crypto::seal::Secrets;
use crate::platform::dynamo::item::{Key, text};
use crate::platform::message::MAX_FUTURE_MILLIS;
use crate::platform::projection::{Change, Shard};
use crate::platform::register::Register;
use crate::platform::values::{ActivityId, ActorId, Kind, Payload, ViewerId};
use crate::social::follows::FollowerRange;
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
fn reads_what_it_writes() {
    let bodies = [
        r#"{"type":"activity.published","activity_id":"live-8391","actor_id":"anna","published_at":"2026-11-20T12:00:00.000Z","kind":"live","payload":{"title":"Speedrun"}}"#,
        r#"{"type":"activity.updated","activity_id":"live-8391","actor_id":"anna","at":"2026-11-20T12:01:00.000Z","payload":{"title":"Speedrun, part 2"}}"#,
        r#"{"type":"activity.deleted","activity_id":"live-8391","actor_id":"anna"}"#,
        r#"{"type":"follow.created","follower_id":"bob","followee_id":"anna","at":"2026-11-20T12:00:01.000Z"}"#,
        r#"{"type":"follow.deleted","follower_id":"bob","followee_id":"anna","at":"2026-11-20T12:05:00.000Z"}"#,
        r#"{"type":"tag.created","activity_id":"img-1","tagged_id":"bob","at":"2026-11-20T12:00:01.000Z"}"#,
        r#"{"type":"tag.deleted","activity_id":"img-1","tagged_id":"bob","at":"2026-11-20T12:05:00.000Z"}"#,
        r#"{"type":"message.posted","room_id":"anna-bob","message_id":"m1","author_id":"bob","at":"2026-11-20T12:00:00.000Z","payload":{"text":"hi"}}"#,
        r#"{"type":"message.deleted","room_id":"anna-bob","message_id":"m1","author_id":"bob"}"#,
        r#"{"type":"room.joined","room_id":"anna-bob","viewer_id":"bob","at":"2026-11-20T12:00:00.000Z"}"#,
        r#"{"type":"room.left","room_id":"anna-bob","viewer_id":"bob","at":"2026-11-20T12:00:00.000Z"}"#,
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
        (r#"{"type":"tag.created","activity_id":"a","at":"2026-11-20T12:00:00Z"}"#.into(), "malformed", "`tagged_id` is missing"),
        (r#"{"type":"tag.deleted","activity_id":"a","tagged_id":"b#c","at":"2026-11-20T12:00:00Z"}"#.into(), "malformed", "'#' as character 2"),
        (r#"{"type":"tag.created","activity_id":"a","tagged_id":"b","at":"2026-11-20T12:05:00.001Z"}"#.into(), "malformed", "five minutes"),
    ];
    for (body, reason, words) in cases {
        let error = parse(&body).expect_err(&body);
        assert_eq!(error.reason(), reason, "{body}: {error}");
        assert!(error.unredacted().contains(words), "{body}: {error}");
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

fn secrets(secret: u8) -> Secrets {
    Secrets::new(&[secret; 32]).expect("long enough")
}

fn seal(secret: u8) -> InternalSeal {
    InternalSeal::new(&secrets(secret))
}

fn is_unknown(parsed: Result<Command, CommandError>) {
    assert_eq!(parsed.expect_err("it is not sealed").reason(), "unknown-type");
}

/// A part, the rest of one, and a change.
fn internal() -> [Command; 3] {
    let part = Command::Segment(FanOutSegment {
        activity_id: ActivityId::new("live-1").expect("an id"),
        actor_id: ActorId::new("anna").expect("an id"),
        published_at: NOW.parse().expect("a fixed instant"),
        followers: FollowerRange::split(7)[3],
    });
    let origin = "0b8d-7".parse::<Origin>().expect("an id");
    let rest = Continued { origin, redelivered: true, command: Box::new(part.clone()) };
    [part, Command::Continued(rest), Command::Changed(changed("live-1"))]
}

/// A change of a row that no queue would take as it is.
fn changed(activity: &str) -> UnfoldedChange {
    let key = |pk: &str, sk: &str| Key { pk: pk.to_owned(), sk: sk.to_owned() };
    let change = Change {
        key: key("likes#bob", activity),
        before: None,
        after: Some([("liked".to_owned(), text("\u{1}\u{ffff}\""))].into()),
        sequence: "4421584500000000017450439091".parse().expect("a number"),
        at: NOW.parse().expect("a fixed instant"),
        redriven: None,
    };
    UnfoldedChange::of(&change, Shard::of("shard"), key(&format!("activity#{activity}"), "likes"))
}

#[test]
fn a_change_says_whose_it_is_and_travels() {
    let command = Command::Changed(changed("live-1"));
    let subject = command.subject();
    assert_eq!(
        (subject.viewer_id.as_deref(), subject.activity_id.as_deref()),
        (Some("bob"), Some("live-1"))
    );
    assert_eq!(command.group(), "bob");
    let body = command.to_body();
    let queueable = |c: char| !c.is_control() && !matches!(c, '\u{fffe}' | '\u{ffff}');
    assert!(body.chars().all(queueable), "{body}");
    assert!(body.contains(r#""after":{"liked":{"S":"\u0001\uffff\""}}"#), "{body}");
}

/// It is distinguished by its view, and by its place.
#[test]
fn a_change_has_an_id_of_its_own() {
    let one = changed("live-1");
    let id = one.id();
    assert_eq!(changed("live-1").id(), id);
    assert!(id.parse::<Origin>().is_ok(), "{id}");
    assert_ne!(changed("live-2").id(), id);
    let mut other = one.clone();
    other.shard = Shard::of("other");
    assert_ne!(other.id(), id);
    let mut later = one;
    later.sequence = "5".parse().expect("a number");
    assert_ne!(later.id(), id);
}

#[test]
fn an_internal_command_without_its_seal_is_of_an_unknown_type() {
    let now = NOW.parse().expect("a fixed instant");
    for command in internal() {
        let (body, bare) = (seal(1).to_body(&command), command.to_body());
        assert_eq!(seal(1).parse(&body, now), Ok(command));
        let envelope = |seal: &str, command: &str| {
            format!(r#"{{"type":"internal","seal":{seal},"command":{command}}}"#)
        };
        let said: serde_json::Value = serde_json::from_str(&body).expect("an envelope");
        let own = said["seal"].to_string();
        assert_eq!(envelope(&own, &bare), body);
        let other = bare.replace("live-1", "live-2");
        let publish = publish_with("kind", "");
        for forged in [
            bare.clone(),
            other.clone(),
            seal(2).to_body(&internal()[0]),
            r#"{"type":"internal"}"#.to_owned(),
            envelope(&own, &other),
            envelope(&own, &format!("{}", serde_json::json!(bare))),
            envelope(&own, &bare.replace(',', ", ")),
            envelope(&own, &publish),
            envelope(r#""""#, &bare),
            envelope(&format!("{}\"", &own[..2]), &bare),
            envelope("5", &bare),
            envelope("null", &bare),
            envelope(&own, &body),
            // Members that are said twice: whichever are taken, they have to fit.
            format!("{},\"command\":{other}}}", &body[..body.len() - 1]),
        ] {
            is_unknown(seal(1).parse(&forged, now));
            is_unknown(Command::parse(&forged, now));
        }
        let padded = format!("{body}{}", " ".repeat(320_000));
        is_unknown(seal(1).parse(&padded, now));
        is_unknown(Command::parse_unverified(&padded, now));
    }
}

#[test]
fn nothing_but_internal_commands_is_in_an_envelope() {
    let now = NOW.parse().expect("a fixed instant");
    let [part, ..] = internal();
    for inner in [publish_with("kind", ""), seal(1).to_body(&part)] {
        let body = format!(r#"{{"type":"internal","seal":"","command":{inner}}}"#);
        is_unknown(Command::parse_unverified(&body, now));
    }
}

#[test]
fn two_secrets_open_internal_commands_and_the_first_seals() {
    let now = NOW.parse().expect("a fixed instant");
    let both = |first, other: u8| {
        let secrets = secrets(first).also_opening(&[other; 32]);
        InternalSeal::new(&secrets.expect("long enough"))
    };
    let [part, ..] = internal();
    for (sealing, secret) in [(both(1, 2), 1), (both(2, 1), 2)] {
        let body = sealing.to_body(&part);
        assert_eq!(body, seal(secret).to_body(&part));
        for opening in [both(1, 2), both(2, 1)] {
            assert_eq!(opening.parse(&body, now).as_ref(), Ok(&part));
        }
        is_unknown(both(3, 4).parse(&body, now));
    }
}

#[test]
fn the_longest_command_fits_into_an_envelope() {
    let (id, now) = ("x".repeat(128), NOW.parse().expect("a fixed instant"));
    let payload = format!("\"{}\"", "x".repeat(4094));
    let publish = Command::Publish(Publish {
        activity_id: ActivityId::new(id.clone()).expect("an id"),
        actor_id: ActorId::new(id.clone()).expect("an id"),
        published_at: now,
        kind: Kind::new("k".repeat(32)).expect("a kind"),
        payload: Payload::parse(&payload).expect("a payload"),
    });
    let origin = id.parse::<Origin>().expect("an id");
    let rest = Continued { origin, redelivered: true, command: Box::new(publish) };
    let rest = Command::Continued(rest);
    assert_eq!(seal(1).parse(&seal(1).to_body(&rest), now), Ok(rest));
}

#[test]
fn members_of_internal_commands_are_ignored_in_those_of_producers() {
    let twice = r#""internal","origin":1,"origin":2,"seal":3,"seal":4,"command":{},"command":5"#;
    assert!(parse(&publish_with("surplus", twice)).is_ok());
}

proptest! {
    #[test]
    fn never_panics(body in "\\PC*") {
        let _ = parse(&body);
    }

    #[test]
    fn what_is_accepted_round_trips(
        id in "[A-Za-z0-9._:@|+-]{0,127}[A-Za-z0-9_:@|+-]",
        millis in 1_420_070_400_000_i64..1_795_000_000_000,
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
                state: Register { on: following, changed_at: at },
            }),
            Command::Segment(FanOutSegment {
                activity_id: ActivityId::new(id.clone()).expect("an id"),
                actor_id: ActorId::new(id).expect("an id"),
                published_at: at,
                followers: FollowerRange::split(7)[3],
            }),
            Command::Changed(changed("live-1")),
        ];
        let rests = commands.clone().map(|command| Command::Continued(Continued {
            origin: "0b8d-7".parse::<Origin>().expect("an id"),
            redelivered: following,
            command: Box::new(command),
        }));
        let now = Timestamp::LAST.plus_millis(-MAX_FUTURE_MILLIS);
        for command in commands.into_iter().chain(rests) {
            let body = seal(1).to_body(&command);
            prop_assert_eq!(Command::parse_unverified(&body, now), Ok(command.clone()));
            match command.is_internal() {
                true => is_unknown(Command::parse(&body, now)),
                false => prop_assert_eq!(Command::parse(&body, now), Ok(command.clone())),
            }
            prop_assert_eq!(seal(1).parse(&body, now), Ok(command));
        }
    }
}
