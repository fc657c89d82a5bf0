//! The capacity of the current period's table: provisioned by the hour, raised where the queue is behind, on demand otherwise.

use std::time::Duration;

use aws_smithy_runtime_api::client::orchestrator::HttpRequest;
use nagare_local::faults::Fault;
use serde_json::{Value, json};
use shared::history::events::{PeriodRow, PeriodState};
use shared::platform::runtime::deadline::Deadline;
use shared::platform::values::Timestamp;
use tests::cloud_watch::Measurements;
use tests::{COMMANDS, World, soon};

use super::striking::Strike;
use super::{WITHIN, keeping, period, row, table, ticks};

/// A period before, whose table nobody has to have made here: CloudWatch knows it longer.
const BEFORE: &str = "nagare-events-2026-10";
const NEXT_HOUR: &str = "2026-11-20T13:00:00Z";
const WRITES: &str = "ConsumedWriteCapacityUnits";
const READS: &str = "ConsumedReadCapacityUnits";
const OLDEST: &str = "ApproximateAgeOfOldestMessage";

fn at(text: &str) -> Timestamp {
    text.parse().unwrap()
}

/// How a table is paid for: its read and write units, or none on demand.
fn capacity(world: &World, table: &str) -> Option<(u64, u64)> {
    let describe = json!({"TableName": table});
    let (status, answer) = world.engine.call("DescribeTable", describe.to_string().as_bytes());
    assert_eq!(status, 200, "{answer}");
    let found: Value = serde_json::from_str(&answer).unwrap();
    let found = &found["Table"];
    let units = |name: &str| found["ProvisionedThroughput"][name].as_u64().unwrap();
    (found["BillingModeSummary"]["BillingMode"] != "PAY_PER_REQUEST")
        .then(|| (units("ReadCapacityUnits"), units("WriteCapacityUnits")))
}

/// A world whose keeper is to provision, with a table that is current and on demand, and what it measures.
async fn provisioning(mut world: World) -> (World, Measurements) {
    ticks(&world.keeper).await;
    assert_eq!(capacity(&world, &table()), None);
    let measured = Measurements::default();
    world.keeper.cloud_watch = Some(measured.client());
    (world, measured)
}

/// Notes the units of writes a second of an hour, and half as many reads.
fn note_hour(measured: &Measurements, table: &str, hour: &str, writes: f64) {
    for minute in 0..60 {
        let at = at(hour).plus_millis(minute * 60_000);
        measured.note(WRITES, table, at, writes * 60.0);
        measured.note(READS, table, at, writes * 30.0);
    }
}

/// Noon on four Fridays, two of them in the period before, and the hours before and after.
fn note_weeks(measured: &Measurements) {
    note_hour(measured, &table(), "2026-11-13T12:00:00Z", 40.0);
    note_hour(measured, &table(), "2026-11-06T12:00:00Z", 70.0);
    note_hour(measured, BEFORE, "2026-10-30T12:00:00Z", 100.0);
    note_hour(measured, BEFORE, "2026-10-23T12:00:00Z", 90.0);
    note_hour(measured, BEFORE, "2026-10-16T12:00:00Z", 900.0);
    note_hour(measured, &table(), "2026-11-13T11:00:00Z", 800.0);
    note_hour(measured, &table(), "2026-11-13T13:00:00Z", 20.0);
}

#[tokio::test]
async fn each_hour_has_what_the_same_hours_used_and_a_tenth_more() {
    let (world, measured) = provisioning(keeping(World::new())).await;
    note_weeks(&measured);
    ticks(&world.keeper).await;
    assert_eq!(capacity(&world, &table()), Some((100, 110)));
    assert!(row(&world).provisioned);
    assert_eq!(capacity(&world, "nagare-events-2026-12"), None, "made, and not current");
    world.set_clock(NEXT_HOUR);
    ticks(&world.keeper).await;
    assert_eq!(capacity(&world, &table()), Some((20, 22)));
    // The next hour begins before the next tick has taken effect.
    note_hour(&measured, &table(), "2026-11-13T14:00:00Z", 60.0);
    world.set_clock("2026-11-20T13:41:00Z");
    ticks(&world.keeper).await;
    assert_eq!(capacity(&world, &table()), Some((60, 66)));
}

