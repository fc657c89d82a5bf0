//! A later version writes, and this one goes on: what a canary meets, and whoever rolls back. Every stored item has an attribute that
//! this version does not know, and everything that can be said is said again, so that each kind of item that is ever written over
//! is written over. What nobody here knows has to be there afterwards.
//!
//! Every kind declares its [`Later`]. The test compares the declarations with the items afterwards.

use std::collections::{BTreeMap, BTreeSet};

use nagare_local::stream_source::event_of;
use serde_json::{Map, Value, json};
use shared::history::events::archives::{ReadBack, SegmentProgress};
use shared::history::events::{ArchivedObject, Period, archive};
use shared::history::tenants::Rules;
use shared::platform::projection::Shard;
use shared::platform::register::Register;
use shared::platform::stored::{Later, StoredIn};
use shared::platform::values::{
    ActivityId, ActorId, CustomerId, Origin, SortKey, TenantId, Timestamp, ViewerId,
};
use shared::social::activities::ActivityKey;
use shared::social::fanout::{FanOutKind, FanOuts, Pass, Progress, Reconciliation};
use shared::social::follows::FollowerRange;
use shared::social::tags::Tags;
use shared::stored as kinds;
use tests::{World, delete, event, follow, message, moved, publish, soon, unfollow};

const MARK: &str = "of_tomorrow";
const TABLES: [(StoredIn, &str, [&str; 2]); 5] = [
    (StoredIn::Timelines, "nagare-timelines", ["viewer_id", "sort_key"]),
    (StoredIn::Ledger, "nagare-ledger", ["pk", "sk"]),
    (StoredIn::Facts, "nagare-facts", ["pk", "sk"]),
    (StoredIn::Views, "nagare-views", ["pk", "sk"]),
    (StoredIn::DeadLetters, "nagare-dead-letters", ["id", "part"]),
];

type Stored = BTreeMap<(StoredIn, String, String), Map<String, Value>>;

fn call(world: &World, operation: &str, request: &Value) -> Value {
    let (status, answer) = world.engine.call(operation, request.to_string().as_bytes());
    assert_eq!(status, 200, "{operation}: {answer}");
    serde_json::from_str(&answer).unwrap()
}

/// All that is stored but events, which nobody writes over.
fn stored(world: &World) -> Stored {
    let mut stored = Stored::new();
    for (table, name, key) in TABLES {
        let answer = call(world, "Scan", &json!({"TableName": name}));
        assert!(answer["LastEvaluatedKey"].is_null());
        for item in answer["Items"].as_array().unwrap() {
            let [pk, sk] = key.map(|name| item[name]["S"].as_str().unwrap().to_owned());
            stored.insert((table, pk, sk), item.as_object().unwrap().clone());
        }
    }
    stored
}

/// Puts an attribute into everything that is stored, as a later version may.
fn mark(world: &World) {
    for ((table, ..), mut item) in stored(world) {
        let (_, name, _) = TABLES.into_iter().find(|(it, ..)| *it == table).unwrap();
        item.insert(MARK.to_owned(), json!({"M": {"x": {"L": [{"N": "1"}]}}}));
        call(world, "PutItem", &json!({"TableName": name, "Item": item}));
    }
}

fn at(minute: u32) -> String {
    format!("2026-11-20T11:{minute:02}:00.000Z")
}

fn instant(minute: u32) -> Timestamp {
    at(minute).parse().unwrap()
}

fn of_tenant(kind: &str, minute: u32, members: &Value) -> Value {
    let mut command = json!({"type": kind, "tenant_id": "acme", "at": at(minute)});
    command.as_object_mut().unwrap().extend(members.as_object().unwrap().clone());
    command
}

/// Events of one customer: of eighty names, which is more than its view has room for. Later ones are of a later day.
fn events(nth: u32) -> Value {
    let day = if nth == 0 { 20 } else { 22 };
    let event = |n: u32| {
        json!({"tenant_id": "acme", "customer_id": "c", "event_id": format!("{nth}-{n}"),
            "name": format!("name-{n:02}"), "at": format!("2026-11-{day}T11:00:00Z")})
    };
    json!({"type": "events.recorded", "events": (0..80).map(event).collect::<Vec<_>>()})
}

