//! `nagare-bench capacity`: a load minute by minute, and the table of the current period under provisioned capacity.
//!
//! What decides is the code that ships ([`capacity::next`]). What is simulated is DynamoDB and what wakes the keeper: the units that a
//! table saves for five minutes, its count of decreases, metrics that are two minutes late, a tick each quarter of an hour, and an alarm
//! that takes three minutes from the fifth minute of waiting to the new capacity. One event is one write unit. The first four weeks are
//! history, and are not counted.

use std::collections::VecDeque;
use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use nagare::Failure;
use nagare::print::{print_json, say};
use nagare_operator::cost::prices::Prices;
use serde::{Deserialize, Serialize};
use shared::history::events::capacity::{
    self, AHEAD_MILLIS, BEHIND, Capacity, Decreases, Measured, TableUsage, WEEKS,
};
use shared::platform::values::Timestamp;

const MINUTE_MILLIS: i64 = 60_000;
const HOUR: usize = 60;
const DAY: usize = 24 * HOUR;
const WEEK: usize = 7 * DAY;
/// Minutes between two ticks, and the minute of the first. Schedules begin whenever somebody deploys.
const TICK: usize = 15;
const FIRST_TICK: usize = 7;
/// Minutes that metrics are late.
const LATE: usize = 2;
/// Minutes from a queue that is behind to a table that has more capacity.
const WAKING: usize = 3;
/// Seconds for which a table saves units that nobody used.
const SAVED: f64 = 300.0;
/// Hours of a month.
const MONTH: f64 = 730.0;

#[derive(Debug, Args)]
pub(crate) struct CapacityBench {
    /// The load: `{"from":"2013-01-01T00:00:00Z","minutes":[0,3,…]}`, events of each minute, for more than four weeks.
    #[arg(long, value_name = "FILE")]
    minutes: PathBuf,
    /// Events a month to scale the load to.
    #[arg(long, value_name = "N", default_value_t = 100_000_000.0)]
    events_per_month: f64,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Deserialize)]
struct Load {
    from: Timestamp,
    minutes: Vec<f64>,
}

/// What became of it.
#[derive(Debug, Serialize)]
struct CapacityReport {
    hours: usize,
    /// The share of hours in which a message waited for more than a minute.
    hours_behind: f64,
    /// The same, for more than five minutes.
    hours_five_minutes_behind: f64,
    longest_wait_minutes: usize,
    /// Of the capacity that was paid for, what was used.
    used: f64,
    changes: usize,
    most_decreases_of_a_day: u64,
    provisioned_dollars_a_month: f64,
    on_demand_dollars_a_month: f64,
}

/// The table, the queue before it, and the keeper that sets the capacity.
struct Simulation {
    load: Load,
    /// Units used in each minute so far.
    used: Vec<f64>,
    /// Messages that wait, with the minute in which they came.
    queue: VecDeque<(usize, f64)>,
    set: Option<Capacity>,
    saved: f64,
    decreases: Decreases,
    /// The minute in which the keeper is woken by the alarm, while it rings.
    woken: Option<usize>,
    changes: usize,
    most_decreases: u64,
}

impl CapacityBench {
    pub(crate) fn run(&self) -> Result<(), Failure> {
        let name = self.minutes.display();
        let text = fs::read_to_string(&self.minutes);
        let text = text.map_err(|e| Failure::Usage(format!("{name} cannot be read: {e}")))?;
        let mut load: Load =
            serde_json::from_str(&text).map_err(|e| Failure::Usage(format!("{name}: {e}")))?;
        if load.minutes.len() <= WEEKS as usize * WEEK {
            let problem = format!("{name}: expected the minutes of more than four weeks");
            return Err(Failure::Usage(problem));
        }
        let months = load.minutes.len() as f64 / HOUR as f64 / MONTH;
        let scale = self.events_per_month * months / load.minutes.iter().sum::<f64>();
        load.minutes.iter_mut().for_each(|events| *events *= scale);
        let report = Simulation::new(load).run();
        if self.json {
            return print_json(&report);
        }
        let percent = |share: f64| format!("{:.1} %", 100.0 * share);
        say!("hours                                  {}", report.hours)?;
        say!("  a message waits for over a minute    {}", percent(report.hours_behind))?;
        say!(
            "  for over five minutes                {}",
            percent(report.hours_five_minutes_behind)
        )?;
        say!("longest wait                           {} minutes", report.longest_wait_minutes)?;
        say!("used of what is paid for               {}", percent(report.used))?;
        say!("changes of capacity                    {}", report.changes)?;
        say!("most decreases of a day                {}", report.most_decreases_of_a_day)?;
        say!("write units of a month, provisioned    ${:.2}", report.provisioned_dollars_a_month)?;
        say!("the same on demand                     ${:.2}", report.on_demand_dollars_a_month)
    }
}

