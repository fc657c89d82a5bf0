//! A crowd of customers is decided within ten minutes of the keeper's time, each once, also if ticks die half-way.
//!
//! In simulated time, with tables that admit what new ones do. Half of the customers are of one tenant, the others of fifteen. A tenth
//! come every day; all others came once, so on each later day something begins to hold of them. All of it:
//! `cargo test --locked -p tests --test functions daily::crowd -- --include-ignored --show-output`.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use nagare_local::faults::{Faults, Faulty};
use nagare_telemetry::faults::FaultsHandle;
use shared::history::tenants::Alerts;
use shared::platform::dynamo::Query;
use tokio::time::{Instant, timeout};

use super::*;
use crate::platform::units::Units;

/// What the template gives a tick.
const TIMEOUT_MILLIS: i64 = 900_000;
/// What all ticks of a day may take together.
const MOST_SECONDS: f64 = 600.0;
/// New tables on demand, and one partition.
const RATES: &str = "writes=4000,reads=12000,partition-writes=1000,partition-reads=3000";
const OTHER_TENANTS: usize = 15;
/// The first begins to hold on the second day, the other on the third, on which the score is below its bound as well.
const RULES: [&str; 2] = ["one-day", "two-days"];

const HEAD: &str =
    "customers   slow  ticks  seconds     calls      reads     writes  refused  throttled   told";

struct Crowd {
    counter: UnitCounter,
    faults: FaultsHandle,
    customers: usize,
    folded: i64,
}

/// What the ticks of a day took.
#[derive(Debug)]
struct Walk {
    ticks: usize,
    seconds: f64,
    told: u64,
}

fn tenant_of(customer: usize) -> String {
    match customer % 2 {
        0 => "acme".to_owned(),
        _ => format!("tenant-{:02}", customer / 2 % OTHER_TENANTS),
    }
}

/// Of either kind of tenant.
fn comes_daily(customer: usize) -> bool {
    customer % 20 < 2
}

/// Day by day, what begins to hold on it of those who came once.
fn begins(day: u32) -> Vec<&'static str> {
    let rule = day.checked_sub(2).map(|nth| RULES[nth as usize]);
    rule.into_iter().chain((day == 3).then_some("health")).collect()
}

impl Crowd {
    async fn of(customers: usize) -> Self {
        let faults = FaultsHandle::default();
        let faulty = |inside| SharedHttpConnector::new(Faulty::by(&faults, inside));
        let counter = UnitCounter::with_bus(faulty);
        let mut crowd = Self { counter, faults, customers, folded: 0 };
        let first = at(1, "00:00:00");
        crowd.world().set_clock(&first);
        crowd.world().keeper.tick(soon()).await.unwrap();
        for tenant in crowd.tenants() {
            let rules = RULES.into_iter().zip(1..).map(|(rule, days)| silent(rule, &first, days));
            for mut definition in rules.chain([score("health", &first, 10)]) {
                definition["tenant_id"] = json!(tenant);
                crowd.world().done(&[definition]).await;
            }
        }
        crowd.come(1, |_| true).await;
        crowd
    }

    fn world(&self) -> &World {
        &self.counter.world
    }

    fn tenants(&self) -> BTreeSet<String> {
        (0..self.customers).map(tenant_of).collect()
    }

    /// An event of each of these customers on a day, folded on that day.
    async fn come(&mut self, day: u32, who: fn(usize) -> bool) {
        self.world().set_clock(&at(day, "13:00:00"));
        let mut of_tenants = BTreeMap::<String, Vec<Value>>::new();
        for customer in (0..self.customers).filter(|customer| who(*customer)) {
            let (tenant, id) = (tenant_of(customer), format!("c{customer:06}"));
            let event = event(&tenant, &id, &format!("e{day}"), &at(day, "12:00:00"));
            of_tenants.entry(tenant).or_default().push(event);
        }
        for events in of_tenants.values().flat_map(|events| events.chunks(100)) {
            let command = json!({"type": "events.recorded", "events": events});
            self.world().done(&[command]).await;
        }
        let records = self.world().engine.stream_of(TABLE, self.folded, usize::MAX).unwrap();
        for some in records.chunks(1_000) {
            let batch = event_of(TABLE, "shard", some).unwrap();
            let answer = self.world().fold(batch, soon()).await.unwrap();
            assert_eq!(answer.batch_item_failures, []);
        }
        self.folded = records.last().map_or(self.folded, |record| record.number);
    }

    fn throttled(&self) -> u64 {
        let injected = self.faults.injected().into_iter();
        injected.filter(|(name, _)| *name != "slow").map(|(_, calls)| calls).sum()
    }

    /// Decides a day with calls of up to this long, half of that on average. The first ticks die, each after its time.
    async fn decide(&self, day: u32, slow: &str, deaths: &[Duration]) -> Walk {
        let (world, throttled) = (self.world(), self.throttled());
        let told = world.bus.behind(u64::MAX).last;
        let _prepared = self.counter.take_with_rounds();
        let faults: Faults = format!("{RATES},slow={slow}").parse().unwrap();
        self.faults.set(faults.measured());
        let (mut ticks, mut seconds) = (0, 0.0);
        loop {
            let (hour, minute) = (2 + ticks / 4, ticks % 4 * 15);
            world.set_clock(&at(day + 1, &format!("{hour:02}:{minute:02}:00")));
            let (now, begun) = (world.clock.now(), Instant::now());
            let end = u64::try_from(now.plus_millis(TIMEOUT_MILLIS).unix_millis()).unwrap();
            let tick = world.keeper.tick(Deadline::of_invocation(end, now));
            let lives = deaths.get(ticks).copied().unwrap_or(Duration::MAX);
            let ticked = timeout(lives, tick).await;
            (ticks, seconds) = (ticks + 1, seconds + begun.elapsed().as_secs_f64());
            if let Ok(ticked) = ticked {
                let ticked = ticked.unwrap();
                assert_eq!(ticked.failed, 0);
                if !ticked.more_due {
                    break;
                }
            }
            assert!(ticks < 20, "it never ends");
        }
        self.faults.set(Faults::default());
        let told = world.bus.behind(u64::MAX).last - told;
        let throttled = self.throttled() - throttled;
        let (Units { calls, reads, writes, silent }, _) = self.counter.take_with_rounds();
        println!("{HEAD}");
        println!(
            "{:>9}{slow:>7}{ticks:>7}{seconds:>9.1}{calls:>10}{reads:>11.0}{writes:>11.0}{silent:>9}{throttled:>11}{told:>7}",
            self.customers
        );
        Walk { ticks, seconds, told }
    }

