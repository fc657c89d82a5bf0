//! Tables that take little. Time is simulated: what is asserted is arithmetic, not a machine's speed.
//!
//! Being slow is not a failure: everything arrives at the pace of the table, nothing is received twice,
//! nothing becomes a dead letter. What dies on the way comes further with every delivery.

use std::collections::VecDeque;
use std::time::Duration;

use aws_lambda_events::event::sqs::{SqsBatchResponse, SqsMessage};
use aws_smithy_runtime_api::client::http::SharedHttpConnector;
use fanout_writer::Sizes;
use fastrand::Rng;
use futures::future::LocalBoxFuture;
use futures::stream::FuturesUnordered;
use futures::{FutureExt, StreamExt};
use nagare::local::faults::{Faulty, Rates};
use nagare::local::schema;
use serde_json::{Value, json};
use shared::follows::keys;
use shared::runtime::deadline::Deadline;
use shared::timelines::{Order, Span};
use shared::values::{ActorId, SortKey, Timestamp, ViewerId};
use tests::{NOW, World, delete, event, follow, message, publish, unfinished_ids, unfollow};
use tokio::time::{Instant, timeout};

/// What the template gives an invocation, less what is kept back for the answer.
const INVOCATION: Duration = Duration::from_secs(58);
/// Invocations at once.
const WRITERS: usize = 8;
/// The most that `samconfig.toml` lets run.
const MOST_WRITERS: usize = 20;
/// Longer than anything here takes.
const LONGEST: Duration = Duration::from_secs(4_000);
/// Messages in a batch.
const BATCH: usize = 10;
const LATER: &str = "2026-11-20T11:59:00.000Z";

fn rates(writes: f64) -> Rates {
    Rates { writes: Some(writes), ..Rates::default() }
}

fn of_partitions(writes: f64) -> Rates {
    Rates { partition_writes: Some(writes), ..Rates::default() }
}

/// A world whose tables are as fast as one likes, until they are slowed down.
fn world() -> (World, Faulty) {
    let mut tables = None;
    let world = World::behind(|inside| {
        let faulty = Faulty::new("slow=10ms,seed=7".parse().unwrap(), inside);
        tables = Some(faulty.clone());
        SharedHttpConnector::new(faulty)
    });
    (world, tables.unwrap())
}

fn edge(viewer: &str, actor: &str, following: bool) -> Value {
    let (follower, followee) = (ViewerId::new(viewer).unwrap(), ActorId::new(actor).unwrap());
    let key = keys::edge(&follower, &followee);
    json!({
        "pk": {"S": key.pk}, "sk": {"S": key.sk},
        "follower_id": {"S": viewer}, "followee_id": {"S": actor},
        "following": {"BOOL": following}, "changed_at": {"S": "2026-11-01T00:00:00.000Z"},
    })
}

fn followers(world: &World, actor: &str, count: usize) {
    let edges = (0..count).map(|n| edge(&format!("{actor}-v{n}"), actor, true)).collect();
    world.engine.import(&schema::names().ledger, edges).unwrap();
}

async fn entries(world: &World) -> u64 {
    world.entry_count(Deadline::after(INVOCATION)).await
}

/// Works everything off as Lambda does, eight batches at once. Returns how long it took, in seconds.
async fn work_off(world: &World, first: Vec<SqsMessage>) -> f64 {
    work_off_by(WRITERS, world, first).await
}

async fn work_off_by(writers: usize, world: &World, first: Vec<SqsMessage>) -> f64 {
    let begun = Instant::now();
    let mut waiting = VecDeque::from(first);
    let mut running: FuturesUnordered<LocalBoxFuture<'_, SqsBatchResponse>> =
        FuturesUnordered::new();
    loop {
        waiting.extend(world.take_commands().await);
        while running.len() < writers && !waiting.is_empty() {
            let batch: Vec<_> = waiting.drain(..waiting.len().min(BATCH)).collect();
            let work =
                async { world.writer.handle(event(batch), Deadline::after(INVOCATION)).await };
            running.push(work.map(Result::unwrap).boxed_local());
        }
        let Some(answer) = running.next().await else { break };
        assert!(begun.elapsed() < LONGEST, "it does not come to an end");
        assert_eq!(unfinished_ids(&answer), [""; 0], "a receive was used up");
    }
    assert_eq!(world.take_dead_letters().await.len(), 0, "dead letters");
    begun.elapsed().as_secs_f64()
}

fn first_receives(bodies: impl IntoIterator<Item = Value>) -> Vec<SqsMessage> {
    let bodies = bodies.into_iter().enumerate();
    bodies.map(|(n, body)| message(&format!("m{n}"), &body.to_string(), 1)).collect()
}

/// Entries that were sent to be written or taken out, repetitions included, so far.
fn sends(world: &World) -> f64 {
    world.metrics.lines().iter().filter_map(|line| line["EntriesSent"].as_f64()).sum()
}