#[tokio::test]
async fn without_a_history_of_the_hour_a_table_stays_on_demand() {
    let (world, measured) = provisioning(keeping(World::new())).await;
    note_hour(&measured, &table(), "2026-11-13T11:00:00Z", 800.0);
    ticks(&world.keeper).await;
    assert_eq!(capacity(&world, &table()), None);
    assert!(!row(&world).provisioned);
}

#[tokio::test]
async fn a_queue_behind_raises_the_capacity_at_once() {
    let (world, measured) = provisioning(keeping(World::new())).await;
    note_weeks(&measured);
    ticks(&world.keeper).await;
    world.set_clock("2026-11-20T12:10:00Z");
    measured.note(OLDEST, COMMANDS, at("2026-11-20T12:08:00Z"), 301.0);
    ticks(&world.keeper).await;
    assert_eq!(capacity(&world, &table()), Some((100, 110)), "the table is not what it waits for");
    measured.note(WRITES, &table(), at("2026-11-20T12:06:00Z"), 110.0 * 60.0);
    ticks(&world.keeper).await;
    assert_eq!(capacity(&world, &table()), Some((100, 220)));
    note_hour(&measured, &table(), "2026-11-20T03:00:00Z", 500.0);
    measured.note(WRITES, &table(), at("2026-11-20T12:06:00Z"), 220.0 * 60.0);
    ticks(&world.keeper).await;
    assert_eq!(capacity(&world, &table()), Some((100, 550)), "the busiest hour of the day");
    measured.note(OLDEST, COMMANDS, at("2026-11-20T12:09:00Z"), 0.0);
    ticks(&world.keeper).await;
    assert_eq!(capacity(&world, &table()), Some((100, 110)), "it has caught up");
}

#[tokio::test]
async fn the_busiest_minute_and_the_latest_age_count() {
    let (world, measured) = provisioning(keeping(World::new())).await;
    note_weeks(&measured);
    ticks(&world.keeper).await;
    world.set_clock("2026-11-20T12:10:00Z");
    measured.note(WRITES, &table(), at("2026-11-20T12:05:00Z"), 110.0 * 60.0);
    measured.note(WRITES, &table(), at("2026-11-20T12:07:00Z"), 0.0);
    measured.note(OLDEST, COMMANDS, at("2026-11-20T11:30:00Z"), 900.0);
    measured.note(OLDEST, COMMANDS, at("2026-11-20T12:07:00Z"), 0.0);
    ticks(&world.keeper).await;
    assert_eq!(capacity(&world, &table()), Some((100, 110)), "it was behind before");
    measured.note(OLDEST, COMMANDS, at("2026-11-20T12:08:00Z"), 301.0);
    ticks(&world.keeper).await;
    assert_eq!(capacity(&world, &table()), Some((100, 220)));
}

/// DynamoDB counts decreases, and refuses the fifth of a day within an hour of the fourth. (The engine counts them by its own clock,
/// which is past this world's: its last decrease is always just now.)
#[tokio::test]
async fn a_fifth_decrease_waits() {
    let (world, measured) = provisioning(keeping(World::new())).await;
    for (n, writes) in [600_u32, 500, 400, 300, 200, 100].into_iter().enumerate() {
        note_hour(&measured, &table(), "2026-11-13T12:00:00Z", writes.into());
        ticks(&world.keeper).await;
        let expected = u64::from(if n < 5 { writes } else { 200 });
        let (_, set) = capacity(&world, &table()).unwrap();
        assert_eq!(set, expected * 11 / 10, "{n}");
    }
    note_hour(&measured, &table(), "2026-11-13T12:00:00Z", 300.0);
    ticks(&world.keeper).await;
    assert_eq!(capacity(&world, &table()), Some((300, 330)), "increases are free");
}

