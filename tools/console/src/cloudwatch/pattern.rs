//! What CloudWatch Logs leaves out before it answers: a filter as a pattern for JSON lines
//! (<https://docs.aws.amazon.com/AmazonCloudWatch/latest/logs/FilterAndPatternSyntax.html>).
//!
//! A pattern may let lines pass that do not fit: whoever asks looks at all that comes. It must not hold back one that does, so
//! what cannot be said in one for certain is left to the looking: texts, which are searched for in upper and lower case, and
//! values with characters that mean something in patterns.

use nagare_telemetry::journal::{ABOUT, Filter, OF_MESSAGE, SUBJECTS};
use shared::platform::message::LogIds;
use tracing::Level;

const LONGEST: usize = 1_024;

/// The pattern for a filter, if there is anything to say in it.
pub(super) fn of(filter: &Filter) -> Option<String> {
    let is = |names: &[&str], value: &str| -> Vec<String> {
        names.iter().map(|name| format!(r#"$.{name} = "{value}""#)).collect()
    };
    let about = plain(&filter.about).map(|id| {
        let mut any = is(&ABOUT, id);
        any.extend(SUBJECTS.iter().map(|name| format!(r#"$.{name} = "*{id}*""#)));
        any
    });
    let message = plain(&filter.message).map(|id| is(&OF_MESSAGE, id));
    let person = plain(&filter.person).map(|id| is(LogIds::PEOPLE, id));
    let outcome = plain(&filter.outcome).map(|outcome| {
        vec![format!(r#"$.message = "{outcome}""#), format!(r#"$.message = "{outcome}:*""#)]
    });
    // What has a type is Lambda's own, which counts as a warning.
    let level = match filter.level {
        Some(Level::ERROR) => Some(vec![r#"$.level = "ERROR""#.to_owned()]),
        Some(Level::WARN) => {
            let own = r#"$.type = "*""#.to_owned();
            Some([is(&["level"], "ERROR"), is(&["level"], "WARN"), vec![own]].concat())
        }
        _ => None,
    };
    let all = [about, message, person, outcome, level];
    let all: Vec<_> =
        all.into_iter().flatten().map(|any| format!("({})", any.join(" || "))).collect();
    let pattern = format!("{{ {} }}", all.join(" && "));
    (!all.is_empty() && pattern.chars().count() <= LONGEST).then_some(pattern)
}

/// A value without any character that means something in a pattern.
fn plain(value: &Option<String>) -> Option<&str> {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.:@ ".contains(&byte);
    value.as_deref().filter(|value| value.bytes().all(is_plain))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn some(text: &str) -> Option<String> {
        Some(text.to_owned())
    }

    #[test]
    fn says_what_can_be_said_for_certain() {
        let filter = |message: &str| Filter { message: some(message), ..Filter::default() };
        let expected = r#"{ ($.message_id = "m-1" || $.dead_letter = "m-1") }"#;
        assert_eq!(of(&filter("m-1")).as_deref(), Some(expected));
        for odd in ["m*", "m\"", "m\\", "é", "a{b", "a%b"] {
            assert_eq!(of(&filter(odd)), None, "{odd}");
        }
        assert_eq!(of(&Filter::default()), None);
        assert_eq!(of(&Filter { text: Some("x".into()), ..Filter::default() }), None);
        let level = |level| Filter { level: Some(level), ..Filter::default() };
        let warnings = r#"{ ($.level = "ERROR" || $.level = "WARN" || $.type = "*") }"#;
        assert_eq!(of(&level(Level::WARN)).as_deref(), Some(warnings));
        assert_eq!(of(&level(Level::INFO)), None);
    }

    #[test]
    fn what_is_asked_for_together_has_to_fit_together() {
        let filter =
            Filter { about: some("live-1"), outcome: some("refused"), ..Filter::default() };
        let expected = concat!(
            r#"{ ($.activity_id = "live-1" || $.poll_id = "live-1" || $.battle_id = "live-1" || $.room_id = "live-1""#,
            r#" || $.subject = "*live-1*" || $.view = "*live-1*") && ($.message = "refused" || $.message = "refused:*") }"#,
        );
        assert_eq!(of(&filter).as_deref(), Some(expected));
    }

    #[test]
    fn a_pattern_that_is_too_long_is_none() {
        let id = "x".repeat(128);
        assert_eq!(of(&Filter { about: some(&id), person: some(&id), ..Filter::default() }), None);
        assert!(of(&Filter { about: some(&id), ..Filter::default() }).is_some());
    }
}
