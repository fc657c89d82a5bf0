//! What a command and a page take: each line of `docs/LIMITS.md`, "Requests, counted", is counted here. Ids have 128
//! characters and payloads 4,096 bytes, and readers have kept nothing.

use std::sync::Arc;

use nagare_local::stream_source;
use serde_json::{Value, json};
use shared::history::events::{ArchivedObject, Period, PeriodRow, PeriodState, archive};
use shared::history::tenants::MOST_READ;
use shared::platform::values::TenantId;
use tests::{World, delete, follow, publish, soon, unfollow};

use crate::platform::units::UnitCounter;

/// What a list has: more than one page of 20.
const MANY: usize = 25;

/// An id of 128 characters.
fn id(name: &str) -> String {
    format!("{name:x<128}")
}

fn payload() -> Value {
    json!("p".repeat(4_094))
}

/// The instant `n` seconds after half past eleven.
fn at(n: usize) -> String {
    format!("2026-11-20T11:{:02}:{:02}.000Z", 30 + n / 60, n % 60)
}

fn published(n: usize) -> Value {
    let mut command = publish(&id("anna"), &id(&format!("post-{n:02}")), &at(n));
    command["payload"] = payload();
    command
}

fn edited(kind: &str) -> Value {
    json!({"type": "activity.updated", "actor_id": id("anna"), "activity_id": id("post-00"), "kind": kind,
        "at": at(60), "payload": payload()})
}

fn profile(viewer: &str) -> Value {
    json!({"type": "profile.updated", "viewer_id": id(viewer), "at": at(0), "payload": payload()})
}

fn like(kind: &str, viewer: &str, n: usize, second: usize) -> Value {
    json!({"type": kind, "viewer_id": id(viewer), "activity_id": id(&format!("post-{n:02}")), "at": at(second)})
}

fn tag(kind: &str, n: usize, tagged: &str, second: usize) -> Value {
    json!({"type": kind, "activity_id": id(&format!("post-{n:02}")), "tagged_id": id(tagged), "at": at(second)})
}

fn opened() -> Value {
    let choices: Vec<_> = (0..32).map(|n| format!("{:x<64}", format!("choice-{n:02}"))).collect();
    json!({"type": "poll.opened", "poll_id": id("mvp"), "actor_id": id("anna"), "choices": choices,
        "opens_at": at(0), "closes_at": "2026-11-21T11:00:00Z", "payload": payload()})
}

fn closed() -> Value {
    json!({"type": "poll.closed", "poll_id": id("mvp"), "actor_id": id("anna"), "at": at(90)})
}

fn vote(choice: Option<usize>, second: usize) -> Value {
    let mut vote = json!({"type": "vote.withdrawn", "poll_id": id("mvp"), "viewer_id": id("bob"), "at": at(second)});
    if let Some(choice) = choice {
        vote["type"] = json!("vote.cast");
        vote["choice"] = json!(format!("{:x<64}", format!("choice-{choice:02}")));
    }
    vote
}

fn battle() -> Value {
    json!({"type": "battle.opened", "battle_id": id("dragon"), "actor_id": id("anna"), "hp": 1_000, "at": at(0),
        "payload": payload()})
}

fn hit(n: usize) -> Value {
    json!({"type": "battle.hit", "battle_id": id("dragon"), "hit_id": id(&format!("hit-{n:02}")),
        "viewer_id": id("bob"), "damage": 10, "at": at(n)})
}

fn said(n: usize) -> Value {
    json!({"type": "message.posted", "room_id": id("live"), "message_id": id(&format!("m-{n:02}")),
        "author_id": id("bob"), "at": at(n), "payload": payload()})
}

fn unsaid(n: usize) -> Value {
    json!({"type": "message.deleted", "room_id": id("live"), "message_id": id(&format!("m-{n:02}")),
        "author_id": id("bob")})
}

fn membership(kind: &str, second: usize) -> Value {
    json!({"type": kind, "room_id": id("live"), "viewer_id": id("bob"), "at": at(second)})
}

fn read(body: Value) -> Value {
    let mut read = json!({"type": "notifications.read", "viewer_id": id("anna")});
    read.as_object_mut().unwrap().extend(body.as_object().unwrap().clone());
    read
}

fn event(n: usize) -> Value {
    json!({"type": "event.recorded", "tenant_id": id("acme"), "customer_id": id("c"), "at": at(n),
        "event_id": id(&format!("e-{n:02}")), "name": "n".repeat(64), "properties": payload()})
}

fn events() -> Value {
    json!({"type": "events.recorded", "events": (0..MANY).map(event).collect::<Vec<_>>()})
}

/// What a tenant says at the end of a second.
fn of_tenant(kind: &str, members: Value, second: usize) -> Value {
    let mut command = json!({"type": kind, "tenant_id": id("acme"), "at": at(second)});
    command.as_object_mut().unwrap().extend(members.as_object().unwrap().clone());
    command
}

