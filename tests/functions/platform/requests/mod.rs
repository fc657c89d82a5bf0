//! The units, the rounds and the bytes of each command, fold and page: the table `tools/operator/src/cost/units.csv`, from which
//! `nagare estimate` computes. Readers have cached nothing, unless a row says otherwise.

use std::fmt::Write;
use std::fs;
use std::ops::RangeInclusive;
use std::sync::Arc;

use dynoxide::types::{Item, item_size};
use nagare_local::{schema, stream_source};
use nagare_operator::cost::bill::ITEM;
use nagare_operator::cost::consumed::{HEADER, TABLE};
use nagare_operator::cost::month::EVENTS;
use serde_json::{Value, json};
use shared::history::events::{ArchivedObject, Period, PeriodRow, PeriodState, archive};
use shared::platform::ledger::BY_FOLLOWER;
use shared::platform::runtime::hold::Hold;
use shared::platform::values::TenantId;
use tests::{World, delete, follow, observed, soon, unfollow};
use tokio::time::Instant;

use crate::platform::answers::{self, PAYLOAD};
use crate::platform::units::UnitCounter;

mod bodies;

use bodies::*;

/// Rows of a list: more than one page of 20.
const MANY: usize = 25;

/// The columns of bytes.
const BYTES: RangeInclusive<usize> = 5..=7;

/// Three KB.
const MORE: usize = 3_072;

/// A row of the table: its name, and rounds, read units, write units, milliseconds of holds, bytes that are stored, bytes that can
/// be recovered, and bytes of the answer.
type Row = (String, [f64; 7]);

/// The consumption of some work.
async fn measured(name: &str, counter: &UnitCounter, work: impl AsyncFnOnce(&UnitCounter)) -> Row {
    let ([stored, recoverable], begun) = (stored(&counter.world), Instant::now());
    work(counter).await;
    let (used, rounds) = counter.take_with_rounds();
    let held = begun.elapsed().saturating_sub(UnitCounter::FAR * rounds as u32).as_millis();
    let after = self::stored(&counter.world);
    let bytes = [after[0] - stored, after[1] - recoverable];
    let numbers = [rounds as f64, used.reads, used.writes, held as f64, bytes[0], bytes[1], 0.0];
    (name.to_owned(), numbers)
}

/// The bytes of all tables but those of events, with the index, and of those with point-in-time recovery.
fn stored(world: &World) -> [f64; 2] {
    let names = schema::names();
    let bytes = |request: Value| {
        let (_, page) = world.engine.call("Scan", request.to_string().as_bytes());
        let page: Value = serde_json::from_str(&page).unwrap();
        assert_eq!(page["LastEvaluatedKey"], Value::Null, "one page has all");
        let items = page["Items"].as_array().unwrap().iter();
        let items = items.map(|item| serde_json::from_value::<Item>(item.clone()).unwrap());
        items.map(|item| item_size(&item) as f64 + ITEM).sum::<f64>()
    };
    let table = |name: &str| bytes(json!({"TableName": name}));
    let index = bytes(json!({"TableName": names.ledger, "IndexName": BY_FOLLOWER}));
    let recoverable = table(&names.ledger) + table(&names.facts);
    [recoverable + index + table(&names.views) + table(&names.timelines), recoverable]
}

/// The difference of two rows, divided by a number.
fn each_of(name: &str, (_, all): &Row, (_, without): &Row, number: f64) -> Row {
    let mut numbers = *all;
    numbers.iter_mut().zip(without).for_each(|(all, without)| *all = (*all - without) / number);
    (name.to_owned(), numbers)
}

/// A world in which commands are applied and folded.
async fn prepared(before: &[Value]) -> UnitCounter {
    let mut counter = UnitCounter::far();
    counter.world.writer.hold = Hold::default();
    let prepare = async |world: &World| {
        world.make_period("2026-11").await;
        world.done(before).await;
        world.project("shard").await;
    };
    counter.uncounted(prepare).await;
    counter
}

/// A command, and its fold.
async fn applied(name: &str, counter: &UnitCounter, command: &Value) -> [Row; 2] {
    let records = || counter.world.engine.stream_behind(0, usize::MAX).unwrap();
    let passed = records().len();
    let apply = async |counter: &UnitCounter| counter.apply(std::slice::from_ref(command)).await;
    let applied = measured(name, counter, apply).await;
    let fold = async |counter: &UnitCounter| {
        let records = &records()[passed..];
        if !records.is_empty() {
            let batch = stream_source::event("shard", records).unwrap();
            assert_eq!(counter.world.fold(batch, soon()).await.unwrap().batch_item_failures, []);
        }
    };
    [applied, measured(&format!("{name} folded"), counter, fold).await]
}

