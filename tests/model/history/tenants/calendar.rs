//! UTC days, weeks and months, by arithmetic of this test's own.

use crate::platform::instants::DAY;

const HOUR: i64 = DAY / 24;

/// A day, counted from 1970-01-01.
pub(super) type Day = i64;

/// The day that an instant lies in.
pub(super) fn day_of(millis: i64) -> Day {
    millis.div_euclid(DAY)
}

/// The first day of a year, by the rule of leap years.
fn first_of_year(year: i64) -> Day {
    let before = year - 1;
    let leaps = |year: i64| year / 4 - year / 100 + year / 400;
    (year - 1970) * 365 + leaps(before) - leaps(1969)
}

fn lengths(year: i64) -> [i64; 12] {
    let is_leap = first_of_year(year + 1) - first_of_year(year) == 366;
    [31, if is_leap { 29 } else { 28 }, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]
}

fn year_of(day: Day) -> i64 {
    let near = 1970 + day / 366;
    (near..).find(|year| first_of_year(year + 1) > day).unwrap()
}

/// Year, month and day of the month.
fn date_of(day: Day) -> (i64, usize, i64) {
    let year = year_of(day);
    let (mut left, mut month) = (day - first_of_year(year), 0);
    let lengths = lengths(year);
    while left >= lengths[month] {
        left -= lengths[month];
        month += 1;
    }
    (year, month + 1, left + 1)
}

/// `2026-11-20`
pub(super) fn date(day: Day) -> String {
    let (year, month, day) = date_of(day);
    format!("{year:04}-{month:02}-{day:02}")
}

/// `2026-11`
pub(super) fn month(day: Day) -> String {
    let (year, month, _) = date_of(day);
    format!("{year:04}-{month:02}")
}

/// `2026-W48`, from Monday. A week is of the year that its Thursday lies in; 1970-01-01 was one.
pub(super) fn week(day: Day) -> String {
    let thursday = day - (day + 3).rem_euclid(7) + 3;
    let year = year_of(thursday);
    format!("{year:04}-W{:02}", (thursday - first_of_year(year)) / 7 + 1)
}

/// `2026-11-20T12:00:00.000Z`
pub(super) fn instant(millis: i64) -> String {
    let (day, left) = (day_of(millis), millis.rem_euclid(DAY));
    let (hour, minute, second) = (left / HOUR, left / 60_000 % 60, left / 1_000 % 60);
    format!("{}T{hour:02}:{minute:02}:{second:02}.{:03}Z", date(day), left % 1_000)
}

/// The instant of such a text.
pub(super) fn millis(text: &str) -> i64 {
    let number = |from: usize, to: usize| text[from..to].parse::<i64>().unwrap();
    let (year, month) = (number(0, 4), usize::try_from(number(5, 7)).unwrap());
    let months: i64 = lengths(year)[..month - 1].iter().sum();
    let day = first_of_year(year) + months + number(8, 10) - 1;
    let second = (number(11, 13) * 60 + number(14, 16)) * 60 + number(17, 19);
    day * DAY + second * 1_000 + number(20, 23)
}

#[test]
fn days_have_the_names_that_the_calendar_gives_them() {
    let start = crate::platform::instants::START;
    assert_eq!(instant(start), "2026-11-20T12:00:00.000Z");
    assert_eq!(millis("2026-11-20T12:00:00.000Z"), start);
    let day = day_of(start);
    assert_eq!(
        (week(day), week(day + 3), month(day + 11)),
        ("2026-W47".into(), "2026-W48".into(), "2026-12".into())
    );
    // 2027-01-03 is a Sunday of the last week of 2026, which has 53.
    assert_eq!((date(day + 44), week(day + 44)), ("2027-01-03".into(), "2026-W53".into()));
    assert_eq!(date(day_of(millis("2028-02-29T00:00:00.001Z"))), "2028-02-29");
}
