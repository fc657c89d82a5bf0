//! Events, definitions and ticks in any order, against a recount.

use std::collections::{BTreeMap, BTreeSet};

use fastrand::Rng;
use serde_json::Value;
use shared::platform::values::Timestamp;
use tests::World;

use super::{Month, at, deleted, event, score, silent};

const SEEDS: u64 = 40;
const DAYS: u32 = 14;

#[derive(Debug, Clone, Copy, PartialEq)]
enum Asks {
    Silent(u16),
    /// Ten for each event of two days, below this.
    Below(u8),
}

#[derive(Debug, Clone)]
struct Definition {
    nth: usize,
    begins: u32,
    asks: Asks,
}

/// What is known without any of the code: days of events, definitions in force, what holds.
#[derive(Default)]
struct Recount {
    folded: BTreeMap<String, Vec<u32>>,
    in_force: BTreeMap<String, Definition>,
    decided: u32,
    holding: BTreeSet<(usize, String)>,
    told: BTreeSet<String>,
}

impl Recount {
    fn decide_until(&mut self, last: u32) {
        for day in self.decided + 1..=last {
            for (name, definition) in &self.in_force {
                if definition.begins > day {
                    continue;
                }
                for (customer, events) in &self.folded {
                    let key = (definition.nth, customer.clone());
                    if !holds(definition.asks, events, day) {
                        self.holding.remove(&key);
                    } else if self.holding.insert(key) {
                        let count = events.len();
                        self.told.insert(format!("{name} {customer} 2026-11-{day:02} {count}"));
                    }
                }
            }
        }
        self.decided = last;
    }
}

fn holds(asks: Asks, events: &[u32], day: u32) -> bool {
    let between = |from: u32| events.iter().filter(|it| (from..=day).contains(it)).count();
    let had_one = between(0) > 0;
    had_one
        && match asks {
            Asks::Silent(days) => between((day + 1).saturating_sub(u32::from(days))) == 0,
            Asks::Below(value) => (between(day - 1) * 10).min(100) < usize::from(value),
        }
}

#[tokio::test]
async fn what_is_told_is_a_recount() {
    let mut told = 0;
    for seed in 0..SEEDS {
        told += follow(seed).await;
    }
    assert!(told > 40 * 5, "too little happens: {told}");
}

async fn follow(seed: u64) -> usize {
    let mut random = Rng::with_seed(seed);
    let (mut month, mut recount) = (Month::of(World::new()).await, Recount::default());
    let mut number = 0;
    for day in 1..DAYS {
        for step in 0..random.usize(0..4) {
            month.world.set_clock(&at(day, &format!("0{}:00:00", 3 + step)));
            number += 1;
            if random.u8(0..3) > 0 {
                let customer = format!("c{}", random.u8(0..4));
                // Some of them late.
                let on = random.u32(day.saturating_sub(3).max(1)..=day);
                let id = format!("e{number}");
                month.happens(&[event("acme", &customer, &id, &at(on, "02:00:00"))]).await;
                recount.folded.entry(customer).or_default().push(on);
            } else {
                let command = define(&mut random, number, day, &mut recount, &month);
                month.world.done(&[command.clone(), command]).await;
            }
        }
        // The keeper may miss a day, and what it decides late it decides on what is folded then.
        if random.u8(0..4) > 0 {
            if random.bool() {
                // An event of the day after, before the day is decided.
                number += 1;
                let customer = format!("c{}", random.u8(0..4));
                let early =
                    event("acme", &customer, &format!("e{number}"), &at(day + 1, "01:00:00"));
                month.happens_at(&at(day + 1, "01:30:00"), &[early]).await;
                recount.folded.entry(customer).or_default().push(day + 1);
            }
            month.ticks(day + 1, "02:00:00").await;
            recount.decide_until(day);
            assert_eq!(month.said().await, recount.told, "seed {seed}, day {day}");
        }
    }
    recount.told.len()
}

fn define(
    random: &mut Rng,
    number: usize,
    day: u32,
    recount: &mut Recount,
    month: &Month,
) -> Value {
    let now: Timestamp = month.world.clock.now();
    // Each later than the one before, whatever the sender's clock says.
    let at = now.plus_millis(i64::try_from(number).unwrap() - 30 * 86_400_000).to_string();
    let name = ["gone", "quiet", "health"][random.usize(0..3)];
    let is_score = name == "health";
    if random.u8(0..4) == 0 {
        recount.in_force.remove(name);
        return deleted(if is_score { "score" } else { "rule" }, name, &at);
    }
    let (asks, command) = if is_score {
        let below = random.u8(5..30);
        (Asks::Below(below), score(name, &at, below))
    } else {
        let days = random.u16(1..4);
        (Asks::Silent(days), silent(name, &at, days))
    };
    recount.in_force.insert(name.to_owned(), Definition { nth: number, begins: day, asks });
    command
}
