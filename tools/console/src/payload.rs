//! A payload as people read it: its texts as text, and all of it as JSON behind a click.
//!
//! A payload is whatever a producer sent, so nothing of it becomes a part of the page: an address in it is neither a link
//! nor loaded.

use maud::{Markup, html};
use serde_json::Value;

use crate::layout;

/// What most payloads have, in the order in which it is read. The first two are titles.
const FIRST: [&str; 4] = ["title", "name", "text", "url"];
const TITLES: usize = 2;
/// The most members that are shown outside the JSON.
const SHOWN: usize = 8;

pub(super) fn shown(payload: &Value) -> Markup {
    readable(payload, None)
}

/// The same within a region that is made again each second: what a person has opened stays open. There is one on a page.
pub(super) fn shown_again(payload: &Value) -> Markup {
    readable(payload, Some("payload"))
}

/// What most of all tells what it is, in one line: a title, a name or a text, else the JSON.
pub(super) fn line(payload: &Value) -> String {
    let first = FIRST.iter().find_map(|name| text(&payload[*name]));
    first.unwrap_or_else(|| layout::json(payload))
}

fn readable(payload: &Value, id: Option<&str>) -> Markup {
    let members = match payload {
        Value::Null => return html! {},
        Value::String(text) => return html! { p class="payload" { (text) } },
        Value::Object(members) => members,
        other => return html! { p class="payload code" { (other) } },
    };
    let rank = |name: &str| FIRST.iter().position(|first| *first == name).unwrap_or(FIRST.len());
    let texts = members.iter().filter_map(|(name, value)| Some((name.as_str(), text(value)?)));
    let mut texts: Vec<_> = texts.map(|(name, text)| (rank(name), name, text)).collect();
    texts.sort_by_key(|(rank, ..)| *rank);
    html! {
        @for (rank, name, text) in texts.iter().take(SHOWN) {
            p class="payload" {
                @if *rank < TITLES { strong { (text) } }
                @else if *rank < FIRST.len() { (text) }
                @else { span class="quiet" { (name) ": " } (text) }
            }
        }
        details id=[id] class="more" hx-preserve=[id.map(|_| "true")] {
            summary id=[id.map(|id| format!("{id}-json"))] { "JSON" }
            pre class="code" { (layout::json(payload)) }
        }
    }
}

/// What is read without brackets.
fn text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(_) | Value::Bool(_) => Some(value.to_string()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(payload: &Value, expected: &str) {
        assert_eq!(shown(payload).into_string(), expected);
    }

    #[test]
    fn a_text_is_read_as_it_is() {
        check(&json!("a \"b\" <i>"), "<p class=\"payload\">a &quot;b&quot; &lt;i&gt;</p>");
        check(&json!([1, "<i>"]), "<p class=\"payload code\">[1,&quot;&lt;i&gt;&quot;]</p>");
        check(&Value::Null, "");
    }

    #[test]
    fn members_come_in_the_order_in_which_they_are_read_and_are_never_links() {
        let url = "javascript:alert(1)";
        let payload = json!({"a": 1, "url": url, "<b>": "c", "title": "T", "deep": {"d": 2}});
        let shown = shown(&payload).into_string();
        let [title, link, other, json] =
            ["<strong>T</strong>", url, "&lt;b&gt;: ", "<details"].map(|text| shown.find(text));
        assert!(title.is_some() && title < link && link < other && other < json, "{shown}");
        assert!(!shown.contains("href") && !shown.contains("<b>"), "{shown}");
        assert!(shown.contains("{&quot;d&quot;:2}"), "{shown}");
    }

    #[test]
    fn what_was_opened_outlasts_a_region_that_is_made_again() {
        let shown = shown_again(&json!({"title": "T"})).into_string();
        assert!(
            shown.contains(r#"<details id="payload" class="more" hx-preserve="true">"#),
            "{shown}"
        );
    }
}
