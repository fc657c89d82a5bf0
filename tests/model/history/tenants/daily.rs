//! Whether alerts that are decided by day are right.
//!
//! When a keeper has looked at a customer nobody outside knows: at some moment from the begin of the first tick after the day was due to the end of
//! the first whole tick that began after that. What was folded at that moment nobody knows either: all that had been worked off at its begin, and some
//! of what was delivered by its end. So a day has one outcome, or two that are both right. From these and from the days that have alerts follows, day after day, which
//! definitions may hold: where nothing is left, an alert is missing, or is there that nothing asked for.

use serde_json::Value;

use super::calendar::{Day, date, day_of, millis};
use super::commands::CUSTOMERS;
use super::effects::Stated;
use super::facts::{Facts, Tick};
use super::taken::Event;
use crate::platform::instants::DAY;

/// A day is decided so long after its end.
const DELAY: i64 = DAY / 12;
/// More events than these are not tried in all of their subsets.
const MOST_TRIED: usize = 10;

/// When a day may have been decided.
struct Window {
    from: i64,
    to: i64,
    /// Whether somebody was still at it then, who may decide late.
    is_overlapped: bool,
}

impl Window {
    fn of(day: Day, ticks: &[Tick]) -> Self {
        let due = (day + 1) * DAY + DELAY;
        let from = ticks.iter().filter(|it| it.ended >= due).map(|it| it.begun).min();
        let whole = ticks.iter().filter(|it| it.begun >= due && it.is_whole);
        let to = whole.map(|it| it.ended).min().unwrap_or(i64::MAX);
        let is_overlapped = ticks.iter().any(|it| it.begun < to && it.ended > to);
        Self { from: from.unwrap_or(i64::MAX), to, is_overlapped }
    }
}

/// What may have come of a day for a customer.
#[derive(Debug, Default, Clone, Copy)]
struct Outcomes {
    holds: bool,
    ceases: bool,
    is_skipped: bool,
}

/// An alert of a day, as it is listed.
struct Alert<'a> {
    said: &'a Value,
    customer: &'a str,
    day: Day,
    decided_at: i64,
    events: usize,
}

impl<'a> Alert<'a> {
    fn of(said: &'a Value) -> Self {
        let text = |name: &str| said[name].as_str().unwrap();
        let day = day_of(millis(&format!("{}T00:00:00.000Z", text("day"))));
        let (customer, decided_at) = (text("customer_id"), millis(text("decided_at")));
        let events = usize::try_from(said["decided_on"]["events"].as_u64().unwrap()).unwrap();
        Self { said, customer, day, decided_at, events }
    }

    fn is_about(&self, stated: &Stated, customer: &str, day: Day) -> bool {
        self.is_of(stated) && self.customer == customer && self.day == day
    }

    fn is_of(&self, stated: &Stated) -> bool {
        self.said[stated.definition.id_name()] == stated.definition.id
    }

    /// Whether a definition may have given it.
    fn may_be_of(&self, stated: &Stated, facts: &Facts) -> bool {
        let (definition, at) = (&stated.definition, self.decided_at);
        let alive = facts.ticks.iter().filter(|it| it.begun <= at && at <= it.ended);
        let Some(begun) = alive.map(|it| it.begun).min() else { return false };
        if !definition.is_daily()
            || !self.is_of(stated)
            || day_of(stated.recorded.maybe) > self.day
            || !stated.may_be_in_force(begun, at)
        {
            return false;
        }
        let window = Window::of(self.day, &facts.ticks);
        let is_due = window.from <= at && (window.is_overlapped || at <= window.to);
        let (sure, maybe) = facts.taken.folded([definition.tenant, self.customer], begun, at);
        is_due && may_hold(stated, &sure, &maybe, self.day, Some(self.events)).0
    }
}

/// Whether something may hold of a customer, and whether it may not, who did some things for sure and others perhaps; so many in all.
fn may_hold(
    stated: &Stated,
    sure: &[&Event],
    maybe: &[&Event],
    day: Day,
    in_all: Option<usize>,
) -> (bool, bool) {
    if maybe.len() > MOST_TRIED {
        return (true, true);
    }
    let (mut holds, mut ceases) = (false, false);
    for chosen in 0..1_usize << maybe.len() {
        let is_chosen = |n: &usize| chosen >> n & 1 == 1;
        let some = maybe.iter().enumerate().filter(|(n, _)| is_chosen(n)).map(|(_, it)| *it);
        let events: Vec<_> = sure.iter().copied().chain(some).collect();
        if in_all.is_none_or(|in_all| in_all == events.len()) {
            match stated.definition.holds(&events, day) {
                true => holds = true,
                false => ceases = true,
            }
        }
    }
    (holds, ceases)
}

