//! The stream of facts, as Lambda reads it: in shards, of which each is read by one function at a time. A batch may be
//! cut anywhere, come again, or everything with it since the beginning; a shard ends, and its child goes on.
//!
//! The embedded tables have one shard. Here rows are dealt out to [`SHARD_CHAINS`], each of which has one shard after the
//! other.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use fastrand::Rng;
use function_stream::StreamResponse;
use nagare_local::engine::stream::StreamRecord;
use nagare_local::stream_source::event;
use serde_json::Value;
use tests::{World, soon};

use crate::platform::scheduler::Task;
use crate::platform::usage::count;

/// Shards beside each other.
const SHARD_CHAINS: usize = 3;
/// Records that are read at once.
const PAGE: usize = 64;
/// How often a batch may be refused once it is quiet: a slow table may owe for large items for some deliveries.
const REFUSALS: u32 = 20;

/// One shard after the other.
#[derive(Default)]
struct ShardChain<'a> {
    /// The number of the last record that was worked off.
    behind: i64,
    /// The last records of the shards that have ended.
    ends: Vec<i64>,
    /// A batch, and the future that works on it.
    batch: Option<(Vec<i64>, Task<'a, StreamResponse>)>,
}

impl ShardChain<'_> {
    /// Passes what was folded of a batch: all before the first that was not.
    fn pass(&mut self, numbers: &[i64], response: &StreamResponse) {
        let failed = response.batch_item_failures.first();
        let failed = failed.map(|failed| failed.item_identifier.parse::<i64>().unwrap());
        let done = numbers.iter().take_while(|number| Some(**number) != failed);
        self.behind = done.last().copied().unwrap_or(self.behind);
    }
}

pub(crate) struct Stream<'a> {
    world: &'a World,
    chains: [ShardChain<'a>; SHARD_CHAINS],
}

impl<'a> Stream<'a> {
    pub(crate) fn new(world: &'a World) -> Self {
        Self { world, chains: Default::default() }
    }

    /// All functions die, and the mapping is made again: from the beginning.
    pub(crate) fn restart(&mut self) {
        for chain in &mut self.chains {
            (chain.behind, chain.batch) = (0, None);
        }
    }

    /// Whether anything is worked on.
    pub(crate) fn is_at_work(&self) -> bool {
        self.chains.iter().any(|chain| chain.batch.is_some())
    }

    /// Goes on with all batches until they wait.
    pub(crate) fn go_on(&mut self) {
        for chain in &mut self.chains {
            let Some((numbers, task)) = &mut chain.batch else { continue };
            let std::task::Poll::Ready(response) = task.go_on() else { continue };
            let numbers = std::mem::take(numbers);
            chain.pass(&numbers, &response);
            chain.batch = None;
        }
    }

    /// Something happens to one of the chains.
    pub(crate) fn happen(&mut self, random: &mut Rng) {
        let n = random.usize(0..SHARD_CHAINS);
        let chain = &mut self.chains[n];
        match (&chain.batch, random.u8(0..20)) {
            (Some(_), 0) => {
                count("stream: a function died");
                chain.batch = None;
            }
            (None, 0) => {
                count("stream: all of a shard again");
                chain.behind = 0;
            }
            (None, 1) => {
                let last = self.records(n, usize::MAX).last().map(|record| record.number);
                let chain = &mut self.chains[n];
                let last = last.unwrap_or(chain.behind);
                if last > chain.ends.last().copied().unwrap_or(0) {
                    count("stream: a shard ended");
                    chain.ends.push(last);
                }
            }
            (None, _) => self.deliver(n, random.usize(1..12)),
            (Some(_), _) => {}
        }
    }

    /// Delivers the next records of all chains. Returns false if there are none.
    pub(crate) fn deliver_all(&mut self, random: &mut Rng) -> bool {
        for n in 0..SHARD_CHAINS {
            if self.chains[n].batch.is_none() {
                self.deliver(n, random.usize(1..12));
            }
        }
        self.is_at_work()
    }

    /// Delivers the next records, at most N and those of a barrier, and none behind the end of a shard.
    fn deliver(&mut self, n: usize, at_most: usize) {
        let next = self.records(n, at_most);
        let chain = &mut self.chains[n];
        let shard = |number: i64| chain.ends.iter().filter(|end| **end < number).count();
        let Some(first) = next.first().map(|record| shard(record.number)) else { return };
        let next: Vec<_> = next.into_iter().take_while(|r| shard(r.number) == first).collect();
        count("stream: records delivered, up to twelve");
        let batch = event(&format!("shard {n}, {first}"), &next).unwrap();
        let world = self.world;
        let task = Task::new(async move { world.fold(batch, soon()).await.unwrap() });
        chain.batch = Some((next.into_iter().map(|record| record.number).collect(), task));
    }

    /// Works off all that is left, one batch after the other. A batch of which a part was not folded comes again from
    /// there, as it does with Lambda; with nothing else going on some of it has to be folded each time.
    pub(crate) async fn end(&mut self, random: &mut Rng) -> Result<(), String> {
        for n in 0..SHARD_CHAINS {
            if let Some((_, mut task)) = self.chains[n].batch.take() {
                // With calls that do not wait any more it ends at once.
                let _ = task.go_on();
            }
            let mut refusals = 0;
            loop {
                let behind = self.chains[n].behind;
                if self.records(n, 1).is_empty() {
                    break;
                }
                self.deliver(n, random.usize(1..12));
                let Some((numbers, task)) = self.chains[n].batch.take() else { continue };
                let response = task.await;
                self.chains[n].pass(&numbers, &response);
                refusals = if self.chains[n].behind > behind { 0 } else { refusals + 1 };
                if refusals == REFUSALS {
                    return Err(format!("not folded, now that it is quiet: {response:?}"));
                }
            }
        }
        Ok(())
    }

    /// The next records of a chain, at most N. Rows of a barrier, which are thousands, do not count.
    fn records(&self, n: usize, at_most: usize) -> Vec<StreamRecord> {
        let (mut found, mut counted, mut behind) = (Vec::new(), 0, self.chains[n].behind);
        loop {
            let page = self.world.engine.stream_behind(behind, PAGE).unwrap();
            let is_last = page.len() < PAGE;
            behind = page.last().map_or(behind, |record| record.number);
            for record in page {
                // In which order the text names its attributes differs from write to write.
                let keys: BTreeMap<String, Value> =
                    serde_json::from_str(record.keys.get()).unwrap();
                let is_counted = !keys["pk"]["S"].as_str().unwrap().starts_with("barrier#");
                if chain_of(keys) != n {
                    continue;
                }
                if is_counted && counted == at_most {
                    return found;
                }
                counted += usize::from(is_counted);
                found.push(record);
            }
            if is_last {
                return found;
            }
        }
    }
}

/// The chain that a row is dealt to.
fn chain_of(keys: BTreeMap<String, Value>) -> usize {
    let mut hasher = DefaultHasher::new();
    keys.into_iter().for_each(|(name, value)| (name, value.to_string()).hash(&mut hasher));
    usize::try_from(hasher.finish() % SHARD_CHAINS as u64).unwrap()
}
