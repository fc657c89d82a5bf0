//! The streams of periods' tables: each is delivered in its order, in batches that may come again for half a day.

use std::task::Poll;

use fastrand::Rng;
use function_stream::StreamResponse;
use nagare_local::engine::stream::StreamRecord;
use nagare_local::stream_source::event_of;
use serde_json::Value;
use tests::{World, soon};

use crate::platform::instants::DAY;
use crate::platform::scheduler::Task;
use crate::platform::usage::count;

pub(crate) struct TableStream<'a> {
    world: &'a World,
    table: String,
    /// The number of the last record that was worked off.
    behind: i64,
    /// Since when something may be left of it.
    left_since: Option<i64>,
    /// How far it was worked off by when.
    passed: Vec<(i64, i64)>,
    batch: Option<(Vec<StreamRecord>, Task<'a, StreamResponse>)>,
    /// Numbers and keys of the changes delivered and of the changes processed since the last look.
    pub(crate) delivered: Vec<(i64, Value)>,
    pub(crate) worked_off: Vec<(i64, Value)>,
}

impl<'a> TableStream<'a> {
    pub(crate) fn new(world: &'a World, table: String) -> Self {
        Self {
            world,
            table,
            behind: 0,
            left_since: None,
            passed: Vec::new(),
            batch: None,
            delivered: Vec::new(),
            worked_off: Vec::new(),
        }
    }

    pub(crate) fn is_at_work(&self) -> bool {
        self.batch.is_some()
    }

    pub(crate) fn changed(&mut self) {
        self.left_since.get_or_insert(self.world.clock.now().unix_millis());
    }

    /// Until when time may pass: DynamoDB keeps a change for a day, and what is left for longer is another test's concern.
    pub(crate) fn latest(&self) -> i64 {
        self.left_since.map_or(i64::MAX, |since| since + DAY / 2)
    }

    pub(crate) fn go_on(&mut self) {
        let Some((records, task)) = &mut self.batch else { return };
        let Poll::Ready(response) = task.go_on() else { return };
        let records = std::mem::take(records);
        self.pass(&records, &response);
        self.batch = None;
    }

    pub(crate) fn happen(&mut self, random: &mut Rng) {
        match (&self.batch, random.u8(0..12)) {
            (Some(_), 0) => {
                count("periods: a projector died");
                self.batch = None;
            }
            (None, 0) => self.begin_again(),
            (None, _) => self.deliver(random.usize(1..8)),
            (Some(_), _) => {}
        }
    }

    /// Lambda delivers again what is less than a day old.
    fn begin_again(&mut self) {
        let since = self.world.clock.now().unix_millis() - DAY / 2;
        let old = self.passed.iter().filter(|(_, at)| *at < since).map(|(number, _)| *number);
        self.behind = old.max().unwrap_or(0);
        // Before they are older than a stream keeps them.
        if self.has_left() {
            self.left_since.get_or_insert(since);
        }
    }

    fn deliver(&mut self, at_most: usize) {
        let records = self.left(at_most);
        if records.is_empty() {
            // A stream that is not mapped any more brings nothing.
            self.left_since = None;
            return;
        }
        count("periods: changes delivered, up to seven");
        let batch = event_of(&self.table, "shard", &records).unwrap();
        let world = self.world;
        let task = Task::new(async move { world.fold(batch, soon()).await.unwrap() });
        self.delivered.extend(records.iter().map(keys));
        self.batch = Some((records, task));
    }

    /// Passes what was folded of a batch: all before the first that was not.
    fn pass(&mut self, records: &[StreamRecord], response: &StreamResponse) {
        let failed = response.batch_item_failures.first();
        let failed = failed.map(|failed| failed.item_identifier.parse::<i64>().unwrap());
        let done = records.iter().take_while(|record| Some(record.number) != failed);
        let done: Vec<_> = done.collect();
        self.worked_off.extend(done.iter().copied().map(keys));
        if let Some(last) = done.last() {
            self.behind = last.number;
            self.left_since = self.left_since.filter(|_| self.has_left());
            self.passed.push((last.number, self.world.clock.now().unix_millis()));
        }
    }

    /// Whether something is left to fold of a stream that is mapped.
    pub(crate) fn has_left(&self) -> bool {
        !self.left(1).is_empty()
    }

    fn left(&self, at_most: usize) -> Vec<StreamRecord> {
        let engine = &self.world.engine;
        match engine.mappings().unwrap().iter().any(|mapping| mapping.table == self.table) {
            true => engine.stream_of(&self.table, self.behind, at_most).unwrap(),
            false => Vec::new(),
        }
    }

    /// Delivers all that is left, if nothing is on its way.
    pub(crate) fn deliver_all(&mut self) {
        if self.batch.is_none() {
            self.deliver(usize::MAX);
        }
    }
}

fn keys(record: &StreamRecord) -> (i64, Value) {
    (record.number, serde_json::from_str(record.keys.get()).unwrap())
}
