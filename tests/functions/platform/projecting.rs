//! The projector, running beside what a test does.

use std::time::Duration;

use nagare_local::engine::stream::StreamRecord;
use nagare_local::stream_source;
use shared::platform::dynamo::item::{Item, Row};
use shared::platform::dynamo::{Query, Table};
use tests::{World, soon};

/// How long it rests after a change, and at most where nothing comes: a clock that stands still jumps over it.
const SHORTEST: Duration = Duration::from_millis(1);
const LONGEST: Duration = Duration::from_millis(250);

pub(crate) fn records(world: &World) -> Vec<StreamRecord> {
    world.engine.stream_behind(0, usize::MAX).unwrap()
}

/// Hands records over as a batch of a shard, all of which has to be folded.
pub(crate) async fn project(world: &World, shard: &str, records: &[StreamRecord]) {
    let batch = stream_source::event(shard, records).unwrap();
    let answer = world.fold(batch, soon()).await.unwrap();
    assert_eq!(answer.batch_item_failures, []);
}

/// Does something while the projector runs beside it, from the first change on.
pub(crate) async fn projecting<T>(world: &World, work: impl Future<Output = T>) -> T {
    projecting_behind(world, 0, work).await
}

/// The same, from the change behind one on.
pub(crate) async fn projecting_behind<T>(
    world: &World,
    first: i64,
    work: impl Future<Output = T>,
) -> T {
    let project = async {
        let (mut behind, mut wait) = (first, SHORTEST);
        loop {
            let records = world.engine.stream_behind(behind, 500).unwrap();
            wait = LONGEST.min(wait * 2);
            if let Some(last) = records.last() {
                (behind, wait) = (last.number, SHORTEST);
                let batch = stream_source::event("a", &records).unwrap();
                world.fold(batch, soon()).await.unwrap();
            }
            tokio::time::sleep(wait).await;
        }
    };
    tokio::select! {
        done = work => done,
        () = project => unreachable!("it never ends"),
    }
}

pub(crate) async fn everything(table: &Table) -> Vec<Item> {
    let rows = table.all(Query::default()).await.unwrap();
    rows.into_iter().map(|Row { item, .. }| item).collect()
}

/// True if an item has a text anywhere, in names, texts or bytes.
pub(crate) fn names(item: &Item, text: &str) -> bool {
    item.iter().any(|(name, value)| name.contains(text) || says(value, text))
}

/// How much an item weighs, in bytes or so.
pub(crate) fn size(item: &Item) -> usize {
    item.iter().map(|(name, value)| name.len() + weight(value)).sum()
}

fn weight(value: &Held) -> usize {
    let text = value.as_s().or(value.as_n()).map_or(0, String::len);
    let bytes = value.as_b().map_or(0, |bytes| bytes.as_ref().len());
    let list = value.as_l().map_or(0, |list| list.iter().map(|it| 1 + weight(it)).sum());
    text + bytes + list + value.as_m().map_or(0, size) + 3
}

/// What an attribute holds.
type Held = <Item as std::ops::Index<&'static str>>::Output;

fn says(value: &Held, text: &str) -> bool {
    let in_bytes = |bytes: &[u8]| bytes.windows(text.len()).any(|window| window == text.as_bytes());
    value.as_s().is_ok_and(|said| said.contains(text))
        || value.as_b().is_ok_and(|bytes| in_bytes(bytes.as_ref()))
        || value.as_l().is_ok_and(|list| list.iter().any(|value| says(value, text)))
        || value.as_m().is_ok_and(|map| names(map, text))
}
