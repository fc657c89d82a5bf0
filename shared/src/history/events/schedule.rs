//! The steps of a period, and when they are due. Pure: the keeper executes them, and operators are shown them.

use super::settings::FINAL_AFTER_MILLIS;
use super::{EventSettings, Period, PeriodRow, PeriodState};
use crate::platform::values::Timestamp;

/// The number of periods planned after the current one.
const PLANNED_AHEAD: usize = 2;

/// The next step of a period.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    Make,
    Begin,
    End,
    /// Its table refuses puts.
    Seal,
    Archive,
    Verify,
    Drop,
    Expire,
}

/// A step, and when it is due.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Due {
    pub step: Step,
    /// From when on it is due.
    pub at: Timestamp,
}

impl Step {
    /// The state of the period after it. A deleted archive stays [`PeriodState::Dropped`].
    #[must_use]
    pub fn leads_to(self) -> PeriodState {
        match self {
            Self::Make => PeriodState::Made,
            Self::Begin => PeriodState::Current,
            Self::End => PeriodState::Past,
            Self::Seal => PeriodState::Sealed,
            Self::Archive => PeriodState::Archived,
            Self::Verify => PeriodState::Verified,
            Self::Drop | Self::Expire => PeriodState::Dropped,
        }
    }
}

/// The next step of a period; `None` if nothing is left to do, or an operator has to resolve a dispute first.
///
/// A period with an erasure in progress has no steps. A step that follows another one at once is due `now`. A table is made when the period
/// before it begins.
pub fn next(row: &PeriodRow, settings: &EventSettings, now: Timestamp) -> Option<Due> {
    let period = row.period;
    if row.forgetting {
        return None;
    }
    let (step, at) = match row.state {
        PeriodState::Planned => (Step::Make, period.previous().from()),
        PeriodState::Made => (Step::Begin, period.from()),
        PeriodState::Current => (Step::End, period.to()),
        PeriodState::Past => (Step::Seal, settings.sealed_from(period)),
        PeriodState::Sealed => (Step::Archive, now),
        PeriodState::Archived => (Step::Verify, now),
        PeriodState::Verified => {
            let changed = row.forgotten_at.map(|at| at.plus_millis(FINAL_AFTER_MILLIS));
            let at = settings.dropped_from(period);
            (Step::Drop, changed.map_or(at, |changed| at.max(changed)))
        }
        PeriodState::Dropped if !row.expired => {
            let kept = settings.archived_until(period)?;
            // An archive is not deleted before its table.
            (Step::Expire, kept.max(settings.dropped_from(period)))
        }
        PeriodState::Dropped | PeriodState::Disputed => return None,
    };
    Some(Due { step, at })
}

/// What each tick does with the stream of a period, whatever step is due.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StreamCare {
    /// Unmap it, once it has brought everything in the archive.
    Unmap,
    /// End the dispute, once it has brought everything in the archive.
    Heal,
}

/// What to do with the stream of a period, if anything. `None` during an erasure.
pub fn stream_care(row: &PeriodRow) -> Option<StreamCare> {
    if row.forgetting || row.dropping {
        return None;
    }
    match row.state {
        PeriodState::Disputed => row.heals.then_some(StreamCare::Heal),
        PeriodState::Verified => (!row.folded).then_some(StreamCare::Unmap),
        _ => None,
    }
}

/// The periods that have to be planned at an instant, earliest first: the open ones, and two ahead.
pub fn planned(settings: &EventSettings, now: Timestamp) -> Vec<Period> {
    let current = settings.period_of(now);
    let open = std::iter::successors(Some(current), |period| Some(period.previous()));
    let mut periods: Vec<_> = open.take_while(|it| now < settings.closes_at(*it)).collect();
    periods.reverse();
    let ahead = std::iter::successors(Some(current.next()), |period| Some(period.next()));
    periods.extend(ahead.take(PLANNED_AHEAD));
    periods
}

/// The row of another length that overlaps a period: both would accept the same events.
pub fn overlapping(period: Period, rows: &[PeriodRow]) -> Option<&PeriodRow> {
    rows.iter().find(|row| {
        let other = row.period;
        other.length() != period.length()
            && other.from() < period.to()
            && period.from() < other.to()
    })
}

