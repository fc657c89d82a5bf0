//! The keeper of periods, over embedded tables and a bucket in memory.

mod capacity;
mod deaths;
mod disputes;
mod forgetting;
mod listed;
mod mappings;
mod refused;
mod streams;
mod striking;
mod together;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::sync::{Arc, Mutex};

use aws_smithy_runtime_api::client::http::SharedHttpConnector;
use nagare_local::schema;
use period_keeper::{Keeper, KeeperLimits, Ticked};
use serde_json::{Value, json};
use shared::history::events::{
    Customer, Event, EventKey, EventSettings, Period, PeriodLength, PeriodRow, PeriodState, Tally,
    archive, keys,
};
use shared::history::summaries::SummaryView;
use shared::platform::dynamo::item::{self as dynamo, Item};
use shared::platform::values::{CustomerId, EventId, EventName, Payload, TenantId};
use tests::{World, soon};

use crate::platform::yielding::Yielding;

/// The period that the tests follow to its end.
const PERIOD: &str = "2026-11";
const WITHIN: &str = "2026-11-20T12:00:00Z";
/// It is due to be sealed, archived and verified.
const SEALED: &str = "2026-12-02T01:00:00Z";
/// It is due to be dropped.
const DROPPED: &str = "2026-12-11T00:00:00Z";
/// Its archive is due to be deleted.
const EXPIRED: &str = "2027-01-30T00:00:00Z";

const SETTINGS: EventSettings = EventSettings {
    length: PeriodLength::Month,
    lateness_days: 1,
    days: 10,
    archive_days: 60,
    earliest: EventSettings::EARLIEST,
};
/// Small enough for several segments, chunks and pages.
const SIZES: KeeperLimits = KeeperLimits {
    chunk_bytes: 3_000,
    segment_bytes: 2_000,
    segments_at_once: 2,
    page_items: Some(3),
};

fn period() -> Period {
    PERIOD.parse().unwrap()
}

/// A world whose keeper keeps months, as above.
fn keeping(mut world: World) -> World {
    world.keeper.settings = SETTINGS;
    world.keeper.limits = SIZES;
    world.set_clock(WITHIN);
    world
}

