//! What a payload has to look like beyond being JSON, so that every reader's parser takes it.

use std::str::Bytes;

use super::{MAX_PAYLOAD_DEPTH, PayloadError};

/// Checks a text that is known to be JSON: it nests at most [`MAX_PAYLOAD_DEPTH`] arrays and objects, and
/// no string in it, member names included, has half of a surrogate pair.
pub(super) fn check(json: &str) -> Result<(), PayloadError> {
    let (mut bytes, mut depth) = (json.bytes(), 0_usize);
    while let Some(byte) = bytes.next() {
        match byte {
            b'[' | b'{' => depth += 1,
            b']' | b'}' => depth = depth.saturating_sub(1),
            b'"' => check_string(&mut bytes)?,
            _ => {}
        }
        if depth > MAX_PAYLOAD_DEPTH {
            return Err(PayloadError::TooDeep);
        }
    }
    Ok(())
}

/// One step through a string.
#[derive(Clone, Copy, PartialEq, Eq)]
enum StringStep {
    /// An escape such as `\ud800`, which needs a low one after it.
    High,
    /// An escape such as `\udc00`, which needs a high one before it.
    Low,
    /// Any other byte or escape.
    Other,
    End,
}

/// Passes the rest of a string, up to its closing quote.
fn check_string(bytes: &mut Bytes<'_>) -> Result<(), PayloadError> {
    let mut half = false;
    loop {
        let step = next(bytes);
        if half != (step == StringStep::Low) {
            return Err(PayloadError::LoneSurrogate);
        }
        if step == StringStep::End {
            return Ok(());
        }
        half = step == StringStep::High;
    }
}

fn next(bytes: &mut Bytes<'_>) -> StringStep {
    match bytes.next() {
        None | Some(b'"') => StringStep::End,
        Some(b'\\') => escape(bytes),
        Some(_) => StringStep::Other,
    }
}

fn escape(bytes: &mut Bytes<'_>) -> StringStep {
    if bytes.next() != Some(b'u') {
        return StringStep::Other;
    }
    let digits = [(); 4].map(|()| bytes.next().map_or('0', char::from).to_digit(16).unwrap_or(0));
    match digits.into_iter().fold(0, |unit, digit| unit * 16 + digit) {
        0xd800..=0xdbff => StringStep::High,
        0xdc00..=0xdfff => StringStep::Low,
        _ => StringStep::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Payload, PayloadError};
    use proptest::prelude::*;
    use serde_json::Value;

    fn nested(open: &str, close: &str, times: usize) -> String {
        format!("{}1{}", open.repeat(times), close.repeat(times))
    }

    #[test]
    fn ends_at_64_levels() {
        for (open, close, times) in [("[", "]", 64), ("{\"[\":", "}", 64), ("[{\"a\":", "}]", 32)] {
            assert!(Payload::parse(&nested(open, close, times)).is_ok(), "{open}");
            let deeper = nested(open, close, times + 1);
            assert_eq!(Payload::parse(&deeper), Err(PayloadError::TooDeep), "{open}");
        }
        let flat = format!("[{}0]", "[],{},".repeat(200));
        assert!(Payload::parse(&flat).is_ok(), "what is closed does not count");
        assert!(Payload::parse(&format!("\"{}\"", "[".repeat(65))).is_ok(), "a text has no levels");
    }

    #[test]
    fn halves_of_surrogate_pairs_are_refused_anywhere() {
        for half in [
            r"\ud800",
            r"\uDFFF",
            r"\ud83d\ud83d\ude00",
            r"\ude00\ud83d",
            r"\ud83d \ude00",
            r"\ud83d\n",
            r"\ud83d\\ude00",
            r"\\\ud83d",
            "\u{1f600}\\ud83d",
        ] {
            for text in
                [format!("\"{half}\""), format!("{{\"{half}\":1}}"), format!("[[\"a{half}b\"]]")]
            {
                assert_eq!(Payload::parse(&text), Err(PayloadError::LoneSurrogate), "{text}");
            }
        }
        for whole in [
            r"\ud83d\ude00",
            r"\uD83D\uDE00x",
            r"\\ud800",
            r#"\"\\\ud83d\ude00"#,
            r"\u0000",
            "\u{1f600}",
        ] {
            for text in [format!("\"{whole}\""), format!("{{\"{whole}\":1}}")] {
                assert!(Payload::parse(&text).is_ok(), "{text}");
            }
        }
    }

    /// Escapes and brackets of every sort, of which few are JSON.
    fn texts() -> impl Strategy<Value = String> {
        let pieces =
            ["\"", "\\", "\\u", "d83d", "de00", "[", "]", "{", "}", ":", ",", "0", "a", "\\n"];
        proptest::collection::vec(proptest::sample::select(pieces.to_vec()), 0..14)
            .prop_map(|pieces| pieces.concat())
    }

    proptest! {
        // Of shallow texts serde_json accepts as a value exactly those without lone surrogates.
        #[test]
        fn agrees_with_a_whole_parser(text in texts(), quoted in any::<bool>()) {
            let text = if quoted { format!("\"{text}\"") } else { text };
            prop_assert_eq!(Payload::parse(&text).is_ok(), serde_json::from_str::<Value>(&text).is_ok());
        }
    }
}