/// A command after others, and its fold if there is one.
async fn of_command(name: &str, before: &[Value], command: Value) -> Vec<Row> {
    let [applied, folded] = applied(name, &prepared(before).await, &command).await;
    let is_read = |(_, [_, reads, ..]): &Row| *reads > 0.0;
    [applied].into_iter().chain(Some(folded).filter(is_read)).collect()
}

/// The mean of the last hundred of these commands, and of their folds. Each is folded before the next.
async fn of_each(name: &str, before: Value, commands: Vec<Value>) -> Vec<Row> {
    let counter = prepared(&[before]).await;
    let mut rows = Vec::new();
    for command in commands {
        rows.push(applied(name, &counter, &command).await);
    }
    let last = rows.split_off(rows.len() - 100);
    let mut sums = last[0].clone();
    for (name, numbers) in last[1..].iter().flatten() {
        let sum = sums.iter_mut().find(|(sum, _)| sum == name).unwrap();
        sum.1.iter_mut().zip(numbers).for_each(|(sum, number)| *sum += number);
    }
    sums.iter().map(|sum| each_of(&sum.0, sum, &(String::new(), [0.0; 7]), 100.0)).collect()
}

async fn of_commands() -> Vec<Row> {
    let post = [published(0)];
    let posts: Vec<_> = (0..MANY).map(published).collect();
    let (anna, bob) = (person("anna"), person("bob"));
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
        ("notifications.read all", &liked, read(json!({"all": true}))),
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
        if !rows.iter().any(|(row, _)| row.split(' ').next() == Some(name)) {
            let example = schema["$defs"][name]["examples"][0].clone();
            rows.extend(of_command(name, &[], example).await);
        }
    }
    rows
}

fn schema() -> Value {
    serde_json::from_str(include_str!("../../../../docs/schemas/command.schema.json")).unwrap()
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
        commands.push(follow(&person(&other), &person("anna"), &at(200 + n)));
        commands.push(follow(&person("bob"), &person(&other), &at(200 + n)));
        commands.push(hit(n));
        commands.push(said(n));
    }
    commands.push(follow(&person("bob"), &person("anna"), &at(300)));
    commands.push(membership("room.joined", 0));
    commands.push(events());
    commands.extend([updated("c"), rule(), score()]);
    world.make_period("2026-11").await;
    world.done(&commands).await;
    for n in 0..MANY {
        let mut event = event(n);
        event["customer_id"] = json!(id(&format!("c-{n:02}")));
        event["name"] = json!(label(&n.to_string()));
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
    let ids = ["post-00", "mvp", "dragon", "hit-00", "live", "acme", "c"].map(id);
    let [post, mvp, dragon, hit, live, acme, customer] = &ids;
    let [anna, bob] = &["anna", "bob"].map(person);
    let pages = [
        ("/v1/timelines/{viewer_id}", format!("/v1/timelines/{bob}"), ""),
        (
            "/v1/timelines/{viewer_id}?include=likes",
            format!("/v1/timelines/{bob}"),
            "include=likes&viewer=bob",
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
            format!("/v1/tenants/{acme}/names/{}", label("n")),
            "",
        ),
        ("/v1/tenants/{tenant_id}/alerts", format!("/v1/tenants/{acme}/alerts"), ""),
        ("/v1/tenants/{tenant_id}/refusals", format!("/v1/tenants/{acme}/refusals"), ""),
    ];
    let mut rows = Vec::new();
    for (name, path, query) in pages {
        counter.world.reader.records = Arc::default();
        let query = query.replace("viewer=bob", &format!("viewer={bob}"));
        let name = format!("GET {name}");
        let (row, page) = of_page(&name, &counter, &path, &query).await;
        rows.push(row);
        // Nothing is newer.
        if let Some(newer) = page["newer_cursor"].as_str() {
            let kept =
                query.split('&').find(|pair| pair.starts_with("viewer=")).unwrap_or_default();
            let name = format!("{name} nothing newer");
            let query = format!("{kept}&cursor={newer}");
            let (row, page) = of_page(&name, &counter, &path, &query).await;
            assert_eq!(page["items"], json!([]), "{name}");
            rows.push(row);
        }
    }
    rows
}