/// Publishes of some actors at once, and then deletes of the same.
async fn at_the_pace_of_the_table(rate: f64, actors: usize, audience: usize, sizes: Sizes) {
    fastrand::seed(7);
    let (mut world, tables) = world();
    world.writer.sizes = sizes;
    let names: Vec<_> = (0..actors).map(|n| format!("a{n}")).collect();
    names.iter().for_each(|actor| followers(&world, actor, audience));
    tables.set_rates(rates(rate));
    let publishes = names.iter().map(|actor| publish(actor, &format!("{actor}-live"), NOW));
    let deletes = names.iter().map(|actor| delete(actor, &format!("{actor}-live")));
    let total = (actors * audience) as u64;
    for (what, commands, left) in
        [("publishes", publishes.collect::<Vec<_>>(), total), ("deletes", deletes.collect(), 0)]
    {
        let before = sends(&world);
        let seconds = work_off(&world, first_receives(commands)).await;
        assert_eq!(entries(&world).await, left, "{what} at {rate}");
        let (ideal, sends) = (total as f64 / rate, (sends(&world) - before) / total as f64);
        println!("{what} at {rate}: {seconds:.1} s, ideal {ideal:.1}; {sends:.4} sends an entry");
        assert!(seconds <= 1.1 * ideal + 10.0, "{what} at {rate}: {seconds} s, ideal {ideal}");
        assert!(sends <= 1.03, "{what} at {rate}: {sends} sends an entry");
    }
}

#[tokio::test(start_paused = true)]
async fn large_fan_outs_arrive_at_the_pace_of_the_table() {
    let sizes = Sizes { page: 1_000, segment: 900, segments: 4 };
    at_the_pace_of_the_table(400.0, 12, 3_600, sizes).await;
    at_the_pace_of_the_table(50.0, 12, 3_600, sizes).await;
}

/// Ten times as slow as a new on-demand table, and then nearly as slow as a table can be.
#[tokio::test(start_paused = true)]
#[ignore = "at full size: minutes"]
async fn large_fan_outs_arrive_at_the_pace_of_the_table_at_full_size() {
    at_the_pace_of_the_table(400.0, 12, 12_000, Sizes::default()).await;
    at_the_pace_of_the_table(50.0, 12, 12_000, Sizes::default()).await;
}

#[tokio::test(start_paused = true)]
async fn small_fan_outs_of_one_batch_arrive_at_the_pace_of_the_table() {
    at_the_pace_of_the_table(50.0, 10, 2_400, Sizes::default()).await;
}

async fn entries_of(world: &World, viewer: &str) -> usize {
    let span = Span { from: Timestamp::from_unix_millis(0), to: None, order: Order::Oldest };
    let (timelines, viewer) = (&world.tables.timelines, ViewerId::new(viewer).unwrap());
    let (mut count, mut place) = (0, None);
    loop {
        let soon = Deadline::after(INVOCATION);
        let page = timelines.entries(&viewer, span, place.as_deref(), 10_000, soon).await.unwrap();
        count += page.0.len();
        place = page.1;
        if place.is_none() {
            return count;
        }
    }
}

fn outbox(world: &World, actor: &str, activities: usize) {
    let rows = (0..activities).map(|n| {
        let at = Timestamp::from_unix_millis(
            NOW.parse::<Timestamp>().unwrap().unix_millis() - 5_000 * n as i64,
        );
        let activity_id = format!("{actor}-{n}").parse().unwrap();
        let sort_key = SortKey { published_at: at, activity_id };
        json!({
            "pk": {"S": shared::activities::keys::outbox(&ActorId::new(actor).unwrap())}, "sk": {"S": sort_key.to_string()},
            "activity_id": {"S": sort_key.activity_id.as_str()},
        })
    });
    world.engine.import(&schema::names().ledger, rows.collect()).unwrap();
}

