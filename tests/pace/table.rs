//! The pace of writing, against a table of limited capacity. Time is simulated, so what is asserted here
//! is arithmetic and not the speed of a machine.

use std::fmt::Display;
use std::ops::Range;
use std::time::Duration;

use aws_smithy_runtime_api::client::http::{
    HttpConnector, HttpConnectorFuture, SharedHttpConnector,
};
use aws_smithy_runtime_api::client::orchestrator::{HttpRequest, HttpResponse};
use aws_smithy_runtime_api::http::StatusCode;
use aws_smithy_types::body::SdkBody;
use futures::FutureExt;
use futures::future::join_all;
use nagare_client::tables::Tables;
use nagare_local::connector;
use nagare_local::faults::{Faulty, Rates};
use nagare_local::schema;
use serde_json::{Value, json};
use shared::platform::dynamo::Usage;
use shared::platform::runtime::deadline::Deadline;
use shared::platform::values::{ActorId, ViewerId};
use shared::social::timelines::{EntryWrite, Timelines};
use tokio::spawn;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep};

/// How long the table takes to answer, at least and at most, in seconds.
const LATENCY: Range<f64> = 0.003..0.007;
/// Nearly nothing.
const NO_LATENCY: Range<f64> = 0.0..0.001;
const LONG: Duration = Duration::from_secs(3_600);

/// A table that admits everything, and takes this long to answer.
#[derive(Debug)]
struct Bottomless(Range<f64>);

impl HttpConnector for Bottomless {
    fn call(&self, _: HttpRequest) -> HttpConnectorFuture {
        let Range { start, end } = self.0;
        HttpConnectorFuture::new(async move {
            let latency = start + (end - start) * fastrand::f64();
            sleep(Duration::from_secs_f64(latency)).await;
            let status = StatusCode::try_from(200).unwrap();
            Ok(HttpResponse::new(status, SdkBody::from("{}")))
        })
    }
}

/// A table that admits this many writes a second, with a burst of one second.
fn capped(writes: f64, latency: Range<f64>) -> Faulty {
    let table = SharedHttpConnector::new(Bottomless(latency));
    let table = Faulty::new("seed=1".parse().unwrap(), table);
    table.set_rates(rates(writes));
    table
}

fn rates(writes: f64) -> Rates {
    Rates { writes: Some(writes), ..Rates::default() }
}

/// The timelines as one process writes them.
fn process(table: &Faulty) -> Timelines {
    timelines_over(SharedHttpConnector::new(table.clone()))
}

fn timelines_over(connector: SharedHttpConnector) -> Timelines {
    Tables::new(connector::dynamodb(connector), &schema::names()).timelines
}

async fn write(timelines: Timelines, name: impl Display, entries: usize) -> (Usage, f64) {
    let (begun, actor) = (Instant::now(), ActorId::new("star").unwrap());
    let viewers = (0..entries).map(|n| ViewerId::new(format!("{name}-{n}")).unwrap());
    let viewers: Vec<_> = viewers.collect();
    let puts = viewers.iter().map(|viewer| put(viewer, &actor));
    let deadline = Deadline::after(LONG);
    let usage = timelines.until(deadline).write(puts, deadline).await.unwrap().whole().unwrap();
    assert_eq!(usage.written, entries as u64);
    (usage, begun.elapsed().as_secs_f64())
}

fn put<'a>(viewer: &'a ViewerId, actor: &'a ActorId) -> EntryWrite<'a> {
    let sort_key = "2026-11-20T12:00:00.000Z#live";
    EntryWrite::Put { viewer, sort_key, actor, expires_at: 1 }
}

fn sends_per_entry(usage: Usage) -> f64 {
    usage.sends as f64 / usage.written as f64
}

#[tokio::test(start_paused = true)]
async fn it_is_the_pace_of_the_table() {
    for cap in [40_000_u32, 4_000] {
        fastrand::seed(7);
        let (usage, seconds) =
            write(process(&capped(cap.into(), LATENCY)).in_bulk(), "one", 220_000).await;
        let ideal = (220_000.0 - f64::from(cap)) / f64::from(cap);
        let (time, sends) = (seconds / ideal, sends_per_entry(usage));
        println!("{cap} a second: {time:.4} of the ideal time, {sends:.4} sends an entry");
        assert!(time < 1.02, "{cap} a second: {seconds} s");
        assert!(sends < 1.02, "{cap} a second: {sends} sends an entry");
    }
}