fn updated(customer: &str) -> Value {
    of_tenant("customer.updated", json!({"customer_id": id(customer), "payload": payload()}), 1)
}

fn rule() -> Value {
    let when = json!({"event": "n".repeat(64), "count": 1, "within": "month"});
    of_tenant("rule.defined", json!({"rule_id": id("rule"), "when": when}), 1)
}

fn score() -> Value {
    let measure = json!({"event": "n".repeat(64), "days": 90, "points": 3, "most": 60});
    let members = json!({"score_id": id("score"), "base": 40, "measures": [measure]});
    of_tenant("score.defined", members, 1)
}

fn alerts_read() -> Value {
    let read: Vec<_> = (0..MOST_READ).map(|n| json!({"alert_id": format!("{n:032x}")})).collect();
    json!({"type": "alerts.read", "tenant_id": id("acme"), "read": read})
}

/// A row of the page: rounds, read units, write units.
type Row = (String, [f64; 3]);

fn row(name: impl Into<String>, counter: &UnitCounter) -> Row {
    let (used, rounds) = counter.take_with_rounds();
    (name.into(), [rounds as f64, used.reads, used.writes])
}

/// What the last of these commands takes, and what its fold does.
async fn of_command(name: &str, before: &[Value], command: Value) -> Vec<Row> {
    let counter = UnitCounter::far();
    counter
        .uncounted(async |world| {
            world.make_period("2026-11").await;
            world.done(before).await;
            world.project("shard").await;
        })
        .await;
    counter.apply(&[command]).await;
    let mut rows = vec![row(format!("`{name}`"), &counter)];
    counter.world.project("shard").await;
    let folded = row(format!("`{name}`, folded"), &counter);
    // One that is not folded is passed, which reads what it may concern.
    rows.extend(Some(folded).filter(|(_, [_, _, writes])| *writes > 0.0));
    rows
}

async fn of_commands() -> Vec<Row> {
    let post = [published(0)];
    let posts: Vec<_> = (0..MANY).map(published).collect();
    let (anna, bob) = (id("anna"), id("bob"));
    let followed = [posts.as_slice(), &[follow(&bob, &anna, &at(100))]].concat();
    let liked = [published(0), like("like.created", "bob", 0, 70)];
    let tagged = [published(0), tag("tag.created", 0, "bob", 70)];
    let through = json!({"notification_id": format!("like:0:{}", id("post-00")), "through": 1});
    let cases: Vec<(&str, &[Value], Value)> = vec![
        ("activity.published", &[], published(0)),
        ("activity.updated", &post, edited("live")),
        ("activity.deleted", &post, delete(&anna, &id("post-00"))),
        ("follow.created", &posts, follow(&bob, &anna, &at(100))),
        ("follow.deleted", &followed, unfollow(&bob, &anna, &at(101))),
        ("profile.updated", &[], profile("bob")),
        ("like.created", &post, like("like.created", "bob", 0, 70)),
        ("like.deleted", &liked, like("like.deleted", "bob", 0, 71)),
        ("notifications.read", &liked, read(json!({"read": [through]}))),
        ("notifications.read, all", &liked, read(json!({"all": true}))),
        ("poll.opened", &[], opened()),
        ("poll.closed", &[], closed()),
        ("vote.cast", &[], vote(Some(1), 10)),
        ("vote.withdrawn", &[], vote(None, 11)),
        ("battle.opened", &[], battle()),
        ("battle.hit", &[], hit(1)),
        ("tag.created", &post, tag("tag.created", 0, "bob", 70)),
        ("tag.deleted", &tagged, tag("tag.deleted", 0, "bob", 71)),
        ("message.posted", &[], said(0)),
        ("message.deleted", &[], unsaid(0)),
        ("room.joined", &[], membership("room.joined", 1)),
        ("room.left", &[], membership("room.left", 2)),
        ("event.recorded", &[], event(0)),
        ("events.recorded", &[], events()),
        ("customer.updated", &[], updated("c")),
        ("rule.defined", &[], rule()),
        ("rule.deleted", &[], of_tenant("rule.deleted", json!({"rule_id": id("rule")}), 2)),
        ("score.defined", &[], score()),
        ("score.deleted", &[], of_tenant("score.deleted", json!({"score_id": id("score")}), 2)),
        ("alerts.read", &[], alerts_read()),
    ];
    let polls = [opened(), vote(Some(0), 5)];
    let battles = [battle(), hit(0)];
    let rooms = [membership("room.joined", 0), said(9)];
    let mut rows = Vec::new();
    for (name, before, command) in cases {
        // What others come to is there before.
        let before = match name.split_once('.').unwrap_or_default() {
            ("poll", _) | ("vote", _) if name != "poll.opened" => &polls,
            ("battle", "hit") => &battles[..],
            ("message" | "room", _) => &rooms,
            _ => before,
        };
        rows.extend(of_command(name, before, command).await);
    }
    let schema = schema();
    for name in types_in(&schema) {
        // Others need nothing before them: the schema's example.
        if !rows.iter().any(|(row, _)| row.contains(&format!("`{name}`"))) {
            let example = schema["$defs"][name]["examples"][0].clone();
            rows.extend(of_command(name, &[], example).await);
        }
    }
    rows
}