/// A page, and its content.
async fn of_page(name: &str, counter: &UnitCounter, path: &str, query: &str) -> (Row, Value) {
    let (mut bytes, mut page) = (0, Value::Null);
    let (name, mut numbers) = measured(name, counter, async |counter| {
        let answer = answers::answer(&counter.world, path, query, Some("gzip")).await;
        assert_eq!(answer.status_code, 200, "{path}?{query}");
        let (is_compressed, body) = answers::body(answer);
        bytes = body.len();
        page = answers::page(&if is_compressed { answers::unpacked(&body) } else { body });
    })
    .await;
    numbers[6] = bytes as f64;
    ((name, numbers), page)
}

/// The rows that only a bill needs, from these and from others.
async fn of_bill(rows: &[Row]) -> Vec<Row> {
    let found = |name: &str| rows.iter().find(|(row, _)| row == name).unwrap();
    let viewer = |n: usize| person(&format!("viewer-{n:02}"));
    let viewers = (0..100).map(|n| follow(&viewer(n), &person("anna"), &at(0)));
    let followed = of_command("", &viewers.collect::<Vec<_>>(), published(0)).await;
    let follow = async |before: Vec<Value>| {
        let follow = follow(&person("bob"), &person("anna"), &at(100));
        of_command("follow.created without activities", &before, follow).await.swap_remove(0)
    };
    let (quiet, of_one) = (follow(Vec::new()).await, follow(vec![published(0)]).await);
    let likes = (0..150).map(|n| like("like.created", &format!("v-{n:03}"), 0, 60 + n));
    let likes = of_each("like.created of a liked activity", published(0), likes.collect()).await;
    let votes = (0..150).map(|n| {
        let mut vote = vote(Some(n % 2), 60 + n);
        vote["viewer_id"] = json!(person(&format!("v-{n:03}")));
        vote
    });
    let votes = of_each("vote.cast by a new voter", opened(), votes.collect()).await;
    let more = |mut command: Value| {
        command["payload"] = payload_of(PAYLOAD + MORE);
        command
    };
    let publish = of_command("", &[], more(published(0))).await;
    let room = [membership("room.joined", 0), said(9)];
    let message = of_command("", &room, more(said(0))).await;
    let published = found("activity.published");
    let of_publish = each_of("an entry of activity.published", &followed[0], published, 100.0);
    let many = (MANY - 1) as f64;
    let of_follow = each_of("an entry of follow.created", found("follow.created"), &of_one, many);
    let without = each_of("follow.created without entries", &of_one, &of_follow, 1.0);
    let publish = each_of("a KB more in activity.published", &publish[0], published, 3.0);
    let posted = found("message.posted");
    let message = each_of("a KB more in message.posted", &message[0], posted, 3.0);
    let page = "GET /v1/timelines/{viewer_id}";
    let with_likes = found(&format!("{page}?include=likes"));
    let page = each_of("the likes of a page", with_likes, found(page), 1.0);
    let derived = vec![of_publish, publish, quiet, without, of_follow, message, page];
    [derived, likes, votes, of_hundred_events().await, of_timeline().await].concat()
}

/// Events of as many customers, each of whom has had one before.
async fn of_hundred_events() -> Vec<Row> {
    let (counter, table) = (UnitCounter::far(), "nagare-events-2026-11");
    let events = |round: usize| {
        let event = |n: usize| {
            let mut event = event(n);
            event["customer_id"] = json!(id(&format!("c-{n:02}")));
            event["event_id"] = json!(id(&format!("e-{round}-{n:02}")));
            event
        };
        json!({"type": "events.recorded", "events": (0..EVENTS as usize).map(event).collect::<Vec<_>>()})
    };
    let fold = async |world: &World| {
        let records = world.engine.stream_of(table, 0, usize::MAX).unwrap();
        let last = &records[records.len() - EVENTS as usize..];
        let batch = stream_source::event_of(table, "one", last).unwrap();
        assert_eq!(world.fold(batch, soon()).await.unwrap().batch_item_failures, []);
    };
    counter
        .uncounted(async |world| {
            world.make_period("2026-11").await;
            world.done(&[events(0)]).await;
            fold(world).await;
        })
        .await;
    let name = "a hundred events";
    let apply = async |counter: &UnitCounter| counter.apply(&[events(1)]).await;
    let applied = measured(name, &counter, apply).await;
    let fold = async |counter: &UnitCounter| fold(&counter.world).await;
    vec![applied, measured(&format!("{name} folded"), &counter, fold).await]
}