#[tokio::test]
async fn a_period_that_has_ended_is_on_demand_and_the_next_one_is_provisioned() {
    let (world, measured) = provisioning(keeping(World::new())).await;
    note_weeks(&measured);
    ticks(&world.keeper).await;
    let next = "nagare-events-2026-12";
    note_hour(&measured, &table(), "2026-11-24T00:00:00Z", 50.0);
    world.set_clock("2026-12-01T00:00:00Z");
    ticks(&world.keeper).await;
    assert_eq!(row(&world).state, PeriodState::Past);
    for _ in 0..2 {
        world.keeper.tick(soon()).await.unwrap();
    }
    assert_eq!((capacity(&world, &table()), row(&world).provisioned), (None, false));
    assert_eq!(capacity(&world, next), Some((50, 55)));
}

#[tokio::test]
async fn a_deployer_who_wants_it_no_more_has_it_on_demand_again() {
    let (mut world, measured) = provisioning(keeping(World::new())).await;
    note_weeks(&measured);
    ticks(&world.keeper).await;
    world.keeper.cloud_watch = None;
    for _ in 0..2 {
        world.keeper.tick(soon()).await.unwrap();
    }
    assert_eq!((capacity(&world, &table()), row(&world).provisioned), (None, false));
}

fn updates_a_table(request: &HttpRequest) -> bool {
    let target = request.headers().get("x-amz-target").unwrap_or_default();
    target.ends_with(".UpdateTable")
}

/// A keeper that died between its note and its call, or after a call whose response was lost, leaves nothing that nobody puts right.
#[tokio::test(start_paused = true)]
async fn whoever_dies_no_table_stays_provisioned() {
    for fault in [Fault::LimitExceeded, Fault::LostAnswer] {
        let strike = Strike::on(updates_a_table);
        let world = keeping(World::behind(|inside| strike.before(inside)));
        let (mut world, measured) = provisioning(world).await;
        note_weeks(&measured);
        strike.set(Some(fault));
        assert_eq!(world.keeper.tick(soon()).await.unwrap().failed, 1, "{fault:?}");
        assert!(row(&world).provisioned, "{fault:?}");
        strike.set(None);
        world.keeper.cloud_watch = None;
        for _ in 0..2 {
            world.keeper.tick(soon()).await.unwrap();
        }
        assert_eq!((capacity(&world, &table()), row(&world).provisioned), (None, false));
    }
}

/// A keeper that may not ask, or gets no answer, does everything else.
#[tokio::test(start_paused = true)]
async fn what_cannot_be_measured_stops_nothing_else() {
    for refusal in [(403, "AccessDenied"), (400, "Throttling"), (500, "InternalServiceFault")] {
        let (world, measured) = provisioning(keeping(World::new())).await;
        note_weeks(&measured);
        ticks(&world.keeper).await;
        measured.refuse(Some(refusal));
        world.set_clock("2026-12-01T00:00:00Z");
        let ticked = world.keeper.tick(soon()).await.unwrap();
        assert_eq!(ticked.failed, 1, "{refusal:?}");
        assert_eq!(row(&world).state, PeriodState::Past, "{refusal:?}");
        let next = world.keeper.periods.row(period().next()).await.unwrap();
        assert!(matches!(next, Some(PeriodRow { state: PeriodState::Current, .. })));
        assert_eq!(capacity(&world, &table()), Some((100, 110)), "as it was");
    }
}

/// The tick of a deployed keeper has a quarter of an hour, in which there is more to do.
#[tokio::test(start_paused = true)]
async fn a_tick_does_not_wait_long_for_what_cannot_be_measured() {
    let (world, measured) = provisioning(keeping(World::new())).await;
    note_weeks(&measured);
    measured.refuse(Some((500, "InternalServiceFault")));
    let begun = tokio::time::Instant::now();
    let deadline = Deadline::after(Duration::from_secs(900));
    assert_eq!(world.keeper.tick(deadline).await.unwrap().failed, 1);
    assert!(begun.elapsed() <= Duration::from_secs(31), "{:?}", begun.elapsed());
}

#[tokio::test]
async fn a_period_under_erasure_is_left_alone() {
    let (world, measured) = provisioning(keeping(World::new())).await;
    note_weeks(&measured);
    let marked = PeriodRow { forgetting: true, ..row(&world) };
    assert!(world.keeper.periods.replace(&marked).await.unwrap());
    world.set_clock(WITHIN);
    ticks(&world.keeper).await;
    assert_eq!(capacity(&world, &table()), None);
}
