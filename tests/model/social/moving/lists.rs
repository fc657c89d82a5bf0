//! The lists, and what moves in them.

use std::collections::BTreeSet;

use nagare_local::stream_source::event_of;
use serde_json::{Value, json};
use tests::{World, delete, follow, publish, soon, unfollow};

use super::{Moving, Number};

/// The rows of a list that are in it throughout.
const ROWS: usize = 7;
/// The most rows that come beside them.
const MORE: usize = 50;
const OPENED: &str = "2026-11-20T10:00:00.000Z";
const PERIODS: [&str; 2] = ["2026-10", "2026-11"];

/// Makes the tables of events.
pub(super) async fn prepare(world: &World) {
    for period in PERIODS {
        world.make_period(period).await;
    }
}

/// Folds all changes into views. What was folded before is passed.
pub(super) async fn project(world: &World) {
    world.project("a").await;
    for table in PERIODS.map(|period| format!("nagare-events-{period}")) {
        let records = world.engine.stream_of(&table, 0, usize::MAX).unwrap();
        for some in records.chunks(100) {
            let batch = event_of(&table, "a", some).unwrap();
            let answer = world.fold(batch, soon()).await.unwrap();
            assert_eq!(answer.batch_item_failures, []);
        }
    }
}

/// `n` hundredths of a second after eleven.
fn at(n: usize) -> String {
    format!("2026-11-20T11:{:02}:{:02}.{:02}0Z", n / 6_000, n / 100 % 60, n % 100)
}

fn minute(n: usize) -> String {
    format!("2026-11-20T10:{n:02}:00.000Z")
}

fn ids(ids: impl IntoIterator<Item = impl ToString>) -> BTreeSet<String> {
    ids.into_iter().map(|id| id.to_string()).collect()
}

fn rows(letter: char) -> impl Iterator<Item = String> + Clone {
    (0..ROWS).map(move |n| format!("{letter}{n}"))
}

/// What somebody published.
fn published(actor: &'static str, letter: char) -> impl Iterator<Item = Value> {
    rows(letter).enumerate().map(move |(n, id)| publish(actor, &id, &minute(n)))
}

fn edited(n: usize, many: usize) -> Value {
    json!({"type": "activity.updated", "activity_id": format!("a{}", n % many),
        "actor_id": "anna", "at": at(n), "payload": n})
}

fn payload(item: &Value) -> Option<u64> {
    item["payload"].as_u64()
}