#[tokio::test(start_paused = true)]
async fn it_follows_a_table_that_changes() {
    fastrand::seed(7);
    let table = capped(20_000.0, LATENCY);
    let changes = async {
        sleep(Duration::from_secs(2)).await;
        table.set_rates(rates(2_000.0));
        sleep(Duration::from_secs(4)).await;
        table.set_rates(rates(20_000.0));
    };
    let ((usage, seconds), ()) =
        futures::join!(write(process(&table).in_bulk(), "one", 110_000), changes);
    // 20,000 at once, 40,000 in two seconds, 8,000 in four, and the other 42,000 in 2.1.
    println!("{seconds:.3} s where 8.1 would do, {:.4} sends an entry", sends_per_entry(usage));
    assert!(seconds < 8.1 * 1.15, "{seconds} s");
    assert!(sends_per_entry(usage) < 1.05, "{} sends an entry", sends_per_entry(usage));
}

#[tokio::test(start_paused = true)]
async fn several_writers_share_it() {
    fastrand::seed(7);
    let table = capped(20_000.0, LATENCY);
    let names = ["one", "two", "three", "four"];
    let writers = join_all(names.map(|name| write(process(&table).in_bulk(), name, 60_000))).await;
    let ideal = (240_000.0 - 20_000.0) / 20_000.0;
    for (name, (usage, seconds)) in names.iter().zip(&writers) {
        println!(
            "{name}: {:.3} of the time, {:.4} sends",
            seconds / ideal,
            sends_per_entry(*usage)
        );
    }
    // All begin together with as much to do. A writer that is done in a third of the time had three
    // times its share.
    for (usage, seconds) in writers {
        assert!(seconds > ideal / 3.0, "others were left little: through after {seconds} s");
        assert!(seconds < ideal * 1.1, "came too late: {seconds} s");
        assert!(sends_per_entry(usage) < 1.05, "{} sends an entry", sends_per_entry(usage));
    }
}

/// Who writes.
#[derive(Debug, Clone, Copy)]
enum Writers {
    One,
    /// N bulk writers in one process, each of which asks for five seconds' worth again and again.
    InOneProcess(usize),
    /// N processes, which know nothing of each other.
    Processes(usize),
}

/// How entries were written.
struct Pace {
    seconds: f64,
    /// In how many seconds all would be written at the rate of the table.
    ideal: f64,
    sends: f64,
    /// The longest time in which one writer came no further.
    longest: Duration,
}

/// Everything is written in little more than the ideal time, with hardly more than one send an entry.
async fn check(rate: u32, writers: Writers, entries: usize, most_sends: f64) {
    let Pace { seconds, ideal, sends, longest } = pace(rate, writers, entries).await;
    let steady = !matches!(writers, Writers::Processes(_));
    let most_time = if steady { 1.1 } else { 1.15 };
    assert!(seconds <= ideal * most_time + 10.0, "{rate}, {writers:?}: {seconds} s");
    assert!(sends <= most_sends, "{rate}, {writers:?}: {sends} sends an entry");
    assert!(!steady || longest < Duration::from_secs(60), "{rate}, {writers:?}: {longest:?}");
}

async fn pace(rate: u32, writers: Writers, entries: usize) -> Pace {
    fastrand::seed(7);
    let (table, begun) = (capped(rate.into(), LATENCY), Instant::now());
    let timelines: Vec<_> = match writers {
        Writers::One => vec![process(&table).in_bulk()],
        Writers::InOneProcess(n) => {
            let timelines = process(&table).in_bulk();
            let one = || timelines.table().dynamo().for_work(Deadline::after(LONG));
            (0..n).map(|_| timelines.over(&one())).collect()
        }
        Writers::Processes(n) => (0..n).map(|_| process(&table).in_bulk()).collect(),
    };
    let each = entries / timelines.len();
    let written = timelines.iter().enumerate().map(|(n, timelines)| bit_by_bit(timelines, n, each));
    let written = join_all(written).await;
    let (seconds, ideal) = (begun.elapsed().as_secs_f64(), entries as f64 / f64::from(rate));
    let sends = written.iter().map(|(usage, _)| usage.sends).sum::<u64>() as f64;
    let sends = sends / (each * timelines.len()) as f64;
    let longest = written.iter().map(|(_, longest)| *longest).max().unwrap();
    println!(
        "{rate} a second, {writers:?}: {seconds:.1} s where {ideal:.1} would do, {sends:.4} sends an \
         entry, longest stop {longest:.1?}"
    );
    Pace { seconds, ideal, sends, longest }
}