    /// Compares what was told by the end of a day, and what is noted of each customer, with a recount.
    async fn compare(&self, last_day: u32) {
        let once: BTreeSet<_> = (0..self.customers).filter(|it| !comes_daily(*it)).collect();
        let days = (1..=last_day).flat_map(|day| begins(day).into_iter().map(move |it| (it, day)));
        let expected: BTreeMap<_, _> =
            days.map(|(of, day)| (format!("{of} 2026-11-{day:02}"), once.clone())).collect();
        let (mut told, mut decided) = (BTreeMap::<_, BTreeSet<_>>::new(), BTreeSet::new());
        for tenant in self.tenants() {
            let tenant = TenantId::new(tenant).unwrap();
            let (alerts, mut behind) = (Alerts::new(&self.world().tables.ledger), None);
            loop {
                let (page, is_more) = alerts.page(&tenant, behind.as_ref(), 1_000).await.unwrap();
                behind = page.last().map(|alert| (alert.decided_at, alert.alert_id.clone()));
                for alert in page {
                    let of = alert.source.to_string();
                    let of = of.split_once('#').unwrap().1;
                    let customer = number(&tenant, alert.customer_id.as_str());
                    let told = told.entry(format!("{of} {}", alert.when_name())).or_default();
                    assert!(told.insert(customer), "told twice: {alert:?}");
                    assert_eq!(alert.events, 1, "{alert:?}");
                }
                if !is_more {
                    break;
                }
            }
            let query = Query {
                keys: Some("pk = :pk"),
                values: vec![(":pk", text(keys::daily(&tenant)))],
                ..Query::default()
            };
            for row in self.world().tables.ledger.table().all(query).await.unwrap() {
                assert!(decided.insert(number(&tenant, row.text("sk").unwrap())));
                let version = row.number("version").unwrap();
                assert_eq!(version, i64::from(last_day) - 1, "once on each day of a change");
            }
        }
        assert!(told == expected, "told {:?}, expected {:?}", counts(&told), counts(&expected));
        assert_eq!(decided, once, "nothing was decided of those who come daily");
    }
}

fn counts(told: &BTreeMap<String, BTreeSet<usize>>) -> Vec<(&str, usize)> {
    told.iter().map(|(of, who)| (of.as_str(), who.len())).collect()
}

/// Which customer it is. They are of this tenant.
fn number(tenant: &TenantId, customer: &str) -> usize {
    let number = customer.strip_prefix('c').unwrap().parse().unwrap();
    assert_eq!(tenant_of(number), tenant.as_str());
    number
}

fn once(customers: usize) -> u64 {
    (0..customers).filter(|customer| !comes_daily(*customer)).count() as u64
}

async fn days_of(customers: usize, most_seconds: f64) {
    let mut crowd = Crowd::of(customers).await;
    let once = once(customers);
    let quiet = crowd.decide(1, "20ms", &[]).await;
    crowd.come(2, comes_daily).await;
    let near = crowd.decide(2, "20ms", &[]).await;
    crowd.come(3, comes_daily).await;
    let far = crowd.decide(3, "80ms", &[]).await;
    crowd.compare(3).await;
    assert_eq!([quiet.told, near.told, far.told], [0, once, 2 * once]);
    for walk in [quiet, near, far] {
        assert!(walk.seconds <= most_seconds, "{walk:?}");
    }
}

/// Two ticks die after this long.
async fn a_day_with_deaths(customers: usize, most_seconds: f64, lives: Duration) {
    let mut crowd = Crowd::of(customers).await;
    crowd.come(2, comes_daily).await;
    let walk = crowd.decide(2, "20ms", &[lives, lives]).await;
    crowd.compare(2).await;
    assert!(walk.ticks > 2 && walk.told >= once(customers), "{walk:?}");
    assert!(walk.seconds <= most_seconds, "{walk:?}");
}

#[tokio::test(start_paused = true)]
async fn a_crowd_is_decided_once_within_its_time() {
    days_of(600, MOST_SECONDS / 20.0).await;
}

#[tokio::test(start_paused = true)]
async fn a_crowd_is_decided_once_if_ticks_die() {
    a_day_with_deaths(600, MOST_SECONDS / 20.0, Duration::from_millis(300)).await;
}

#[tokio::test(start_paused = true)]
#[ignore = "some ten minutes of processor time"]
async fn a_hundred_thousand_customers_are_decided_within_ten_minutes() {
    days_of(100_000, MOST_SECONDS).await;
}

#[tokio::test(start_paused = true)]
#[ignore = "some ten minutes of processor time"]
async fn a_hundred_thousand_customers_are_decided_once_if_ticks_die() {
    a_day_with_deaths(100_000, MOST_SECONDS, Duration::from_secs(45)).await;
}
