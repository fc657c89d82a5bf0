//! What differs stops the period, and its table stays.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use aws_smithy_runtime_api::client::http::{
    HttpConnector, HttpConnectorFuture, SharedHttpConnector,
};
use aws_smithy_runtime_api::client::orchestrator::HttpRequest;
use aws_smithy_types::body::SdkBody;
use nagare_local::schema;
use serde_json::{Value, json};
use shared::history::events::{EventSettings, PeriodLength, PeriodState, schedule};
use tests::World;

use super::{
    DROPPED, SEALED, SETTINGS, event, in_table, item, keeping as keeping_months, lived_until,
    period, row, state, table, ticks,
};

/// Disputed for this reason, with its table, however often the keeper comes.
async fn check_disputed(world: &World, why: &str) {
    for at in [SEALED, DROPPED] {
        world.set_clock(at);
        ticks(&world.keeper).await;
    }
    let row = row(world);
    assert_eq!(row.state, PeriodState::Disputed);
    let dispute = row.dispute.unwrap();
    assert!(dispute.contains(why), "{dispute}");
    let lines = world.metrics.lines();
    let disputed = lines.iter().filter(|line| line["DisputedPeriods"] == 1).count();
    assert!(disputed >= 1, "no metric");
}

fn call(world: &World, operation: &str, request: &Value) {
    let (status, answer) = world.engine.call(operation, request.to_string().as_bytes());
    assert_eq!(status, 200, "{answer}");
}

/// A world whose archive is there and was not read back.
async fn archived() -> World {
    let world = keeping_months(World::new());
    lived_until(&world, SEALED).await;
    // As it was before the objects were read back.
    let verified = row(&world);
    let archived = shared::history::events::PeriodRow { state: PeriodState::Archived, ..verified };
    assert!(world.keeper.periods.replace(&archived).await.unwrap());
    let progress = shared::history::events::keys::read_back(&period());
    world.tables.ledger.delete(progress).await.unwrap();
    world
}

fn an_object(world: &World) -> String {
    world.bucket.objects().into_keys().find(|key| key.ends_with(".jsonl.gz")).unwrap()
}

#[tokio::test]
async fn an_object_that_was_flipped_cut_or_lost() {
    let world = archived().await;
    world.bucket.change(&an_object(&world), |bytes| bytes[40] ^= 1);
    check_disputed(&world, "its SHA-256 is another one").await;
    assert_eq!(in_table(&world).unwrap().len(), 60);

    let world = archived().await;
    world.bucket.change(&an_object(&world), |bytes| bytes.truncate(40));
    check_disputed(&world, "it has 40 bytes instead of").await;
    assert_eq!(in_table(&world).unwrap().len(), 60);

    let world = archived().await;
    world.bucket.remove(&an_object(&world));
    check_disputed(&world, "it is not there").await;
    assert_eq!(in_table(&world).unwrap().len(), 60);
}

/// A row that is lost, with its object: every object that is left is whole, and the sum is not.
#[tokio::test]
async fn a_row_that_was_lost() {
    let world = archived().await;
    let archives = &world.keeper.archives;
    let (objects, _) = archives.of_period(period(), None, 1).await.unwrap();
    archives.forget(&objects[0]).await.unwrap();
    check_disputed(&world, "60 events").await;
    assert_eq!(in_table(&world).unwrap().len(), 60);
}

/// An event that came into a sealed table after it was archived.
#[tokio::test]
async fn an_event_that_is_not_in_the_archive() {
    let world = keeping_months(World::new());
    lived_until(&world, SEALED).await;
    let late = serde_json::from_value(item(&event(99), 1)).unwrap();
    world.engine.import(&table(), vec![late]).unwrap();
    check_disputed(&world, "61 items").await;
    assert_eq!(in_table(&world).unwrap().len(), 61);
}

/// A table of the same name that was made at another time.
#[tokio::test]
async fn another_table_of_the_same_name() {
    let world = keeping_months(World::new());
    lived_until(&world, SEALED).await;
    drop_table(&world);
    create(&world, None);
    check_disputed(&world, "was noted").await;
    assert!(in_table(&world).is_some());
}