fn event(n: u32) -> Event {
    let customer = Customer {
        tenant_id: TenantId::new(format!("t{}", n % 3)).unwrap(),
        customer_id: CustomerId::new(format!("c{}", n % 5)).unwrap(),
    };
    let at = "2026-11-20T00:00:00Z".parse::<shared::platform::values::Timestamp>().unwrap();
    let key = EventKey {
        customer,
        at: at.plus_millis(i64::from(n * 7_919 % 1_000)),
        event_id: EventId::new(format!("e{n}")).unwrap(),
    };
    let properties = Payload::parse(&format!(r#"{{"n": {n}.0}}"#)).unwrap();
    Event { key, name: EventName::new("login").unwrap(), properties }
}

fn item(event: &Event, keys_of_customer: u32) -> Value {
    let key = keys::event(&event.key, keys_of_customer);
    json!({
        "pk": {"S": key.pk},
        "sk": {"S": key.sk},
        "name": {"S": event.name.as_str()},
        "properties": {"S": event.properties.as_json()},
    })
}

/// Records events past the functions, and past whatever goes wrong at their edge.
fn record(world: &World, events: impl IntoIterator<Item = u32>) -> BTreeSet<String> {
    let mut recorded = BTreeSet::new();
    for n in events {
        let event = event(n);
        let put = json!({"TableName": table(), "Item": item(&event, n % 2 + 1)});
        let (status, answer) = world.engine.call("PutItem", put.to_string().as_bytes());
        assert_eq!(status, 200, "{answer}");
        recorded.insert(event.line());
    }
    recorded
}

/// Says that the stream has brought these lines and no others, past the history projector.
fn bring(world: &World, lines: &BTreeSet<String>) {
    let mut tally = Tally::default();
    lines.iter().for_each(|line| tally.add(Tally::of_line(line)));
    let key = SummaryView::Witness(period(), TenantId::new("t0").unwrap(), 0).key();
    let witness = json!({
        "pk": {"S": key.pk}, "sk": {"S": key.sk}, "version": {"N": "1"},
        "events": {"N": tally.events.to_string()},
        "bytes": {"N": tally.bytes.to_string()},
        "sum": {"S": format!("{:032x}", tally.sum)},
    });
    let put = json!({"TableName": schema::names().views, "Item": witness});
    let (status, answer) = world.engine.call("PutItem", put.to_string().as_bytes());
    assert_eq!(status, 200, "{answer}");
}

fn table() -> String {
    format!("nagare-events-{PERIOD}")
}

/// The tables whose streams are mapped to the history projector, in order; but for the next periods'.
fn mapped(world: &World) -> Vec<String> {
    let mappings = world.engine.mappings().unwrap().into_iter();
    let mut tables: Vec<_> = mappings.map(|it| it.table).filter(|it| *it == table()).collect();
    tables.sort();
    tables
}

fn row(world: &World) -> PeriodRow {
    find(world).unwrap()
}

/// The row, if there is one: read past the functions, and past whatever goes wrong at their edge.
fn find(world: &World) -> Option<PeriodRow> {
    let key = keys::period(&period());
    let key = json!({"pk": {"S": key.pk}, "sk": {"S": key.sk}});
    let ledger = world.tables.ledger.table();
    let get = json!({"TableName": ledger.name(), "Key": key});
    let (status, answer) = world.engine.call("GetItem", get.to_string().as_bytes());
    assert_eq!(status, 200, "{answer}");
    let answer: Value = serde_json::from_str(&answer).unwrap();
    answer["Item"].is_object().then(|| PeriodRow::read(&ledger.row(read(&answer["Item"]))).unwrap())
}

fn read(item: &Value) -> Item {
    let value = |value: &Value| match (&value["S"], &value["N"]) {
        (Value::String(text), _) => dynamo::text(text),
        (_, Value::String(digits)) => dynamo::number(digits),
        _ => dynamo::truth(value["BOOL"].as_bool().unwrap()),
    };
    item.as_object().unwrap().iter().map(|(name, it)| (name.clone(), value(it))).collect()
}

fn state(world: &World) -> PeriodState {
    row(world).state
}

/// Whether the table has point-in-time recovery.
fn recovery(world: &World) -> String {
    let describe = json!({"TableName": table()}).to_string();
    let (status, answer) = world.engine.call("DescribeContinuousBackups", describe.as_bytes());
    assert_eq!(status, 200, "{answer}");
    let answer: Value = serde_json::from_str(&answer).unwrap();
    let description = &answer["ContinuousBackupsDescription"]["PointInTimeRecoveryDescription"];
    description["PointInTimeRecoveryStatus"].as_str().unwrap().to_owned()
}

/// The class of the table, where it is not the standard one.
fn class(world: &World) -> Option<String> {
    let describe = json!({"TableName": table()}).to_string();
    let (status, answer) = world.engine.call("DescribeTable", describe.as_bytes());
    assert_eq!(status, 200, "{answer}");
    let answer: Value = serde_json::from_str(&answer).unwrap();
    answer["Table"]["TableClassSummary"]["TableClass"].as_str().map(str::to_owned)
}

/// Ticks until nothing is due any more.
async fn ticks(keeper: &Keeper) -> Ticked {
    let mut all = Ticked::default();
    for _ in 0..20 {
        let ticked = keeper.tick(soon()).await.unwrap();
        all.done += ticked.done;
        all.failed += ticked.failed;
        if !ticked.more_due {
            return all;
        }
    }
    unreachable!("it never ends")
}

/// What is in the table, if it is there: asked past the functions.
fn in_table(world: &World) -> Option<BTreeSet<String>> {
    let scan = json!({"TableName": table()});
    let (status, answer) = world.engine.call("Scan", scan.to_string().as_bytes());
    let answer: Value = serde_json::from_str(&answer).unwrap();
    if status != 200 {
        return None;
    }
    let ledger = world.tables.ledger.table();
    let lines = answer["Items"].as_array().unwrap().iter();
    Some(lines.map(|item| Event::read(&ledger.row(read(item))).unwrap().line()).collect())
}

/// The lines of the archive, as they stand in its objects.
fn in_archive(world: &World) -> Vec<String> {
    let mut lines = Vec::new();
    for (key, object) in world.bucket.objects() {
        if key.ends_with(".jsonl.gz") {
            archive::read(&object, |line| lines.push(line.to_owned())).unwrap();
        }
    }
    lines
}

/// Each event is in its table or in a verified archive.
fn check_nothing_is_lost(world: &World, recorded: &BTreeSet<String>) {
    if let Some(there) = in_table(world) {
        assert_eq!(there, *recorded);
        return;
    }
    let row = row(world);
    assert!(matches!(row.state, PeriodState::Verified | PeriodState::Dropped), "{}", row.state);
    assert!(row.dropping);
    check_archive(world, recorded);
}

/// The archive has what was recorded, each once.
fn check_archive(world: &World, recorded: &BTreeSet<String>) {
    let lines = in_archive(world);
    assert_eq!(lines.len(), recorded.len());
    assert_eq!(lines.into_iter().collect::<BTreeSet<_>>(), *recorded);
}

/// A period that nothing goes wrong with, up to an instant.
async fn lived_until(world: &World, instant: &str) -> BTreeSet<String> {
    ticks(&world.keeper).await;
    let recorded = record(world, 0..60);
    bring(world, &recorded);
    for at in [SEALED, DROPPED, EXPIRED] {
        if at <= instant {
            world.set_clock(at);
            assert_eq!(ticks(&world.keeper).await.failed, 0);
        }
    }
    recorded
}

/// The archive that comes of these events, whatever goes wrong.
async fn reference() -> BTreeMap<String, Vec<u8>> {
    let world = keeping(World::new());
    lived_until(&world, SEALED).await;
    world.bucket.objects()
}

#[tokio::test]
async fn a_period_goes_from_planned_to_dropped() {
    let world = keeping(World::new());
    ticks(&world.keeper).await;
    assert_eq!(state(&world), PeriodState::Current);
    let periods = world.keeper.periods.newest_until(|_| false).await.unwrap();
    let states = periods.iter().fold(String::new(), |mut states, row| {
        write!(states, "{} {} ", row.period, row.state).unwrap();
        states
    });
    assert_eq!(states, "2027-01 planned 2026-12 made 2026-11 current ");
    assert_eq!((recovery(&world).as_str(), class(&world)), ("ENABLED", None));
    let recorded = record(&world, 0..60);
    world.set_clock("2026-12-01T00:00:00Z");
    ticks(&world.keeper).await;
    assert_eq!(state(&world), PeriodState::Past);
    record(&world, [0]);
    world.set_clock(SEALED);
    ticks(&world.keeper).await;
    let verified = row(&world);
    assert_eq!(verified.state, PeriodState::Verified);
    let rarely_read = Some("STANDARD_INFREQUENT_ACCESS".to_owned());
    assert_eq!((recovery(&world).as_str(), class(&world)), ("DISABLED", rarely_read));
    assert_eq!(verified.tally.unwrap().events, 60);
    assert!(verified.segments > 1, "{}", verified.segments);
    let put = json!({"TableName": table(), "Item": item(&event(0), 1)});
    let (status, _) = world.engine.call("PutItem", put.to_string().as_bytes());
    assert_eq!(status, 400, "a sealed table took an event");
    check_nothing_is_lost(&world, &recorded);
    bring(&world, &recorded);
    world.set_clock(DROPPED);
    ticks(&world.keeper).await;
    assert_eq!(state(&world), PeriodState::Dropped);
    assert_eq!(in_table(&world), None);
    check_archive(&world, &recorded);
    world.set_clock(EXPIRED);
    ticks(&world.keeper).await;
    let expired = row(&world);
    assert!(expired.expired && expired.state == PeriodState::Dropped);
    let left = world.bucket.objects().into_keys().filter(|key| key.contains(PERIOD));
    assert_eq!(left.collect::<Vec<_>>(), [""; 0]);
    let (objects, _) = world.keeper.archives.of_period(period(), None, 10).await.unwrap();
    assert_eq!(objects, []);
}

/// A tenant's objects, each in the order of customer, instant and id; a manifest that adds up.
#[tokio::test]
async fn an_archive_is_in_order_and_its_manifest_adds_up() {
    let world = keeping(World::new());
    lived_until(&world, SEALED).await;
    let mut objects = world.bucket.objects();
    let manifest = objects.remove(&archive::manifest_key(period(), 0)).unwrap();
    let manifest: Value = serde_json::from_slice(&manifest).unwrap();
    assert_eq!((&manifest["events"], &manifest["files"]), (&json!(60), &json!(1)));
    let listed = manifest["objects"].as_array().unwrap();
    let keys: BTreeSet<_> = listed.iter().map(|it| it["key"].as_str().unwrap()).collect();
    assert_eq!(keys, objects.keys().map(String::as_str).collect());
    assert!(keys.len() > 6, "several chunks: {}", keys.len());
    let events: u64 = listed.iter().map(|it| it["events"].as_u64().unwrap()).sum();
    assert_eq!(events, 60);
    for object in objects.values() {
        let mut lines = Vec::new();
        archive::read(object, |line| {
            let line: Value = serde_json::from_str(line).unwrap();
            lines.push(
                ["tenant_id", "customer_id", "at", "event_id"]
                    .map(|it| line[it].clone().to_string()),
            );
        })
        .unwrap();
        assert!(lines.is_sorted());
    }
}

/// However many segments are at work at once, one after the other or all of them, the bytes are the same.
#[tokio::test]
async fn an_archive_has_the_same_bytes_however_many_segments_are_at_work() {
    let expected = reference().await;
    for segments_at_once in [1, 3, 64] {
        let random = Arc::new(Mutex::new(fastrand::Rng::with_seed(segments_at_once)));
        let behind = |inside| SharedHttpConnector::new(Yielding { inside, random });
        let mut world = keeping(World::behind(behind));
        world.keeper.limits.segments_at_once = usize::try_from(segments_at_once).unwrap();
        let recorded = lived_until(&world, SEALED).await;
        assert!(row(&world).segments > 1);
        check_archive(&world, &recorded);
        assert_eq!(world.bucket.objects(), expected, "{segments_at_once} at once");
    }
}

/// A tick is as long as a call or two: it goes on with the next one, and the bytes are the same.
#[tokio::test(start_paused = true)]
async fn a_tick_that_runs_out_of_time_goes_on_with_the_next() {
    use std::time::Duration;

    use nagare_local::faults::Faulty;
    use shared::platform::runtime::deadline::Deadline;

    let handle = nagare_telemetry::faults::FaultsHandle::default();
    let world =
        keeping(World::behind(|inside| SharedHttpConnector::new(Faulty::by(&handle, inside))));
    let recorded = lived_until(&world, WITHIN).await;
    handle.set("slow=400ms".parse().unwrap());
    world.set_clock(SEALED);
    let mut ticks = 0;
    while state(&world) != PeriodState::Verified {
        let _ = world.keeper.tick(Deadline::after(Duration::from_secs(8))).await;
        check_nothing_is_lost(&world, &recorded);
        ticks += 1;
        assert!(ticks < 100, "it never ends");
    }
    assert!(ticks > 2, "{ticks}");
    assert_eq!(world.bucket.objects(), reference().await);
}