impl Simulation {
    fn new(load: Load) -> Self {
        Self {
            load,
            used: Vec::new(),
            queue: VecDeque::new(),
            set: None,
            saved: 0.0,
            decreases: Decreases::default(),
            woken: None,
            changes: 0,
            most_decreases: 0,
        }
    }

    fn run(mut self) -> CapacityReport {
        let begun = WEEKS as usize * WEEK;
        let hours = (self.load.minutes.len() - begun) / HOUR;
        let (mut behind, mut far_behind) = (vec![false; hours], vec![false; hours]);
        let (mut longest, mut paid) = (0, 0.0);
        for minute in 0..begun + hours * HOUR {
            self.wake(minute);
            self.write(minute);
            let waited = self.waited(minute);
            if minute < begun {
                continue;
            }
            let hour = (minute - begun) / HOUR;
            behind[hour] |= waited > 1;
            far_behind[hour] |= waited > 5;
            longest = longest.max(waited);
            paid += self.set.map_or(self.used[minute], |set| 60.0 * set.writes as f64);
        }
        let share = |of: &[bool]| of.iter().filter(|it| **it).count() as f64 / hours as f64;
        let prices = Prices::default();
        let units = self.used[begun..].iter().sum::<f64>();
        let monthly = |dollars: f64| dollars / hours as f64 * MONTH;
        CapacityReport {
            hours,
            hours_behind: share(&behind),
            hours_five_minutes_behind: share(&far_behind),
            longest_wait_minutes: longest,
            used: units / paid,
            changes: self.changes,
            most_decreases_of_a_day: self.most_decreases,
            provisioned_dollars_a_month: monthly(
                paid / 3_600.0 * prices.dynamodb_write_capacity_hour,
            ),
            on_demand_dollars_a_month: monthly(units / 1e6 * prices.dynamodb_million_writes),
        }
    }

    fn at(&self, minute: usize) -> Timestamp {
        self.load.from.plus_millis(minute as i64 * MINUTE_MILLIS)
    }

    /// Minutes that the oldest message has waited.
    fn waited(&self, minute: usize) -> usize {
        self.queue.front().map_or(0, |(came, _)| minute - came)
    }

    /// What comes in a minute is written as far as the table has units.
    fn write(&mut self, minute: usize) {
        let came = self.load.minutes[minute];
        if came > 0.0 {
            self.queue.push_back((minute, came));
        }
        let set = self.set.map(|set| set.writes as f64);
        let room = set.map_or(f64::INFINITY, |set| 60.0 * set + self.saved);
        let mut left = room;
        while let Some((_, waiting)) = self.queue.front_mut() {
            let written = waiting.min(left);
            *waiting -= written;
            left -= written;
            if *waiting > 0.0 {
                break;
            }
            self.queue.pop_front();
        }
        let used = if room.is_finite() { room - left } else { came };
        self.saved = set.map_or(0.0, |set| left.min(SAVED * set));
        self.used.push(used);
    }

    /// Lets the keeper tick, if it is time or the alarm has woken it.
    fn wake(&mut self, minute: usize) {
        let is_behind = self.waited(minute) as u64 * 60 >= BEHIND.as_secs();
        let woken = *self.woken.get_or_insert(minute + WAKING);
        if !is_behind {
            self.woken = None;
        }
        let is_time = minute % TICK == FIRST_TICK || (is_behind && woken == minute);
        if is_time && minute > WEEK {
            self.tick(minute);
        }
    }

