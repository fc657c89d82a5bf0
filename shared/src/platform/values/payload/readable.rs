//! What JSON has to be beyond that, so that readers of archives take it: DuckDB, Polars, pandas and
//! Athena, each with a parser of its own.

use std::borrow::Cow;
use std::collections::HashSet;

use super::PayloadError;

/// Checks a text that is known to be JSON: no object in it has a name twice, however it is escaped,
/// and every number is finite as a double.
pub(super) fn check(json: &str) -> Result<(), PayloadError> {
    let bytes = json.as_bytes();
    // The names in each object that is open. Those of lists remain empty.
    let mut open: Vec<HashSet<Cow<'_, str>>> = Vec::new();
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        let end = match byte {
            b'"' => at + length_of_string(&bytes[at..]),
            b'-' | b'0'..=b'9' => at + length_of_number(&bytes[at..]),
            _ => at + 1,
        };
        match byte {
            b'{' | b'[' => open.push(HashSet::new()),
            b'}' | b']' => drop(open.pop()),
            b'"' if is_name(&bytes[end..]) => {
                let is_new = open.last_mut().is_none_or(|names| names.insert(name(&json[at..end])));
                if !is_new {
                    return Err(PayloadError::RepeatedName);
                }
            }
            b'-' | b'0'..=b'9' if !json[at..end].parse().is_ok_and(f64::is_finite) => {
                return Err(PayloadError::TooGreat);
            }
            _ => {}
        }
        at = end;
    }
    Ok(())
}

/// The length of the string at the start, with its quotes.
fn length_of_string(bytes: &[u8]) -> usize {
    let mut at = 1;
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'"' => return at + 1,
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
    bytes.len()
}

fn length_of_number(bytes: &[u8]) -> usize {
    let is_of_number = |b: &u8| matches!(b, b'0'..=b'9' | b'+' | b'-' | b'.' | b'e' | b'E');
    bytes.iter().position(|byte| !is_of_number(byte)).unwrap_or(bytes.len())
}

/// True if the string before these bytes is the name of a member.
fn is_name(after: &[u8]) -> bool {
    after.iter().find(|byte| !byte.is_ascii_whitespace()) == Some(&b':')
}

/// A name without its quotes and escapes.
fn name(quoted: &str) -> Cow<'_, str> {
    match quoted.contains('\\') {
        // A payload has no lone surrogates, so its strings can be read.
        true => serde_json::from_str(quoted).map_or(Cow::from(quoted), Cow::Owned),
        false => Cow::from(quoted.trim_matches('"')),
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Payload, PayloadError};
    use proptest::prelude::*;
    use serde_json::Value;

    fn check(text: &str) -> Result<(), PayloadError> {
        Payload::parse(text).expect("a payload").check_readable()
    }

    #[test]
    fn a_name_is_given_once_in_an_object() {
        for twice in [
            r#"{"a":1,"a":2}"#,
            r#"{"a":1,"\u0061" :2}"#,
            r#"{"":1,"":2}"#,
            r#"[1,{"b":[{"a":1,"c":{},"a":[]}]}]"#,
            r#"{"\"":1,"\u0022":2}"#,
            r#"{"a\\":1,"a\\":2}"#,
        ] {
            assert_eq!(check(twice), Err(PayloadError::RepeatedName), "{twice}");
        }
        for once in [
            r#"{"a":{"a":{"a":[{"a":1},{"a":2}]}},"b":"a","A":"\"a\":"}"#,
            r#"["a","a",{"a":"a"}]"#,
            r#"{"a":1,"\\u0061":2}"#,
            r#""\",:""#,
        ] {
            assert_eq!(check(once), Ok(()), "{once}");
        }
    }

    #[test]
    fn a_number_is_a_finite_double() {
        let (many, small) = ("9".repeat(4_000), format!("0.{}1", "0".repeat(3_000)));
        for great in ["1e400", "-1E+309", "1e99999999", "1.7976931348623159e308", &many] {
            for text in [great.to_owned(), format!("[{great}]"), format!("{{\"n\" : {great}}}")] {
                assert_eq!(check(&text), Err(PayloadError::TooGreat), "{text}");
            }
        }
        for text in ["1.7976931348623157e308", "-0", "1e-99999", "0e99999999", &small, "\"1e400\""]
        {
            assert_eq!(check(text), Ok(()), "{text}");
        }
    }

    /// JSON with few names and with numbers of all sizes.
    fn texts() -> impl Strategy<Value = String> {
        let number = (any::<bool>(), 0..999_u32, -330..330_i32)
            .prop_map(|(minus, n, e)| format!("{}{n}e{e}", if minus { "-" } else { "" }));
        let leaf = prop_oneof![number, Just("\"a\"".to_owned()), Just("null".to_owned())];
        leaf.prop_recursive(4, 24, 4, |inner| {
            let name = prop::sample::select(vec!["\"a\"", "\"b\"", "\"\\u0061\"", "\"\\\"\""]);
            let member = (name, inner.clone()).prop_map(|(name, value)| format!("{name}: {value}"));
            prop_oneof![
                prop::collection::vec(inner, 0..4).prop_map(|all| format!("[{}]", all.join(","))),
                prop::collection::vec(member, 0..4)
                    .prop_map(|all| format!("{{{}}}", all.join(","))),
            ]
        })
    }

    /// Members as often as they are written, and as often as a parser keeps them.
    fn members(value: &Value) -> usize {
        match value {
            Value::Array(all) => all.iter().map(members).sum(),
            Value::Object(all) => all.len() + all.values().map(members).sum::<usize>(),
            _ => 0,
        }
    }

    proptest! {
        // serde_json refuses numbers that are not finite, and keeps the last of several members of
        // one name.
        #[test]
        fn agrees_with_a_whole_parser(text in texts()) {
            let read = serde_json::from_str::<Value>(&text);
            let sent = text.matches("\": ").count();
            let is_readable = read.is_ok_and(|value| members(&value) == sent);
            prop_assert_eq!(check(&text).is_ok(), is_readable, "{}", text);
        }
    }
}
