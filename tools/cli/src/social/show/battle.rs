//! The state of a battle, as lines.

use indicatif::HumanCount;
use serde::Deserialize;
use serde_json::value::RawValue;
use shared::platform::values::{Timestamp, ViewerId};

use super::bars::{bar, percent};
use super::{Contest, shown_payload};
use crate::print::{counted, printable};

/// The API's answer, as far as it is looked at.
#[derive(Deserialize)]
pub(crate) struct ShownBattle {
    battle_id: String,
    payload: Box<RawValue>,
    state: String,
    hp: u64,
    hp_left: u64,
    hits: u64,
    last_hit: Option<LastHit>,
    viewer: Option<Share>,
}

#[derive(Deserialize)]
struct LastHit {
    hit_id: String,
    viewer_id: Option<String>,
    damage: u64,
}

#[derive(Deserialize)]
struct Share {
    hits: u64,
    damage: u64,
}

impl ShownBattle {
    /// The latest hit that has landed.
    fn last(&self) -> Option<String> {
        let LastHit { hit_id, viewer_id, damage } = self.last_hit.as_ref()?;
        let who = viewer_id.as_deref().map_or_else(|| "somebody".to_owned(), printable);
        let which = if self.is_over() { "the last" } else { "the latest" };
        Some(format!("{which}: {} of {who}, {} damage", printable(hit_id), HumanCount(*damage)))
    }
}

impl Contest for ShownBattle {
    const WHAT: &'static str = "battle";
    const FOLDER: &'static str = "battles";

    fn lines(&self, viewer: Option<&ViewerId>, width: usize, _: Timestamp) -> Vec<String> {
        let Self { hp, hp_left, hits, .. } = self;
        let numbers = format!("{} of {}", HumanCount(*hp_left), HumanCount(*hp));
        // Two blanks behind the bar and behind the numbers, and the percents.
        let room = width.saturating_sub(numbers.len() + 2 + 2 + 7);
        let (id, state) = (printable(&self.battle_id), printable(&self.state));
        let hits = counted(*hits, "hit", "hits");
        let (bar, percent) = (bar(*hp_left, *hp, room), percent(*hp_left, *hp));
        let mut lines = vec![
            format!("{id}  {state}, {hits}{}", shown_payload(&self.payload)),
            format!("{bar}  {numbers}  {percent:>7}"),
        ];
        lines.extend(self.last());
        let share = viewer.zip(self.viewer.as_ref());
        lines.extend(share.map(|(viewer, Share { hits, damage })| {
            format!("{viewer}: {}, {} damage", counted(*hits, "hit", "hits"), HumanCount(*damage))
        }));
        lines
    }

    fn line(&self) -> String {
        let Self { hp, hp_left, hits, .. } = self;
        let last = self.last().map(|last| format!("; {last}")).unwrap_or_default();
        let (state, hits) = (printable(&self.state), counted(*hits, "hit", "hits"));
        format!("{state:<8}  {hp_left} of {hp} left ({}), {hits}{last}", percent(*hp_left, *hp))
    }

    fn is_over(&self) -> bool {
        self.state == "defeated"
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn battle(state: &str, left: u64, viewer: &str) -> ShownBattle {
        let text = format!(
            r#"{{"battle_id":"dragon-1","actor_id":"anna","payload":null,"state":"{state}","hp":100000,"hp_left":{left},
                "hits":1251,"last_hit":{{"hit_id":"h-77","viewer_id":{viewer},"damage":80,"at":"2026-11-20T12:00:00.000Z"}},
                "viewer":{{"hits":3,"damage":2400}}}}"#
        );
        serde_json::from_str(&text).unwrap()
    }

    #[test]
    fn the_bar_is_what_is_left() {
        let (bob, now) = (ViewerId::new("bob").unwrap(), Timestamp::from_unix_millis(0));
        let lines = battle("open", 25_000, r#""eve""#).lines(Some(&bob), 50, now);
        assert_eq!(
            lines,
            [
                "dragon-1  open, 1251 hits",
                "██████░░░░░░░░░░░░░░░░  25,000 of 100,000   25.0 %",
                "the latest: h-77 of eve, 80 damage",
                "bob: 3 hits, 2,400 damage",
            ]
        );
        assert_eq!(lines[1].chars().count(), 50);
    }

    #[test]
    fn the_last_hit_is_said_to_be_it() {
        let line = battle("defeated", 0, "null").line();
        assert_eq!(
            line,
            "defeated  0 of 100000 left (0.0 %), 1251 hits; the last: h-77 of somebody, 80 damage"
        );
    }
}