/// Writes N entries, for five seconds at a time, each time from where the last one ended. Also returns
/// the longest time without an entry.
async fn bit_by_bit(timelines: &Timelines, name: usize, entries: usize) -> (Usage, Duration) {
    let actor = ActorId::new("star").unwrap();
    let viewers: Vec<_> =
        (0..entries).map(|n| ViewerId::new(format!("{name}-{n}")).unwrap()).collect();
    let (mut done, mut sum, mut longest) = (0, Usage::default(), Duration::ZERO);
    let mut last = Instant::now();
    while done < entries {
        let puts = viewers[done..].iter().take(2_500).map(|viewer| put(viewer, &actor));
        let (begin_until, deadline) = (Duration::from_secs(5), Duration::from_secs(15));
        let (begin_until, deadline) = (Deadline::after(begin_until), Deadline::after(deadline));
        let written = timelines.until(deadline).write(puts, begin_until).await.unwrap();
        sum += written.usage;
        done += written.leading;
        if written.leading > 0 {
            longest = longest.max(last.elapsed());
            last = Instant::now();
        }
    }
    (sum, longest)
}

#[tokio::test(start_paused = true)]
async fn one_writer_writes_at_any_rate() {
    for (rate, entries) in [(50, 24_000), (400, 48_000), (4_000, 60_000), (40_000, 120_000)] {
        check(rate, Writers::One, entries, 1.03).await;
    }
}

#[tokio::test(start_paused = true)]
async fn many_writers_of_one_process_take_turns_at_any_rate() {
    check(50, Writers::InOneProcess(10), 24_000, 1.03).await;
    for (rate, entries) in [(50, 24_000), (400, 48_000), (4_000, 60_000), (40_000, 120_000)] {
        check(rate, Writers::InOneProcess(48), entries, 1.03).await;
    }
}

/// A call of 25 items would take such a table longer than a delivery has, and the first of them would seldom be among
/// those that it took.
#[tokio::test(start_paused = true)]
async fn tables_that_are_slower_than_a_call_are_written_to_bit_by_bit() {
    for (rate, writers) in [(4, 8), (8, 8), (8, 16)] {
        let Pace { seconds, ideal, sends, .. } =
            pace(rate, Writers::InOneProcess(writers), 480).await;
        assert!(seconds <= ideal * 2.0, "{rate}, {writers} writers: {seconds} s");
        assert!(sends <= 2.5, "{rate}, {writers} writers: {sends} sends an entry");
    }
}

/// Processes that know nothing of each other have to find out how little is left.
#[tokio::test(start_paused = true)]
async fn several_processes_write_at_any_rate() {
    let cases =
        [(50, 24_000, 1.25), (400, 96_000, 1.08), (4_000, 60_000, 1.06), (40_000, 120_000, 1.04)];
    for (rate, entries, most_sends) in cases {
        check(rate, Writers::Processes(4), entries, most_sends).await;
    }
}

/// A table that returns all writes of one viewer, as a busy partition does.
#[derive(Debug)]
struct BusyPartition(SharedHttpConnector);

impl HttpConnector for BusyPartition {
    fn call(&self, request: HttpRequest) -> HttpConnectorFuture {
        let mut body: Value = serde_json::from_slice(request.body().bytes().unwrap()).unwrap();
        let (table, requests) =
            body["RequestItems"].as_object_mut().unwrap().iter_mut().next().unwrap();
        let (table, requests) = (table.clone(), requests.as_array_mut().unwrap());
        let is_busy =
            |write: &Value| write.pointer("/PutRequest/Item/viewer_id/S") == Some(&json!("busy"));
        let left: Vec<_> = requests.iter().filter(|write| is_busy(write)).cloned().collect();
        if left.is_empty() {
            return self.0.call(request);
        }
        let all = left.len() == requests.len();
        HttpConnectorFuture::new(async move {
            let (status, answer) = if all {
                (400, json!({"__type": "ProvisionedThroughputExceededException"}))
            } else {
                (200, json!({"UnprocessedItems": {table: left}}))
            };
            let status = StatusCode::try_from(status).unwrap();
            Ok(HttpResponse::new(status, SdkBody::from(answer.to_string())))
        })
    }
}

