//! Deliveries that die on the way: each one gets further than the one before it.

use std::time::Duration;

use aws_lambda_events::event::sqs::SqsMessage;
use fanout_writer::FanOutLimits;
use fastrand::Rng;
use nagare_local::faults::Rates;
use nagare_local::schema;
use shared::platform::runtime::deadline::Deadline;
use tests::{NOW, World, event, message, publish};
use tokio::time::{Instant, timeout};

use crate::support::{INVOCATION, edge, entries, entries_of, followers, rates, work_off, world};

/// Delivers a message until it, and what it hands on, is acknowledged. Each delivery dies after a random
/// time, and receives are not counted. Returns the number of deliveries.
async fn dying(world: &World, first: SqsMessage, longest: Duration, random: &mut Rng) -> usize {
    let (mut waiting, mut deliveries) = (vec![first], 0);
    while let Some(mut message) = waiting.pop() {
        loop {
            deliveries += 1;
            assert!(deliveries < 1_000, "it does not end");
            let life = Duration::from_millis(random.u64(500..longest.as_millis() as u64));
            let work = world.writer.handle(event([message.clone()]), Deadline::after(INVOCATION));
            let receives = ("ApproximateReceiveCount".to_owned(), "2".to_owned());
            message.attributes.extend([receives]);
            match timeout(life, work).await {
                Ok(Ok(answer)) if answer.batch_item_failures.is_empty() => break,
                _ => {}
            }
        }
        waiting.extend(world.take_commands().await);
    }
    deliveries
}

/// A tenth of the followers have left, and still have entries that an earlier delivery wrote before it
/// died.
async fn redelivered(edges: usize, rate: f64, limits: FanOutLimits, longest_life: Duration) {
    fastrand::seed(7);
    let (mut world, tables) = world();
    world.writer.limits = limits;
    followers(&world, "star", edges);
    world.done(&[publish("star", "live", NOW)]).await;
    work_off(&world, Vec::new()).await;
    assert_eq!(entries(&world).await, edges as u64);
    // They leave; their own purges are over, and the entries exist again.
    let former: Vec<_> = (0..edges).step_by(10).map(|n| format!("star-v{n}")).collect();
    let left = former.iter().map(|viewer| edge(viewer, "star", false)).collect();
    world.engine.import(&schema::names().ledger, left).unwrap();
    tables.set_rates(Rates { partition_writes: Some(rate), ..rates(rate) });
    let again = message("again", &publish("star", "live", NOW).to_string(), 2);
    let (mut random, begun) = (Rng::with_seed(7), Instant::now());
    let deliveries = dying(&world, again, longest_life, &mut random).await;
    let seconds = begun.elapsed().as_secs_f64();
    println!(
        "{edges} edges, {} former followers: {deliveries} deliveries, {seconds:.0} s",
        former.len()
    );
    assert_eq!(entries(&world).await, (edges - former.len()) as u64);
    for viewer in former.iter().step_by(100) {
        assert_eq!(entries_of(&world, viewer).await, 0, "{viewer} left");
    }
}

#[tokio::test(start_paused = true)]
async fn a_redelivery_that_dies_again_and_again_comes_to_an_end() {
    let limits = FanOutLimits { page: 500, segment: 4_000, segments: 2, ..FanOutLimits::default() };
    redelivered(8_000, 100.0, limits, Duration::from_secs(12)).await;
}

#[tokio::test(start_paused = true)]
#[ignore = "at full size: minutes"]
async fn a_redelivery_that_dies_again_and_again_comes_to_an_end_at_full_size() {
    redelivered(400_000, 1_000.0, FanOutLimits::default(), Duration::from_secs(12)).await;
}

/// A delivery records its progress every few seconds. If it dies, even long before half of its time is
/// used, the next one does not repeat what was recorded.
#[tokio::test(start_paused = true)]
async fn a_fan_out_that_dies_again_and_again_comes_to_an_end() {
    const FOLLOWERS: usize = 4_000;
    const RATE: f64 = 50.0;
    for limits in [
        FanOutLimits { page: 500, segment: 1_500, segments: 2, ..FanOutLimits::default() },
        FanOutLimits::default(),
    ] {
        fastrand::seed(7);
        let (mut world, tables) = world();
        world.writer.limits = limits;
        followers(&world, "star", FOLLOWERS);
        tables.set_rates(rates(RATE));
        let live = message("live", &publish("star", "live", NOW).to_string(), 1);
        let (mut random, longest) = (Rng::with_seed(7), Duration::from_secs(16));
        let (begun, deliveries) = (Instant::now(), dying(&world, live, longest, &mut random).await);
        let (seconds, ideal) = (begun.elapsed().as_secs_f64(), FOLLOWERS as f64 / RATE);
        println!(
            "{FOLLOWERS} followers at {RATE}: {deliveries} deliveries, {seconds:.0} s, ideal {ideal:.0}"
        );
        assert_eq!(entries(&world).await, FOLLOWERS as u64);
        assert!(seconds <= 3.0 * ideal, "{seconds} s, ideal {ideal}");
    }
}

/// Half of the followers have left and still have the entry. The others wait for theirs, and get it before
/// anything is removed.
#[tokio::test(start_paused = true)]
async fn a_redelivery_spreads_before_it_takes_out() {
    const FOLLOWERS: usize = 2_000;
    const RATE: f64 = 100.0;
    fastrand::seed(7);
    let (world, tables) = world();
    followers(&world, "star", FOLLOWERS);
    world.done(&[publish("star", "live", NOW)]).await;
    work_off(&world, Vec::new()).await;
    let former = (0..FOLLOWERS).map(|n| edge(&format!("star-v{n}"), "star", false)).collect();
    world.engine.import(&schema::names().ledger, former).unwrap();
    let new = (0..FOLLOWERS).map(|n| edge(&format!("new-v{n}"), "star", true)).collect();
    world.engine.import(&schema::names().ledger, new).unwrap();
    tables.set_rates(rates(RATE));
    let again = message("again", &publish("star", "live", NOW).to_string(), 2);
    // The removals alone take as long: two units each.
    let soon = Duration::from_secs_f64(2.0 * FOLLOWERS as f64 / RATE);
    let inserts = async {
        tokio::time::sleep(soon).await;
        let mut served = 0;
        for n in 0..FOLLOWERS {
            served += entries_of(&world, &format!("new-v{n}")).await;
        }
        served
    };
    let (seconds, served) = futures::join!(work_off(&world, vec![again]), inserts);
    println!("{served} of {FOLLOWERS} within {soon:.0?}, all that has to go within {seconds:.0} s");
    assert_eq!(served, FOLLOWERS, "within {soon:?}");
    assert_eq!(entries(&world).await, FOLLOWERS as u64);
}