    fn tick(&mut self, minute: usize) {
        let now = self.at(minute);
        let day = |at: Timestamp| at.unix_millis() / (DAY as i64 * MINUTE_MILLIS);
        if self.decreases.last.is_some_and(|last| day(last) != day(now)) {
            self.decreases.today = 0;
        }
        let next = capacity::next(self.set, &self.measured(minute), self.decreases, now);
        let (Some(set), Some(to)) = (self.set, next) else {
            self.set = next;
            return;
        };
        if to == set {
            return;
        }
        if to.reads < set.reads || to.writes < set.writes {
            assert!(self.decreases.allow_another(now), "DynamoDB would refuse it");
            self.decreases = Decreases { today: self.decreases.today + 1, last: Some(now) };
            self.most_decreases = self.most_decreases.max(self.decreases.today);
        }
        self.changes += 1;
        self.set = next;
    }

    /// What the keeper would be told at a minute.
    fn measured(&self, minute: usize) -> Measured {
        let known = minute - LATE;
        let mean = |minutes: std::ops::Range<usize>| {
            let seconds = minutes.len() as f64 * 60.0;
            let used = &self.used[minutes.start.min(known)..minutes.end.min(known)];
            TableUsage { reads: 0.0, writes: used.iter().sum::<f64>() / seconds }
        };
        let hour_of = |minute: usize| minute - minute % HOUR;
        let ahead = hour_of(minute + (AHEAD_MILLIS / MINUTE_MILLIS) as usize);
        let mut hours = vec![hour_of(minute), ahead];
        hours.dedup();
        let weeks = hours
            .iter()
            .flat_map(|hour| (1..=WEEKS as usize).filter_map(|week| hour.checked_sub(week * WEEK)));
        let recent = (known - 5..known).map(|minute| self.used[minute] / 60.0).fold(0.0, f64::max);
        let day_ago = hour_of(minute) - DAY;
        Measured {
            same_hours: weeks.map(|hour| mean(hour..hour + HOUR)).collect(),
            last_day: (0..24)
                .map(|hour| mean(day_ago + hour * HOUR..day_ago + (hour + 1) * HOUR))
                .collect(),
            recent: TableUsage { reads: 0.0, writes: recent },
            oldest: Duration::from_secs(60 * self.waited(minute) as u64),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Eight weeks with busy hours from nine to five, a busy minute in each quarter, and chance.
    fn load(seed: u64) -> Load {
        let mut random = fastrand::Rng::with_seed(seed);
        let minute = |minute: usize| {
            let (hour, day) = (minute / HOUR % 24, minute / DAY % 7);
            let busy = if (9..17).contains(&hour) && day < 5 { 2_400.0 } else { 300.0 };
            let peak = if minute.is_multiple_of(15) { 4.0 } else { 0.8 };
            busy * peak * (0.8 + 0.4 * random.f64())
        };
        let from = "2026-01-05T00:00:00Z".parse().unwrap();
        Load { from, minutes: (0..8 * WEEK).map(minute).collect() }
    }

    #[test]
    fn what_repeats_by_the_week_hardly_waits() {
        let report = Simulation::new(load(1)).run();
        assert!(report.hours_behind < 0.25, "{report:?}");
        assert!(report.longest_wait_minutes <= 15, "{report:?}");
        assert!(report.most_decreases_of_a_day <= 27, "{report:?}");
        assert!(report.provisioned_dollars_a_month < report.on_demand_dollars_a_month);
    }

    /// Five times as much as ever, for a morning.
    #[test]
    fn a_day_like_no_other_is_caught_up_with() {
        let mut load = load(2);
        let begun = 6 * WEEK + DAY + 3 * HOUR;
        load.minutes[begun..begun + 4 * HOUR].iter_mut().for_each(|events| *events *= 5.0);
        let report = Simulation::new(load).run();
        assert!(report.longest_wait_minutes <= 15, "{report:?}");
    }

    /// All that comes is written, in turn.
    #[test]
    fn nothing_is_lost_on_the_way() {
        let load = load(3);
        let came: f64 = load.minutes.iter().sum();
        let mut simulation = Simulation::new(load);
        for minute in 0..simulation.load.minutes.len() {
            simulation.wake(minute);
            simulation.write(minute);
        }
        let left: f64 = simulation.queue.iter().map(|(_, events)| events).sum();
        let used: f64 = simulation.used.iter().sum();
        assert!((came - used - left).abs() < came * 1e-9);
    }
}
