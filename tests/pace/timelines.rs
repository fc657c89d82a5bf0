//! Follows and unfollows of actors with many activities: all of the entries are in one timeline, which is
//! one partition.

use std::time::Duration;

use nagare_local::faults::Rates;
use nagare_local::schema;
use serde_json::{Value, json};
use shared::platform::runtime::deadline::Deadline;
use shared::platform::values::{ActorId, SortKey, Timestamp};
use tests::{NOW, World, event, follow, message, publish, unfinished_ids, unfollow};
use tokio::time::Instant;

use crate::support::{INVOCATION, entries_of, first_receives, followers, work_off, world};

const LATER: &str = "2026-11-20T11:59:00.000Z";

fn partition_rates(writes: f64) -> Rates {
    Rates { partition_writes: Some(writes), ..Rates::default() }
}

fn outbox(world: &World, actor: &str, activities: usize) {
    let rows = (0..activities).map(|n| {
        let at = Timestamp::from_unix_millis(
            NOW.parse::<Timestamp>().unwrap().unix_millis() - 5_000 * n as i64,
        );
        let activity_id = format!("{actor}-{n}").parse().unwrap();
        let sort_key = SortKey { published_at: at, activity_id };
        json!({
            "pk": {"S": shared::social::activities::keys::outbox(&ActorId::new(actor).unwrap())}, "sk": {"S": sort_key.to_string()},
            "activity_id": {"S": sort_key.activity_id.as_str()},
        })
    });
    world.engine.import(&schema::names().ledger, rows.collect()).unwrap();
}

/// A follow inserts many activities into one timeline, which is one partition, and an unfollow removes
/// them.
async fn into_a_timeline_and_out_of_it(activities: usize, rate: f64) {
    fastrand::seed(7);
    let (world, tables) = world();
    outbox(&world, "anna", activities);
    tables.set_rates(partition_rates(rate));
    let ideal = activities as f64 / rate;
    let seconds = work_off(&world, first_receives([follow("bob", "anna", LATER)])).await;
    println!("{activities} entries into a partition of {rate} writes a second: {seconds:.1} s");
    assert_eq!(entries_of(&world, "bob").await, activities);
    assert!(seconds <= 1.1 * ideal + 10.0, "{seconds} s");
    let seconds = work_off(&world, first_receives([unfollow("bob", "anna", NOW)])).await;
    println!("out of it, two units an entry: {seconds:.1} s");
    assert_eq!(entries_of(&world, "bob").await, 0);
    // A purge leaves capacity in the partition for entries that are delivered meanwhile.
    assert!(seconds <= 2.0 * 2.0 * ideal + 10.0, "{seconds} s");
    assert_no_progress_left(&world);
}

#[tokio::test(start_paused = true)]
async fn follows_and_unfollows_go_on_where_they_stopped() {
    into_a_timeline_and_out_of_it(6_000, 100.0).await;
}

#[tokio::test(start_paused = true)]
#[ignore = "at full size: minutes"]
async fn follows_and_unfollows_go_on_where_they_stopped_at_full_size() {
    into_a_timeline_and_out_of_it(30_000, 1_000.0).await;
    into_a_timeline_and_out_of_it(300_000, 1_000.0).await;
}

/// A follow that overtakes an unfollow ends it, and the timeline is complete again.
#[tokio::test(start_paused = true)]
async fn an_unfollow_ends_when_it_is_overtaken() {
    fastrand::seed(7);
    let (world, tables) = world();
    outbox(&world, "anna", 2_000);
    world.done(&[follow("bob", "anna", "2026-11-20T11:00:00.000Z")]).await;
    tables.set_rates(partition_rates(50.0));
    let leave = message("leave", &unfollow("bob", "anna", LATER).to_string(), 1);
    let leaving = world.writer.handle(event([leave]), Deadline::after(INVOCATION));
    let coming_back = async {
        tokio::time::sleep(Duration::from_secs(10)).await;
        tables.set_rates(Rates::default());
        world.done(&[follow("bob", "anna", NOW)]).await;
    };
    let (left, ()) = futures::join!(leaving, coming_back);
    assert_eq!(unfinished_ids(&left.unwrap()), [""; 0]);
    assert_eq!(world.take_commands().await.len(), 0, "it ended");
    assert_eq!(entries_of(&world, "bob").await, 2_000);
    assert_no_progress_left(&world);
}

fn assert_no_progress_left(world: &World) {
    let request = json!({
        "TableName": schema::names().ledger, "Select": "COUNT",
        "FilterExpression": "begins_with(pk, :settle)",
        "ExpressionAttributeValues": {":settle": {"S": "settle#"}},
    });
    let (_, answer) = world.engine.call("Scan", request.to_string().as_bytes());
    assert_eq!(serde_json::from_str::<Value>(&answer).unwrap()["Count"], 0, "{answer}");
}

/// The time within which 99 of 100 deliveries are done. Each is to a hundred followers, and one arrives
/// every 50 ms.
async fn small_deliveries(world: &World, name: &str, count: u32) -> Duration {
    let deliveries = (0..count).map(|n| async move {
        tokio::time::sleep(n * Duration::from_millis(50)).await;
        let begun = Instant::now();
        let id = format!("{name}-{n}");
        let command = publish(&format!("small-{}", n % 100), &id, NOW).to_string();
        let work =
            world.writer.handle(event([message(&id, &command, 1)]), Deadline::after(INVOCATION));
        assert_eq!(unfinished_ids(&work.await.unwrap()), [""; 0]);
        begun.elapsed()
    });
    let mut taken = futures::future::join_all(deliveries).await;
    taken.sort_unstable();
    taken[taken.len() * 99 / 100]
}

/// A viewer follows many actors at once, all of whose entries go into one partition, and other actors go
/// live meanwhile: one hot partition is not a slow table.
async fn one_hot_partition(activities: usize, rate: f64) {
    const ACTORS: usize = 50;
    fastrand::seed(7);
    let (world, tables) = world();
    for n in 0..ACTORS {
        outbox(&world, &format!("big-{n}"), activities);
    }
    for n in 0..100 {
        followers(&world, &format!("small-{n}"), 100);
    }
    tables.set_rates(partition_rates(rate));
    let idle = small_deliveries(&world, "idle", 600).await;
    let follows = (0..ACTORS).map(|n| follow("bob", &format!("big-{n}"), LATER));
    let total = ACTORS * activities;
    let busy = small_deliveries(&world, "busy", 600);
    let (seconds, busy) = futures::join!(work_off(&world, first_receives(follows)), busy);
    println!(
        "{total} entries into a partition of {rate} writes a second: {seconds:.1} s; beside it p99 of \
         deliveries to 100 followers {busy:.1?}, {idle:.1?} without"
    );
    assert_eq!(entries_of(&world, "bob").await, total);
    assert!(seconds <= 1.1 * total as f64 / rate + 10.0, "{seconds} s");
    assert!(busy <= 2 * idle, "{busy:?}, {idle:?} without");
    assert_no_progress_left(&world);
}

#[tokio::test(start_paused = true)]
async fn one_hot_partition_is_not_a_slow_table() {
    one_hot_partition(120, 100.0).await;
}

#[tokio::test(start_paused = true)]
#[ignore = "at full size: minutes"]
async fn one_hot_partition_is_not_a_slow_table_at_full_size() {
    one_hot_partition(3_000, 1_000.0).await;
}