/// Somebody else has dropped the table.
#[tokio::test]
async fn a_table_that_is_gone() {
    let world = keeping_months(World::new());
    lived_until(&world, SEALED).await;
    drop_table(&world);
    check_disputed(&world, "nobody has dropped it").await;
}

/// A table that is there before the keeper makes it, and lacks something of what it makes.
#[tokio::test]
async fn a_table_that_is_there_already() {
    let parts = [
        ("DeletionProtectionEnabled", "its protection"),
        ("SSESpecification", "its encryption"),
        ("StreamSpecification", "its stream"),
    ];
    for (part, why) in parts {
        let world = keeping_months(World::new());
        create(&world, Some(part));
        ticks(&world.keeper).await;
        let row = row(&world);
        assert_eq!(row.state, PeriodState::Disputed, "{part}");
        assert!(row.dispute.unwrap().contains(why), "{part}");
    }
    let world = keeping_months(World::new());
    create(&world, None);
    ticks(&world.keeper).await;
    assert_eq!(state(&world), PeriodState::Current, "it is what the keeper makes");
}

fn drop_table(world: &World) {
    let off = json!({"TableName": table(), "DeletionProtectionEnabled": false});
    call(world, "UpdateTable", &off);
    call(world, "DeleteTable", &json!({"TableName": table()}));
}

/// The table as the keeper makes it, without one part if one is named.
fn create(world: &World, without: Option<&str>) {
    let mut create = schema::period_table(&table());
    create["DeletionProtectionEnabled"] = json!(true);
    without.map(|part| create.as_object_mut().unwrap().remove(part));
    call(world, "CreateTable", &create);
}

/// The deployment's periods are of another length than those that are there.
#[tokio::test]
async fn periods_of_another_length() {
    let mut world = keeping_months(World::new());
    ticks(&world.keeper).await;
    world.keeper.settings = EventSettings { length: PeriodLength::Day, ..SETTINGS };
    ticks(&world.keeper).await;
    let rows = world.keeper.periods.newest_until(|_| false).await.unwrap();
    let length = PeriodLength::Month;
    assert!(rows.iter().all(|row| row.period.length() == length), "{rows:?}");
    let days = schedule::planned(&world.keeper.settings, world.clock.now()).len();
    let last = world.metrics.lines().pop().unwrap();
    assert_eq!(last["DisputedPeriods"], days);
}

/// Tables that take an hour.
#[derive(Debug)]
struct Creating {
    inside: SharedHttpConnector,
    slow: Arc<AtomicBool>,
}

impl HttpConnector for Creating {
    fn call(&self, request: HttpRequest) -> HttpConnectorFuture {
        let (inside, slow) = (self.inside.clone(), Arc::clone(&self.slow));
        HttpConnectorFuture::new(async move {
            let mut answer = inside.call(request).await?;
            if slow.load(Ordering::SeqCst) {
                let body = String::from_utf8_lossy(answer.body().bytes().unwrap());
                let body = body.replace(r#""TableStatus":"ACTIVE""#, r#""TableStatus":"CREATING""#);
                *answer.body_mut() = SdkBody::from(body);
            }
            Ok(answer)
        })
    }
}

#[tokio::test(start_paused = true)]
async fn a_table_that_takes_an_hour_is_waited_for_from_tick_to_tick() {
    let slow = Arc::new(AtomicBool::new(true));
    let behind = |inside| SharedHttpConnector::new(Creating { inside, slow: Arc::clone(&slow) });
    let world = keeping_months(World::behind(behind));
    for _ in 0..3 {
        let begun = tokio::time::Instant::now();
        let deadline = shared::platform::runtime::deadline::Deadline::after(
            std::time::Duration::from_secs(600),
        );
        let ticked = world.keeper.tick(deadline).await.unwrap();
        assert!(ticked.more_due && ticked.failed == 0);
        assert!(begun.elapsed().as_secs() < 120, "it waits for long");
        assert_eq!(state(&world), PeriodState::Planned);
    }
    let unmade = world.metrics.lines().pop().unwrap();
    assert_eq!(unmade["UnmadePeriods"], 1);
    slow.store(false, Ordering::SeqCst);
    ticks(&world.keeper).await;
    assert_eq!(state(&world), PeriodState::Current);
}