/// A page whose reader has cached all records but three, and the poll after it. The ids are random, and the payloads are prose.
async fn of_timeline() -> Vec<Row> {
    let page = "a page with three new records";
    let [(row, poll), (longer, _), (largest, _)] = [
        of_timeline_with(page, PAYLOAD).await,
        of_timeline_with(page, PAYLOAD + 96).await,
        of_timeline_with(page, PAYLOAD + MORE).await,
    ];
    let mut more = each_of("a KB more in a page", &largest, &row, 3.0);
    // There is prose for the first bytes of each payload only.
    more.1[6] = (longer.1[6] - row.1[6]) * 1_024.0 / 96.0;
    vec![row, more, poll]
}

async fn of_timeline_with(name: &str, payload: usize) -> (Row, Row) {
    let (counter, path) = (UnitCounter::far(), "/v1/timelines/viewer-00012");
    counter.uncounted(async |world| answers::publish_prose(world, 0..21, payload).await).await;
    of_page("", &counter, path, "").await;
    counter.uncounted(async |world| answers::publish_prose(world, 21..24, payload).await).await;
    let (row, page) = of_page(name, &counter, path, "").await;
    let newer = page["newer_cursor"].as_str().unwrap();
    (row, of_page("a poll", &counter, path, &format!("cursor={newer}")).await.0)
}

/// Every type of a command that others send, and every route, has its row.
#[test]
fn all_are_counted() {
    let has = |name: &str| TABLE.lines().any(|row| row.starts_with(&format!("{name},")));
    let schema = schema();
    let types = types_in(&schema);
    assert!(types.len() > 20, "{types:?}");
    for name in types {
        assert!(has(name), "{name} is not counted");
    }
    let page = include_str!("../../../../docs/openapi.yaml");
    let paths = page.split("\n  /v1/").skip(1);
    // Requests that send events call no table.
    let read = paths.filter(|path| path.split("\n  /").next().unwrap().contains("\n    get:"));
    let routes: Vec<_> = read.filter_map(|path| path.split_once(":\n")).collect();
    assert!(routes.len() > 20, "{routes:?}");
    for (route, _) in routes {
        assert!(has(&format!("GET /v1/{route}")), "{route} is not counted");
    }
}

/// The types that a schema allows, wherever it says so.
fn types_in(schema: &Value) -> Vec<&str> {
    let of_type = schema["properties"]["type"]["const"].as_str().into_iter();
    let inside = schema.as_object().into_iter().flat_map(|members| members.values());
    let inside = inside.chain(schema.as_array().into_iter().flatten());
    of_type.chain(inside.flat_map(types_in)).collect()
}

/// Measures everything, and writes the table next to the other files that tests leave.
#[tokio::test(start_paused = true)]
async fn the_table_is_what_the_functions_consume() {
    SIZES.set(LARGEST);
    let largest = [of_commands().await, of_pages().await].concat();
    SIZES.set(ORDINARY);
    let rows = [of_commands().await, of_pages().await].concat();
    let of_bill = of_bill(&rows).await;
    let mut table = format!("{HEADER}\n");
    let rounded = |number: f64| (number * 1_000.0).round() / 1_000.0;
    for (name, numbers) in rows.iter().chain(&of_bill) {
        let most = largest.iter().find(|(row, _)| row == name).map(|(_, numbers)| numbers);
        let most = most.map(|numbers| format!("{},{}", numbers[1], numbers[2]));
        let numbers = numbers.map(|number| rounded(number).to_string()).join(",");
        writeln!(table, "{name},{numbers},{}", most.unwrap_or(",".to_owned())).unwrap();
    }
    fs::create_dir_all(observed::directory()).unwrap();
    let file = observed::directory().join("units.csv");
    fs::write(&file, &table).unwrap();
    let file = file.display();
    assert!(
        are_equal(&table, TABLE),
        "{table}\nThe table is out of date: cp {file} tools/operator/src/cost/units.csv"
    );
}

/// True if two tables have the same rows. Bytes differ a little each time: cursors are sealed, and the copies of the change log have
/// numbers of one or two digits.
fn are_equal(table: &str, other: &str) -> bool {
    let is_near = |a: &str, b: &str| match (a.parse::<f64>(), b.parse::<f64>()) {
        (Ok(a), Ok(b)) => (a - b).abs() <= 4.0 + 0.02 * a.abs(),
        _ => false,
    };
    let are_rows = |(a, b): (&str, &str)| {
        let mut cells = a.split(',').zip(b.split(',')).enumerate();
        a.split(',').count() == b.split(',').count()
            && cells.all(|(n, (a, b))| a == b || (BYTES.contains(&n) && is_near(a, b)))
    };
    table.lines().count() == other.lines().count() && table.lines().zip(other.lines()).all(are_rows)
}