/// A viewer whose partition is busy for two minutes is in every fan-out. The others are served at the
/// table's pace.
#[tokio::test(start_paused = true)]
async fn a_busy_partition_does_not_pass_for_a_slow_table() {
    fastrand::seed(7);
    let table = SharedHttpConnector::new(capped(400.0, LATENCY));
    let timelines = timelines_over(SharedHttpConnector::new(BusyPartition(table))).in_bulk();
    let end = Instant::now() + Duration::from_secs(120);
    let fan_outs = (0..16).map(async |name| {
        let dynamo = timelines.table().dynamo().for_work(Deadline::after(LONG));
        let timelines = timelines.over(&dynamo);
        while Instant::now() < end {
            fan_out_to_busy(&timelines, name).await;
        }
        dynamo.usage().written
    });
    let entries = join_all(fan_outs).await.into_iter().sum::<u64>() as f64;
    let seconds = (end.elapsed() + Duration::from_secs(120)).as_secs_f64();
    println!("{entries} entries in {seconds} s at 400 a second");
    assert!(entries > 0.9 * 400.0 * seconds, "{entries} in {seconds} s");
}

async fn fan_out_to_busy(timelines: &Timelines, name: usize) {
    let actor = ActorId::new("star").unwrap();
    let mut viewers: Vec<_> =
        (0..399).map(|n| ViewerId::new(format!("{name}-{n}")).unwrap()).collect();
    viewers.insert(fastrand::usize(0..399), ViewerId::new("busy").unwrap());
    let puts = viewers.iter().map(|viewer| put(viewer, &actor));
    let (begin_until, deadline) = (Duration::from_secs(8), Duration::from_secs(10));
    let (begin_until, deadline) = (Deadline::after(begin_until), Deadline::after(deadline));
    let written = timelines.until(deadline).write(puts, begin_until).await.unwrap();
    assert!(!written.complete, "the busy one was served");
}

/// Small deliveries, ten a second, while a task runs. Returns how long they took, in seconds, the
/// longest last.
async fn small_ones(timelines: &Timelines, task: JoinHandle<()>) -> Vec<f64> {
    let mut took = Vec::new();
    for n in 0.. {
        let (_, seconds) = write(timelines.clone(), format!("small-{n}"), 100).await;
        took.push(seconds);
        sleep(Duration::from_secs_f64(0.1 - seconds.min(0.1))).await;
        if task.is_finished() {
            break;
        }
    }
    took.sort_by(f64::total_cmp);
    took
}

/// An actor with a hundred followers hardly waits for one with 220,000, whether the same process writes
/// for both or four others do, which know nothing of the small deliveries.
#[tokio::test(start_paused = true)]
async fn small_deliveries_hardly_wait_for_large_ones() {
    for (others, latency) in [(0, LATENCY), (4, LATENCY), (0, NO_LATENCY), (4, NO_LATENCY)] {
        fastrand::seed(7);
        let table = capped(8_000.0, latency.clone());
        let small = process(&table);
        let idle = small_ones(&small, spawn(sleep(Duration::from_secs(30)))).await;
        let large: Vec<_> = match others {
            0 => vec![small.clone()],
            _ => (0..others).map(|_| process(&table)).collect(),
        };
        let each = 220_000 / large.len();
        let large = large.into_iter().enumerate();
        let large =
            large.map(move |(n, timelines)| write(timelines.in_bulk(), format!("large-{n}"), each));
        let busy = small_ones(&small, spawn(join_all(large).map(|_| ()))).await;
        let [p50, p99] = [0.5, 0.99].map(|share| [quantile(&idle, share), quantile(&busy, share)]);
        println!(
            "{others} other processes, {latency:?} s, idle and busy: p50 {p50:.4?} s, p99 {p99:.4?} s"
        );
        assert!(busy.len() > 250, "the large one was through after {} small ones", busy.len());
        assert!(p50[1] < p50[0] + 0.005, "p50 {p50:?} s");
        assert!(p99[1] < p99[0] + 0.030, "p99 {p99:?} s");
    }
}

/// A quantile of sorted values.
fn quantile(values: &[f64], share: f64) -> f64 {
    values[(values.len() as f64 * share) as usize]
}