/// True if events of a period may be in flight, or will be within a day, so that its table should exist.
pub fn wants_table(period: Period, settings: &EventSettings, now: Timestamp) -> bool {
    const DAY_MILLIS: i64 = 86_400_000;
    period.from() < now.plus_millis(DAY_MILLIS) && now < settings.closes_at(period)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::history::events::PeriodLength;

    const SETTINGS: EventSettings = EventSettings {
        length: PeriodLength::Month,
        lateness_days: 7,
        days: 35,
        archive_days: 400,
        earliest: EventSettings::EARLIEST,
    };
    const STATES: [PeriodState; 9] = [
        PeriodState::Planned,
        PeriodState::Made,
        PeriodState::Current,
        PeriodState::Past,
        PeriodState::Sealed,
        PeriodState::Archived,
        PeriodState::Verified,
        PeriodState::Dropped,
        PeriodState::Disputed,
    ];

    fn at(text: &str) -> Timestamp {
        text.parse().expect("an instant")
    }

    fn row(state: PeriodState) -> PeriodRow {
        PeriodRow { state, ..PeriodRow::planned("2026-11".parse().expect("a period")) }
    }

    #[test]
    fn each_state_says_what_is_next() {
        let now = at("2026-11-20T12:00:00Z");
        let steps = STATES.map(|state| {
            let due = next(&row(state), &SETTINGS, now)?;
            Some((due.step, due.at.to_string()))
        });
        let due = |step, at: &str| Some((step, format!("{at}.000Z")));
        assert_eq!(
            steps,
            [
                due(Step::Make, "2026-10-01T00:00:00"),
                due(Step::Begin, "2026-11-01T00:00:00"),
                due(Step::End, "2026-12-01T00:00:00"),
                due(Step::Seal, "2026-12-08T01:00:00"),
                due(Step::Archive, "2026-11-20T12:00:00"),
                due(Step::Verify, "2026-11-20T12:00:00"),
                due(Step::Drop, "2027-01-05T00:00:00"),
                due(Step::Expire, "2028-01-05T00:00:00"),
                None,
            ]
        );
        let forgetting = PeriodRow { forgetting: true, ..row(PeriodState::Past) };
        assert_eq!(next(&forgetting, &SETTINGS, now), None);
        let expired = PeriodRow { expired: true, ..row(PeriodState::Dropped) };
        assert_eq!(next(&expired, &SETTINGS, now), None);
        let for_ever = EventSettings { archive_days: 0, ..SETTINGS };
        assert_eq!(next(&row(PeriodState::Dropped), &for_ever, now), None);
        let soon = EventSettings { archive_days: 1, ..SETTINGS };
        let expiry = next(&row(PeriodState::Dropped), &soon, now).map(|due| due.at);
        assert_eq!(expiry, Some(at("2027-01-05T00:00:00Z")), "before its table");
        let short = EventSettings { days: 7, ..SETTINGS };
        let dropped = next(&row(PeriodState::Verified), &short, now).map(|due| due.at);
        assert_eq!(dropped, Some(at("2026-12-09T01:00:00Z")), "a day after it is sealed");
        let forgotten = Some(at("2027-01-04T12:00:00Z"));
        let forgotten = PeriodRow { forgotten_at: forgotten, ..row(PeriodState::Verified) };
        let dropped = next(&forgotten, &SETTINGS, now).map(|due| due.at);
        assert_eq!(dropped, Some(at("2027-01-05T12:00:00Z")), "a day after it was changed");
    }

    #[test]
    fn a_stream_is_unmapped_once_it_is_folded() {
        let care = |state, folded| stream_care(&PeriodRow { folded, ..row(state) });
        for state in STATES {
            let mapped = (state == PeriodState::Verified).then_some(StreamCare::Unmap);
            assert_eq!(care(state, false), mapped, "{state}");
            assert_eq!(care(state, true), None, "{state}");
        }
        let disputed = PeriodRow { heals: true, ..row(PeriodState::Disputed) };
        assert_eq!(stream_care(&disputed), Some(StreamCare::Heal));
        let forgetting = PeriodRow { forgetting: true, ..disputed };
        assert_eq!(stream_care(&forgetting), None);
        let dropping = PeriodRow { dropping: true, ..row(PeriodState::Verified) };
        assert_eq!(stream_care(&dropping), None);
    }

    /// Each step leads to a state whose next step is another one, to the end.
    #[test]
    fn steps_lead_to_the_end() {
        let (mut row, mut steps) = (row(PeriodState::Planned), Vec::new());
        while let Some(due) = next(&row, &SETTINGS, SETTINGS.earliest) {
            steps.push(due.step);
            row.state = due.step.leads_to();
            row.expired = due.step == Step::Expire;
        }
        assert_eq!(steps.len(), 8);
    }

    #[test]
    fn open_periods_and_two_ahead_are_planned() {
        let planned = |length, now: &str| {
            let settings = EventSettings { length, ..SETTINGS };
            let periods = planned(&settings, at(now));
            periods.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ")
        };
        let months = "2026-11 2026-12 2027-01 2027-02";
        assert_eq!(planned(PeriodLength::Month, "2026-12-07T23:59:59.999Z"), months);
        let months = "2026-12 2027-01 2027-02";
        assert_eq!(planned(PeriodLength::Month, "2026-12-08T00:00:00Z"), months);
        let weeks = "2026-W46 2026-W47 2026-W48 2026-W49";
        assert_eq!(planned(PeriodLength::Week, "2026-11-20T12:00:00Z"), weeks);
        let days = planned(PeriodLength::Day, "2026-11-20T12:00:00Z");
        assert!(days.starts_with("2026-11-13 ") && days.ends_with(" 2026-11-22"), "{days}");
    }

    #[test]
    fn what_overlaps_has_another_length() {
        let rows =
            ["2026-11", "2026-12"].map(|it| PeriodRow::planned(it.parse().expect("a period")));
        let found = |period: &str| {
            let found = overlapping(period.parse().expect("a period"), &rows);
            found.map(|row| row.period.to_string())
        };
        assert_eq!(found("2026-11"), None);
        assert_eq!(found("2027-01"), None);
        assert_eq!(found("2026-11-30").as_deref(), Some("2026-11"));
        assert_eq!(found("2026-W44").as_deref(), Some("2026-11"), "it ends on November 1st");
        assert_eq!(found("2026-10-31"), None);
    }
}
