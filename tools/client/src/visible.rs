//! What strangers wrote, as it is shown: on terminals, in pipes, in JSON and in the console's pages.
//!
//! A text may hold sequences that move a terminal's cursor, change its colours or its title. It may hold marks that change the
//! direction of what follows, or that end a line where nobody sees it. Such characters are shown as escapes, so that a line shows
//! what is there and nothing hides or forges another line. They are:
//!
//! - control characters (`Cc`, of both blocks), except tab and newline
//! - characters that steer the direction of text (`Bidi_Control`)
//! - the separators of lines and paragraphs, U+2028 and U+2029
//! - language tags (U+E0000 to U+E007F), which are letters that nobody sees
//!
//! All other characters are shown as they are: names are written in every script of the world.

use std::borrow::Cow;
use std::fmt::Write as _;

/// True for a character that is shown as an escape. Tab and newline are not: texts of several lines have them.
pub fn is_hidden(c: char) -> bool {
    match c {
        '\t' | '\n' => false,
        '\u{61c}' | '\u{200e}' | '\u{200f}' => true,
        '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => true,
        '\u{2028}' | '\u{2029}' => true,
        '\u{e0000}'..='\u{e007f}' => true,
        c => c.is_control(),
    }
}

/// A text with such characters as escapes (`\u{1b}`). It may have several lines.
pub fn visible(text: &str) -> Cow<'_, str> {
    replaced(text, is_hidden, escape)
}

/// The same, on one line: tab and newline are escaped too.
pub fn visible_line(text: &str) -> Cow<'_, str> {
    replaced(text, |c| is_hidden(c) || matches!(c, '\t' | '\n'), escape)
}

/// JSON with such characters as escapes of JSON (`\u001b`). Parsers read the same value from it: outside of strings JSON has no such
/// character, except a carriage return, which is a blank there.
pub fn visible_json(json: &str) -> Cow<'_, str> {
    replaced(json, is_hidden, |c, shown| match c {
        // A string has it escaped already.
        '\r' => shown.push(' '),
        c => {
            for unit in c.encode_utf16(&mut [0; 2]) {
                // Writing to a string cannot fail.
                let _ = write!(shown, "\\u{unit:04x}");
            }
        }
    })
}

/// An HTML page of this program, with escapes in its texts. What a form sends back is left as it is: the values of fields, and the
/// content of a `textarea`.
pub fn visible_html(page: &str) -> Cow<'_, str> {
    if !page.contains(is_hidden) {
        return Cow::Borrowed(page);
    }
    let mut place = Place::default();
    let mut shown = String::with_capacity(page.len() + 64);
    for (at, c) in page.char_indices() {
        let is_kept = place.is_kept();
        place.pass(c, &page[at..]);
        match is_hidden(c) && !is_kept {
            true => escape(c, &mut shown),
            false => shown.push(c),
        }
    }
    Cow::Owned(shown)
}

/// The place of a character in a page.
#[derive(Debug, Default)]
struct Place {
    /// Within `<…>`.
    in_tag: bool,
    /// Within the quotes of an attribute.
    in_value: bool,
    /// The attribute is `value`.
    is_value: bool,
    /// Between `<textarea …>` and its end.
    in_textarea: bool,
}

impl Place {
    fn is_kept(&self) -> bool {
        (self.in_value && self.is_value) || (self.in_textarea && !self.in_tag)
    }

    /// Advances over a character. `rest` begins with it.
    fn pass(&mut self, c: char, rest: &str) {
        match c {
            '"' if self.in_tag => self.in_value = !self.in_value,
            _ if self.in_value => {}
            '<' => {
                self.in_tag = true;
                let ends = rest.starts_with("</textarea");
                self.in_textarea = !ends && (self.in_textarea || rest.starts_with("<textarea"));
            }
            '>' => self.in_tag = false,
            ' ' if self.in_tag => self.is_value = rest.starts_with(" value=\""),
            _ => {}
        }
    }
}

fn escape(c: char, shown: &mut String) {
    shown.extend(c.escape_unicode());
}

fn replaced(
    text: &str,
    is_replaced: impl Fn(char) -> bool,
    replace: impl Fn(char, &mut String),
) -> Cow<'_, str> {
    if !text.contains(&is_replaced) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 64);
    for c in text.chars() {
        match is_replaced(c) {
            true => replace(c, &mut shown),
            false => shown.push(c),
        }
    }
    Cow::Owned(shown)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TRICKS: [&str; 15] = [
        "\u{1b}[2J",
        "\u{1b}]0;title\u{7}",
        "\r",
        "\0",
        "\u{8}",
        "\u{7f}",
        "\u{85}",
        "\u{9b}31m",
        "\u{61c}",
        "\u{202e}",
        "\u{2066}",
        "\u{200f}",
        "\u{2028}",
        "\u{2029}",
        "\u{e0041}",
    ];

    #[test]
    fn nothing_steers_a_terminal_and_json_keeps_its_value() {
        for trick in TRICKS {
            let text = format!("a{trick}b");
            // Raw where JSON allows it, as a producer may send it.
            let json = serde_json::to_string(&text).unwrap();
            let shown = [visible(&text), visible_line(&text), visible_json(&json)];
            for shown in &shown {
                assert!(!shown.contains(is_hidden), "{shown:?}");
            }
            assert_eq!(serde_json::from_str::<String>(&shown[2]).unwrap(), text);
        }
        assert_eq!(visible("\u{9b}1m\u{202e}"), "\\u{9b}1m\\u{202e}");
        assert_eq!(visible_line("a\tb\nc"), "a\\u{9}b\\u{a}c");
        assert_eq!(visible_json("[1,\r\n\t2]"), "[1, \n\t2]");
    }

    #[test]
    fn what_can_be_read_stays_as_it_is() {
        for text in [
            "plain 'and' \"quoted\" \\n",
            "日本語",
            "é",
            "e\u{301}",
            "नमस्ते",
            "😀",
            "👩\u{200d}👧",
            "a\tb\nc",
        ] {
            assert_eq!(visible(text), text);
        }
        assert_eq!(visible_json("[\n  \"é😀\"\n]"), "[\n  \"é😀\"\n]");
    }

    #[test]
    fn a_page_has_escapes_where_it_is_read_and_not_where_it_is_sent_back() {
        for (page, shown) in [
            ("<p>a\u{202e}b</p>", "<p>a\\u{202e}b</p>"),
            ("<p title=\"\u{9b}\">\u{9b}</p>", "<p title=\"\\u{9b}\">\\u{9b}</p>"),
            (
                "<input name=\"a\" value=\"\u{202e}\"><b>\u{202e}",
                "<input name=\"a\" value=\"\u{202e}\"><b>\\u{202e}",
            ),
            (
                "<textarea rows=\"3\">\u{202e}</textarea>\u{202e}",
                "<textarea rows=\"3\">\u{202e}</textarea>\\u{202e}",
            ),
            ("<p>&lt;textarea&gt;\u{202e}</p>", "<p>&lt;textarea&gt;\\u{202e}</p>"),
            ("<p class=\"a>b value=\">\u{202e}</p>", "<p class=\"a>b value=\">\\u{202e}</p>"),
            ("<p>plain\ttext\n</p>", "<p>plain\ttext\n</p>"),
        ] {
            assert_eq!(visible_html(page), shown);
        }
    }
}
