//! `nagare-bench events`: events of one tenant, a hundred in a message, through the writer that ships, into the table of a period.
//! One customer has a share of them, and several keys, as the keeper gives them to who needs them. Projectors fold nothing here: the
//! stream of a period is read only once it is mapped.

use clap::Args;
use fastrand::Rng;
use nagare::Failure;
use nagare::print::{print_json, say};
use nagare_local::schema;
use serde::Serialize;
use serde_json::{Value, json};
use shared::command::Command;
use shared::history::events::{
    Customer, Event, EventKey, EventSettings, EventsRecorded, MOST_EVENTS, MadeTable, PeriodState,
};
use shared::platform::values::{CustomerId, EventId, EventName, Payload, TenantId, Timestamp};
use tokio::time::Instant;

use super::deliveries::{SEED, repeated};
use super::running::{Running, WRITERS, queue, send};
use super::stage::{Stage, broken};
use super::{Setting, in_flight, number, share};

const TENANT: &str = "bench";
/// Bytes of the properties of an event. With keys and names it takes a write unit.
const PROPERTIES: usize = 400;

#[derive(Debug, Args)]
pub(crate) struct Events {
    /// How many events there are.
    #[arg(long, value_name = "N", default_value_t = 100_000, value_parser = number)]
    events: usize,
    /// How many customers they are of.
    #[arg(long, value_name = "N", default_value_t = 1_000, value_parser = number)]
    customers: usize,
    /// The share of events that one customer has, from 0 to 1.
    #[arg(long, value_name = "SHARE", default_value = "0.1", value_parser = share)]
    busiest: f64,
    /// Over how many keys that customer is spread.
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u32).range(1..=64))]
    keys: u32,
    /// The share of messages that are delivered twice, from 0 to 1.
    #[arg(long, value_name = "SHARE", default_value = "0.05", value_parser = share)]
    duplicates: f64,
    /// What the tables admit, as `nagare up` takes it; several times, for one run each.
    #[arg(
        long,
        value_name = "FAULTS",
        default_value = "writes=22000,partition-writes=1000,slow=10ms"
    )]
    faults: Vec<Setting>,
    /// Invocations of the writer at once.
    #[arg(long, value_name = "N", default_value_t = WRITERS, value_parser = in_flight)]
    writers: usize,
    /// Print one JSON object a line.
    #[arg(long)]
    json: bool,
}

/// What a run took.
#[derive(Debug, Serialize)]
struct EventsMeasurement {
    faults: String,
    /// Different events, and how often they were delivered.
    events: usize,
    deliveries: usize,
    /// From the first delivery to when the last was acknowledged.
    seconds: f64,
    /// Events, not deliveries.
    per_second: f64,
    /// For each event, of all tables: those of what was refused as well.
    write_units_each: f64,
    throttled_calls: u64,
    dead_letters: u64,
    /// Events that are in the table in the end.
    stored: u64,
}

impl Events {
    pub(super) async fn run(self) -> Result<(), Failure> {
        let mut all = Vec::new();
        for setting in &self.faults {
            all.push(self.measure(setting).await?);
        }
        print(&all, self.json)
    }

    async fn measure(&self, setting: &Setting) -> Result<EventsMeasurement, Failure> {
        let stage = Stage::new(&setting.faults)?;
        let now = stage.clock.now();
        make_period(&stage, &self.customer(0)?, self.keys, now).await?;
        stage.meter.reset();
        let deliveries = repeated(self.messages(now)?, self.duplicates);
        send(&queue(&stage)?, &deliveries)?;
        let delivered = deliveries.iter().map(|message| match message {
            Command::RecordEvents(EventsRecorded { events, .. }) => events.len(),
            _ => 0,
        });
        let delivered = delivered.sum();
        let (running, begun) = (Running::start(&stage, self.writers)?, Instant::now());
        running.end().await?;
        let (seconds, measured) = (begun.elapsed().as_secs_f64(), stage.meter.read());
        Ok(EventsMeasurement {
            faults: setting.text.clone(),
            events: self.events,
            deliveries: delivered,
            seconds,
            per_second: self.events as f64 / seconds,
            write_units_each: (measured.all_units() + measured.refused_units) / self.events as f64,
            throttled_calls: measured.throttled,
            dead_letters: stage.dead_letters()?,
            stored: stored(&stage, now)?,
        })
    }

    fn customer(&self, number: usize) -> Result<Customer, Failure> {
        let customer_id = CustomerId::new(format!("customer-{number:05}"))?;
        Ok(Customer { tenant_id: TenantId::new(TENANT)?, customer_id })
    }