/// Many activities go into one timeline, which is one partition, and out again.
async fn into_a_timeline_and_out_of_it(activities: usize, rate: f64) {
    fastrand::seed(7);
    let (world, tables) = world();
    outbox(&world, "anna", activities);
    tables.set_rates(of_partitions(rate));
    let ideal = activities as f64 / rate;
    let seconds = work_off(&world, first_receives([follow("bob", "anna", LATER)])).await;
    println!("{activities} entries into a partition of {rate} writes a second: {seconds:.1} s");
    assert_eq!(entries_of(&world, "bob").await, activities);
    assert!(seconds <= 1.1 * ideal + 10.0, "{seconds} s");
    let seconds = work_off(&world, first_receives([unfollow("bob", "anna", NOW)])).await;
    println!("out of it, two units an entry: {seconds:.1} s");
    assert_eq!(entries_of(&world, "bob").await, 0);
    // A purge leaves room in the partition for what is delivered into it meanwhile.
    assert!(seconds <= 2.0 * 2.0 * ideal + 10.0, "{seconds} s");
    nothing_noted(&world);
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

/// A follow that overtakes an unfollow ends it, and the timeline is whole again.
#[tokio::test(start_paused = true)]
async fn an_unfollow_ends_when_it_is_overtaken() {
    fastrand::seed(7);
    let (world, tables) = world();
    outbox(&world, "anna", 2_000);
    world.done(&[follow("bob", "anna", "2026-11-20T11:00:00.000Z")]).await;
    tables.set_rates(of_partitions(50.0));
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
    nothing_noted(&world);
}

fn nothing_noted(world: &World) {
    let request = json!({
        "TableName": schema::names().ledger, "Select": "COUNT",
        "FilterExpression": "begins_with(pk, :settle)",
        "ExpressionAttributeValues": {":settle": {"S": "settle#"}},
    });
    let (_, answer) = world.engine.call("Scan", request.to_string().as_bytes());
    assert_eq!(serde_json::from_str::<Value>(&answer).unwrap()["Count"], 0, "{answer}");
}

/// Delivers a message until it, and what it hands on, is acknowledged; each delivery dies after a
/// random time, and receives are not counted. Returns the number of deliveries.
async fn dying(world: &World, first: SqsMessage, longest: Duration, random: &mut Rng) -> usize {
    let (mut waiting, mut deliveries) = (vec![first], 0);
    while let Some(mut message) = waiting.pop() {
        loop {
            deliveries += 1;
            assert!(deliveries < 1_000, "it does not come to an end");
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

/// Edges of whom a tenth have left, and entries that an earlier delivery wrote for some of those
/// before it died.
async fn redelivered(edges: usize, rate: f64, sizes: Sizes, longest_life: Duration) {
    fastrand::seed(7);
    let (mut world, tables) = world();
    world.writer.sizes = sizes;
    followers(&world, "star", edges);
    world.done(&[publish("star", "live", NOW)]).await;
    work_off(&world, Vec::new()).await;
    assert_eq!(entries(&world).await, edges as u64);
    // They leave, and their own purges are over; the entries are there again.
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
    let sizes = Sizes { page: 500, segment: 4_000, segments: 2 };
    redelivered(8_000, 100.0, sizes, Duration::from_secs(12)).await;
}

#[tokio::test(start_paused = true)]
#[ignore = "at full size: minutes"]
async fn a_redelivery_that_dies_again_and_again_comes_to_an_end_at_full_size() {
    redelivered(400_000, 1_000.0, Sizes::default(), Duration::from_secs(12)).await;
}

/// What is noted every few seconds is not done again by a delivery after one that died, long before half
/// of its time was gone.
#[tokio::test(start_paused = true)]
async fn a_fan_out_that_dies_again_and_again_comes_to_an_end() {
    const FOLLOWERS: usize = 4_000;
    const RATE: f64 = 50.0;
    for sizes in [Sizes { page: 500, segment: 1_500, segments: 2 }, Sizes::default()] {
        fastrand::seed(7);
        let (mut world, tables) = world();
        world.writer.sizes = sizes;
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

/// Half of the followers have left and still have the entry; the others wait for theirs and are served
/// before anything is taken out.
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
    // Taking out alone needs as long: two units each.
    let soon = Duration::from_secs_f64(2.0 * FOLLOWERS as f64 / RATE);
    let spread = async {
        tokio::time::sleep(soon).await;
        let mut served = 0;
        for n in 0..FOLLOWERS {
            served += entries_of(&world, &format!("new-v{n}")).await;
        }
        served
    };
    let (seconds, served) = futures::join!(work_off(&world, vec![again]), spread);
    println!("{served} of {FOLLOWERS} within {soon:.0?}, all that has to go within {seconds:.0} s");
    assert_eq!(served, FOLLOWERS, "within {soon:?}");
    assert_eq!(entries(&world).await, FOLLOWERS as u64);
}

/// How long deliveries to a hundred followers take, of whom one arrives every 50 ms: the time within
/// which 99 of a hundred are over.
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

/// Somebody follows many actors at once, all of whose entries go into one partition, and others go live
/// meanwhile: one hot partition is not a slow table.
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
    tables.set_rates(of_partitions(rate));
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
    nothing_noted(&world);
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

/// Many actors of a few followers at once: what each command states in the ledger is most of the work.
#[tokio::test(start_paused = true)]
async fn small_commands_get_through_a_slow_table() {
    const COMMANDS: usize = 600;
    fastrand::seed(7);
    let (world, tables) = world();
    for n in 0..COMMANDS {
        followers(&world, &format!("s{n}"), 2);
    }
    tables.set_rates(rates(50.0));
    let publishes = (0..COMMANDS).map(|n| publish(&format!("s{n}"), &format!("s{n}-live"), NOW));
    let seconds = work_off_by(MOST_WRITERS, &world, first_receives(publishes)).await;
    println!("{COMMANDS} publishes to two followers each, 50 writes a second: {seconds:.0} s");
    assert_eq!(entries(&world).await, 2 * COMMANDS as u64);
}
