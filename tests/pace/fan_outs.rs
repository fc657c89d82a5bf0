//! Publishes and deletes reach every follower at the pace of a slow table, with hardly more than one send
//! an entry.

use fanout_writer::FanOutLimits;
use tests::{NOW, World, delete, publish};

use crate::support::{entries, first_receives, followers, rates, work_off, work_off_by, world};

/// The most invocations at once that `samconfig.toml` allows.
const MOST_WRITERS: usize = 20;
/// What chance is drawn from, run by run.
const SEEDS: [u64; 3] = [6, 7, 8];

/// Writes and removals of entries that were sent so far, including repetitions.
fn sends(world: &World) -> f64 {
    let lines = world.metrics.lines();
    let sums = ["EntriesWritten", "EntriesRepeated"]
        .map(|metric| lines.iter().filter_map(|line| line[metric].as_f64()).sum::<f64>());
    sums.into_iter().sum()
}

/// Publishes of some actors at once, and then their deletes. What is sent is bounded on average: in one run of eight the pacing is
/// unlucky, and sends 1.04 times as much.
async fn at_the_pace_of_the_table(rate: f64, actors: usize, audience: usize, limits: FanOutLimits) {
    let mut sends = [0.0; 2];
    for seed in SEEDS {
        let of_run = one_run(seed, rate, actors, audience, limits).await;
        sends.iter_mut().zip(of_run).for_each(|(sum, sends)| *sum += sends / SEEDS.len() as f64);
    }
    assert!(sends.iter().all(|sends| *sends <= 1.03), "at {rate}: {sends:?} sends an entry");
}

/// Sends for an entry, of publishes and of deletes.
async fn one_run(
    seed: u64,
    rate: f64,
    actors: usize,
    audience: usize,
    limits: FanOutLimits,
) -> [f64; 2] {
    fastrand::seed(seed);
    let (mut world, tables) = world();
    world.writer.limits = limits;
    let names: Vec<_> = (0..actors).map(|n| format!("a{n}")).collect();
    names.iter().for_each(|actor| followers(&world, actor, audience));
    tables.set_rates(rates(rate));
    let publishes = names.iter().map(|actor| publish(actor, &format!("{actor}-live"), NOW));
    let deletes = names.iter().map(|actor| delete(actor, &format!("{actor}-live")));
    let (total, mut all) = ((actors * audience) as u64, [0.0; 2]);
    let commands =
        [("publishes", publishes.collect::<Vec<_>>(), total), ("deletes", deletes.collect(), 0)];
    for ((what, commands, left), each) in commands.into_iter().zip(&mut all) {
        let before = sends(&world);
        let seconds = work_off(&world, first_receives(commands)).await;
        assert_eq!(entries(&world).await, left, "{what} at {rate}");
        let (ideal, sends) = (total as f64 / rate, (sends(&world) - before) / total as f64);
        println!("{what} at {rate}: {seconds:.1} s, ideal {ideal:.1}; {sends:.4} sends an entry");
        assert!(seconds <= 1.1 * ideal + 10.0, "{what} at {rate}: {seconds} s, ideal {ideal}");
        *each = sends;
    }
    all
}

#[tokio::test(start_paused = true)]
async fn large_fan_outs_arrive_at_the_pace_of_the_table() {
    let limits = FanOutLimits { page: 1_000, segment: 900, segments: 4, ..FanOutLimits::default() };
    at_the_pace_of_the_table(400.0, 12, 3_600, limits).await;
    at_the_pace_of_the_table(50.0, 12, 3_600, limits).await;
}

/// A tenth of the rate of a new on-demand table, and then close to the slowest that a table can be.
#[tokio::test(start_paused = true)]
#[ignore = "at full size: minutes"]
async fn large_fan_outs_arrive_at_the_pace_of_the_table_at_full_size() {
    at_the_pace_of_the_table(400.0, 12, 12_000, FanOutLimits::default()).await;
    at_the_pace_of_the_table(50.0, 12, 12_000, FanOutLimits::default()).await;
}

#[tokio::test(start_paused = true)]
async fn small_fan_outs_of_one_batch_arrive_at_the_pace_of_the_table() {
    at_the_pace_of_the_table(50.0, 10, 2_400, FanOutLimits::default()).await;
}

/// Many actors with few followers at once: most of the work is what each command records in the ledger.
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