    /// The events in their order, a hundred in a message.
    fn messages(&self, now: Timestamp) -> Result<Vec<Command>, Failure> {
        let mut random = Rng::with_seed(SEED);
        let properties = format!("\"{}\"", "p".repeat(PROPERTIES - 2));
        let properties = Payload::parse(&properties).map_err(|e| broken(&e))?;
        let name = EventName::new("opened").map_err(|e| broken(&e))?;
        let mut event = |number: usize| {
            let is_busiest = random.f64() < self.busiest;
            let who = if is_busiest { 0 } else { random.usize(0..self.customers) };
            // A millisecond apart.
            let before = i64::try_from(self.events - number).unwrap_or(0);
            let event_id = EventId::new(format!("event-{number:07}"))?;
            let (customer, at) = (self.customer(who)?, now.plus_millis(-before));
            let key = EventKey { customer, at, event_id };
            Ok::<_, Failure>(Event { key, name: name.clone(), properties: properties.clone() })
        };
        let firsts = (0..self.events).step_by(MOST_EVENTS);
        let messages = firsts.map(|first| {
            let numbers = first..(first + MOST_EVENTS).min(self.events);
            let events = numbers.map(|number| event(number).map(Into::into));
            let events = events.collect::<Result<_, _>>()?;
            Ok(Command::RecordEvents(EventsRecorded::new(TenantId::new(TENANT)?, events)))
        });
        messages.collect()
    }
}

/// Makes the tables of the periods that the events are of, as the keeper does.
async fn make_period(
    stage: &Stage,
    busiest: &Customer,
    keys: u32,
    now: Timestamp,
) -> Result<(), Failure> {
    let events = &stage.tables.events;
    let period = EventSettings::default().period_of(now);
    for period in [period.previous(), period] {
        let table = events.tables().name(period);
        let made = schema::period_table(&table).to_string();
        let (status, answer) = stage.engine.call("CreateTable", made.as_bytes());
        if status != 200 {
            return Err(Failure::Unreachable(answer));
        }
        let periods = events.periods();
        periods.plan(period).await?;
        let row = periods.row(period).await?;
        let mut row = row.ok_or_else(|| broken(&"a period that was planned is not there"))?;
        row.spread.insert(busiest.clone(), keys);
        (row.table, row.state) =
            (Some(MadeTable { arn: table, created_millis: 0 }), PeriodState::Made);
        periods.replace(&row).await?;
    }
    Ok(())
}

/// How many events there are.
fn stored(stage: &Stage, now: Timestamp) -> Result<u64, Failure> {
    let (tables, period) = (stage.tables.events.tables(), EventSettings::default().period_of(now));
    let mut stored = 0;
    for period in [period.previous(), period] {
        let mut scan = json!({"TableName": tables.name(period), "Select": "COUNT"});
        loop {
            let (status, answer) = stage.engine.call("Scan", scan.to_string().as_bytes());
            let mut page: Value = serde_json::from_str(&answer).map_err(|e| broken(&e))?;
            if status != 200 {
                return Err(Failure::Unreachable(answer));
            }
            stored += page["Count"].as_u64().unwrap_or(0);
            match page["LastEvaluatedKey"].take() {
                Value::Null => break,
                last => scan["ExclusiveStartKey"] = last,
            }
        }
    }
    Ok(stored)
}

fn print(all: &[EventsMeasurement], json: bool) -> Result<(), Failure> {
    if json {
        return all.iter().try_for_each(print_json);
    }
    say!("    events  deliveries  a second  units each  throttled  dead letters      stored")?;
    all.iter().try_for_each(|run| {
        say!(
            "{:>10}{:>12}{:>10.0}{:>12.3}{:>11}{:>14}{:>12}  {}",
            run.events,
            run.deliveries,
            run.per_second,
            run.write_units_each,
            run.throttled_calls,
            run.dead_letters,
            run.stored,
            run.faults
        )
    })
}

/// In simulated time: `cd lab && cargo test --locked -p nagare-bench events::simulated -- --include-ignored --show-output`.
#[cfg(test)]
mod simulated {
    #![allow(clippy::unwrap_used)]

    use super::*;

    async fn measured(events: usize) -> EventsMeasurement {
        let bench = Events {
            events,
            customers: 1_000,
            busiest: 0.1,
            keys: 4,
            duplicates: 0.05,
            faults: Vec::new(),
            writers: WRITERS,
            json: false,
        };
        let setting = "writes=22000,partition-writes=1000,slow=10ms".parse().unwrap();
        let run = bench.measure(&setting).await.unwrap();
        print(std::slice::from_ref(&run), false).unwrap();
        assert_eq!((run.dead_letters, run.stored), (0, events as u64), "{run:?}");
        assert!(run.write_units_each <= 1.1, "{run:?}");
        run
    }

    #[tokio::test(start_paused = true)]
    async fn each_event_is_stored_once_for_a_write_unit() {
        measured(5_000).await;
    }

    #[tokio::test(start_paused = true)]
    #[ignore = "some ten minutes of processor time, and 5 GB"]
    async fn twenty_thousand_events_a_second_are_taken_for_a_minute() {
        let run = measured(1_200_000).await;
        assert!(run.per_second >= 20_000.0, "{run:?}");
    }
}