/// Whether an alert of a day that is listed could have been given at all.
pub(super) fn is_possible(
    facts: &Facts,
    stated: &[Stated],
    tenant: &str,
    alert: &Value,
) -> Result<(), String> {
    let read = Alert::of(alert);
    let mut of_tenant = stated.iter().filter(|it| it.definition.tenant == tenant);
    match of_tenant.any(|it| read.may_be_of(it, facts)) {
        true => Ok(()),
        false => Err(format!("nothing that was folded by then asks {tenant} for {alert}")),
    }
}

/// Whether the alerts of days of a tenant are those that had to be given, and no others.
pub(super) fn check(
    facts: &Facts,
    stated: &[Stated],
    tenant: &str,
    alerts: &[Value],
    now: i64,
) -> Result<(), String> {
    let daily = |it: &&Stated| it.definition.tenant == tenant && it.definition.is_daily();
    let stated: Vec<_> = stated.iter().filter(daily).collect();
    let alerts: Vec<_> =
        alerts.iter().filter(|it| it.get("day").is_some()).map(Alert::of).collect();
    let givers: Vec<Vec<_>> = alerts
        .iter()
        .map(|alert| (0..stated.len()).filter(|n| alert.may_be_of(stated[*n], facts)).collect())
        .collect();
    if let Some(n) = givers.iter().position(Vec::is_empty) {
        return Err(format!(
            "nothing that was folded by then asks {tenant} for {}",
            alerts[n].said
        ));
    }
    for (nth, one) in stated.iter().enumerate() {
        for customer in CUSTOMERS {
            let of = |day| {
                let given = alerts.iter().zip(&givers);
                let given = given.filter(move |(alert, givers)| {
                    alert.is_about(one, customer, day) && givers.contains(&nth)
                });
                given.map(|(alert, givers)| (alert, givers.len() == 1)).collect()
            };
            follow(facts, one, customer, of, now)?;
        }
    }
    Ok(())
}

/// Goes through the days of a definition and a customer. `given` are the alerts that may be of a day, and whether they have to be its.
fn follow<'a, 'b: 'a>(
    facts: &Facts,
    stated: &Stated,
    customer: &str,
    given: impl Fn(Day) -> Vec<(&'a Alert<'b>, bool)>,
    now: i64,
) -> Result<(), String> {
    if stated.recorded.maybe == i64::MAX {
        return Ok(());
    }
    // Whether it may hold, and whether it may not.
    let mut state = (false, true);
    for day in day_of(stated.recorded.maybe)..day_of(now) {
        let window = Window::of(day, &facts.ticks);
        let outcomes = outcomes(facts, stated, customer, day, &window);
        let alerts = given(day);
        let is_given = alerts.iter().any(|(_, is_certain)| *is_certain);
        if alerts.iter().filter(|(_, is_certain)| *is_certain).count() > 1 {
            return Err(format!("{} is there twice", alerts[0].0.said));
        }
        let mut next = (false, false);
        if !is_given {
            next.0 |= state.0 && (outcomes.holds || outcomes.is_skipped);
            next.1 |= outcomes.ceases || (state.1 && outcomes.is_skipped);
        }
        if !alerts.is_empty() {
            next.0 |= state.1 && outcomes.holds;
        }
        if window.is_overlapped {
            next = (true, true);
        }
        if next == (false, false) {
            let what = if is_given { "should not give one" } else { "gives no alert" };
            let definition = stated.definition.body();
            return Err(format!(
                "{definition} {what} for {customer} on {}: {outcomes:?} after {state:?}",
                date(day)
            ));
        }
        state = next;
    }
    Ok(())
}

fn outcomes(facts: &Facts, stated: &Stated, customer: &str, day: Day, window: &Window) -> Outcomes {
    let is_recorded_by = |at: i64| day_of(at) <= day;
    if window.from == i64::MAX
        || !is_recorded_by(stated.recorded.maybe)
        || !stated.may_be_in_force(window.from, window.to)
    {
        return Outcomes { is_skipped: true, ..Outcomes::default() };
    }
    let of = [stated.definition.tenant, customer];
    let (sure, maybe) = facts.taken.folded(of, window.from, window.to);
    let (holds, ceases) = may_hold(stated, &sure, &maybe, day, None);
    let is_decided = window.to < i64::MAX
        && stated.recorded.surely < i64::MAX
        && is_recorded_by(stated.recorded.surely)
        && stated.is_in_force(window.from, window.to);
    Outcomes { holds, ceases, is_skipped: !is_decided }
}
