//! The readers: several of them keep what they keep beside each other, as the instances of a function do.
//!
//! A reader may be frozen while much happens, with requests in flight or without, and thawed later. Its clock
//! may differ from that of the writers.

use std::cell::Cell;
use std::iter;
use std::rc::Rc;
use std::sync::Arc;

use fastrand::Rng;
use serde_json::Value;
use shared::platform::dynamo::Limits;
use shared::platform::runtime::clock::Clock;
use shared::platform::values::Timestamp;
use shared::social::activities::RecordCache;
use tests::{World, api_event, received, respond, soon};
use timeline_reader::Reader;

use crate::social::fault_plan::FaultPlan;

/// Readers beside each other, in a run that has more than one.
pub(crate) const READERS_KEPT: usize = 3;

/// Room for a few records, in bytes.
const FEW: usize = 4_000;

pub(crate) struct KeptReader {
    reader: Reader,
    history_reader: history_reader::Reader,
    /// How far its clock is ahead of that of the writers.
    ahead: i64,
    time: Clock,
    frozen: Cell<bool>,
    /// True if a query returns fewer rows than DynamoDB's.
    pub(crate) short_queries: bool,
}

impl KeptReader {
    /// A reader that has read nothing yet.
    fn new(world: &World, ahead: i64, room: usize, short_queries: bool) -> Rc<Self> {
        let clock = Clock::manual(world.clock.now());
        let records = Arc::new(RecordCache::new(room));
        let mut reader = Reader { records, ..world.reader.clone() };
        reader.requests.clock = clock.clone();
        let mut history_reader = world.history_reader.clone();
        history_reader.requests.clock = clock;
        let (time, frozen) = (world.clock.clone(), Cell::new(false));
        let kept = Self { reader, history_reader, ahead, time, frozen, short_queries };
        kept.keep_time();
        Rc::new(kept)
    }

    fn keep_time(&self) {
        let now = self.time.now().unix_millis() + self.ahead;
        self.reader.requests.clock.set(Timestamp::from_unix_millis(now));
    }

    pub(crate) fn is_frozen(&self) -> bool {
        self.frozen.get()
    }

    pub(crate) fn is_apart(&self) -> bool {
        self.ahead != 0
    }

    /// What the writers' clock and this reader's show, the earlier first.
    pub(crate) fn times(&self) -> [i64; 2] {
        let now = self.time.now().unix_millis();
        [now.min(now + self.ahead), now.max(now + self.ahead)]
    }

    /// Reads a path of the API; the answer's status, headers and body.
    pub(crate) async fn get(&self, path: &str, query: &str) -> (i64, Vec<(String, String)>, Value) {
        let event = serde_json::from_value(api_event("GET", path, query, None)).unwrap();
        received(&respond(&self.reader, &self.history_reader, &event, soon()).await)
    }
}

/// All readers of a run.
pub(crate) struct Readers(Vec<Rc<KeptReader>>);

impl Readers {
    pub(crate) fn new(world: &World, fault_plan: &FaultPlan) -> Self {
        // The first keeps all that it reads, the others a few records.
        let ahead =
            fault_plan.readers_ahead.iter().zip(iter::once(usize::MAX).chain(iter::repeat(FEW)));
        let short = fault_plan.limits.page_bytes < Limits::DYNAMODB.page_bytes;
        Self(ahead.map(|(ahead, room)| KeptReader::new(world, *ahead, room, short)).collect())
    }

    /// Some reader that is not frozen.
    pub(crate) fn awake(&self, random: &mut Rng) -> Option<Rc<KeptReader>> {
        random.choice(self.0.iter().filter(|kept| !kept.is_frozen()).collect::<Vec<_>>()).cloned()
    }

    /// Thaws some reader if it is frozen. Of the others it freezes one in three, so that most are awake.
    pub(crate) fn freeze_or_thaw(&self, random: &mut Rng) {
        let kept = random.choice(&self.0).expect("there is a reader");
        kept.frozen.set(!kept.is_frozen() && random.u8(0..3) == 0);
    }

    pub(crate) fn thaw(&self) {
        self.0.iter().for_each(|kept| kept.frozen.set(false));
    }

    /// Thaws them and sets their clocks right, until time passes again.
    pub(crate) fn be_quiet(&self) {
        self.thaw();
        self.0.iter().for_each(|kept| kept.reader.requests.clock.set(kept.time.now()));
    }

    /// Has their clocks follow that of the writers.
    pub(crate) fn keep_time(&self) {
        self.0.iter().for_each(|kept| kept.keep_time());
    }
}
