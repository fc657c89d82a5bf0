//! What a page names: people with a coloured initial, activities, rooms, polls and battles as links, and instants as
//! people say them, with the exact one on hover.
//!
//! The colour of a person follows from the id alone, so that it is the same everywhere. It is a class, since the policy
//! allows no style within a page.

use maud::{Markup, html};
use nagare_client::clock;
use shared::platform::values::Timestamp;

use crate::address::PATH;

/// How many colours the style knows.
const HUES: u32 = 8;
const MINUTE: i64 = 60;
const HOUR: i64 = 60 * MINUTE;
const DAY: i64 = 24 * HOUR;

/// The address of a view with parameters, from within another view.
pub(super) fn address(view: &str, query: &[(&str, &str)]) -> String {
    let query = form_urlencoded::Serializer::new(String::new()).extend_pairs(query).finish();
    if query.is_empty() { view.to_owned() } else { format!("{view}?{query}") }
}

/// The same from anywhere.
pub(super) fn path(view: &str, query: &[(&str, &str)]) -> String {
    format!("{PATH}{}", address(view, query))
}

/// A section of the view of something; that which is shown first has no name.
pub(super) fn section(view: &str, id: &str, section: &str) -> String {
    match section {
        "" => address(view, &[("id", id)]),
        _ => address(view, &[("id", id), ("show", section)]),
    }
}

/// A view of something by its id.
pub(super) fn path_of(view: &str, id: &str) -> String {
    path(view, &[("id", id)])
}

pub(super) fn person(id: &str) -> Markup {
    html! { a class="person" href=(path_of("person", id)) { (initial(id)) (id) } }
}

/// The mark of somebody beside their name.
pub(super) fn initial(id: &str) -> Markup {
    let first = id.chars().next().map(|letter| letter.to_uppercase().to_string());
    let hue =
        id.bytes().fold(0_u32, |sum, byte| sum.wrapping_mul(31).wrapping_add(byte.into())) % HUES;
    html! { span class={ "initial hue-" (hue) } aria-hidden="true" { (first.unwrap_or_default()) } }
}

/// An instant as the API writes it: how long ago, and exactly on hover. What is none is shown as it is.
pub(super) fn when(text: &str) -> Markup {
    match text.parse() {
        Ok(at) => instant(at),
        Err(_) => html! { (text) },
    }
}

pub(super) fn instant(at: Timestamp) -> Markup {
    html! { time datetime=(at) title=(at) { (distance(at, clock::clock().now())) } }
}

/// How far an instant is from now, in words.
fn distance(at: Timestamp, now: Timestamp) -> String {
    let seconds = (now.unix_millis() - at.unix_millis()).div_euclid(1_000);
    let (number, unit) = match seconds.abs() {
        few if few < 5 => return "just now".to_owned(),
        few if few < MINUTE => (few, "second"),
        some if some < HOUR => (some / MINUTE, "minute"),
        some if some < DAY => (some / HOUR, "hour"),
        many if many < 60 * DAY => (many / DAY, "day"),
        _ => return at.to_string().chars().take(10).collect(),
    };
    let plural = if number == 1 { "" } else { "s" };
    if seconds < 0 {
        format!("in {number} {unit}{plural}")
    } else {
        format!("{number} {unit}{plural} ago")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instants_are_said_by_their_distance() {
        let now = Timestamp::from_unix_millis(1_795_000_000_000);
        for (seconds, said) in [
            (0, "just now"),
            (-3, "just now"),
            (42, "42 seconds ago"),
            (60, "1 minute ago"),
            (125, "2 minutes ago"),
            (-125, "in 2 minutes"),
            (2 * HOUR, "2 hours ago"),
            (3 * DAY + 5, "3 days ago"),
        ] {
            assert_eq!(distance(now.plus_millis(-seconds * 1_000), now), said);
        }
        assert_eq!(distance(now.plus_millis(-400 * DAY * 1_000), now).len(), "2025-01-01".len());
        assert_eq!(when("<b>").into_string(), "&lt;b&gt;");
    }

    #[test]
    fn a_person_has_one_colour_and_an_initial() {
        let shown = person("anna").into_string();
        assert!(
            shown.contains(r#"href="/console/person?id=anna""#) && shown.contains(">A</span>anna")
        );
        assert_eq!(shown, person("anna").into_string());
    }
}