/// What is said first, and what is said later of the same.
fn commands(is_later: bool) -> Vec<Value> {
    let n = u32::from(is_later) * 20;
    let like = |kind: &str, viewer: &str, activity: &str, minute: u32| json!({"type": kind, "viewer_id": viewer, "activity_id": activity, "at": at(minute)});
    let tag =
        |kind: &str| json!({"type": kind, "activity_id": "a", "tagged_id": "bob", "at": at(5 + n)});
    let edit = |kind: &str| {
        json!({"type": "activity.updated", "actor_id": "anna", "activity_id": "a", "at": at(4 + n),
            "payload": {"n": n}, "kind": kind})
    };
    let vote = json!({"type": "vote.cast", "poll_id": "p", "viewer_id": "bob", "choice": "red", "at": at(6 + n)});
    let hit = json!({"type": "battle.hit", "battle_id": "b", "hit_id": format!("h{n}"), "viewer_id": "bob",
        "damage": 1, "at": at(7 + n)});
    let closed = |minute: u32| json!({"type": "poll.closed", "poll_id": "p", "actor_id": "anna", "at": at(minute)});
    let member = |kind: &str, minute: u32| json!({"type": kind, "room_id": "r", "viewer_id": "ann", "at": at(minute)});
    let post = |id: &str, private: bool| {
        json!({"type": "message.posted", "room_id": "r", "message_id": id, "author_id": "bob", "at": at(8 + n),
            "payload": {}, "private": private})
    };
    let updated = of_tenant("customer.updated", 9 + n, &json!({"customer_id": "c", "payload": n}));
    let read = json!({"type": "notifications.read", "viewer_id": "anna",
        "read": [{"notification_id": "like:0:a", "through": 1 + n / 20}]});
    let profile =
        json!({"type": "profile.updated", "viewer_id": "bob", "at": at(3 + n), "payload": n});
    let counting = of_tenant(
        "rule.defined",
        10 + n,
        &json!({"rule_id": "counts", "when": {"event": "name-07", "count": 1, "within": "day"}}),
    );
    let scored = of_tenant(
        "score.defined",
        10 + n,
        &json!({"score_id": "score", "base": n, "measures": [{"event": "name-07", "days": 2, "points": 1, "most": 9}]}),
    );
    let silent =
        of_tenant("rule.defined", 10, &json!({"rule_id": "silent", "when": {"silent_days": 1}}));
    let both = [vote, hit, updated, read, profile, counting, scored, events(n)];
    let mut commands: Vec<_> = match is_later {
        false => vec![
            publish("anna", "a", &at(1)),
            publish("anna", "gone", &at(2)),
            edit("live"),
            follow("bob", "anna", &at(2)),
            follow("cat", "anna", &at(2)),
            unfollow("cat", "anna", &at(3)),
            like("like.created", "bob", "a", 4),
            like("like.created", "cat", "a", 5),
            tag("tag.created"),
            json!({"type": "poll.opened", "poll_id": "p", "actor_id": "anna", "choices": ["red", "blue"],
                "opens_at": at(1), "closes_at": "2026-11-21T12:00:00Z"}),
            closed(59),
            json!({"type": "battle.opened", "battle_id": "b", "actor_id": "anna", "hp": 100, "at": at(1)}),
            post("m", false),
            post("other", false),
            member("room.left", 1),
            silent,
        ],
        true => vec![
            edit("stream"),
            delete("anna", "gone"),
            unfollow("bob", "anna", &at(30)),
            follow("cat", "anna", &at(31)),
            like("like.created", "bob", "a", 4),
            like("like.deleted", "cat", "a", 30),
            like("like.created", "dan", "a", 31),
            tag("tag.deleted"),
            closed(50),
            post("secret", true),
            json!({"type": "message.deleted", "room_id": "r", "message_id": "m", "author_id": "bob"}),
            member("room.joined", 30),
        ],
    };
    commands.extend(both);
    commands
}

/// Folds all that was not folded.
async fn fold(world: &World) {
    world.project("shard").await;
    for table in world.engine.streams_left().unwrap() {
        for some in world.engine.stream_of(&table, 0, usize::MAX).unwrap().chunks(100) {
            let batch = event_of(&table, "shard", some).unwrap();
            let answer = world.fold(batch, soon()).await.unwrap();
            assert_eq!(answer.batch_item_failures, []);
        }
    }
}

/// The keeper ticks until nothing is due.
async fn tick(world: &World, now: &str) {
    world.set_clock(now);
    for _ in 0..50 {
        let ticked = world.keeper.tick(soon()).await.unwrap();
        assert_eq!(ticked.failed, 0);
        if !ticked.more_due {
            return;
        }
    }
    unreachable!("it never ends");
}

/// What is noted by work that takes longer than a test.
async fn progress(world: &World, n: u32) {
    let (fan_outs, segment) = (FanOuts::new(&world.writer.ledger), FollowerRange::ALL);
    let (activity, origin) = (ActivityId::new("a").unwrap(), "m".parse::<Origin>().unwrap());
    let (actor, viewer) = (ActorId::new("anna").unwrap(), ViewerId::new("bob").unwrap());
    let key = ActivityKey { activity_id: activity.clone(), actor_id: actor.clone() };
    let progress = Progress { position: Some("x".to_owned()), written: u64::from(n), done: n > 1 };
    let (kind, now) = (FanOutKind::Insert, instant(n));
    fan_outs.plan(&key, kind, 1, now).await.unwrap();
    fan_outs.note_progress(&key, kind, segment, Pass::Main, (&progress, now)).await.unwrap();
    assert_eq!(fan_outs.end(&key, kind, now).await.unwrap().is_some(), n > 1);
    let of = Reconciliation { viewer: &viewer, actor: &actor, origin: &origin };
    let state = Register { on: true, changed_at: instant(1) };
    let position = SortKey { published_at: instant(n), activity_id: activity.clone() };
    fan_outs.note_reconciled(of, state, &position).await.unwrap();
    let tagged = ViewerId::new(format!("v{n}")).unwrap();
    let tags = Tags::new(&world.writer.ledger);
    tags.note_listed(&activity, &origin, &tagged).await.unwrap();
    let (tenant, customer) = (TenantId::new("acme"), CustomerId::new(format!("c{n}")));
    let (tenant, customer) = (tenant.unwrap(), customer.unwrap());
    let rules = Rules::new(&world.writer.ledger, &world.writer.views);
    rules.note_decided(&tenant, &origin, &customer).await.unwrap();
    archived(world, &tenant, n).await;
    let (shard, through) = (Shard::of("busy"), n.to_string().parse().unwrap());
    world.projector.projection.views.note_checkpoint(shard, through, now).await.unwrap();
}

