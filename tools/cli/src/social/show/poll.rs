//! The state of a poll, as lines.

use indicatif::{HumanCount, HumanDuration};
use serde::Deserialize;
use serde_json::value::RawValue;
use shared::platform::values::{Timestamp, ViewerId};

use super::bars::{bar, percent};
use super::{Contest, shown_payload};
use crate::print::{counted, printable};

/// The API's answer, as far as it is looked at.
#[derive(Deserialize)]
pub(crate) struct ShownPoll {
    poll_id: String,
    payload: Box<RawValue>,
    opens_at: Timestamp,
    closes_at: Timestamp,
    state: String,
    choices: Vec<Choice>,
    votes: u64,
    vote: Option<String>,
}

#[derive(Deserialize)]
struct Choice {
    choice: String,
    votes: u64,
}

impl ShownPoll {
    /// Its state, and how long it stays so.
    fn state(&self, now: Timestamp) -> String {
        let left = |until: Timestamp| HumanDuration(until.since(now));
        match self.state.as_str() {
            "upcoming" => format!("opens in {}", left(self.opens_at)),
            "open" => format!("open for {}", left(self.closes_at)),
            "closed" => format!("closed at {}", self.closes_at),
            other => printable(other),
        }
    }
}

impl Contest for ShownPoll {
    const WHAT: &'static str = "poll";
    const FOLDER: &'static str = "polls";

    fn lines(&self, viewer: Option<&ViewerId>, width: usize, now: Timestamp) -> Vec<String> {
        let names: Vec<_> = self.choices.iter().map(|choice| printable(&choice.choice)).collect();
        let longest = names.iter().map(|name| name.chars().count()).max().unwrap_or(0);
        let numbers: Vec<_> =
            self.choices.iter().map(|choice| HumanCount(choice.votes).to_string()).collect();
        let widest = numbers.iter().map(String::len).max().unwrap_or(0);
        // Two blanks before the bar, two behind it, and the percents.
        let room = width.saturating_sub(longest + widest + 2 + 2 + 2 + 7);
        let votes = counted(self.votes, "vote", "votes");
        let id = printable(&self.poll_id);
        let mut lines =
            vec![format!("{id}  {}, {votes}{}", self.state(now), shown_payload(&self.payload))];
        for ((choice, name), number) in self.choices.iter().zip(names).zip(numbers) {
            let (bar, percent) =
                (bar(choice.votes, self.votes, room), percent(choice.votes, self.votes));
            lines.push(format!("{name:<longest$}  {bar}  {number:>widest$}  {percent:>7}"));
        }
        lines.extend(viewer.map(|viewer| match &self.vote {
            Some(choice) => format!("{viewer} votes for {}", printable(choice)),
            None => format!("no vote of {viewer} counts"),
        }));
        lines
    }

    fn line(&self) -> String {
        let choices = self.choices.iter().map(|Choice { choice, votes }| {
            format!("  {} {votes} ({})", printable(choice), percent(*votes, self.votes))
        });
        let votes = counted(self.votes, "vote", "votes");
        format!("{:<8}  {votes}{}", printable(&self.state), choices.collect::<String>())
    }

    fn is_over(&self) -> bool {
        self.state == "closed"
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn poll(state: &str) -> ShownPoll {
        let text = format!(
            r#"{{"poll_id":"mvp","actor_id":"anna","payload":{{"title":"Who?"}},"opens_at":"2026-11-20T12:00:00.000Z",
                "closes_at":"2026-11-20T12:01:00.000Z","state":"{state}","votes":4000,"vote":"red",
                "choices":[{{"choice":"red","votes":3000}},{{"choice":"indigo","votes":1000}}]}}"#
        );
        serde_json::from_str(&text).unwrap()
    }

    #[test]
    fn bars_fill_the_width() {
        let (bob, now) = (ViewerId::new("bob").unwrap(), "2026-11-20T12:00:18Z".parse().unwrap());
        let lines = poll("open").lines(Some(&bob), 50, now);
        assert_eq!(
            lines,
            [
                r#"mvp  open for 42 seconds, 4000 votes  {"title":"Who?"}"#,
                "red     ████████████████████░░░░░░  3,000   75.0 %",
                "indigo  ███████░░░░░░░░░░░░░░░░░░░  1,000   25.0 %",
                "bob votes for red",
            ]
        );
        assert!(lines[1..3].iter().all(|line| line.chars().count() == 50));
    }

    #[test]
    fn a_line_says_it_all() {
        let line = poll("closed").line();
        assert_eq!(line, "closed    4000 votes  red 3000 (75.0 %)  indigo 1000 (25.0 %)");
        assert_eq!([poll("open").is_over(), poll("closed").is_over()], [false, true]);
    }
}
