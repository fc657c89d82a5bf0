//! Events by UTC day, as bars.

use shared::history::events::PeriodLength;
use shared::history::summaries::{Day, Days, day_of, start_of};

use super::*;

/// Days that are shown, today included.
const SHOWN: Day = 60;
/// What a day is wide, and how much of it is its bar, in units of the picture.
const WIDTH: u32 = 4;
const BAR: u32 = 3;
/// What the picture is high.
const HEIGHT: f64 = 40.0;
/// The least that a day with any event is high.
const LEAST: f64 = 2.0;

fn today() -> Day {
    day_of(clock::clock().now())
}

/// The first day that is shown.
pub(super) fn first() -> Day {
    (today() + 1).saturating_sub(SHOWN)
}

/// What the API says of days: `[{"date","count"}]`.
pub(super) fn of_api(all: &Value) -> Days {
    let mut days = Days::default();
    for day in all.as_array().into_iter().flatten() {
        let date = day["date"].as_str().and_then(|date| date.parse::<Period>().ok());
        if let (Some(date), Some(count)) = (date, day["count"].as_u64()) {
            days.add(day_of(date.from()), count);
        }
    }
    days
}

/// The latest days, and the same as a table behind a click.
pub(super) fn figure(what: &str, days: &Days) -> Markup {
    let shown: Vec<_> = days.iter().filter(|(day, _)| *day >= first()).collect();
    html! {
        (picture("days", what, days))
        p class="quiet hint" { (layout::counted(sum(&shown), "event", "events")) " in the last " (SHOWN) " days (UTC), at most " (highest(&shown)) " a day" }
        @if !shown.is_empty() {
            details class="more" {
                summary { "As numbers" }
                div class="scroll" {
                    table {
                        thead { tr { th scope="col" { "Day" } th scope="col" { "Events" } } }
                        tbody {
                            @for (day, count) in shown.iter().rev() {
                                tr { th scope="row" { (name(*day)) } td { (count) } }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// The bars alone.
pub(super) fn picture(class: &str, what: &str, days: &Days) -> Markup {
    let from = first();
    let shown: Vec<_> = days.iter().filter(|(day, _)| (from..=today()).contains(day)).collect();
    let highest = highest(&shown);
    let label = format!(
        "{what}: {} in the last {SHOWN} days, at most {highest} a day",
        layout::counted(sum(&shown), "event", "events")
    );
    html! {
        svg class=(class) role="img" viewBox=(format!("0 0 {} {HEIGHT}", SHOWN * WIDTH)) preserveAspectRatio="none" aria-label=(label) {
            @for (day, count) in shown {
                @let height = (HEIGHT * count as f64 / highest.max(1) as f64).max(LEAST);
                rect x=((day - from) * WIDTH) y=(format!("{:.1}", HEIGHT - height)) width=(BAR) height=(format!("{height:.1}")) {
                    title { (name(day)) ": " (count) }
                }
            }
        }
    }
}

fn sum(days: &[(Day, u64)]) -> u64 {
    days.iter().fold(0, |sum, (_, count)| sum.saturating_add(*count))
}

fn highest(days: &[(Day, u64)]) -> u64 {
    days.iter().map(|(_, count)| *count).max().unwrap_or(0)
}

fn name(day: Day) -> String {
    PeriodLength::Day.period_of(start_of(day)).to_string()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_highest_day_is_as_high_as_the_picture_and_what_is_older_is_left_out() {
        let today = today();
        let days = of_api(&json!([
            { "date": name(today), "count": 8 },
            { "date": name(today - 1), "count": 4 },
            { "date": name(today - 2), "count": 0 },
            { "date": name(today - SHOWN + 1), "count": 1 },
            { "date": name(today - SHOWN), "count": 100 },
            { "date": "no day", "count": 100 },
        ]));
        let shown = picture("days", "login", &days).into_string();
        assert_eq!(shown.matches("<rect").count(), 3, "{shown}");
        let last = (SHOWN - 1) * WIDTH;
        for bar in [
            format!(r#"x="{last}" y="0.0" width="{BAR}" height="40.0"><title>{}: 8"#, name(today)),
            format!(r#"x="{}" y="20.0" width="{BAR}" height="20.0""#, last - WIDTH),
            format!(r#"x="0" y="35.0" width="{BAR}" height="5.0""#),
        ] {
            assert!(shown.contains(&bar), "{bar} in {shown}");
        }
        assert!(shown.contains("login: 13 events in the last 60 days, at most 8 a day"), "{shown}");
    }
}