fn schema() -> Value {
    serde_json::from_str(include_str!("../../../docs/schemas/command.schema.json")).unwrap()
}

/// Somebody follows, likes, is tagged, votes, hits and talks; others follow and like as well.
async fn inhabited(world: &World) {
    let mut commands = vec![profile("anna"), profile("bob"), opened(), battle(), vote(Some(3), 5)];
    for n in 0..MANY {
        let other = format!("other-{n:02}");
        commands.push(published(n));
        commands.push(like("like.created", "bob", n, 100 + n));
        commands.push(like("like.created", &other, n, 100 + n));
        commands.push(tag("tag.created", n, "bob", 70));
        commands.push(tag("tag.created", 0, &other, 70));
        commands.push(profile(&other));
        commands.push(follow(&id(&other), &id("anna"), &at(200 + n)));
        commands.push(follow(&id("bob"), &id(&other), &at(200 + n)));
        commands.push(hit(n));
        commands.push(said(n));
    }
    commands.push(follow(&id("bob"), &id("anna"), &at(300)));
    commands.push(membership("room.joined", 0));
    commands.push(events());
    commands.extend([updated("c"), rule(), score()]);
    world.make_period("2026-11").await;
    world.done(&commands).await;
    for n in 0..MANY {
        let mut event = event(n);
        event["customer_id"] = json!(id(&format!("c-{n:02}")));
        event["name"] = json!(format!("{n:n<64}"));
        world.done(&[event]).await;
    }
    archived(world).await;
    world.project("shard").await;
    for table in world.engine.streams_left().unwrap() {
        let records = world.engine.stream_of(&table, 0, usize::MAX).unwrap();
        let batch = stream_source::event_of(&table, "shard", &records).unwrap();
        let answer = world.fold(batch, soon()).await.unwrap();
        assert_eq!(answer.batch_item_failures, []);
    }
}

/// The archives of a page of periods, of an object each.
async fn archived(world: &World) {
    let mut period = "2020-01".parse::<Period>().unwrap();
    for _ in 0..20 {
        let dropped = PeriodRow { state: PeriodState::Dropped, ..PeriodRow::planned(period) };
        world.keeper.periods.plan(period).await.unwrap();
        assert!(world.keeper.periods.replace(&dropped).await.unwrap());
        let packed = archive::pack(["{}"]);
        let tenant = TenantId::new(id("acme")).unwrap();
        let object = ArchivedObject::new(&tenant, period, (0, 0), &packed);
        world.keeper.archives.note(&object).await.unwrap();
        period = period.next();
    }
}