/// A list of what anna published, among others, from commands before and while it is read.
fn of_activities(
    (name, path, query): (&'static str, &'static str, &'static str),
    others: impl IntoIterator<Item = Value>,
    moves: fn(usize) -> Value,
) -> Moving {
    Moving {
        name,
        path,
        query,
        before: published("anna", 'a').chain(others).collect(),
        moves,
        is_projected: false,
        id: "activity_id",
        throughout: ids(rows('a')),
        moves_to_front: false,
        may_end_early: false,
        numbers: None,
    }
}

/// The same, with activities that are edited in turn.
fn of_edits<const MANY: usize>(
    name: &'static str,
    path: &'static str,
    others: impl IntoIterator<Item = Value>,
) -> Moving {
    let others = others.into_iter().chain((0..MANY).map(|n| edited(n, MANY)));
    let moves = |n| edited(n + MANY, MANY);
    let numbers = Some((payload as Number, MANY));
    Moving { numbers, ..of_activities((name, path, ""), others, moves) }
}

/// A follow or an unfollow.
fn change(n: usize) -> fn(&str, &str, &str) -> Value {
    if n.is_multiple_of(2) { follow } else { unfollow }
}

fn timelines() -> Vec<Moving> {
    const PATH: &str = "/v1/timelines/bob";
    let follows = || [follow("bob", "anna", OPENED)];
    let carl = |n: usize| change(n)("bob", "carl", &at(n));
    let publishes = |n: usize| match n % 4 {
        0 => publish("anna", &format!("n{n}"), &at(n)),
        2 => delete("anna", &format!("n{}", n - 2)),
        _ => edited(n, 1),
    };
    vec![
        of_edits::<1>("timeline", PATH, follows()),
        of_edits::<3>("timeline, several edits", PATH, follows()),
        of_activities(
            ("timeline, follows", PATH, ""),
            follows().into_iter().chain(published("carl", 'c')),
            carl,
        ),
        Moving {
            may_end_early: true,
            ..of_activities(("timeline, publishes and edits", PATH, ""), follows(), publishes)
        },
    ]
}

fn tag(activity: &str, tagged: &str, at: &str, is_on: bool) -> Value {
    let kind = if is_on { "tag.created" } else { "tag.deleted" };
    json!({"type": kind, "activity_id": activity, "tagged_id": tagged, "at": at})
}

fn of_actors_and_tags() -> Vec<Moving> {
    const ACTOR: &str = "/v1/actors/anna/activities";
    const TAGGED: &str = "/v1/viewers/bob/tagged";
    let tags = || rows('a').map(|id| tag(&id, "bob", OPENED, true));
    let of_kinds = |n: usize| {
        let kind = if (n / 2).is_multiple_of(2) { "clip" } else { "image" };
        json!({"type": "activity.updated", "activity_id": format!("a{}", n % 2), "kind": kind,
            "actor_id": "anna", "at": at(n), "payload": n})
    };
    let as_clips = rows('a').map(|id| {
        json!({"type": "activity.updated", "activity_id": id, "kind": "clip", "actor_id": "anna",
            "at": OPENED, "payload": null})
    });
    let others = |n: usize| tag(&format!("b{}", n / 2 % ROWS), "bob", &at(n), n.is_multiple_of(2));
    let tagged_in = |n: usize| tag("a0", &format!("m{}", n / 2 % 2), &at(n), n.is_multiple_of(2));
    let of_a0 = rows('c').map(|viewer| tag("a0", &viewer, OPENED, true));
    vec![
        of_edits::<1>("actor", ACTOR, []),
        of_edits::<3>("actor, several edits", ACTOR, []),
        of_activities(("actor, kinds", ACTOR, "&kind=clip&kind=image"), as_clips, of_kinds),
        of_edits::<1>("tagged", TAGGED, tags()),
        of_activities(
            ("tagged, tags", TAGGED, ""),
            published("anna", 'b').chain(tags()).collect::<Vec<_>>(),
            others,
        ),
        Moving {
            id: "tagged_id",
            throughout: ids(rows('c')),
            ..of_activities(("tags", "/v1/activities/a0/tags", ""), of_a0, tagged_in)
        },
    ]
}

fn liked(viewer: &str, activity: &str, at: &str) -> Value {
    json!({"type": "like.created", "viewer_id": viewer, "activity_id": activity, "at": at})
}

/// Two likes are said again in turn, each later than before; and notifications are read in turn, and begin again.
fn of_likes() -> Vec<Moving> {
    let likes = rows('a').enumerate().map(|(n, id)| liked("bob", &id, &minute(30 + n)));
    let again = |n: usize| liked("bob", &format!("a{}", n % 2), &at(n));
    let reads = |n: usize| {
        let (activity, round) = (format!("a{}", n / 2 % ROWS), n / (2 * ROWS));
        let marked = json!({"notification_id": format!("like:{round}:{activity}"), "through": 1});
        match n % 2 {
            0 => json!({"type": "notifications.read", "viewer_id": "anna", "read": [marked]}),
            _ => liked(&format!("v{round}"), &activity, &at(n)),
        }
    };
    // At once, so that it happens while one page is read.
    let reads_twice = |n: usize| {
        let (activity, round) = (format!("a{}", n % ROWS), n / ROWS * 2);
        let twice = [round, round + 1].map(|round| {
            let id = format!("like:{round}:{activity}");
            let marked = json!({"notification_id": id, "through": 1});
            let read = json!({"type": "notifications.read", "viewer_id": "anna", "read": [marked]});
            [read, liked(&format!("v{round}"), &activity, &at(n))]
        });
        twice.into_iter().flatten().collect()
    };
    let notified = rows('a').map(|activity| format!("like:0:{activity}"));
    vec![
        Moving {
            moves_to_front: true,
            ..of_activities(("likes", "/v1/viewers/bob/likes", ""), likes.clone(), again)
        },
        Moving {
            is_projected: true,
            id: "notification_id",
            throughout: ids(notified.clone()),
            ..of_activities(("notifications", "/v1/notifications/anna", ""), likes.clone(), reads)
        },
        Moving {
            is_projected: true,
            id: "notification_id",
            throughout: ids(notified),
            ..of_activities(
                ("notifications, read twice", "/v1/notifications/anna", ""),
                likes,
                reads_twice,
            )
        },
    ]
}

/// Others follow and leave.
fn of_follows() -> Vec<Moving> {
    let of = |name, path, before: Vec<Value>, moves: fn(usize) -> Value| Moving {
        before,
        id: "viewer_id",
        throughout: ids(rows('c')),
        ..of_activities((name, path, ""), [], moves)
    };
    vec![
        of(
            "following",
            "/v1/viewers/bob/following",
            rows('c').map(|actor| follow("bob", &actor, OPENED)).collect(),
            |n| change(n)("bob", &format!("b{}", n / 2 % 2), &at(n)),
        ),
        of(
            "followers",
            "/v1/actors/anna/followers",
            rows('c').map(|viewer| follow(&viewer, "anna", OPENED)).collect(),
            |n| change(n)(&format!("m{}", n / 2 % 2), "anna", &at(n)),
        ),
    ]
}

/// Messages come and go.
fn of_rooms() -> Vec<Moving> {
    let posted = |id: &str, at: &str| {
        json!({"type": "message.posted", "room_id": "den", "message_id": id, "author_id": "bob",
            "at": at, "payload": null})
    };
    vec![Moving {
        before: rows('m').enumerate().map(|(n, id)| posted(&id, &minute(n))).collect(),
        id: "message_id",
        throughout: ids(rows('m')),
        ..of_activities(("messages", "/v1/rooms/den/messages", ""), [], |n| {
            let (id, at) = (format!("x{}", n / 2), minute(n / 2 % 50));
            match n % 2 {
                0 => json!({"type": "message.posted", "room_id": "den", "message_id": id,
                    "author_id": "carl", "at": at, "payload": n}),
                _ => json!({"type": "message.deleted", "room_id": "den", "message_id": id,
                    "author_id": "carl"}),
            }
        })
    }]
}

fn event(customer: &str, id: &str, name: &str, at: &str) -> Value {
    json!({"type": "event.recorded", "tenant_id": "acme", "customer_id": customer, "event_id": id,
        "name": name, "at": at, "properties": null})
}

/// Events of customers that are there, and of others, of names that are there, and of others.
fn of_tenants() -> Vec<Moving> {
    let rule = json!({"type": "rule.defined", "tenant_id": "acme", "rule_id": "r", "at": OPENED,
        "when": {"event": "login", "count": 1, "within": "ever"}});
    let logins = rows('c').map(|customer| event(&customer, "e", "login", OPENED));
    let names = rows('n').map(|name| event("c0", &name, &name, OPENED));
    let visits = (0..3).map(|n| event(&format!("b{n}"), "v", "visit", OPENED));
    let defined = |n: usize| {
        let kind = if n.is_multiple_of(2) { "rule.defined" } else { "rule.deleted" };
        json!({"type": kind, "tenant_id": "acme", "rule_id": "other", "at": at(n),
            "when": {"event": "visit", "count": 1, "within": "day"}})
    };
    let more = |n: usize| {
        let (nth, customer) = (n % MORE, format!("c{}", n % ROWS));
        match n % 3 {
            0 => event(&customer, &format!("x{nth}"), "login", &minute(nth)),
            1 => event(&format!("b{nth}"), "e", &format!("m{nth}"), OPENED),
            _ => json!({"type": "customer.updated", "tenant_id": "acme",
                "customer_id": format!("d{nth}"), "at": at(n), "payload": n}),
        }
    };
    let recorded = (0..ROWS).map(|n| {
        let day = if n % 2 == 0 { "2026-11-01" } else { "2026-11-02" };
        event("c9", &format!("e{n}"), "login", &format!("{day}T0{n}:00:00.000Z"))
    });
    let of = |name, path, id, throughout, before: Vec<Value>, moves: fn(usize) -> Value| Moving {
        before,
        id,
        throughout,
        is_projected: true,
        ..of_activities((name, path, ""), [], moves)
    };
    vec![
        of(
            "customers",
            "/v1/tenants/acme/customers",
            "customer_id",
            ids(rows('c')),
            logins.clone().collect(),
            more,
        ),
        of("names", "/v1/tenants/acme/names", "name", ids(rows('n')), names.collect(), more),
        of(
            "alerts",
            "/v1/tenants/acme/alerts",
            "customer_id",
            ids(rows('c')),
            [rule].into_iter().chain(logins).chain(visits).collect(),
            defined,
        ),
        Moving {
            is_projected: false,
            ..of(
                "events",
                "/v1/tenants/acme/customers/c9/events",
                "event_id",
                ids((0..ROWS).map(|n| format!("e{n}"))),
                recorded.collect(),
                |n| event("c9", &format!("x{}", n % MORE), "login", &minute(n % MORE)),
            )
        },
    ]
}

/// All lists, except archives, whose rows do not move.
pub(super) fn all() -> Vec<Moving> {
    [timelines(), of_actors_and_tags(), of_likes(), of_follows(), of_rooms(), of_tenants()]
        .into_iter()
        .flatten()
        .collect()
}