async fn archived(world: &World, tenant: &TenantId, n: u32) {
    let (archives, period) = (&world.keeper.archives, "2020-01".parse::<Period>().unwrap());
    let read = archives.segment(period, 0).await.unwrap();
    let next = SegmentProgress { chunk: n, done: n > 1, ..read };
    assert!(archives.replace_segment(period, 0, &next).await.unwrap());
    let read = archives.read_back(period).await.unwrap();
    let next = ReadBack { position: None, ..read };
    assert!(archives.replace_read_back(period, &next).await.unwrap());
    let line = format!("{{\"n\":{n}}}");
    let object = ArchivedObject::new(tenant, period, (0, 0), &archive::pack([line.as_str()]));
    archives.note(&object).await.unwrap();
}

/// A command that gave up comes to the alerter, for the n-th time.
async fn give_up(world: &World, receives: u32) {
    let body = r#"{"type": "nothing.known"}"#;
    let mut letter = moved("letter", body);
    letter.attributes.clone_from(&message("letter", body, receives).attributes);
    letter.attributes.extend(
        moved("letter", body)
            .attributes
            .into_iter()
            .filter(|(name, _)| name != "ApproximateReceiveCount"),
    );
    let answer = world.alerter.handle(event([letter]), soon()).await.unwrap();
    assert!(answer.batch_item_failures.is_empty());
}

async fn happens(world: &World, is_later: bool) {
    let n = u32::from(is_later);
    let (first, second) = match is_later {
        false => ("2026-11-20T12:00:00Z", "2026-11-22T12:00:00Z"),
        true => ("2026-11-22T13:00:00Z", "2026-12-01T12:00:00Z"),
    };
    tick(world, first).await;
    let commands = commands(is_later);
    // Each is folded before the next: what was read is known by then.
    for command in &commands {
        world.done(std::slice::from_ref(command)).await;
        fold(world).await;
    }
    let (_, _, alerts) = world.get("/v1/tenants/acme/alerts", "").await;
    if let (true, Some(alert)) = (is_later, alerts["items"].as_array().and_then(|it| it.last())) {
        let read = json!([{"alert_id": alert["alert_id"]}]);
        world.done(&[json!({"type": "alerts.read", "tenant_id": "acme", "read": read})]).await;
    }
    progress(world, n + 1).await;
    give_up(world, n + 1).await;
    tick(world, second).await;
}

#[tokio::test]
async fn what_a_later_version_has_stored_stays_while_this_one_goes_on() {
    let world = World::new();
    happens(&world, false).await;
    // A room that has grown.
    let room = json!({"pk": {"S": "room#r"}, "sk": {"S": "room"}, "shards": {"N": "2"}});
    call(&world, "PutItem", &json!({"TableName": "nagare-ledger", "Item": room}));
    mark(&world);
    let before = stored(&world);
    happens(&world, true).await;
    // Whatever comes again is no change.
    world.done(&commands(true)).await;
    fold(&world).await;
    let after = stored(&world);

    let (mut changed, mut lost) = (BTreeSet::new(), BTreeSet::new());
    for (key, was) in &before {
        let (table, pk, sk) = key;
        let kind = kinds::of_key(*table, pk, sk).unwrap().to_string();
        // What is deleted is somebody's no more.
        let Some(is) = after.get(key) else { continue };
        if was != is {
            changed.insert(kind.clone());
        }
        if is.get(MARK) != was.get(MARK) {
            lost.insert(kind);
        }
    }
    let wrong = kinds::all().filter_map(|kind| {
        let name = kind.to_string();
        let (is_changed, is_lost) = (changed.contains(&name), lost.contains(&name));
        // One that says the same as before is put again anyway.
        let is_tried = is_changed || name == "ledger: entry in a list of likes";
        let wrong = match kind.later {
            Later::Kept | Later::AsOthers if is_lost => "loses what is not known",
            Later::Kept if !is_tried => "is not written over by any of this",
            Later::Never if is_changed => "is written over",
            _ => return None,
        };
        Some(format!("{name} {wrong}"))
    });
    assert_eq!(wrong.collect::<Vec<_>>(), [""; 0]);
    let mut emptied = kinds::all().filter(|kind| kind.later == Later::Emptied);
    let is_lost = emptied.any(|kind| lost.contains(&kind.to_string()));
    assert!(is_lost, "a message is deleted with all it says");
}