async fn of_pages() -> Vec<Row> {
    let mut counter = UnitCounter::far();
    counter.uncounted(inhabited).await;
    let ids = ["anna", "bob", "post-00", "mvp", "dragon", "hit-00", "live", "acme", "c"].map(id);
    let [anna, bob, post, mvp, dragon, hit, live, acme, customer] = &ids;
    let pages = [
        ("/v1/timelines/{viewer_id}", format!("/v1/timelines/{bob}"), ""),
        (
            "/v1/timelines/{viewer_id}?include=likes",
            format!("/v1/timelines/{bob}"),
            "include=likes",
        ),
        ("/v1/profiles/{viewer_id}", format!("/v1/profiles/{bob}"), ""),
        ("/v1/activities/{activity_id}", format!("/v1/activities/{post}"), "viewer=bob"),
        ("/v1/actors/{actor_id}/activities", format!("/v1/actors/{anna}/activities"), ""),
        ("/v1/viewers/{viewer_id}/likes", format!("/v1/viewers/{bob}/likes"), ""),
        ("/v1/activities/{activity_id}/tags", format!("/v1/activities/{post}/tags"), ""),
        ("/v1/viewers/{viewer_id}/tagged", format!("/v1/viewers/{bob}/tagged"), ""),
        ("/v1/viewers/{viewer_id}/following", format!("/v1/viewers/{bob}/following"), ""),
        ("/v1/actors/{actor_id}/followers", format!("/v1/actors/{anna}/followers"), ""),
        ("/v1/notifications/{viewer_id}", format!("/v1/notifications/{anna}"), ""),
        ("/v1/polls/{poll_id}", format!("/v1/polls/{mvp}"), "viewer=bob"),
        ("/v1/battles/{battle_id}", format!("/v1/battles/{dragon}"), "viewer=bob"),
        ("/v1/battles/{battle_id}/hits/{hit_id}", format!("/v1/battles/{dragon}/hits/{hit}"), ""),
        ("/v1/rooms/{room_id}/messages", format!("/v1/rooms/{live}/messages"), "viewer=bob"),
        (
            "/v1/tenants/{tenant_id}/customers/{customer_id}/events",
            format!("/v1/tenants/{acme}/customers/{customer}/events"),
            "",
        ),
        ("/v1/tenants/{tenant_id}/archives", format!("/v1/tenants/{acme}/archives"), ""),
        ("/v1/tenants/{tenant_id}/customers", format!("/v1/tenants/{acme}/customers"), ""),
        (
            "/v1/tenants/{tenant_id}/customers/{customer_id}",
            format!("/v1/tenants/{acme}/customers/{customer}"),
            "",
        ),
        ("/v1/tenants/{tenant_id}/names", format!("/v1/tenants/{acme}/names"), ""),
        (
            "/v1/tenants/{tenant_id}/names/{name}",
            format!("/v1/tenants/{acme}/names/{}", "n".repeat(64)),
            "",
        ),
        ("/v1/tenants/{tenant_id}/alerts", format!("/v1/tenants/{acme}/alerts"), ""),
        ("/v1/tenants/{tenant_id}/refusals", format!("/v1/tenants/{acme}/refusals"), ""),
    ];
    let mut rows = Vec::new();
    for (name, path, query) in pages {
        counter.world.reader.records = Arc::default();
        let query = query.replace("viewer=bob", &format!("viewer={bob}"));
        let page = got(&counter, &path, &query).await;
        rows.push(row(format!("`GET {name}`"), &counter));
        // What is new since, which is nothing.
        if let Some(newer) = page["newer_cursor"].as_str() {
            let kept =
                query.split('&').find(|pair| pair.starts_with("viewer=")).unwrap_or_default();
            let page = got(&counter, &path, &format!("{kept}&cursor={newer}")).await;
            assert_eq!(page["items"], json!([]), "{name}");
            rows.push(row(format!("`GET {name}`, nothing newer"), &counter));
        }
    }
    rows
}

async fn got(counter: &UnitCounter, path: &str, query: &str) -> Value {
    let (status, _, page) = counter.world.get(path, query).await;
    assert_eq!(status, 200, "{path}?{query}: {page}");
    page
}

/// The rows of the page.
fn documented() -> Vec<Row> {
    let page = include_str!("../../../docs/LIMITS.md");
    let (_, section) = page.split_once("## Requests, counted").unwrap();
    let section = section.split("\n## ").next().unwrap_or_default();
    let rows = section.lines().filter_map(|line| line.strip_prefix("| `"));
    let rows = rows.map(|line| {
        let cells: Vec<_> = line.trim_end_matches('|').split(" | ").map(str::trim).collect();
        let number = |n: usize| cells[n].parse().unwrap();
        (format!("`{}", cells[0]), [number(1), number(2), number(3)])
    });
    rows.collect()
}

/// Every type of a command that others send, and every route, has its row.
#[test]
fn all_are_counted() {
    let rows = documented();
    let has = |name: String| rows.iter().any(|(row, _)| row.starts_with(&name));
    let schema = schema();
    let types = types_in(&schema);
    assert!(types.len() > 20, "{types:?}");
    for name in types {
        assert!(has(format!("`{name}`")), "{name} is not counted");
    }
    let page = include_str!("../../../docs/openapi.yaml");
    let paths = page.split("\n  /v1/").skip(1);
    // What is sent over HTTP has a table of its own: it calls no table.
    let read = paths.filter(|path| path.split("\n  /").next().unwrap().contains("\n    get:"));
    let routes: Vec<_> = read.filter_map(|path| path.split_once(":\n")).collect();
    assert!(routes.len() > 20, "{routes:?}");
    for (route, _) in routes {
        assert!(has(format!("`GET /v1/{route}`")), "{route} is not counted");
    }
}

/// The types that a schema allows, wherever it says so.
fn types_in(schema: &Value) -> Vec<&str> {
    let of_type = schema["properties"]["type"]["const"].as_str().into_iter();
    let inside = schema.as_object().into_iter().flat_map(|members| members.values());
    let inside = inside.chain(schema.as_array().into_iter().flatten());
    of_type.chain(inside.flat_map(types_in)).collect()
}

#[tokio::test(start_paused = true)]
async fn each_takes_what_the_page_says() {
    let counted = [of_commands().await, of_pages().await].concat();
    for (name, [rounds, reads, writes]) in &counted {
        println!("| {name} | {rounds} | {reads} | {writes} |");
    }
    assert_eq!(counted, documented(), "docs/LIMITS.md, Requests, counted");
}
